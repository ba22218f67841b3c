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
constexpr double kShareOfSlack = 1e-3;  // of the largest slack: variables with less are used if there are no others
constexpr double kShiftInside = 0x1p-40;  // part of the way by which variables at their bounds are moved inside
constexpr double kMaxDefect = 0.5;    // of an approximate inverse, above which it is not used

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
      if (x_.alpha[v] == 0) continue;
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
      if (row(k)[v] != 0 && x[v] != 0) sum.add_product(-row(k)[v], x[v]);
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
      if (row(k)[v] == 0 || in_other_row(k, v) || !can_move(k, v, side, slack, x)) continue;
      const double r = std::abs(slope(v) + row_part_[v]) + gradient_error(v);
      if (r < smallest) smallest = r, best = v;
    }
    return best;
  }

  bool can_move(std::size_t k, std::size_t v, double side, double slack, const std::vector<double>& x) const {
    const double a = row(k)[v], free = a * side > 0 ? safe_upper(v) - x[v] : x[v] - safe_lower(v);
    return free * std::abs(a) >= slack && free > 0;
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
  // variable increases the sum of the row, another decreases it.  Infinite if there are no such variables.  A free
  // variable can do both.
  double remaining_cost(std::size_t k, double missing, const std::vector<double>& x, double& moved) const {
    if (missing == 0) return 0;
    double cost = 0;
    std::size_t v = size_;
    for (const double side : {1.0, -1.0}) {
      if (v == size_ || !can_move(k, v, side, 2 * missing, x)) v = candidate(k, side, 2 * missing, x);
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
    const Columns columns = shared ? columns_near(x) : Columns{};
    double cost = 0, moved = 0;
    for (std::size_t k = 0; !shared && k < p_.totals.size(); ++k) correct(k, x);
    if (shared) correct_shared(columns, x);
    std::vector<double> missing(p_.totals.size());
    for (std::size_t k = 0; k < missing.size(); ++k) {
      const BoundedSum rest = deficit(k, x);
      missing[k] = std::abs(rest.value()) + rest.error() + p_.totals_error * std::abs(p_.totals[k]);
      if (!shared) cost += remaining_cost(k, missing[k], x, moved);
    }
    if (shared) cost = shared_cost(columns, missing, x, moved);
    if (!std::isfinite(cost)) return;

    // −D(x) = −D(α) − ∇D(α)ᵀ(x − α) − ½ (x − α)ᵀ(Q + ridge)(x − α)
    BoundedSum value;
    double error = 0.5 * (curvature_.error() + curvature_error_) + 2 * kUnitRoundoff * std::abs(curvature_.value());
    value.add(-0.5 * curvature_.value());
    double length = moved, ridge_cost = 0;
    for (std::size_t v = 0; v < size_; ++v) {
      const double alpha = x_.alpha[v], step = x[v] - alpha, p = p_.linear[v];
      if (alpha == 0 && step == 0) continue;
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

  // ---- rows with common variables -------------------------------------------------------------------------------

  bool rows_share_variables() const {
    if (p_.totals.size() < 2) return false;
    for (std::size_t v = 0; v < size_; ++v) {
      std::size_t used = 0;
      for (std::size_t k = 0; k < p_.totals.size(); ++k) used += row(k)[v] != 0;
      if (used > 1) return true;
    }
    return false;
  }

  // Variables inside their box whose columns of A form a regular matrix B, and R ≈ B⁻¹, one row per variable.
  struct Columns {
    std::vector<std::size_t> variables;
    std::vector<double> inverse;
    double defect = kInf;  // bound on ‖I − R B‖ in the maximum norm; R is of use if it is below 1
  };

  double slack(std::size_t v, const std::vector<double>& x) const {
    return std::min(x[v] - safe_lower(v), safe_upper(v) - x[v]);
  }

  Columns independent_columns(const std::vector<double>& x) const {
    double most = 0;
    for (std::size_t v = 0; v < size_; ++v) most = std::max(most, slack(v, x));
    Columns best;
    for (const double share : {kShareOfSlack, 0.0}) {
      const double least = std::isinf(most) ? 0 : share * most;
      Columns found = inverted(chosen_columns(x, least));
      if (found.defect < best.defect) best = std::move(found);
      if (best.defect < kMaxDefect) break;
    }
    return best;
  }

  // As `independent_columns`, after moving x a little towards zero, or into the interior of the box, if there are too few
  // variables inside.  Both directions preserve homogeneous equality rows, the second one if every sample has two
  // variables of opposite signs.
  Columns columns_near(std::vector<double>& x) const {
    Columns found = independent_columns(x);
    if (found.defect < kMaxDefect || !zero_is_feasible() || satisfies_rows(x)) return found;
    const double inside = 0.5 * *std::min_element(p_.upper.begin(), p_.upper.end());
    for (const double target : {0.0, inside}) {
      std::vector<double> moved(size_);
      for (std::size_t v = 0; v < size_; ++v)
        moved[v] = std::clamp(x[v] + kShiftInside * (target - x[v]), safe_lower(v), safe_upper(v));
      found = independent_columns(moved);
      if (found.defect < kMaxDefect) {
        x = std::move(moved);
        break;
      }
    }
    return found;
  }

  // Modified Gram–Schmidt with column pivoting on the rows divided by their largest value.
  std::vector<std::size_t> chosen_columns(const std::vector<double>& x, double least) const {
    const std::size_t rows = p_.totals.size();
    std::vector<std::size_t> inside, chosen;
    for (std::size_t v = 0; v < size_; ++v)
      if (const double free = slack(v, x); free > 0 && free >= least) inside.push_back(v);
    std::vector<double> columns(inside.size() * rows);
    for (std::size_t k = 0; k < rows; ++k) {
      double largest = 0;
      for (std::size_t v : inside) largest = std::max(largest, std::abs(row(k)[v]));
      for (std::size_t i = 0; largest > 0 && i < inside.size(); ++i) columns[i * rows + k] = row(k)[inside[i]] / largest;
    }
    const auto product = [rows](const double* first, const double* second) {
      double sum = 0;
      for (std::size_t k = 0; k < rows; ++k) sum += first[k] * second[k];
      return sum;
    };
    std::vector<double> direction(rows);
    while (chosen.size() < rows) {
      std::size_t pivot = inside.size();
      double square = 0;
      for (std::size_t i = 0; i < inside.size(); ++i)
        if (const double own = product(&columns[i * rows], &columns[i * rows]); own > square) square = own, pivot = i;
      if (pivot == inside.size()) break;
      chosen.push_back(inside[pivot]);
      for (std::size_t k = 0; k < rows; ++k) direction[k] = columns[pivot * rows + k] / std::sqrt(square);
      for (std::size_t i = 0; i < inside.size(); ++i) {
        const double part = product(&columns[i * rows], direction.data());
        for (std::size_t k = 0; k < rows; ++k) columns[i * rows + k] -= part * direction[k];
      }
      std::fill_n(columns.begin() + static_cast<std::ptrdiff_t>(pivot * rows), rows, 0.0);
    }
    return chosen;
  }

  Columns inverted(std::vector<std::size_t> variables) const {
    const std::size_t m = p_.totals.size();
    if (variables.size() < m) return {};
    std::vector<double> matrix(m * m), inverse(m * m, 0.0);
    for (std::size_t k = 0; k < m; ++k) {
      for (std::size_t j = 0; j < m; ++j) matrix[k * m + j] = row(k)[variables[j]];
      inverse[k * m + k] = 1;
    }
    for (std::size_t j = 0; j < m; ++j) {  // Gauss–Jordan elimination with row pivoting
      std::size_t pivot = j;
      for (std::size_t k = j + 1; k < m; ++k)
        if (std::abs(matrix[k * m + j]) > std::abs(matrix[pivot * m + j])) pivot = k;
      if (matrix[pivot * m + j] == 0) return {};
      for (std::size_t c = 0; c < m; ++c) {
        std::swap(matrix[j * m + c], matrix[pivot * m + c]);
        std::swap(inverse[j * m + c], inverse[pivot * m + c]);
      }
      const double leading = matrix[j * m + j];
      for (std::size_t c = 0; c < m; ++c) matrix[j * m + c] /= leading, inverse[j * m + c] /= leading;
      for (std::size_t k = 0; k < m; ++k) {
        const double factor = k == j ? 0 : matrix[k * m + j];
        for (std::size_t c = 0; factor != 0 && c < m; ++c) {
          matrix[k * m + c] -= factor * matrix[j * m + c];
          inverse[k * m + c] -= factor * inverse[j * m + c];
        }
      }
    }
    double defect = 0;
    for (std::size_t j = 0; j < m; ++j) {
      double line = 0;
      for (std::size_t c = 0; c < m; ++c) {
        double sum = j == c ? 1 : 0, size = sum;
        for (std::size_t k = 0; k < m; ++k) {
          const double part = inverse[j * m + k] * row(k)[variables[c]];
          sum -= part, size += std::abs(part);
        }
        line += std::abs(sum) + 2 * static_cast<double>(m + 2) * kUnitRoundoff * size;
      }
      defect = std::isnan(line) ? kInf : std::max(defect, 1.001 * line);
    }
    return {std::move(variables), std::move(inverse), defect};
  }

  void correct_shared(const Columns& columns, std::vector<double>& x) const {
    const std::size_t m = p_.totals.size();
    if (!(columns.defect < kMaxDefect)) return;
    std::vector<double> missing(m);
    for (int step = 0; step < kMaxCorrections; ++step) {
      for (std::size_t k = 0; k < m; ++k) missing[k] = deficit(k, x).value();
      for (std::size_t j = 0; j < m; ++j) {
        double move = 0;
        for (std::size_t k = 0; k < m; ++k) move += columns.inverse[j * m + k] * missing[k];
        const std::size_t v = columns.variables[j];
        x[v] = std::clamp(x[v] + move, safe_lower(v), safe_upper(v));
      }
    }
  }

  // Bound on the increase of the objective by an exact correction δ of all rows at x: B δ = ε with |ε_k| ≤ missing_k, so
  // that |δ_j| ≤ max_j Σ_k |R_jk| missing_k / (1 − ‖I − R B‖).
  double shared_cost(const Columns& columns, const std::vector<double>& missing, const std::vector<double>& x,
                     double& moved) const {
    const std::size_t m = missing.size();
    if (std::all_of(missing.begin(), missing.end(), [](double part) { return part == 0; })) return 0;
    if (!(columns.defect < kMaxDefect)) return kInf;
    double length = 0, cost = 0;
    for (std::size_t j = 0; j < m; ++j) {
      double line = 0;
      for (std::size_t k = 0; k < m; ++k) line += std::abs(columns.inverse[j * m + k]) * missing[k];
      length = std::max(length, line);
    }
    length = 1.001 * length / (1 - columns.defect);
    for (const std::size_t v : columns.variables) {
      if (!(slack(v, x) >= 2 * length)) return kInf;
      cost += length * (std::abs(slope(v)) + gradient_error(v) + ridge(v) * (std::abs(x[v] - x_.alpha[v]) + 2 * length));
      moved += length;
    }
    return cost;
  }

  bool satisfies_rows(const std::vector<double>& x) const {
    for (std::size_t k = 0; k < p_.totals.size(); ++k) {
      const BoundedSum rest = deficit(k, x);
      if (rest.value() != 0 || rest.error() != 0) return false;
    }
    return true;
  }

  // Whether x = 0, at which the objective is zero, is feasible.
  bool zero_is_feasible() const {
    for (std::size_t k = 0; k < p_.totals.size(); ++k)
      if (p_.totals[k] != 0) return false;
    for (std::size_t v = 0; v < size_; ++v)
      if (!(p_.lower[v] <= 0 && p_.upper[v] >= 0)) return false;
    return true;
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
