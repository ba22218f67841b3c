// accuracy.cpp: what rounding may do, how far a point is from optimality, and one Newton step that puts it right.
// docs/math/paths.md, "Accuracy"
#include <algorithm>
#include <cmath>
#include <limits>

#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kFine = 0.02;  // residuals on the margin are put right above this share of the most rounding may do
constexpr double kWide = 1e-4;  // variables that are all below this share of their bounds are as precise as if at it

}  // namespace

// What rounding may do to residuals and to variables here.
void ActiveSet::Engine::scales() {
  double sum = 0, top = 0, linear = 0;
  for (std::size_t v = 0; v < N; ++v) {
    const double b = std::abs(value(v));
    sum += b;
    top = std::max(top, b);
    linear = std::max(linear, std::abs(now.linear[v]));
  }
  const double inside = top;
  for (std::size_t v = 0; v < N; ++v) {
    const double lo = std::abs(now.lower[v]), hi = std::abs(now.upper[v]);
    if (std::isfinite(lo)) top = std::max(top, lo);
    if (std::isfinite(hi)) top = std::max(top, hi);
  }
  reach_ = top;
  scale_ = linear + k_scale_ * top;
  const double least = 4 * kEps * (linear + largest(mu)), most = least + 4 * kEps * k_scale_ * sum;
  fine_noise_ = std::max(least, kFine * most);
  r_noise_ = polishing_ ? fine_noise_ : most;
  b_noise_ = 64 * kEps * std::max(inside, kWide * top);
  sum_noise_ = 4 * kEps * std::max(sum, largest(now.total));
}

// What the variables of each group are short of its total.  A sum over all of them in doubles would be off by more than
// the violations looked for.
std::vector<double> ActiveSet::Engine::missing() const {
  std::vector<long double> left(now.total.begin(), now.total.end());
  for (std::size_t v = 0; v < N && G > 0; ++v)
    if (group[v] >= 0) left[static_cast<std::size_t>(group[v])] -= static_cast<long double>(value(v));
  return {left.begin(), left.end()};
}

// The largest of these in size.  A quick sum will do as long as it finds no more than rounding.
double ActiveSet::Engine::off_totals() const {
  if (!one_group_) return largest(missing());
  double part[4] = {now.total[0], 0, 0, 0};
  std::size_t v = 0;
  for (; v + 4 <= N; v += 4)
    for (std::size_t k = 0; k < 4; ++k) part[k] -= value(v + k);
  for (; v < N; ++v) part[0] -= value(v);
  const double quick = std::abs((part[0] + part[1]) + (part[2] + part[3]));
  return quick <= sum_noise_ ? quick : largest(missing());
}

// Of all conditions (202), relative: residuals to the problem's scale, totals to the largest bound.
double ActiveSet::Engine::violation() const {
  return std::max(residual_violation(), off_totals() / std::max(reach_, std::numeric_limits<double>::min()));
}

// More than rounding does.
bool ActiveSet::Engine::broken() const { return residual_violation() > tolerable() || off_totals() > 4 * sum_noise_; }

double ActiveSet::Engine::residual_violation() const {
  double worst = 0, poison = 0;
  for (std::size_t v = 0; v < N; ++v) {
    if (now.lower[v] == now.upper[v] || far(v)) continue;
    const double r = residual(v);
    const double bad = place[v] == Place::margin ? std::abs(r) : place[v] == Place::lower ? -r : r;
    poison += 0 * r;  // a residual that is no number is not small
    worst = std::max(worst, bad);
    if (place[v] == Place::margin)
      worst = std::max(worst, k_scale_ * std::max(now.lower[v] - beta[v], beta[v] - now.upper[v]));
  }
  return poison == 0 ? worst / scale_ : std::numeric_limits<double>::infinity();
}

double ActiveSet::Engine::seen_violation() const {
  double worst = seen_violation_;
  for (std::int32_t u : margin) {
    const std::size_t v = static_cast<std::size_t>(u);
    const double outside = std::max(now.lower[v] - beta[v], beta[v] - now.upper[v]);
    worst = std::max({worst, std::abs(residual(v)), k_scale_ * outside});
  }
  return worst / scale_;
}

// Beyond this a violation is more than rounding.  f adds up thousands of pairs, whose roundings add up as well.
double ActiveSet::Engine::tolerable() const {
  return on_pairs() ? std::max(kRepair, 4 * r_noise_ / scale_) : std::min(kRepair, 4 * r_noise_ / scale_);
}

// One Newton step on the margin: residuals and totals back to zero.  False if there was nothing to do, if the step
// would leave the box (then what is left is for a repair, which stays inside), or if it made nothing better.
bool ActiveSet::Engine::correct(bool sums) {
  const std::size_t m = margin.size();
  std::vector<double> error(m), shift;
  const auto worst_residual = [&] {
    double worst = 0;
    for (std::int32_t v : margin) worst = std::max(worst, std::abs(residual(static_cast<std::size_t>(v))));
    return worst;
  };
  const double worst = worst_residual();
  if (!sums && worst <= fine_noise_) return false;
  std::vector<double> short_of = missing();
  for (std::size_t g = 0; g < G; ++g)
    if (count_[g] == 0) short_of[g] = 0;
  const bool off_total = largest(short_of) > sum_noise_;
  if (worst <= fine_noise_ && !off_total) return false;
  for (std::size_t i = 0; i < m; ++i) error[i] = -residual(static_cast<std::size_t>(margin[i]));
  solve_kkt(error, short_of, shift);
  for (std::size_t i = 0; i < m; ++i) {
    const std::size_t v = static_cast<std::size_t>(margin[i]);
    const double to = beta[v] + error[i], slack = 4 * b_noise_;
    if (to < std::min(now.lower[v], beta[v]) - slack || to > std::max(now.upper[v], beta[v]) + slack) return false;
  }
  const std::vector<double> before = tracking_ ? std::vector<double>() : f;
  const auto move = [&](double sign) {
    for (std::size_t i = 0; i < m; ++i) beta[static_cast<std::size_t>(margin[i])] += sign * error[i];
    for (std::size_t g = 0; g < G; ++g) mu[g] += sign * shift[g];
  };
  add_margin(error, f);
  move(1);
  if (tracking_) {
    keep_margin(now.linear, mu, f);
  } else if (!off_total && worst_residual() >= worst) {
    move(-1);
    f = before;
    return false;
  }
  return true;
}

}  // namespace hinge
