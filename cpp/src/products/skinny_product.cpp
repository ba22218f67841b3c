// skinny_product.cpp: division of the rows into tasks, and the products of blocks of rows while they are in the cache.
#include "hinge/products/skinny_product.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "parallel/tasks.hpp"
#include "products/skinny_loops.hpp"

namespace hinge {
namespace {

constexpr std::size_t kMinTaskRows = 512;  // fewer rows are not worth a task

std::size_t padded_length(std::size_t n) { return (n + kSkinnyPad - 1) / kSkinnyPad * kSkinnyPad; }

// The columns of W (n × k), stored one after the other and padded with zeros.
std::vector<float> padded_columns(const float* W, std::size_t n, std::size_t k) {
  const std::size_t stride = padded_length(n);
  std::vector<float> out(k * stride, 0.0F);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t c = 0; c < k; ++c) out[c * stride + j] = W[j * k + c];
  return out;
}

// One pass over K.  Arguments that are not needed are nullptr.
//   W: computes K W;   R: computes Kᵀ R;   W and D: computes Kᵀ (D ∘ K W).
template <class T>
class Pass {
 public:
  Pass(const TallMatrix<T>& K, std::size_t k, const float* W, const float* R, const float* D, float* product)
      : K_(K), loops_(skinny_loops().of<T>()), k_(k), stride_(padded_length(K.columns)), R_(R), D_(D),
        product_(product) {
    if (!loops_.times) throw std::logic_error("skinny products: this processor has no float16 conversions");
    if (W) W_ = padded_columns(W, K.columns, k);
    const std::size_t count = K.count();
    task_rows_ = std::max(kMinTaskRows, (count + kSkinnyTasks - 1) / kSkinnyTasks);
    task_rows_ = (task_rows_ + kSkinnyRows - 1) / kSkinnyRows * kSkinnyRows;
    tasks_ = (count + task_rows_ - 1) / task_rows_;
    if (R || D) sums_.resize(tasks_);
  }

  void run(const Parallel& parallel) {
    run_tasks(tasks_, parallel, [&] {
      return [&](std::size_t task, Poller& poller) {
        if (!sums_.empty()) sums_[task].assign(k_ * stride_, 0.0F);
        const std::size_t last = std::min(K_.count(), (task + 1) * task_rows_);
        for (std::size_t i = task * task_rows_; i < last; i += kSkinnyRows) {
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
      const std::size_t i = first + std::min(r, rows - 1);  // repeats the last row, with weight 0
      row[r] = K_.values + (K_.list.size() ? static_cast<std::size_t>(K_.list[i]) : i) * K_.columns;
    }
    for (std::size_t c0 = 0; c0 < k_; c0 += kSkinnyWidth) {
      const std::size_t width = std::min(kSkinnyWidth, k_ - c0);
      float values[kSkinnyRows * kSkinnyWidth] = {}, weighted[kSkinnyRows * kSkinnyWidth] = {};
      if (!W_.empty()) loops_.times(K_.columns, row, W_.data() + c0 * stride_, stride_, width, values);
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < width; ++c) {
          const std::size_t e = (first + r) * k_ + c0 + c, t = r * kSkinnyWidth + c;
          if (product_) product_[e] = values[t];
          if (sums) weighted[t] = R_ ? R_[e] : D_[e] * values[t];
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
  std::size_t task_rows_ = 0, tasks_ = 0;
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
                             double* out, const Parallel& parallel) {
  Pass<T> pass(K, k, W, nullptr, D, product);
  pass.run(parallel);
  pass.total(out);
}

#define HINGE_SKINNY(T)                                                                                              \
  template void skinny_product(const TallMatrix<T>&, std::size_t, const float*, float*, const Parallel&);            \
  template void skinny_transposed_product(const TallMatrix<T>&, std::size_t, const float*, double*,                  \
                                          const Parallel&);                                                          \
  template void skinny_weighted_product(const TallMatrix<T>&, std::size_t, const float*, const float*, float*,       \
                                        double*, const Parallel&);
HINGE_SKINNY(float)
HINGE_SKINNY(Half)
#undef HINGE_SKINNY

}  // namespace hinge
