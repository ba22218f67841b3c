// linear_factor.cpp: see the header.
#include "linear_factor.hpp"

#include <algorithm>

#include "linear_factor_loops.hpp"
#include "linear_ops.hpp"

namespace hinge {

extern const FactorLoops factor_loops_base;
extern const FactorLoops factor_loops_avx2;

const FactorLoops& factor_loops() {
#if defined(__x86_64__) || defined(__i386__)
  static const bool fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return fast ? factor_loops_avx2 : factor_loops_base;
#else
  return factor_loops_base;
#endif
}

namespace {

constexpr std::size_t kBlock = 64;   // columns at a time
constexpr std::size_t kDepth = 256;  // values of a product at a time: those of a block stay in the cache
constexpr std::size_t kHeight = 32;  // rows of a task

}  // namespace

void SymmetricFactor::resize(std::size_t size) {
  size_ = size;
  stride_ = (size + 7) / 8 * 8 + 8;  // not a power of two: lines below each other would share their places in the cache
  if (values_.size() < size_ * stride_) {
    std::vector<double>().swap(values_);
    values_.resize(size_ * stride_);
  }
}

bool SymmetricFactor::make() {
  for (std::size_t block = 0; block < size_; block += kBlock) {
    const std::size_t width = std::min(kBlock, size_ - block);
    subtract(block, width);
    if (!factor_loops().cholesky(row(block) + block, width, stride_)) return false;
    divide(block, width);
  }
  return true;
}

// Rows from the block on, its columns: minus the products of all columns before it.
void SymmetricFactor::subtract(std::size_t block, std::size_t width) {
  if (block == 0) return;
  const std::size_t height = size_ - block, parts = (height + kHeight - 1) / kHeight;
  run_tasks(parts, parallel_, [&] {
    return [&](std::size_t c, Pulse& pulse) {
      const std::size_t first = block + c * kHeight, count = std::min(kHeight, size_ - first);
      for (std::size_t k = 0; k < block; k += kDepth) {
        pulse.beat();
        factor_loops().subtract_products(row(first) + k, count, row(block) + k, width, stride_,
                                         std::min(kDepth, block - k), row(first) + block, stride_);
      }
    };
  });
}

// Rows below the block, its columns: times the inverse of the factor of the block.
void SymmetricFactor::divide(std::size_t block, std::size_t width) {
  const std::size_t below = block + width, height = size_ - below, parts = (height + kHeight - 1) / kHeight;
  if (height == 0) return;
  run_tasks(parts, parallel_, [&] {
    return [&](std::size_t c, Pulse&) {
      const std::size_t first = below + c * kHeight;
      factor_loops().solve_rows(row(block) + block, width, stride_, row(first) + block, std::min(kHeight, size_ - first));
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
