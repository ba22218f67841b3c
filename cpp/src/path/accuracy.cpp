// accuracy.cpp: error bounds, violations of optimality, and their correction by a Newton step.
// docs/math/paths/parametric.md, "Accuracy"
#include <algorithm>
#include <cmath>
#include <limits>

#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kCorrectionThreshold = 0.02;  // of the worst-case error; larger residuals of the margin are corrected
constexpr double kMinRelativeValue = 1e-4;     // of the bounds; smaller variables are assumed to be as accurate as this
constexpr double kErrorFactor = 4;             // worst-case rounding errors in units of eps times the sum of the terms
constexpr double kValueErrorFactor = 64;       // likewise for variables

}  // namespace

// Computes the rounding errors of residuals, variables and totals at the current point.
void ActiveSet::Engine::update_scales() {
  double sum = 0, top = 0, linear = 0;
  for (std::size_t v = 0; v < N; ++v) {
    const double b = std::abs(value(v));
    sum += b;
    top = std::max(top, b);
    linear = std::max(linear, std::abs(now.linear[v]));
  }
  const double largest_value = top;
  for (std::size_t v = 0; v < N; ++v) {
    const double lo = std::abs(now.lower[v]), hi = std::abs(now.upper[v]);
    if (std::isfinite(lo)) top = std::max(top, lo);
    if (std::isfinite(hi)) top = std::max(top, hi);
  }
  largest_bound_ = top;
  scale_ = linear + k_scale_ * top;
  const double smallest = kErrorFactor * kEps * (linear + largest(mu));
  const double worst_case = smallest + kErrorFactor * kEps * k_scale_ * sum;
  fine_residual_error_ = std::max(smallest, kCorrectionThreshold * worst_case);
  residual_error_ = polishing_ ? fine_residual_error_ : worst_case;
  value_error_ = kValueErrorFactor * kEps * std::max(largest_value, kMinRelativeValue * top);
  total_error_ = kErrorFactor * kEps * std::max(sum, largest(now.total));
}

// The total of each group minus the sum of its variables.  In extended precision: the error of a sum in double could
// exceed the violations to be detected.
std::vector<double> ActiveSet::Engine::group_deficits() const {
  std::vector<long double> deficits(now.total.begin(), now.total.end());
  for (std::size_t v = 0; v < N && G > 0; ++v)
    if (group[v] >= 0) deficits[static_cast<std::size_t>(group[v])] -= static_cast<long double>(value(v));
  return {deficits.begin(), deficits.end()};
}

// The largest absolute deficit.  A sum in double suffices if it is within rounding.
double ActiveSet::Engine::largest_deficit() const {
  if (!one_group_) return largest(group_deficits());
  double part[4] = {now.total[0], 0, 0, 0};
  std::size_t v = 0;
  for (; v + 4 <= N; v += 4)
    for (std::size_t k = 0; k < 4; ++k) part[k] -= value(v + k);
  for (; v < N; ++v) part[0] -= value(v);
  const double quick = std::abs((part[0] + part[1]) + (part[2] + part[3]));
  return quick <= total_error_ ? quick : largest(group_deficits());
}

// The violation of all conditions (202): of residuals relative to the scale of the problem, of totals relative to the
// largest bound.
double ActiveSet::Engine::violation() const {
  return std::max(residual_violation(), largest_deficit() / std::max(largest_bound_,
                                                                     std::numeric_limits<double>::min()));
}

// Whether the violation exceeds rounding errors.
bool ActiveSet::Engine::needs_repair() const {
  return residual_violation() > repair_threshold() || largest_deficit() > 4 * total_error_;
}

double ActiveSet::Engine::residual_violation() const {
  double worst = 0, nan_check = 0;
  for (std::size_t v = 0; v < N; ++v) {
    if (now.lower[v] == now.upper[v] || is_untracked(v)) continue;
    const double r = residual(v);
    const double violated = place[v] == Place::margin ? std::abs(r) : place[v] == Place::lower ? -r : r;
    nan_check += 0 * r;  // NaN or infinity if a residual is
    worst = std::max(worst, violated);
    if (place[v] == Place::margin)
      worst = std::max(worst, k_scale_ * std::max(now.lower[v] - beta[v], beta[v] - now.upper[v]));
  }
  return nan_check == 0 ? worst / scale_ : std::numeric_limits<double>::infinity();
}

double ActiveSet::Engine::last_violation() const {
  double worst = last_bound_violation_;
  for (std::int32_t u : margin) {
    const std::size_t v = static_cast<std::size_t>(u);
    const double outside = std::max(now.lower[v] - beta[v], beta[v] - now.upper[v]);
    worst = std::max({worst, std::abs(residual(v)), k_scale_ * outside});
  }
  return worst / scale_;
}

// Larger violations are not due to rounding.  For pairs, f sums thousands of terms, and their rounding errors
// accumulate.
double ActiveSet::Engine::repair_threshold() const {
  return on_pairs() ? std::max(kRepairThreshold, 4 * residual_error_ / scale_)
      : std::min(kRepairThreshold, 4 * residual_error_ / scale_);
}

// One Newton step on the margin towards zero residuals and deficits.  Returns false if residuals and deficits are
// within rounding, if the step would leave the bounds (a repair, which respects them, may follow), or if it brought no
// improvement.
bool ActiveSet::Engine::newton_correction(bool sums) {
  const std::size_t m = margin.size();
  std::vector<double> error(m), shift;
  const auto worst_residual = [&] {
    double worst = 0;
    for (std::int32_t v : margin) worst = std::max(worst, std::abs(residual(static_cast<std::size_t>(v))));
    return worst;
  };
  const double worst = worst_residual();
  if (!sums && worst <= fine_residual_error_) return false;
  std::vector<double> deficits = group_deficits();
  for (std::size_t g = 0; g < G; ++g)
    if (count_[g] == 0) deficits[g] = 0;
  const bool off_total = largest(deficits) > total_error_;
  if (worst <= fine_residual_error_ && !off_total) return false;
  for (std::size_t i = 0; i < m; ++i) error[i] = -residual(static_cast<std::size_t>(margin[i]));
  solve_kkt(error, deficits, shift);
  for (std::size_t i = 0; i < m; ++i) {
    const std::size_t v = static_cast<std::size_t>(margin[i]);
    const double target = beta[v] + error[i], slack = 4 * value_error_;
    if (target < std::min(now.lower[v], beta[v]) - slack) return false;
    if (target > std::max(now.upper[v], beta[v]) + slack) return false;
  }
  const std::vector<double> before = tracking_ ? std::vector<double>() : f;
  const auto move = [&](double sign) {
    for (std::size_t i = 0; i < m; ++i) beta[static_cast<std::size_t>(margin[i])] += sign * error[i];
    for (std::size_t g = 0; g < G; ++g) mu[g] += sign * shift[g];
  };
  add_margin(error, f);
  move(1);
  if (tracking_) {
    set_margin_values(now.linear, mu, f);
  } else if (!off_total && worst_residual() >= worst) {
    move(-1);
    f = before;
    return false;
  }
  return true;
}

}  // namespace hinge
