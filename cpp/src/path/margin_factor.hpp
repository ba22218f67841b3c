// margin_factor.hpp: Cholesky factor L Lᵀ of the matrix of the margin, with rows appended and removed.
// Rows are not moved in memory; slot_ holds their order.  Appending and solving cost O(m²).  Removing row j costs
// O((m − j)²); it is a rank-one update with a plus sign, hence stable.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "path/loops.hpp"

namespace hinge {

class MarginFactor {
 public:
  std::size_t size() const { return m_; }
  double diagonal(std::size_t i) const { return at(i)[i]; }
  void clear() { m_ = 0; }

  // Solves L w = k in place; the first `zeros` entries of k are zero.
  void forward(double* x, std::size_t zeros = 0) const {
    const auto dot = path_loops().dot;
    for (std::size_t i = zeros; i < m_; ++i) {
      const double* row = at(i);
      x[i] = (x[i] - dot(row + zeros, x + zeros, i - zeros)) / row[i];
    }
  }
  // Solves Lᵀ x = w in place.
  void backward(double* x) const {
    const auto axpy = path_loops().axpy;
    for (std::size_t i = m_; i-- > 0;) {
      const double* row = at(i);
      x[i] /= row[i];
      axpy(-x[i], row, x, i);
    }
  }
  void solve(double* x) const {
    forward(x);
    backward(x);
  }

  // w: the solution of L w = k for the new column k; schur = k_vv − wᵀw > 0.
  void append(const double* w, double schur) {
    if (m_ == stride_) grow();
    double* row = at(m_);
    for (std::size_t j = 0; j < m_; ++j) row[j] = w[j];
    row[m_] = std::sqrt(schur);
    ++m_;
  }

  void remove(std::size_t j) {
    const std::uint32_t freed = slot_[j];
    std::vector<double> cosine(m_), sine(m_);
    std::size_t i = j + 1;
    for (; i + kBlockRows <= m_; i += kBlockRows) rotate_rows(j, i, cosine.data(), sine.data());
    for (; i < m_; ++i) rotate_tail(at(i), i, j + 1, at(i)[j], cosine.data(), sine.data());
    slot_.erase(slot_.begin() + static_cast<std::ptrdiff_t>(j));
    slot_.push_back(freed);
    --m_;
  }

 private:
  static constexpr std::size_t kBlockRows = 8;  // rows that are rotated together: their rotations are independent

  double* at(std::size_t i) { return data_.data() + slot_[i] * stride_; }
  const double* at(std::size_t i) const { return data_.data() + slot_[i] * stride_; }

  // Rotates the entry x of the removed column into the columns of row i from `first` on, and computes the last
  // rotation.
  static void rotate_tail(double* row, std::size_t i, std::size_t first, double x, double* cosine, double* sine) {
    for (std::size_t k = first; k < i; ++k) {
      const double l = row[k];
      row[k - 1] = cosine[k] * l + sine[k] * x;
      x = cosine[k] * x - sine[k] * l;
    }
    const double l = row[i], r = std::hypot(l, x);
    cosine[i] = l / r;
    sine[i] = x / r;
    row[i - 1] = r;
  }

  // The same for rows i, …, i + kBlockRows − 1, together as far as the rotations are known.
  void rotate_rows(std::size_t j, std::size_t i, double* cosine, double* sine) {
    double* row[kBlockRows];
    double x[kBlockRows];
    for (std::size_t a = 0; a < kBlockRows; ++a) {
      row[a] = at(i + a);
      x[a] = row[a][j];
    }
    for (std::size_t k = j + 1; k < i; ++k) {
      const double c = cosine[k], s = sine[k];
      for (std::size_t a = 0; a < kBlockRows; ++a) {
        const double l = row[a][k];
        row[a][k - 1] = c * l + s * x[a];
        x[a] = c * x[a] - s * l;
      }
    }
    for (std::size_t a = 0; a < kBlockRows; ++a) rotate_tail(row[a], i + a, i, x[a], cosine, sine);
  }

  void grow() {
    const std::size_t wider = stride_ < 32 ? 64 : stride_ + stride_ / 2;
    std::vector<double> data(wider * wider);
    for (std::size_t i = 0; i < m_; ++i)
      for (std::size_t j = 0; j <= i; ++j) data[i * wider + j] = at(i)[j];
    data_.swap(data);
    stride_ = wider;
    slot_.resize(wider);
    std::iota(slot_.begin(), slot_.end(), 0u);
  }

  std::size_t m_ = 0, stride_ = 0;
  std::vector<double> data_;
  std::vector<std::uint32_t> slot_;  // of each row; slots from m_ on are free
};

}  // namespace hinge
