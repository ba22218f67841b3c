// linear_bounds.cpp: see linear_bounds.hpp.
#include "hinge/certificate/linear_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "certificate/loops.hpp"
#include "numeric/bounded_sum.hpp"

namespace hinge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kShareOfBox = 0.01;  // of |target| times the width of the box, in the size of the terms
constexpr std::size_t kSummedRows = 128;  // rows whose sum is computed without compensation
constexpr std::size_t kChunk = 512;       // samples whose terms are summed without compensation, in four partial sums
constexpr std::size_t kMaxCandidates = 256;  // samples that are considered for the correction of a deficit

// sum += value, with the rounding error added to `error`.
inline void compensated_add(double& sum, double& error, double value) {
  const double next = sum + value, part = next - sum;
  error += (sum - (next - part)) + (value - part);
  sum = next;
}

template <class T, class Take>
void for_each_value(const Dense<T>& s, std::size_t i, Take take) {
  for (std::size_t j = 0; j < s.features; ++j) take(j, static_cast<double>(s.row(i)[j]));
}
template <class T, class I, class Take>
void for_each_value(const Csr<T, I>& s, std::size_t i, Take take) {
  for (I k = s.start[i]; k < s.start[i + 1]; ++k)
    take(static_cast<std::size_t>(s.index[k]), static_cast<double>(s.values[k]));
}

double norm_of(const Samples& samples, std::size_t i) {
  double square = 0;
  std::visit([&](const auto& s) { for_each_value(s, i, [&](std::size_t, double value) { square += value * value; }); },
             samples);
  return std::sqrt(square);
}

// ⟨w, x_i⟩ with its rounding error, and ‖x_i‖, of the samples of a chunk.
struct Products {
  double f[kChunk], rest[kChunk], norm[kChunk];
};

double largest_value(const float* x, std::size_t n) { return certificate_loops().largest_float(x, n); }
double largest_value(const double* x, std::size_t n) { return certificate_loops().largest_double(x, n); }

// Bound on the norms of all samples, from the largest value and the longest row.
template <class T>
double norm_bound(const Dense<T>& s, double& longest) {
  longest = static_cast<double>(s.features);
  return std::sqrt(longest) * largest_value(s.values, s.rows * s.features);
}
template <class T, class I>
double norm_bound(const Csr<T, I>& s, double& longest) {
  I most = 0;
  for (std::size_t i = 0; i < s.rows; ++i) most = std::max<I>(most, s.start[i + 1] - s.start[i]);
  longest = static_cast<double>(most);
  return std::sqrt(longest) * largest_value(s.values, static_cast<std::size_t>(s.start[s.rows]));
}

// One pass over the samples, in chunks: the products of the chunk, and Σ β_i x_i over all chunks so far.
class Pass {
 public:
  Pass(const Samples& samples, Span<const double> w, Span<const double> beta)
      : samples_(samples), w_(w), beta_(beta), sum_(w.size(), 0.0), error_(w.size(), 0.0), part_(w.size()) {}

  // In twice the precision if `accurate`.
  void visit(std::size_t first, std::size_t last, bool accurate, Products& products) {
    std::visit([&](const auto& s) { accurate ? run_accurately(s, first, last, products) : run(s, first, last, products); },
               samples_);
  }

  double combined(std::size_t j) const { return sum_[j] + error_[j]; }  // component of Σ β_i x_i
  // Number of additions without compensation in a component, and of other roundings.
  double rounded_additions() const {
    const std::size_t longest = is_sparse(samples_) ? rows(samples_) : kSummedRows;
    return static_cast<double>(longest + 4);
  }

 private:
  template <class Storage>
  void run_accurately(const Storage& s, std::size_t first, std::size_t last, Products& products) {
    for (std::size_t i = first; i < last; ++i) {
      double f = 0, rest = 0, norm = 0;
      for_each_value(s, i, [&](std::size_t j, double value) {
        const double product = value * w_[j];
        compensated_add(f, rest, product);
        rest += std::fma(value, w_[j], -product);
        norm += value * value;
        if (beta_[i] == 0) return;
        const double part = beta_[i] * value;
        compensated_add(sum_[j], error_[j], part);
        error_[j] += std::fma(beta_[i], value, -part);
      });
      products.f[i - first] = f, products.rest[i - first] = rest, products.norm[i - first] = std::sqrt(norm);
    }
  }

  template <class T>
  void run(const Dense<T>& s, std::size_t first, std::size_t last, Products& products) {
    const CertificateLoops& loops = certificate_loops();
    for (std::size_t start = first; start < last; start += kSummedRows) {
      const std::size_t count = std::min(kSummedRows, last - start), k = start - first;
      std::fill(part_.begin(), part_.end(), 0.0);
      const auto pass = [&](auto loop) {
        loop(s.row(start), count, s.features, w_.data(), beta_.data() + start, products.f + k, products.norm + k,
             part_.data());
      };
      if constexpr (std::is_same_v<T, double>) pass(loops.rows_double);
      else pass(loops.rows_float);
      for (std::size_t j = 0; j < s.features; ++j) compensated_add(sum_[j], error_[j], part_[j]);
    }
  }

  template <class T, class I>
  void run(const Csr<T, I>& s, std::size_t first, std::size_t last, Products& products) {
    for (std::size_t i = first; i < last; ++i) {
      double dot = 0, square = 0;
      for (I k = s.start[i]; k < s.start[i + 1]; ++k) {
        const double value = static_cast<double>(s.values[k]);
        dot += value * w_[static_cast<std::size_t>(s.index[k])], square += value * value;
      }
      products.f[i - first] = dot, products.norm[i - first] = std::sqrt(square);
      if (beta_[i] == 0) continue;
      for (I k = s.start[i]; k < s.start[i + 1]; ++k)
        sum_[static_cast<std::size_t>(s.index[k])] += beta_[i] * static_cast<double>(s.values[k]);
    }
  }

  const Samples& samples_;
  Span<const double> w_, beta_;
  std::vector<double> sum_, error_;  // Σ β_i x_i and its compensation
  std::vector<double> part_;         // Σ β_i x_i of a few dense rows
};

// The sums over all samples that both bounds consist of.
struct Totals {
  BoundedSum losses, dual, beta;  // the sums of LinearSums with bounds on their errors; `beta` is the sum of β
  double plain = 0;               // relative error of plain sums
  LinearSums sums;                // the others

  void add(const LinearSums& part) {
    losses.add(part.losses), dual.add(part.dual), beta.add(part.total);
    sums.losses += part.losses, sums.inflation += part.inflation, sums.loss_sizes += part.loss_sizes;
    sums.squares += part.squares, sums.linear += part.linear, sums.boxes += part.boxes;
    sums.magnitude += part.magnitude, sums.weighted += part.weighted, sums.moved += part.moved;
    sums.violation = larger(part.violation, sums.violation), sums.outside = larger(part.outside, sums.outside);
  }

 private:
  static double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }
};

class LinearBounds {
 public:
  LinearBounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset, Span<const double> beta,
               bool accurate)
      : LinearBounds(problem, weights, offset, beta, accurate, nullptr) {
    sum_terms();
  }

  LinearBounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset, Span<const double> beta,
               const LinearProducts& products)
      : LinearBounds(problem, weights, offset, beta, false, &products) {
    sum_known_terms(products);
  }

  Bounds run() {
    Bounds found{kInf, -kInf, 0, 0, 0, 0};
    found.kkt_violation = totals_.sums.violation;
    found.infeasibility = totals_.sums.outside;
    if (p_.offset == Offset::free) found.infeasibility = std::max(found.infeasibility, std::abs(deficit().value()));
    add_upper(found);
    add_lower(found);
    if (std::isnan(found.upper)) found.upper = found.kkt_violation = kInf;
    if (std::isnan(found.lower)) found.lower = -kInf;
    return found;
  }

 private:
  static constexpr double u = kUnitRoundoff;

  LinearBounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset, Span<const double> beta,
               bool accurate, const LinearProducts* known)
      : p_(problem), w_(weights), b_(offset), beta_(beta), n_(beta.size()), accurate_(accurate), known_(known),
        features_(static_cast<double>(weights.size())),
        norm_(std::sqrt(certificate_loops().squares(weights.data(), weights.size()))) {
    if (known == nullptr) pass_.emplace(problem.samples, weights, beta);
  }

  // ---- sums over the samples -----------------------------------------------------------------------------------

  // Chunks of plain sums in four lanes have the relative error of kChunk / 4 additions, the sum of the lanes and the
  // operations of a term.  Accurate sums are compensated.
  void sum_terms() {
    const auto products = std::make_unique<Products>();
    if (!accurate_) totals_.plain = static_cast<double>(kChunk / 4 + 8) * u;
    for (std::size_t first = 0; first < n_; first += kChunk) {
      const std::size_t last = std::min(n_, first + kChunk);
      pass_->visit(first, last, accurate_, *products);
      if (accurate_) {
        for (std::size_t i = first; i < last; ++i) totals_.add(accurate_terms(i, *products, i - first));
      } else {
        add_chunk(first, last, products->f, products->norm, (features_ + 2) * u * norm_);
      }
    }
  }

  void sum_known_terms(const LinearProducts& products) {
    double longest = 0;
    const double norm = 1.001 * std::visit([&](const auto& s) { return norm_bound(s, longest); }, p_.samples);
    const std::vector<double> norms(kChunk, norm);
    totals_.plain = static_cast<double>(kChunk / 4 + 8) * u;
    for (std::size_t first = 0; first < n_; first += kChunk)
      add_chunk(first, std::min(n_, first + kChunk), products.f.data() + first, norms.data(),
                (longest + 8) * u * products.reach);
    f_error_ = (longest + 8) * u * products.reach * norm;
  }

  void add_chunk(std::size_t first, std::size_t last, const double* f, const double* norm, double product_error) {
    const LinearTerms terms{p_.target.data() + first, p_.lower.data() + first, p_.upper.data() + first,
                            p_.ridge.data() + first,  beta_.data() + first,    f,
                            norm,                     b_,                      p_.tube,
                            product_error,            1 - p_.bounds_error,     known_ ? 1.0 : 0.0};
    totals_.add(certificate_loops().terms(terms, last - first));
  }


  LinearSums accurate_terms(std::size_t i, const Products& products, std::size_t k) const {
    LinearSums s;
    const double ridge = p_.ridge[i], b = beta_[i];
    const Residual r = residual(p_.target[i], products.f[k], products.rest[k], products.norm[k]);
    const double above = std::abs(r.value) - p_.tube, h = r.value > 0 ? p_.upper[i] : -p_.lower[i], e = r.error;
    if (above + e > 0) {
      // with a residual near zero and no tube the other side may be the larger one
      const double other = r.value > 0 ? -p_.lower[i] : p_.upper[i];
      const double crossing = e - std::abs(r.value) - p_.tube;
      s.losses = loss(above + e, h, ridge);
      if (crossing > 0) s.losses = std::max(s.losses, loss(crossing, other, ridge));
      s.inflation = s.losses - loss(std::max(0.0, above), h, ridge);
      s.loss_sizes = s.losses + (ridge > 0 && std::isfinite(h) ? ridge * h * h : 0);
    }
    const double slope = ridge * b - r.value;
    const double right = slope + (b >= 0 ? p_.tube : -p_.tube), left = slope + (b > 0 ? p_.tube : -p_.tube);
    s.violation = std::max(b < p_.upper[i] ? -right : 0.0, b > p_.lower[i] ? left : 0.0);
    s.outside = std::max(p_.lower[i] - b, b - p_.upper[i]);

    const double x = in_box(i);
    s.total = x, s.magnitude = std::abs(x);
    s.squares = 0.5 * ridge * x * x;
    const double product = p_.target[i] * x, tube = p_.tube * std::abs(x);
    s.dual = (product - tube) - s.squares;
    s.linear = std::abs(product) + tube;
    if (const double width = p_.upper[i] - p_.lower[i]; std::isfinite(width))
      s.boxes = width * (std::abs(p_.target[i]) + p_.tube);
    s.weighted = products.norm[k] * std::abs(b), s.moved = products.norm[k] * std::abs(x - b);
    return s;
  }

  // target − f − b in twice the precision, and its error; `rest` is the rounding error of f = ⟨w, x⟩.
  struct Residual {
    double value, error;
  };
  Residual residual(double target, double f, double rest, double norm) const {
    const double size = std::abs(target) + std::abs(f) + std::abs(b_) + p_.tube;
    double high = target, low = -rest;
    compensated_add(high, low, -f);
    compensated_add(high, low, -b_);
    const double squares = (features_ + 4) * u * (features_ + 4) * u;
    const double found = high + low;
    return {found, 1.01 * (squares * (norm_ * norm + size) + u * (std::abs(found) + p_.tube))};
  }

  // The loss for an excess of s ≥ 0 over the tube and the bound h on |β|; increasing in s.
  static double loss(double s, double h, double ridge) {
    if (s == 0) return 0;
    if (ridge > 0 && s <= h * ridge) return 0.5 * s * (s / ridge);
    return h * s - 0.5 * ridge * h * h;
  }

  // β_i in its box without the rounding error of the bounds; lower ≤ 0 ≤ upper.
  double safe_lower(std::size_t i) const { return p_.lower[i] * (1 - p_.bounds_error); }
  double safe_upper(std::size_t i) const { return p_.upper[i] * (1 - p_.bounds_error); }
  double in_box(std::size_t i) const { return std::clamp(beta_[i], safe_lower(i), safe_upper(i)); }

  // ---- bounds --------------------------------------------------------------------------------------------------

  // Adds ½‖w‖², computed in chunks of plain sums if the other sums are.
  void add_half_square(BoundedSum& sum, double& error) const {
    if (accurate_) {
      for (double w : w_) sum.add_product(0.5 * w, w);
      return;
    }
    for (std::size_t first = 0; first < w_.size(); first += kChunk)
      sum.add(0.5 * certificate_loops().squares(w_.data() + first, std::min(kChunk, w_.size() - first)));
    error += 0.5 * totals_.plain * norm_ * norm_ * 1.01 + features_ * std::numeric_limits<double>::min();
  }

  void add_upper(Bounds& found) const {
    BoundedSum sum = totals_.losses;
    double error = 0;
    add_half_square(sum, error);
    const double offset = p_.total * b_;
    sum.add(offset);
    error += std::abs(offset) * (p_.totals_error + 2 * u);
    if (p_.offset == Offset::penalized) {
      const double penalty = 0.5 * (b_ / p_.offset_scale) * (b_ / p_.offset_scale);
      sum.add(penalty);
      error += 6 * u * penalty;
    }
    error += (2 * p_.bounds_error + 6 * u) * totals_.sums.loss_sizes + totals_.plain * totals_.sums.losses;
    error = 1.001 * (error + sum.error());
    found.upper = error > 0 ? std::nextafter(sum.value() + error, kInf) : sum.value();
    found.rounding += totals_.sums.inflation + error;
  }

  // Adds −½‖Xᵀβ‖² to the value; returns ‖Xᵀβ‖ and adds the error.
  double add_norm(BoundedSum& value, double& error) const {
    const LinearSums& sums = totals_.sums;
    double norm = 0;
    for (std::size_t j = 0; j < w_.size(); ++j) {
      const double c = pass_->combined(j);
      value.add_product(-0.5 * c, c), norm += c * c;
    }
    norm = std::sqrt(norm);
    // rounded products β x and compensated sums: 2 u Σ |β_i| ‖x_i‖ in norm
    const double count = static_cast<double>(n_), rounded = accurate_ ? 0 : pass_->rounded_additions() * u;
    const double wrong = 1.01 * ((rounded + 4 * count * u * count * u) * sums.weighted + u * norm + sums.moved);
    error += wrong * (norm + 0.5 * wrong);
    return norm + wrong;
  }

  // The same from −½‖Xᵀβ‖² = ½‖w‖² − Σ f β − ½‖w − Xᵀβ‖²; the sum is part of the value already.   (621)
  double add_known_norm(BoundedSum& value, double& error) const {
    const LinearSums& sums = totals_.sums;
    add_half_square(value, error);
    error += 1.01 * f_error_ * sums.magnitude;
    const double distance = known_->distance, rounded = static_cast<double>(n_ + 8) * u;
    const double wrong = 1.01 * (rounded * sums.weighted + sums.moved + u * distance);
    value.add_product(-0.5 * distance, distance);
    error += wrong * (distance + 0.5 * wrong);
    return norm_ + distance + wrong;
  }

  void add_lower(Bounds& found) const {
    const LinearSums& sums = totals_.sums;
    BoundedSum value = totals_.dual;
    double error = sums.squares * (p_.bounds_error + 6 * u) + 4 * u * sums.linear;
    error += totals_.plain * (sums.squares + sums.linear);
    const double norm = known_ ? add_known_norm(value, error) : add_norm(value, error);
    if (p_.offset == Offset::penalized) {
      const double s = p_.offset_scale * (std::abs(totals_.beta.value()) + totals_.beta.error() + plain_error());
      value.add(-0.5 * s * s);
      error += 4 * u * s * s;
    }
    double cost = 0;
    if (p_.offset == Offset::free) cost = cost_of_deficit(norm);
    if (!std::isfinite(cost)) return;
    found.scale = sums.linear + sums.squares + kShareOfBox * sums.boxes + 0.5 * sums.weighted * sums.weighted;
    error = 1.001 * (error + cost) + value.error();
    found.lower = error > 0 ? std::nextafter(value.value() - error, -kInf) : value.value();
    found.rounding += error;
  }

  // Σ β − total.
  BoundedSum deficit() const {
    BoundedSum rest = totals_.beta;
    rest.add(-p_.total);
    return rest;
  }
  double plain_error() const { return 1.001 * totals_.plain * totals_.sums.magnitude; }  // of Σ β

  // Bound on the decrease of the dual objective by an exact correction of the sum of β: a sample increases it and
  // another one decreases it, each by at most twice the deficit.  Any samples with enough slack give a bound; the best
  // ones of a few are taken.
  double cost_of_deficit(double norm) const {
    const BoundedSum rest = deficit();
    const double rounded = rest.error() + plain_error();
    const double missing = std::abs(rest.value()) + rounded + p_.totals_error * std::abs(p_.total);
    if (missing == 0) return 0;
    double cost = 0;
    for (const double side : {1.0, -1.0}) {
      double smallest = kInf;
      std::size_t candidates = 0;
      for (std::size_t i = 0; i < n_ && candidates < kMaxCandidates; ++i) {
        const double b = in_box(i), slack = side > 0 ? safe_upper(i) - b : b - safe_lower(i);
        if (!(slack >= 2 * missing)) continue;
        ++candidates;
        const double size = 1.001 * norm_of(p_.samples, i);
        const double slope = std::abs(p_.target[i]) + p_.tube + size * norm + p_.ridge[i] * (std::abs(b) + missing);
        smallest = std::min(smallest, 2 * missing * (slope + 2 * missing * size * size));
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
  const LinearProducts* const known_;  // or nullptr
  std::optional<Pass> pass_;  // unless the products are known
  const double features_;
  const double norm_;   // ‖w‖
  double f_error_ = 0;  // bound on the error of known products ⟨w, x_i⟩
  Totals totals_;
};

}  // namespace

Bounds certified_linear_bounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                               Span<const double> beta, bool accurate) {
  return LinearBounds(problem, weights, offset, beta, accurate).run();
}

Bounds certified_linear_bounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                               Span<const double> beta, const LinearProducts& products) {
  return LinearBounds(problem, weights, offset, beta, products).run();
}

}  // namespace hinge
