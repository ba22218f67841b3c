// thin.cpp: which rows a task takes, and what is done with a block of them while it is in the cache.
#include "hinge/thin.hpp"

#include <algorithm>
#include <vector>

#include "thin_loops.hpp"

namespace hinge {

extern const ThinLoops thin_loops_base;
extern const ThinLoops thin_loops_avx2;

const ThinLoops& thin_loops() {
#if defined(__x86_64__) || defined(__i386__)
  static const bool fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return fast ? thin_loops_avx2 : thin_loops_base;
#else
  return thin_loops_base;
#endif
}

namespace {

constexpr std::size_t kLeastRows = 512;  // of a task

// W (n × k) as groups of kThinWidth columns, each n × kThinWidth, filled up with zeros.
std::vector<float> grouped(const float* W, std::size_t n, std::size_t k) {
  const std::size_t groups = (k + kThinWidth - 1) / kThinWidth;
  std::vector<float> out(groups * n * kThinWidth, 0.0F);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t c = 0; c < k; ++c)
      out[(c / kThinWidth * n + j) * kThinWidth + c % kThinWidth] = W[j * k + c];
  return out;
}

// One pass.  W: make the products with it; R: what is multiplied by Kᵀ, or D: what the products are multiplied by
// before they are.
class Pass {
 public:
  Pass(const TallMatrix& K, std::size_t k, const float* W, const float* R, const float* D, float* product)
      : K_(K), k_(k), groups_((k + kThinWidth - 1) / kThinWidth), R_(R), D_(D), product_(product) {
    if (W) W_ = grouped(W, K.columns, k);
    const std::size_t count = K.count();
    step_ = std::max(kLeastRows, (count + kThinTasks - 1) / kThinTasks);
    step_ = (step_ + kThinRows - 1) / kThinRows * kThinRows;
    tasks_ = (count + step_ - 1) / step_;
    if (R || D) sums_.resize(tasks_);
  }

  void run(const Parallel& parallel) {
    run_tasks(tasks_, parallel, [&] {
      return [&](std::size_t task, Pulse& pulse) {
        if (!sums_.empty()) sums_[task].assign(groups_ * K_.columns * kThinWidth, 0.0F);
        const std::size_t last = std::min(K_.count(), (task + 1) * step_);
        for (std::size_t i = task * step_; i < last; i += kThinRows) {
          pulse.beat();
          block(i, std::min(kThinRows, last - i), sums_.empty() ? nullptr : sums_[task].data());
        }
      };
    });
  }

  void total(double* out) const {
    for (std::size_t j = 0; j < K_.columns; ++j) {
      for (std::size_t c = 0; c < k_; ++c) {
        const std::size_t place = (c / kThinWidth * K_.columns + j) * kThinWidth + c % kThinWidth;
        double sum = 0;
        for (const std::vector<float>& part : sums_) sum += static_cast<double>(part[place]);
        out[j * k_ + c] = sum;
      }
    }
  }

 private:
  void block(std::size_t first, std::size_t rows, float* sums) const {
    const float* row[kThinRows];
    for (std::size_t r = 0; r < kThinRows; ++r) {
      const std::size_t i = first + std::min(r, rows - 1);  // the last one again, with a weight of zero
      row[r] = K_.values + (K_.list.size() ? static_cast<std::size_t>(K_.list[i]) : i) * K_.columns;
    }
    for (std::size_t g = 0; g < groups_; ++g) {
      const std::size_t c0 = g * kThinWidth, width = std::min(kThinWidth, k_ - c0);
      const std::size_t place = g * K_.columns * kThinWidth;
      float values[kThinRows * kThinWidth] = {}, weighted[kThinRows * kThinWidth] = {};
      if (!W_.empty()) thin_loops().times(K_.columns, row, W_.data() + place, values);
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < width; ++c) {
          const std::size_t at = (first + r) * k_ + c0 + c, here = r * kThinWidth + c;
          if (product_) product_[at] = values[here];
          if (sums) weighted[here] = R_ ? R_[at] : D_[at] * values[here];
        }
      }
      if (sums) thin_loops().add(K_.columns, row, weighted, sums + place);
    }
  }

  const TallMatrix& K_;
  const std::size_t k_, groups_;
  std::vector<float> W_;
  const float *R_, *D_;
  float* product_;
  std::size_t step_ = 0, tasks_ = 0;
  std::vector<std::vector<float>> sums_;
};

}  // namespace

void thin_times(const TallMatrix& K, std::size_t k, const float* W, float* out, const Parallel& parallel) {
  Pass(K, k, W, nullptr, nullptr, out).run(parallel);
}

void thin_transposed(const TallMatrix& K, std::size_t k, const float* R, double* out, const Parallel& parallel) {
  Pass pass(K, k, nullptr, R, nullptr, nullptr);
  pass.run(parallel);
  pass.total(out);
}

void thin_weighted(const TallMatrix& K, std::size_t k, const float* W, const float* D, float* product, double* out,
                   const Parallel& parallel) {
  Pass pass(K, k, W, nullptr, D, product);
  pass.run(parallel);
  pass.total(out);
}

}  // namespace hinge
