// margin_factor.hpp: the Cholesky factor of the margin's matrix, L Lᵀ, with rows appended and removed.
// Row-major with a stride that grows; append and remove cost O(m²), and so does a solve.  Removing is a rank-one
// update with a plus sign, hence stable.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "path_loops.hpp"

namespace hinge {

class MarginFactor {
 public:
  std::size_t size() const { return m_; }
  double diagonal(std::size_t i) const { return at(i)[i]; }
  void clear() { m_ = 0; }

  // L w = k, in place.
  void forward(double* x) const {
    for (std::size_t i = 0; i < m_; ++i) x[i] = (x[i] - path_loops().dot(at(i), x, i)) / at(i)[i];
  }
  // Lᵀ x = w, in place.
  void backward(double* x) const {
    for (std::size_t i = m_; i-- > 0;) {
      x[i] /= at(i)[i];
      path_loops().axpy(-x[i], at(i), x, i);
    }
  }
  void solve(double* x) const {
    forward(x);
    backward(x);
  }

  // w solves L w = k (the new column), schur = k_vv − wᵀw > 0.
  void append(const double* w, double schur) {
    if (m_ == stride_) grow();
    double* row = at(m_);
    for (std::size_t j = 0; j < m_; ++j) row[j] = w[j];
    row[m_] = std::sqrt(schur);
    ++m_;
  }

  void remove(std::size_t j) {
    std::vector<double> cosine(m_), sine(m_);
    for (std::size_t i = j + 1; i < m_; ++i) {
      double* row = at(i);
      double x = row[j];
      double* to = at(i - 1);
      for (std::size_t k = 0; k < j; ++k) to[k] = row[k];
      for (std::size_t k = j + 1; k < i; ++k) {
        const double l = row[k];
        to[k - 1] = cosine[k] * l + sine[k] * x;
        x = cosine[k] * x - sine[k] * l;
      }
      const double l = row[i], r = std::hypot(l, x);
      cosine[i] = l / r;
      sine[i] = x / r;
      to[i - 1] = r;
    }
    --m_;
  }

 private:
  double* at(std::size_t i) { return data_.data() + i * stride_; }
  const double* at(std::size_t i) const { return data_.data() + i * stride_; }

  void grow() {
    const std::size_t wider = stride_ < 32 ? 64 : stride_ + stride_ / 2;
    std::vector<double> data(wider * wider);
    for (std::size_t i = 0; i < m_; ++i)
      for (std::size_t j = 0; j <= i; ++j) data[i * wider + j] = at(i)[j];
    data_.swap(data);
    stride_ = wider;
  }

  std::size_t m_ = 0, stride_ = 0;
  std::vector<double> data_;
};

}  // namespace hinge
