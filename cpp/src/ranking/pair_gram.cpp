// pair_gram.cpp: the kernel matrix over pairs of samples, computed from rows of the matrix over samples.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "hinge/parallel.hpp"
#include "hinge/solvers/ranking.hpp"

namespace hinge {
namespace {

class PairGram final : public Gram {
 public:
  PairGram(const Gram& base, std::vector<std::int32_t> first, std::vector<std::int32_t> second)
      : base_(base), first_(std::move(first)), second_(std::move(second)) {}

  std::size_t size() const override { return first_.size(); }
  bool concurrent() const override { return base_.concurrent(); }
  double cost() const override { return 2 * base_.cost() + 2; }
  double value_error() const override {
    double largest = 0;
    std::vector<double> diagonal(base_.size());
    base_.diagonal(diagonal);
    for (double d : diagonal) largest = std::max(largest, std::abs(d));
    return 4 * (base_.value_error() + 2 * std::numeric_limits<double>::epsilon() * largest);
  }
  void diagonal(Span<double> out) const override { pair_diagonal(base_, first_, second_, out); }

  void row(std::size_t p, Span<const std::int32_t> columns, Span<double> out) const override { fill(p, columns, out); }
  void row(std::size_t p, Span<const std::int32_t> columns, Span<float> out) const override { fill(p, columns, out); }

  void multiply(Span<const double> v, Span<double> out, const Parallel& parallel) const override {
    std::vector<double> beta(base_.size(), 0.0), f(base_.size());
    for (std::size_t p = 0; p < size(); ++p) {
      beta[at(first_, p)] += v[p];
      beta[at(second_, p)] -= v[p];
    }
    base_.multiply(beta, f, parallel);
    for (std::size_t p = 0; p < size(); ++p) out[p] = f[at(first_, p)] - f[at(second_, p)];
  }

  void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, float,
                Span<double> out, const Parallel& parallel) const override {
    add<float>(which, coef, columns, out, parallel);
  }
  void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, double,
                Span<double> out, const Parallel& parallel) const override {
    add<double>(which, coef, columns, out, parallel);
  }

 private:
  static std::size_t at(const std::vector<std::int32_t>& list, std::size_t p) {
    return static_cast<std::size_t>(list[p]);
  }

  template <class T>
  void fill(std::size_t p, Span<const std::int32_t> columns, Span<T> out) const {
    std::vector<double> plus(base_.size()), minus(base_.size());
    base_.row(at(first_, p), {}, Span<double>(plus));
    base_.row(at(second_, p), {}, Span<double>(minus));
    for (std::size_t k = 0; k < plus.size(); ++k) plus[k] -= minus[k];
    for (std::size_t c = 0; c < out.size(); ++c) {
      const std::size_t q = columns.empty() ? c : static_cast<std::size_t>(columns[c]);
      out[c] = static_cast<T>(plus[at(first_, q)] - plus[at(second_, q)]);
    }
  }

  // Combines the coefficients by samples first: many pairs have few different samples.
  template <class T>
  void add(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, Span<double> out,
           const Parallel& parallel) const {
    std::vector<double> beta(base_.size(), 0.0), f(base_.size(), 0.0), values;
    for (std::size_t k = 0; k < which.size(); ++k) {
      beta[at(first_, static_cast<std::size_t>(which[k]))] += coef[k];
      beta[at(second_, static_cast<std::size_t>(which[k]))] -= coef[k];
    }
    std::vector<std::int32_t> used;
    for (std::size_t i = 0; i < beta.size(); ++i)
      if (beta[i] != 0) used.push_back(static_cast<std::int32_t>(i)), values.push_back(beta[i]);
    base_.add_rows(used, values, *base_.columns({}, 0), T{}, f, parallel);
    const Span<const std::int32_t> list = columns.list();
    for (std::size_t c = 0; c < out.size(); ++c) {
      const std::size_t q = list.empty() ? c : static_cast<std::size_t>(list[c]);
      out[c] += f[at(first_, q)] - f[at(second_, q)];
    }
  }

  const Gram& base_;
  const std::vector<std::int32_t> first_, second_;
};

}  // namespace

void pair_diagonal(const KernelSource& base, Span<const std::int32_t> first, Span<const std::int32_t> second,
                   Span<double> out) {
  std::vector<double> diagonal(base.size()), values;
  base.diagonal(diagonal);
  const auto self = [&](std::int32_t i) { return diagonal[static_cast<std::size_t>(i)]; };
  for (std::size_t p = 0; p < first.size();) {  // pairs with the same first sample share a row
    std::size_t end = p + 1;
    while (end < first.size() && first[end] == first[p]) ++end;
    values.resize(end - p);
    base.row(static_cast<std::size_t>(first[p]), second.subspan(p, end - p), Span<double>(values));
    for (std::size_t k = p; k < end; ++k)
      out[k] = std::max(0.0, self(first[k]) + self(second[k]) - 2 * values[k - p]);
    p = end;
  }
}

std::unique_ptr<Gram> make_pair_gram(const Gram& base, std::vector<std::int32_t> first,
                                     std::vector<std::int32_t> second) {
  return std::make_unique<PairGram>(base, std::move(first), std::move(second));
}

}  // namespace hinge
