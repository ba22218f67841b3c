// offset.cpp: see the header.
#include "linear/loss/offset.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hinge {
namespace {

// The derivative increases with b: safeguarded Newton iteration.
double smooth_root(const LinearProblem& p, const LossArrays& losses, const LossPasses& passes, Span<const double> f,
                   double b) {
  const double own = p.bias == Bias::penalized ? 1 / (p.bias_scale * p.bias_scale) : 0.0;
  double low = -std::numeric_limits<double>::infinity(), high = -low, step = 1;
  for (int round = 0; round < 200; ++round) {
    const LossRoot root = passes.root(losses, f.data(), b);
    const double slope = own * b + p.total - root.sum, rise = own + root.rise;
    if (std::fabs(slope) <= 1e-15 * (root.mass + std::fabs(p.total))) {
      const LossFree part = own > 0 || root.mass > 0 ? LossFree{} : loss_free(losses, f);
      return part.found ? 0.5 * part.low + 0.5 * part.high : b;
    }
    (slope < 0 ? low : high) = b;
    double next = rise > 0 ? b - slope / rise : std::numeric_limits<double>::quiet_NaN();
    if (!(next > low && next < high)) {
      if (std::isinf(low) || std::isinf(high)) {
        next = slope < 0 ? b + step : b - step;
        step *= 4;
      } else {
        next = 0.5 * (low + high);
      }
    }
    if (std::fabs(next - b) <= 1e-15 * std::max(1.0, std::fabs(b)) || next == b) return next;
    if (step > 1e300) return b;  // no root: the derivative has one sign everywhere
    b = next;
  }
  return b;
}

constexpr double kRounding = 16 * std::numeric_limits<double>::epsilon();  // relative rounding error of the sums

struct Kink {
  double at, jump;
};

// Piecewise linear: the derivative increases by `jump` at each kink.  Quickselect on the derivative; midpoint of a flat
// part.
double kink_root(const LinearProblem& p, Span<const double> f) {
  std::vector<Kink> kinks;
  kinks.reserve(f.size() * (p.tube > 0 ? 2 : 1));
  double slope = p.total;  // at b = −∞ every sample is at its upper bound
  for (std::size_t i = 0; i < f.size(); ++i) {
    slope -= p.upper[i];
    if (p.tube > 0) {
      if (p.upper[i] > 0) kinks.push_back({p.target[i] - p.tube - f[i], p.upper[i]});
      if (p.lower[i] < 0) kinks.push_back({p.target[i] + p.tube - f[i], -p.lower[i]});
    } else if (p.upper[i] > p.lower[i]) {
      kinks.push_back({p.target[i] - f[i], p.upper[i] - p.lower[i]});
    }
  }
  double mass = 0;
  for (const Kink& k : kinks) mass += k.jump;
  const double flat = 1e-12 * (mass + std::fabs(slope));
  if (kinks.empty()) return 0.0;
  const double own = p.bias == Bias::penalized ? 1 / (p.bias_scale * p.bias_scale) : 0.0;
  // invariant: the slope just left of the window is `slope` (without own·b); the root is at or right of it
  std::size_t first = 0, last = kinks.size();
  while (last - first > 32) {
    const std::size_t middle = first + (last - first) / 2;
    const auto begin = kinks.begin();
    std::nth_element(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(middle),
                     begin + static_cast<std::ptrdiff_t>(last),
                     [](const Kink& a, const Kink& b) { return a.at < b.at; });
    double left = slope;  // just left of the kink in the middle
    for (std::size_t k = first; k < middle; ++k) left += kinks[k].jump;
    if (left + own * kinks[middle].at < -flat) {
      first = middle, slope = left;
    } else {
      last = middle + 1;
    }
  }
  const auto by_place = [](const Kink& a, const Kink& b) { return a.at < b.at; };
  std::sort(kinks.begin() + static_cast<std::ptrdiff_t>(first), kinks.begin() + static_cast<std::ptrdiff_t>(last),
            by_place);
  for (std::size_t k = first; k < last; ++k) {
    if (own > 0 && slope + own * kinks[k].at >= 0) {  // the root lies before this kink; zero stays zero
      const bool holds_zero = kinks[k].at >= 0 && (k == first || kinks[k - 1].at <= 0);
      return holds_zero && std::fabs(slope) <= kRounding * mass ? 0.0 : -slope / own;
    }
    slope += kinks[k].jump;
    if (own == 0 && std::fabs(slope) <= flat) {  // flat until the next kink
      double next = std::numeric_limits<double>::infinity();
      for (std::size_t j = last; j < kinks.size(); ++j) next = std::min(next, kinks[j].at);
      if (k + 1 < last) next = kinks[k + 1].at;
      return std::isfinite(next) ? 0.5 * (kinks[k].at + next) : kinks[k].at;
    }
    if (slope + own * kinks[k].at >= 0) return kinks[k].at;
  }
  return own > 0 ? -slope / own : kinks[last - 1].at;
}

}  // namespace

LossFree loss_free(const LossArrays& losses, Span<const double> f) {
  LossFree part;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double at = losses.target[i] - f[i];
    if (losses.upper[i] > 0 && at - losses.tube > part.low) part.low = at - losses.tube, part.first = i;
    if (losses.lower[i] < 0 && at + losses.tube < part.high) part.high = at + losses.tube, part.last = i;
  }
  part.found = std::isfinite(part.low) && std::isfinite(part.high) && part.low <= part.high;
  return part;
}

double best_offset(const LinearProblem& problem, const LossArrays& losses, const LossPasses& passes, bool smooth,
                   Span<const double> f, double start) {
  if (problem.bias == Bias::none || f.empty()) return 0.0;
  return smooth ? smooth_root(problem, losses, passes, f, start) : kink_root(problem, f);
}

void restore_sum(const LinearProblem& problem, std::vector<double>& beta) {
  if (problem.bias != Bias::free) return;
  for (int round = 0; round < 3; ++round) {
    double sum = 0, available = 0;
    for (double v : beta) sum += v;
    const double surplus = sum - problem.total;
    if (std::fabs(surplus) <= 1e-15 * std::fabs(sum)) return;
    const auto available_of = [&](std::size_t i) {
      if (surplus > 0) return std::max(0.0, beta[i]);
      return problem.total > 0 ? problem.upper[i] - beta[i] : std::max(0.0, -beta[i]);
    };
    for (std::size_t i = 0; i < beta.size(); ++i) available += available_of(i);
    if (!(available > 0)) return;
    const double share = surplus / available;
    for (std::size_t i = 0; i < beta.size(); ++i) beta[i] -= share * available_of(i);
  }
}

}  // namespace hinge
