// linear_bounds.cpp: see linear_bounds.hpp.
#include "hinge/certificate/linear_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <variant>
#include <vector>

#include "numeric/bounded_sum.hpp"
#include "path/loops.hpp"

namespace hinge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kShareOfBox = 0.01;  // of |target| times the width of the box, in the size of the terms
constexpr std::size_t kPartialSums = 8;  // of an inner product
constexpr std::size_t kSummedRows = 128;  // rows whose sum is computed without compensation

// ⟨w, x⟩ and ‖x‖² of a dense row; partial sums let the compiler use vector instructions.
template <class T>
void products(const T* x, const double* w, std::size_t d, double& dot, double& norm) {
  double dots[kPartialSums] = {}, norms[kPartialSums] = {};
  std::size_t j = 0;
  for (; j + kPartialSums <= d; j += kPartialSums)
    for (std::size_t c = 0; c < kPartialSums; ++c) {
      const double value = static_cast<double>(x[j + c]);
      dots[c] += value * w[j + c], norms[c] += value * value;
    }
  for (; j < d; ++j) dots[0] += static_cast<double>(x[j]) * w[j], norms[0] += static_cast<double>(x[j]) * x[j];
  dot = norm = 0;
  for (std::size_t c = 0; c < kPartialSums; ++c) dot += dots[c], norm += norms[c];
}

// sum += value, with the rounding error added to `error`.
inline void compensated_add(double& sum, double& error, double value) {
  const double next = sum + value, part = next - sum;
  error += (sum - (next - part)) + (value - part);
  sum = next;
}

// The samples seen by a certificate: one pass for ⟨w, x_i⟩, ‖x_i‖ and Σ β_i x_i.
struct Pass {
  std::vector<double> f, norm;    // per sample
  std::vector<double> f_rest;      // rounding errors of f, if accurate
  std::vector<double> sum, error;  // Σ β_i x_i and its compensation, per feature

  Pass(const Samples& samples, Span<const double> w, Span<const double> beta, bool accurate)
      : f(beta.size()), norm(beta.size()), f_rest(accurate ? beta.size() : 0), sum(w.size(), 0.0),
        error(w.size(), 0.0) {
    if (accurate) std::visit([&](const auto& s) { run_accurately(s, w, beta); }, samples);
    else std::visit([&](const auto& s) { run(s, w, beta); }, samples);
    for (double& value : norm) value = std::sqrt(value);
  }

 private:
  template <class Storage>
  void run_accurately(const Storage& s, Span<const double> w, Span<const double> beta) {
    for (std::size_t i = 0; i < s.rows; ++i) {
      double rest = 0;
      for_each_value(s, i, [&](std::size_t j, double value) {
        const double product = value * w[j];
        compensated_add(f[i], rest, product);
        rest += std::fma(value, w[j], -product);
        norm[i] += value * value;
        if (beta[i] == 0) return;
        const double part = beta[i] * value;
        compensated_add(sum[j], error[j], part);
        error[j] += std::fma(beta[i], value, -part);
      });
      f_rest[i] = rest;
    }
  }

  template <class T, class Take>
  static void for_each_value(const Dense<T>& s, std::size_t i, Take take) {
    for (std::size_t j = 0; j < s.features; ++j) take(j, static_cast<double>(s.row(i)[j]));
  }
  template <class T, class I, class Take>
  static void for_each_value(const Csr<T, I>& s, std::size_t i, Take take) {
    for (I k = s.start[i]; k < s.start[i + 1]; ++k)
      take(static_cast<std::size_t>(s.index[k]), static_cast<double>(s.values[k]));
  }

  template <class T>
  void run(const Dense<T>& s, Span<const double> w, Span<const double> beta) {
    std::vector<double> part(s.features, 0.0);
    std::size_t summed = 0;
    const auto flush = [&] {
      for (std::size_t j = 0; j < s.features; ++j) compensated_add(sum[j], error[j], part[j]), part[j] = 0;
      summed = 0;
    };
    for (std::size_t i = 0; i < s.rows; ++i) {
      const T* const x = s.row(i);
      if constexpr (std::is_same_v<T, double>) {
        f[i] = path_loops().dot(x, w.data(), s.features), norm[i] = path_loops().dot(x, x, s.features);
        if (beta[i] != 0) path_loops().axpy(beta[i], x, part.data(), s.features);
      } else {
        products(x, w.data(), s.features, f[i], norm[i]);
        for (std::size_t j = 0; beta[i] != 0 && j < s.features; ++j) part[j] += beta[i] * static_cast<double>(x[j]);
      }
      if (beta[i] != 0 && ++summed == kSummedRows) flush();
    }
    flush();
  }

  template <class T, class I>
  void run(const Csr<T, I>& s, Span<const double> w, Span<const double> beta) {
    for (std::size_t i = 0; i < s.rows; ++i) {
      double dot = 0, square = 0;
      for (I k = s.start[i]; k < s.start[i + 1]; ++k) {
        const double value = static_cast<double>(s.values[k]);
        const std::size_t j = static_cast<std::size_t>(s.index[k]);
        dot += value * w[j], square += value * value;
        if (beta[i] != 0) compensated_add(sum[j], error[j], beta[i] * value);
      }
      f[i] = dot, norm[i] = square;
    }
  }
};

class LinearBounds {
 public:
  LinearBounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset, Span<const double> beta,
               bool accurate)
      : p_(problem), w_(weights), b_(offset), beta_(beta), n_(beta.size()), accurate_(accurate),
        pass_(problem.samples, weights, beta, accurate), features_(static_cast<double>(weights.size())) {}

  Bounds run() {
    Bounds found{kInf, -kInf, 0, 0, 0, 0};
    conditions(found);
    add_upper(found);
    add_lower(found);
    if (std::isnan(found.upper)) found.upper = kInf;
    if (std::isnan(found.lower)) found.lower = -kInf;
    return found;
  }

 private:
  static constexpr double u = kUnitRoundoff;
  double value(std::size_t i) const { return accurate_ ? (pass_.f[i] + b_) + pass_.f_rest[i] : pass_.f[i] + b_; }

  // target − ⟨w, x_i⟩ − b and its error.
  struct Residual {
    double value, error;
  };
  Residual residual(std::size_t i, double norm) const {
    const double size = std::abs(p_.target[i]) + std::abs(pass_.f[i]) + std::abs(b_) + p_.tube;
    if (!accurate_) {
      const double error = (features_ + 2) * u * norm * pass_.norm[i] + 4 * u * size;
      return {p_.target[i] - value(i), 1.01 * error};
    }
    double high = p_.target[i], rest = -pass_.f_rest[i];
    compensated_add(high, rest, -pass_.f[i]);
    compensated_add(high, rest, -b_);
    const double squares = (features_ + 4) * u * (features_ + 4) * u;
    const double found = high + rest;
    return {found, 1.01 * (squares * (norm * pass_.norm[i] + size) + u * (std::abs(found) + p_.tube))};
  }

  void conditions(Bounds& found) const {
    for (std::size_t i = 0; i < n_; ++i) {
      const double slope = value(i) + p_.ridge[i] * beta_[i] - p_.target[i], b = beta_[i];
      const double right = slope + (b >= 0 ? p_.tube : -p_.tube), left = slope + (b > 0 ? p_.tube : -p_.tube);
      const double violation = std::max(b < p_.upper[i] ? -right : 0.0, b > p_.lower[i] ? left : 0.0);
      if (violation > found.kkt_violation || std::isnan(violation)) found.kkt_violation = violation;
      found.infeasibility = std::max({found.infeasibility, p_.lower[i] - b, b - p_.upper[i]});
    }
    if (p_.offset == Offset::free) found.infeasibility = std::max(found.infeasibility, std::abs(deficit().value()));
  }

  // ---- upper bound ---------------------------------------------------------------------------------------------

  // The loss for an excess of s ≥ 0 over the tube and the bound h on |β|; increasing in s.
  static double loss(double s, double h, double ridge) {
    if (s == 0) return 0;
    if (ridge > 0 && s <= h * ridge) return 0.5 * s * (s / ridge);
    return h * s - 0.5 * ridge * h * h;
  }

  void add_upper(Bounds& found) const {
    BoundedSum sum;
    double error = 0, inflation = 0, norm = 0;
    for (double w : w_) sum.add_product(0.5 * w, w), norm += w * w;
    norm = std::sqrt(norm);
    const double offset = p_.total * b_;
    sum.add(offset);
    error += std::abs(offset) * (p_.totals_error + 2 * u);
    if (p_.offset == Offset::penalized) {
      const double penalty = 0.5 * (b_ / p_.offset_scale) * (b_ / p_.offset_scale);
      sum.add(penalty);
      error += 6 * u * penalty;
    }
    for (std::size_t i = 0; i < n_; ++i) {
      const Residual r = residual(i, norm);
      const double above = std::abs(r.value) - p_.tube, h = r.value > 0 ? p_.upper[i] : -p_.lower[i], e = r.error;
      if (above + e <= 0) continue;
      // with a residual near zero and no tube the other side may be the larger one
      const double other = r.value > 0 ? -p_.lower[i] : p_.upper[i];
      const double crossing = e - std::abs(r.value) - p_.tube;
      double largest = loss(above + e, h, p_.ridge[i]);
      if (crossing > 0) largest = std::max(largest, loss(crossing, other, p_.ridge[i]));
      sum.add(largest);
      inflation += largest - loss(std::max(0.0, above), h, p_.ridge[i]);
      error += (2 * p_.bounds_error + 6 * u) * (largest + (p_.ridge[i] > 0 && std::isfinite(h) ? p_.ridge[i] * h * h : 0));
    }
    error = 1.001 * (error + sum.error());
    found.upper = error > 0 ? std::nextafter(sum.value() + error, kInf) : sum.value();
    found.rounding += inflation + error;
  }

  // ---- lower bound ---------------------------------------------------------------------------------------------

  double safe_lower(std::size_t i) const { return p_.lower[i] * (1 - p_.bounds_error); }  // lower ≤ 0 ≤ upper
  double safe_upper(std::size_t i) const { return p_.upper[i] * (1 - p_.bounds_error); }

  BoundedSum deficit() const {
    BoundedSum sum;
    sum.add(p_.total);
    for (double b : beta_) sum.add(-b);
    return sum;
  }

  void add_lower(Bounds& found) const {
    BoundedSum value;
    double error = 0, steps = 0, terms = 0, weighted = 0;  // Σ ‖x_i‖ |step_i|; Σ ‖x_i‖ |β_i|
    double norm = 0;
    for (std::size_t j = 0; j < pass_.sum.size(); ++j) {
      const double c = pass_.sum[j] + pass_.error[j];
      value.add_product(-0.5 * c, c), norm += c * c;
    }
    norm = std::sqrt(norm);
    BoundedSum total;
    for (std::size_t i = 0; i < n_; ++i) {
      const double b = std::clamp(beta_[i], safe_lower(i), safe_upper(i)), square = 0.5 * p_.ridge[i] * b * b;
      weighted += pass_.norm[i] * std::abs(beta_[i]);
      steps += pass_.norm[i] * std::abs(b - beta_[i]);
      if (b != 0) total.add(b);
      if (b != 0) {
        const double linear = p_.target[i] * b, tube = p_.tube * std::abs(b);
        value.add((linear - tube) - square);
        error += square * (p_.bounds_error + 6 * u) + 3 * u * (std::abs(linear) + tube);
        terms += std::abs(linear) + tube + square;
      }
      if (const double width = p_.upper[i] - p_.lower[i]; std::isfinite(width))
        terms += kShareOfBox * width * (std::abs(p_.target[i]) + p_.tube);
    }
    // rounded products β x and compensated sums: 2 u Σ |β_i| ‖x_i‖ in norm
    const double count = static_cast<double>(n_);
    const double rounded = accurate_ ? 0 : static_cast<double>(kSummedRows + 4) * u;
    const double wrong = 1.01 * ((rounded + 4 * count * u * count * u) * weighted + u * norm + steps);
    error += wrong * (norm + 0.5 * wrong);
    if (p_.offset == Offset::penalized) {
      const double s = p_.offset_scale * (std::abs(total.value()) + total.error());
      value.add(-0.5 * s * s);
      error += 4 * u * s * s;
    }
    double cost = 0;
    if (p_.offset == Offset::free) cost = cost_of_deficit(total, norm + wrong);
    if (!std::isfinite(cost)) return;
    found.scale = terms + 0.5 * weighted * weighted;
    error = 1.001 * (error + cost) + value.error();
    found.lower = error > 0 ? std::nextafter(value.value() - error, -kInf) : value.value();
    found.rounding += error;
  }

  // Bound on the decrease of the dual objective by an exact correction of the sum of β: a sample increases it and
  // another one decreases it, each by at most twice the deficit.
  double cost_of_deficit(const BoundedSum& total, double norm) const {
    BoundedSum rest = total;
    rest.add(-p_.total);
    const double missing = std::abs(rest.value()) + rest.error() + p_.totals_error * std::abs(p_.total);
    if (missing == 0) return 0;
    double cost = 0;
    for (const double side : {1.0, -1.0}) {
      double smallest = kInf;
      for (std::size_t i = 0; i < n_; ++i) {
        const double b = std::clamp(beta_[i], safe_lower(i), safe_upper(i));
        const double slack = side > 0 ? safe_upper(i) - b : b - safe_lower(i);
        if (!(slack >= 2 * missing)) continue;
        const double slope = std::abs(p_.target[i]) + p_.tube + pass_.norm[i] * norm + p_.ridge[i] * (std::abs(b) + missing);
        smallest = std::min(smallest, 2 * missing * (slope + 2 * missing * pass_.norm[i] * pass_.norm[i]));
      }
      cost += smallest;
    }
    return cost;
  }

  const LinearBoundedProblem& p_;
  Span<const double> w_;
  const double b_;
  Span<const double> beta_;
  const std::size_t n_;
  const bool accurate_;
  const Pass pass_;
  const double features_;
};

}  // namespace

Bounds certified_linear_bounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                               Span<const double> beta, bool accurate) {
  return LinearBounds(problem, weights, offset, beta, accurate).run();
}

}  // namespace hinge
