// skinny_product.cpp: which rows a task takes, and what is done with a block of them while it is in the cache.
#include "hinge/products/skinny_product.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "parallel/tasks.hpp"
#include "products/skinny_loops.hpp"

namespace hinge {
namespace {

constexpr std::size_t kLeastRows = 512;  // of a task

std::size_t padded_length(std::size_t n) { return (n + kSkinnyPad - 1) / kSkinnyPad * kSkinnyPad; }

// The columns of W (n × k), one after the other, filled up with zeros.
std::vector<float> by_columns(const float* W, std::size_t n, std::size_t k) {
  const std::size_t stride = padded_length(n);
  std::vector<float> out(k * stride, 0.0F);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t c = 0; c < k; ++c) out[c * stride + j] = W[j * k + c];
  return out;
}

// One pass.  W: make the products with it; R: what is multiplied by Kᵀ, or D: what the products are multiplied by
// before they are.
template <class T>
class Pass {
 public:
  Pass(const TallMatrix<T>& K, std::size_t k, const float* W, const float* R, const float* D, float* product)
      : K_(K), loops_(skinny_loops().of<T>()), k_(k), stride_(padded_length(K.columns)), R_(R), D_(D),
          product_(product) {
    if (!loops_.times) throw std::logic_error("thin products: this processor has none for float16");
    if (W) W_ = by_columns(W, K.columns, k);
    const std::size_t count = K.count();
    step_ = std::max(kLeastRows, (count + kSkinnyTasks - 1) / kSkinnyTasks);
    step_ = (step_ + kSkinnyRows - 1) / kSkinnyRows * kSkinnyRows;
    tasks_ = (count + step_ - 1) / step_;
    if (R || D) sums_.resize(tasks_);
  }

  void run(const Parallel& parallel) {
    run_tasks(tasks_, parallel, [&] {
      return [&](std::size_t task, Poller& poller) {
        if (!sums_.empty()) sums_[task].assign(k_ * stride_, 0.0F);
        const std::size_t last = std::min(K_.count(), (task + 1) * step_);
        for (std::size_t i = task * step_; i < last; i += kSkinnyRows) {
          poller.poll();
          block(i, std::min(kSkinnyRows, last - i), sums_.empty() ? nullptr : sums_[task].data());
        }
      };
    });
  }

  void total(double* out) const {
    std::vector<double> sum(K_.columns);
    for (std::size_t c = 0; c < k_; ++c) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (const std::vector<float>& part : sums_)
        for (std::size_t j = 0; j < K_.columns; ++j) sum[j] += static_cast<double>(part[c * stride_ + j]);
      for (std::size_t j = 0; j < K_.columns; ++j) out[j * k_ + c] = sum[j];
    }
  }

 private:
  void block(std::size_t first, std::size_t rows, float* sums) const {
    const T* row[kSkinnyRows];
    for (std::size_t r = 0; r < kSkinnyRows; ++r) {
      const std::size_t i = first + std::min(r, rows - 1);  // the last one again, with a weight of zero
      row[r] = K_.values + (K_.list.size() ? static_cast<std::size_t>(K_.list[i]) : i) * K_.columns;
    }
    for (std::size_t c0 = 0; c0 < k_; c0 += kSkinnyWidth) {
      const std::size_t width = std::min(kSkinnyWidth, k_ - c0);
      float values[kSkinnyRows * kSkinnyWidth] = {}, weighted[kSkinnyRows * kSkinnyWidth] = {};
      if (!W_.empty()) loops_.times(K_.columns, row, W_.data() + c0 * stride_, stride_, width, values);
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < width; ++c) {
          const std::size_t at = (first + r) * k_ + c0 + c, here = r * kSkinnyWidth + c;
          if (product_) product_[at] = values[here];
          if (sums) weighted[here] = R_ ? R_[at] : D_[at] * values[here];
        }
      }
      if (sums) loops_.add(K_.columns, row, weighted, width, sums + c0 * stride_, stride_);
    }
  }

  const TallMatrix<T>& K_;
  const SkinnyLoopsOf<T>& loops_;
  const std::size_t k_, stride_;
  std::vector<float> W_;
  const float *R_, *D_;
  float* product_;
  std::size_t step_ = 0, tasks_ = 0;
  std::vector<std::vector<float>> sums_;
};

}  // namespace

bool has_float16_loops() { return skinny_loops().half.times != nullptr; }

template <class T>
void skinny_product(const TallMatrix<T>& K, std::size_t k, const float* W, float* out, const Parallel& parallel) {
  Pass<T>(K, k, W, nullptr, nullptr, out).run(parallel);
}

template <class T>
void skinny_transposed_product(const TallMatrix<T>& K, std::size_t k, const float* R, double* out,
                               const Parallel& parallel) {
  Pass<T> pass(K, k, nullptr, R, nullptr, nullptr);
  pass.run(parallel);
  pass.total(out);
}

template <class T>
void skinny_weighted_product(const TallMatrix<T>& K, std::size_t k, const float* W, const float* D, float* product,
                             double* out,
                   const Parallel& parallel) {
  Pass<T> pass(K, k, W, nullptr, D, product);
  pass.run(parallel);
  pass.total(out);
}

#define HINGE_SKINNY(T)                                                                                            \
  template void skinny_product(const TallMatrix<T>&, std::size_t, const float*, float*, const Parallel&);            \
  template void skinny_transposed_product(const TallMatrix<T>&, std::size_t, const float*, double*, const Parallel&);      \
  template void skinny_weighted_product(const TallMatrix<T>&, std::size_t, const float*, const float*, float*, double*,    \
                              const Parallel&);
HINGE_SKINNY(float)
HINGE_SKINNY(Half)
#undef HINGE_SKINNY

}  // namespace hinge
