// ridge.cpp: K + diag(ridge) for a kernel matrix K.
// Problems with quadratic losses become box-constrained problems with this matrix.  Every call costs O(rows) more than
// for K.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "hinge/kernels/gram.hpp"
#include "hinge/parallel.hpp"

namespace hinge {
namespace {

constexpr std::int32_t kAbsent = -1;  // position of a sample that is not among the columns

// The columns of the inner matrix and the position of each sample among them.
class RidgedColumns final : public Columns {
 public:
  RidgedColumns(std::unique_ptr<const Columns> inner, std::size_t all)
      : Columns(all, inner->list()), inner_(std::move(inner)) {
    if (list().empty()) return;
    position_.assign(all, kAbsent);
    for (std::size_t j = 0; j < list().size(); ++j) {
      position_[static_cast<std::size_t>(list()[j])] = static_cast<std::int32_t>(j);
    }
  }

  const Columns& inner() const { return *inner_; }
  std::int32_t position(std::int32_t sample) const {
    return position_.empty() ? sample : position_[static_cast<std::size_t>(sample)];
  }

 private:
  std::unique_ptr<const Columns> inner_;
  std::vector<std::int32_t> position_;  // empty: all samples, in their order
};

class RidgedGram final : public Gram {
 public:
  RidgedGram(const Gram& inner, std::vector<double> ridge) : inner_(inner), ridge_(std::move(ridge)) {}

  std::size_t size() const override { return inner_.size(); }
  bool concurrent() const override { return inner_.concurrent(); }
  double cost() const override { return inner_.cost(); }
  double value_error() const override {
    double largest = 0;
    std::vector<double> diagonal(size());
    this->diagonal(diagonal);
    for (double d : diagonal) largest = std::max(largest, std::abs(d));
    return inner_.value_error() + std::numeric_limits<double>::epsilon() * largest;
  }

  void diagonal(Span<double> out) const override {
    inner_.diagonal(out);
    for (std::size_t i = 0; i < ridge_.size(); ++i) out[i] += ridge_[i];
  }

  void row(std::size_t i, Span<const std::int32_t> columns, Span<double> out) const override {
    single_row(i, columns, out);
  }
  void row(std::size_t i, Span<const std::int32_t> columns, Span<float> out) const override {
    single_row(i, columns, out);
  }

  std::unique_ptr<const Columns> columns(Span<const std::int32_t> list, std::size_t bytes) const override {
    return std::make_unique<RidgedColumns>(inner_.columns(list, bytes), size());
  }

  void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<double* const> out,
                  const Parallel& parallel, Part part) const override {
    block(which, columns, out, parallel, part);
  }
  void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<float* const> out,
                  const Parallel& parallel, Part part) const override {
    block(which, columns, out, parallel, part);
  }

  void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, float precision,
                Span<double> out, const Parallel& parallel) const override {
    add(which, coef, columns, precision, out, parallel);
  }
  void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, double precision,
                Span<double> out, const Parallel& parallel) const override {
    add(which, coef, columns, precision, out, parallel);
  }

  void multiply(Span<const double> v, Span<double> out, const Parallel& parallel) const override {
    inner_.multiply(v, out, parallel);
    for (std::size_t i = 0; i < ridge_.size(); ++i) out[i] += ridge_[i] * v[i];
  }

 private:
  double ridge(std::int32_t sample) const { return ridge_[static_cast<std::size_t>(sample)]; }

  template <class T>
  void single_row(std::size_t i, Span<const std::int32_t> columns, Span<T> out) const {
    inner_.row(i, columns, out);
    if (columns.empty()) {
      out[i] = static_cast<T>(out[i] + ridge_[i]);
      return;
    }
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (static_cast<std::size_t>(columns[j]) == i) out[j] = static_cast<T>(out[j] + ridge_[i]);
    }
  }

  template <class T>
  void block(Span<const std::int32_t> which, const Columns& columns, Span<T* const> out, const Parallel& parallel,
             Part part) const {
    const auto& ridged = static_cast<const RidgedColumns&>(columns);
    inner_.block_rows(which, ridged.inner(), out, parallel, part);
    for (std::size_t k = 0; k < which.size(); ++k) {
      const std::int32_t j = ridged.position(which[k]);
      if (j != kAbsent) out[k][j] = static_cast<T>(out[k][j] + ridge(which[k]));
    }
  }

  template <class T>
  void add(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, T precision,
           Span<double> out, const Parallel& parallel) const {
    const auto& ridged = static_cast<const RidgedColumns&>(columns);
    inner_.add_rows(which, coef, ridged.inner(), precision, out, parallel);
    for (std::size_t k = 0; k < which.size(); ++k) {
      const std::int32_t j = ridged.position(which[k]);
      if (j != kAbsent) out[static_cast<std::size_t>(j)] += coef[k] * ridge(which[k]);
    }
  }

  const Gram& inner_;
  const std::vector<double> ridge_;
};

}  // namespace

std::unique_ptr<Gram> make_gram(const Gram& inner, std::vector<double> ridge) {
  return std::make_unique<RidgedGram>(inner, std::move(ridge));
}

}  // namespace hinge
