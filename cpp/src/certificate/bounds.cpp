// bounds.cpp: see bounds.hpp.
#include "hinge/certificate/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "hinge/certificate/bounded_sum.hpp"

namespace hinge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNearBound = 1e-10;  // a variable closer to a bound than this fraction of its box is at the bound
constexpr double kShareOfBox = 0.01;  // of |p_v| times the width of the box, in the size of the terms
constexpr int kMaxCorrections = 4;    // steps towards the equality rows before the rest is bounded

double rounded_up(double value) { return std::nextafter(value, kInf); }
double rounded_down(double value) { return std::nextafter(value, -kInf); }

class BoundsOf {
 public:
  BoundsOf(const BoundedProblem& problem, const BoundedPoint& point)
      : p_(problem), x_(point), size_(problem.linear.size()), row_part_(size_, 0.0), row_size_(size_, 0.0) {
    for (std::size_t k = 0; k < p_.totals.size(); ++k)
      for (std::size_t v = 0; v < size_; ++v) {
        const double part = row(k)[v] * x_.mu[k];
        row_part_[v] += part, row_size_[v] += std::abs(part);
      }
    for (std::size_t v = 0; v < size_; ++v) {
      curvature_.add_product(x_.alpha[v], x_.gradient[v]);
      curvature_.add_product(-x_.alpha[v], p_.linear[v]);
      curvature_error_ += std::abs(x_.alpha[v]) * gradient_error(v);
      sum_ += std::abs(x_.alpha[v]);
    }
  }

  Bounds run() {
    Bounds found{kInf, -kInf, 0, 0, 0, 0, 0};
    conditions(found);
    const double factor = scaling();
    if (std::isfinite(factor)) add_upper(found, factor);
    add_lower(found);
    if (std::isnan(found.upper)) found.upper = kInf;
    if (std::isnan(found.lower)) found.lower = -kInf;
    return found;
  }

 private:
  const double* row(std::size_t k) const { return p_.rows.data() + k * size_; }
  double ridge(std::size_t v) const { return p_.ridge.empty() ? 0 : p_.ridge[v]; }
  bool is_unbounded(double bound, std::size_t v) const { return std::isinf(bound) && ridge(v) == 0; }

  // Error of gradient[v] as Qα + p, including the rounding of p.
  double gradient_error(std::size_t v) const {
    const double given = x_.error.size() == 1 ? x_.error[0] : x_.error[v];
    return given + kUnitRoundoff * (std::abs(x_.gradient[v]) + 2 * std::abs(p_.linear[v]));
  }

  // r_v = t (Qα + Aᵀμ)_v + p_v and its error.
  struct Residual {
    double value, error;
  };
  Residual residual(std::size_t v, double t) const {
    const double g = x_.gradient[v], p = p_.linear[v];
    const double error = 1.001 * (t * gradient_error(v) +
                                  4 * kUnitRoundoff * (t * (std::abs(g) + row_size_[v]) + (t + 1) * std::abs(p)));
    return {t == 1 ? g + row_part_[v] : t * ((g - p) + row_part_[v]) + p, error};
  }

  // ---- optimality conditions -----------------------------------------------------------------------------------

  void conditions(Bounds& found) const {
    double linear = 0;
    for (std::size_t v = 0; v < size_; ++v) {
      const double width = p_.upper[v] - p_.lower[v], near = kNearBound * (std::isfinite(width) ? width : 1.0);
      const double slope = x_.gradient[v] + row_part_[v] + ridge(v) * x_.alpha[v], a = x_.alpha[v];
      const double violation = std::max(a < p_.upper[v] - near ? -slope : 0.0, a > p_.lower[v] + near ? slope : 0.0);
      if (violation > found.kkt_violation || std::isnan(violation)) found.kkt_violation = violation;
      found.infeasibility = std::max({found.infeasibility, p_.lower[v] - a, a - p_.upper[v]});
      if (std::isinf(p_.upper[v]) && ridge(v) == 0) found.infeasibility = std::max(found.infeasibility, -slope);
      if (std::isinf(p_.lower[v]) && ridge(v) == 0) found.infeasibility = std::max(found.infeasibility, slope);
      linear += std::abs(p_.linear[v] * a);
      const double size = std::abs(p_.linear[v]);
      if (std::isfinite(width)) linear += kShareOfBox * width * size;
      else if (ridge(v) > 0) linear += kShareOfBox * size * size / ridge(v);  // the loss of the null model
    }
    for (std::size_t k = 0; k < p_.totals.size(); ++k)
      found.infeasibility = std::max(found.infeasibility, std::abs(deficit(k, x_.alpha).value()));
    // Totals that are not zero determine Σ|α|.  Otherwise Σ|α| can be large only because variables cancel.
    bool is_determined = linear == 0;
    for (const double total : p_.totals) is_determined = is_determined || total != 0;
    found.scale = linear + (is_determined ? 0.5 * p_.largest_diagonal * sum_ * sum_ : 0.0);
  }

  // ---- upper bound: ½ t² αᵀQα + t μᵀd + Σ φ_v(r_v), docs/math (600), (601) ---------------------------------------------

  // The smallest t ≥ 1 for which no r_v points to an infinite bound; infinite if no t has this property.
  double scaling() const {
    double t = 1;
    for (std::size_t v = 0; v < size_; ++v)
      for (const double side : {1.0, -1.0}) {
        if (!is_unbounded(side > 0 ? p_.upper[v] : p_.lower[v], v)) continue;
        const Residual r = residual(v, t);
        if (side * r.value >= r.error) continue;
        // t (side · w − error) ≥ −side · p
        const double w = side * ((x_.gradient[v] - p_.linear[v]) + row_part_[v]), error = 3 * r.error / t;
        if (!(w > error)) return kInf;
        t = std::max(t, (1 + 1e-12) * (-side * p_.linear[v] + error) / (w - error));
      }
    return points_to_finite_bounds(t) ? t : kInf;
  }

  bool points_to_finite_bounds(double t) const {
    for (std::size_t v = 0; v < size_; ++v) {
      const Residual r = residual(v, t);
      if (is_unbounded(p_.upper[v], v) && !(r.value >= r.error)) return false;
      if (is_unbounded(p_.lower[v], v) && !(-r.value >= r.error)) return false;
    }
    return true;
  }

  // φ_v(r) = max over l ≤ x ≤ u of −r x − ½ ridge x², and the size of its terms.
  struct Conjugate {
    double value, size;
  };
  Conjugate conjugate(std::size_t v, double r) const {
    const double curvature = ridge(v), lower = p_.lower[v], upper = p_.upper[v];
    if (curvature > 0) {
      const double inside = -r / curvature;
      if (inside >= lower && inside <= upper) return {0.5 * r * (r / curvature), 0.5 * r * (r / curvature)};
    } else if (r == 0) {
      return {0, 0};
    }
    const double x = r > 0 ? lower : upper, linear = -r * x, square = 0.5 * curvature * x * x;
    if (std::isinf(x)) return {kInf, 0};
    return {linear - square, std::abs(linear) + square};
  }

  void add_upper(Bounds& found, double t) const {
    BoundedSum sum;
    double inflation = 0;  // by the error of r
    double error = 0.5 * t * t * (curvature_.error() + curvature_error_);
    const double quadratic = 0.5 * t * t * curvature_.value();
    sum.add(quadratic);
    error += 4 * kUnitRoundoff * std::abs(quadratic);
    for (std::size_t k = 0; k < p_.totals.size(); ++k) {
      const double part = t * x_.mu[k] * p_.totals[k];
      sum.add(part);
      error += std::abs(part) * (p_.totals_error + 3 * kUnitRoundoff);
    }
    for (std::size_t v = 0; v < size_; ++v) {
      const Residual r = residual(v, t);  // φ is convex: its largest value for r ± error is at an end
      const Conjugate low = conjugate(v, r.value - r.error), high = conjugate(v, r.value + r.error);
      const double largest = std::max(low.value, high.value);
      sum.add(largest);
      inflation += largest - conjugate(v, r.value).value;
      error += (2 * p_.bounds_error + 4 * kUnitRoundoff) * std::max(low.size, high.size);
    }
    error = 1.001 * (error + sum.error());
    found.upper = error > 0 ? rounded_up(sum.value() + error) : sum.value();
    found.rounding += inflation + error;
  }

  // ---- lower bound: the objective at a feasible point x near α, docs/math (602) ----------------------------

  // d_k − A_k x
  BoundedSum deficit(std::size_t k, Span<const double> x) const {
    BoundedSum sum;
    sum.add(p_.totals[k]);
    for (std::size_t v = 0; v < size_; ++v)
      if (row(k)[v] != 0) sum.add_product(-row(k)[v], x[v]);
    return sum;
  }

  // The box without the rounding errors of its bounds.
  double safe_lower(std::size_t v) const {
    const double bound = p_.lower[v];
    return std::isinf(bound) ? bound : bound + p_.bounds_error * std::abs(bound);
  }
  double safe_upper(std::size_t v) const {
    const double bound = p_.upper[v];
    return std::isinf(bound) ? bound : bound - p_.bounds_error * std::abs(bound);
  }

  double slope(std::size_t v) const { return x_.gradient[v] + ridge(v) * x_.alpha[v]; }

  // The variable of row k that can move by `slack` in the direction that increases (side = 1) or decreases the sum of
  // the row, with the smallest residual; size_ if no variable can.
  std::size_t candidate(std::size_t k, double side, double slack, const std::vector<double>& x) const {
    std::size_t best = size_;
    double smallest = kInf;
    for (std::size_t v = 0; v < size_; ++v) {
      const double a = row(k)[v];
      if (a == 0 || in_other_row(k, v)) continue;
      const bool rises = a * side > 0;
      const double free = rises ? safe_upper(v) - x[v] : x[v] - safe_lower(v);
      if (!(free * std::abs(a) >= slack && free > 0)) continue;
      const double r = std::abs(slope(v) + row_part_[v]) + gradient_error(v);
      if (r < smallest) smallest = r, best = v;
    }
    return best;
  }

  bool in_other_row(std::size_t k, std::size_t v) const {
    for (std::size_t other = 0; other < p_.totals.size(); ++other)
      if (other != k && row(other)[v] != 0) return true;
    return false;
  }

  // Moves x towards row k; several variables take part if a single one cannot move far enough.
  void correct(std::size_t k, std::vector<double>& x) const {
    for (int step = 0; step < kMaxCorrections; ++step) {
      const double missing = deficit(k, x).value();
      if (missing == 0) return;
      const double side = missing > 0 ? 1 : -1;
      if (const std::size_t v = candidate(k, side, 2 * std::abs(missing), x); v < size_) {
        x[v] += missing / row(k)[v];
      } else if (!correct_by_many(k, side, std::abs(missing), x)) {
        return;
      }
    }
  }

  bool correct_by_many(std::size_t k, double side, double missing, std::vector<double>& x) const {
    std::vector<std::size_t> order;
    for (std::size_t v = 0; v < size_; ++v)
      if (row(k)[v] != 0 && !in_other_row(k, v)) order.push_back(v);
    const auto cost = [&](std::size_t v) { return std::abs(slope(v) + row_part_[v]); };
    std::sort(order.begin(), order.end(), [&](std::size_t v, std::size_t w) { return cost(v) < cost(w); });
    bool moved = false;
    for (std::size_t v : order) {
      const double a = row(k)[v], free = a * side > 0 ? safe_upper(v) - x[v] : x[v] - safe_lower(v);
      const double length = std::min(free, missing / std::abs(a));
      if (!(length > 0)) continue;
      x[v] += a * side > 0 ? length : -length;
      x[v] = std::clamp(x[v], safe_lower(v), safe_upper(v));
      missing -= length * std::abs(a), moved = true;
      if (!(missing > 0)) break;
    }
    return moved;
  }

  // Bound on the increase of the objective by an exact correction of row k at x, whose deficit is at most `missing`: one
  // variable increases the sum of the row, another decreases it.  Infinite if there are no such variables.
  double remaining_cost(std::size_t k, double missing, const std::vector<double>& x, double& moved) const {
    if (missing == 0) return 0;
    double cost = 0;
    for (const double side : {1.0, -1.0}) {
      const std::size_t v = candidate(k, side, 2 * missing, x);
      if (v == size_) return kInf;
      const double length = 2 * missing / std::abs(row(k)[v]);
      cost += length * (std::abs(slope(v)) + gradient_error(v) + ridge(v) * (std::abs(x[v] - x_.alpha[v]) + length));
      moved += length;
    }
    return cost;
  }

  void add_lower(Bounds& found) const {
    std::vector<double> x(size_);
    for (std::size_t v = 0; v < size_; ++v) {
      const double low = safe_lower(v), high = safe_upper(v);
      x[v] = low <= high ? std::clamp(x_.alpha[v], low, high) : x_.alpha[v];
    }
    const bool shared = rows_share_variables();
    double cost = 0, moved = 0;
    for (std::size_t k = 0; k < p_.totals.size(); ++k) {
      if (shared) break;
      correct(k, x);
    }
    if (shared) correct_shared(x);
    for (std::size_t k = 0; k < p_.totals.size(); ++k) {
      const BoundedSum rest = deficit(k, x);
      const double missing = std::abs(rest.value()) + rest.error() + p_.totals_error * std::abs(p_.totals[k]);
      cost += shared ? shared_cost(missing, x, moved) : remaining_cost(k, missing, x, moved);
    }
    if (!std::isfinite(cost)) return;

    // −D(x) = −D(α) − ∇D(α)ᵀ(x − α) − ½ (x − α)ᵀ(Q + ridge)(x − α)
    BoundedSum value;
    double error = 0.5 * (curvature_.error() + curvature_error_) + 2 * kUnitRoundoff * std::abs(curvature_.value());
    value.add(-0.5 * curvature_.value());
    double length = moved, ridge_cost = 0;
    for (std::size_t v = 0; v < size_; ++v) {
      const double alpha = x_.alpha[v], step = x[v] - alpha, p = p_.linear[v];
      value.add_product(-p, alpha);
      error += 2 * kUnitRoundoff * std::abs(p * alpha);
      if (const double d = ridge(v); d > 0) {
        const double square = 0.5 * d * alpha * alpha;
        value.add(-square);
        error += square * (p_.bounds_error + 4 * kUnitRoundoff);
      }
      if (step == 0) continue;
      value.add(-step * slope(v));
      error += std::abs(step) * (gradient_error(v) + 6 * kUnitRoundoff * (std::abs(slope(v)) + ridge(v) * std::abs(alpha)));
      length += std::abs(step), ridge_cost += 0.5 * ridge(v) * step * step;
    }
    const double quadratic = 0.5 * p_.largest_diagonal * length * length + ridge_cost;
    error = 1.001 * (error + cost) + value.error();
    const double below = 1.001 * quadratic + error;
    found.lower = below > 0 ? rounded_down(value.value() - below) : value.value();
    found.rounding += error;
    found.moved = 1.001 * length;
  }

  // ---- two rows with common variables ---------------------------------------------------------------------------

  bool rows_share_variables() const {
    if (p_.totals.size() < 2) return false;
    for (std::size_t v = 0; v < size_; ++v)
      if (row(0)[v] != 0 && row(1)[v] != 0) return true;
    return false;
  }

  // Two variables far from their bounds whose columns of A are independent.
  bool pair_of_columns(const std::vector<double>& x, std::size_t& i, std::size_t& j, double& determinant) const {
    double best = 0;
    i = j = size_;
    const auto slack = [&](std::size_t v) { return std::min(x[v] - safe_lower(v), safe_upper(v) - x[v]); };
    for (std::size_t v = 0; v < size_; ++v)
      if (slack(v) > best) best = slack(v), i = v;
    best = 0;
    for (std::size_t v = 0; i < size_ && v < size_; ++v) {
      const double det = row(0)[i] * row(1)[v] - row(1)[i] * row(0)[v];
      const double size = std::abs(row(0)[i] * row(1)[v]) + std::abs(row(1)[i] * row(0)[v]);
      if (std::abs(det) > 0.1 * size && slack(v) > best) best = slack(v), j = v, determinant = det;
    }
    return j < size_;
  }

  void correct_shared(std::vector<double>& x) const {
    std::size_t i, j;
    double determinant = 0;
    for (int step = 0; step < kMaxCorrections && pair_of_columns(x, i, j, determinant); ++step) {
      const double first = deficit(0, x).value(), second = deficit(1, x).value();
      const double move_i = (first * row(1)[j] - second * row(0)[j]) / determinant;
      const double move_j = (row(0)[i] * second - row(1)[i] * first) / determinant;
      x[i] = std::clamp(x[i] + move_i, safe_lower(i), safe_upper(i));
      x[j] = std::clamp(x[j] + move_j, safe_lower(j), safe_upper(j));
    }
  }

  double shared_cost(double missing, const std::vector<double>& x, double& moved) const {
    std::size_t i, j;
    double determinant = 0, cost = 0;
    if (missing == 0) return 0;
    if (!pair_of_columns(x, i, j, determinant)) return kInf;
    const double largest = std::max({std::abs(row(0)[i]), std::abs(row(1)[i]), std::abs(row(0)[j]), std::abs(row(1)[j])});
    const double length = 2.001 * missing * largest / std::abs(determinant);
    for (const std::size_t v : {i, j}) {
      if (!(x[v] - safe_lower(v) >= 2 * length && safe_upper(v) - x[v] >= 2 * length)) return kInf;
      cost += length * (std::abs(slope(v)) + gradient_error(v) + ridge(v) * (std::abs(x[v] - x_.alpha[v]) + 2 * length));
      moved += length;
    }
    return cost;
  }

  const BoundedProblem& p_;
  const BoundedPoint& x_;
  const std::size_t size_;
  std::vector<double> row_part_, row_size_;  // (Aᵀμ)_v and the sum of the absolute values of its terms
  BoundedSum curvature_;                     // αᵀQα
  double curvature_error_ = 0, sum_ = 0;     // due to the error of the gradient; Σ|α|
};

}  // namespace

Bounds certified_bounds(const BoundedProblem& problem, const BoundedPoint& point) {
  return BoundsOf(problem, point).run();
}

}  // namespace hinge
