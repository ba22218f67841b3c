// cholesky.cpp: see the header.
#include "linear/cholesky/cholesky.hpp"

#include <algorithm>

#include "linear/cholesky/loops.hpp"
#include "linear/data/ops.hpp"
#include "parallel/tasks.hpp"

namespace hinge {
namespace {

constexpr std::size_t kMinParallelRows = 512;  // smaller matrices are factored on one thread
constexpr std::size_t kTaskRows = 36;   // rows per task

// Columns per block: larger blocks read the rest of the matrix less often, but the diagonal block is not tiled.
std::size_t panel_width(std::size_t size) { return size < kMinParallelRows ? 32 : size < 1500 ? 64 : 128; }

}  // namespace

void SymmetricFactor::resize(std::size_t size) {
  size_ = size;
  stride_ = (size + 7) / 8 * 8 + 8;  // not a power of two, which would cause cache conflicts between rows
  if (values_.size() < size_ * stride_) {
    std::vector<double>().swap(values_);
    values_.resize(size_ * stride_);
  }
}

bool SymmetricFactor::make() {
  const std::size_t block_width = panel_width(size_);
  for (std::size_t block = 0; block < size_; block += block_width) {
    const std::size_t width = std::min(block_width, size_ - block);
    if (!factor_loops().factorize_block(row(block) + block, width, stride_)) return false;
    if (block + width < size_) eliminate(block, width);
  }
  return true;
}

// Computes the columns of a block below its diagonal block and updates the rest of the matrix.
void SymmetricFactor::eliminate(std::size_t block, std::size_t width) {
  const FactorLoops& loops = factor_loops();
  const std::size_t next = block + width, count = size_ - next, height = (count + kStrip - 1) / kStrip * kStrip;
  if (panel_.size() < width * height) panel_.resize(width * height);
  double* panel = panel_.data();
  const auto at = [&](std::size_t i) { return panel + i / kStrip * kStrip * width + i % kStrip; };
  each_part(height, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t c = 0; c < width; ++c) at(i)[c * kStrip] = i < count ? row(next + i)[block + c] : 0.0;
    loops.solve_panel(row(block) + block, width, stride_, panel, first, last);
    for (std::size_t i = first; i < std::min(last, count); ++i)
      for (std::size_t c = 0; c < width; ++c) row(next + i)[block + c] = at(i)[c * kStrip];
  });
  each_part(count, [&](std::size_t first, std::size_t last) {
    loops.subtract_panel(panel, width, first, last, row(next) + next, stride_);
  });
}

template <class Work>
void SymmetricFactor::each_part(std::size_t rows, Work work) {
  if (size_ < kMinParallelRows) return work(0, rows);
  run_tasks((rows + kTaskRows - 1) / kTaskRows, parallel_, [&] {
    return [&](std::size_t c, Poller& poller) {
      poller.poll();
      work(c * kTaskRows, std::min(rows, (c + 1) * kTaskRows));
    };
  });
}

void SymmetricFactor::solve(std::vector<double>& x) const {
  const LinearOps& ops = linear_ops();
  for (std::size_t i = 0; i < size_; ++i) {
    const double* line = values_.data() + i * stride_;
    x[i] = (x[i] - ops.dot_double(line, x.data(), i)) / line[i];
  }
  for (std::size_t i = size_; i-- > 0;) {
    const double* line = values_.data() + i * stride_;
    x[i] /= line[i];
    ops.add_double(line, -x[i], x.data(), i);
  }
}

}  // namespace hinge
