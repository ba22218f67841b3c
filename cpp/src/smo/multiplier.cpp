// multiplier.cpp: see multiplier.hpp.
#include "hinge/solvers/multiplier.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "numeric/compensated_sum.hpp"

namespace hinge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kRelativeZero = 1e-12;  // slopes up to this share of the total increase count as zero

// A convex piecewise linear function, given by its kinks.
class PiecewiseLinear {
 public:
  explicit PiecewiseLinear(std::size_t max_kinks) { kinks_.reserve(max_kinks); }

  void add(double position, double increase) { kinks_.push_back({position, increase}); }

  // The first position at which the slope reaches -zero and the first at which it exceeds zero; infinite if it never
  // does. `slope` is the slope to the left of all kinks.  Reorders the kinks; O(n).
  std::pair<double, double> minimizers(double slope, double zero) {
    const auto reached = [zero](double s) { return s >= -zero; };
    const auto exceeded = [zero](double s) { return s > zero; };
    const auto kink = first(kinks_.begin(), kinks_.end(), slope, reached);
    const double left = position(kink);
    if (kink == kinks_.end() || exceeded(slope + kink->increase)) return {left, left};
    slope += kink->increase;
    return {left, position(first(kink + 1, kinks_.end(), slope, exceeded))};
  }

 private:
  struct Kink {
    double position, increase;
  };
  using Iterator = std::vector<Kink>::iterator;

  double position(Iterator kink) const { return kink == kinks_.end() ? kInf : kink->position; }

  // The first kink to the right of which the slope satisfies the condition, by quickselect.  `slope` is the slope to
  // the left of all kinks of the range on entry, and to the left of the kink found on return.
  template <class Condition>
  Iterator first(Iterator begin, Iterator end, double& slope, Condition satisfied) {
    while (begin != end) {
      const auto middle = begin + (end - begin - 1) / 2;
      std::nth_element(begin, middle, end, [](const Kink& a, const Kink& b) { return a.position < b.position; });
      double after = slope;
      for (auto kink = begin; kink <= middle; ++kink) after += kink->increase;
      if (!satisfied(after)) {
        slope = after;
        begin = middle + 1;
      } else if (end - begin == 1) {
        return middle;
      } else {
        end = middle + 1;
      }
    }
    return begin;
  }

  std::vector<Kink> kinks_;
};

}  // namespace

double best_multiplier(Span<const double> row, Span<const double> alpha, Span<const double> gradient,
                       Span<const double> lower, Span<const double> upper) {
  PiecewiseLinear gap(row.size());
  CompensatedSum slope, total;
  double floor = -kInf, ceiling = kInf;  // the interval that infinite bounds leave
  for (std::size_t v = 0; v < row.size(); ++v) {
    const double a = row[v];
    if (a == 0) continue;
    const double kink = -gradient[v] / a;
    if (std::isnan(kink)) return 0;
    // The bounds that minimize the Lagrangian to the left and to the right of the kink.
    const double below = a > 0 ? upper[v] : lower[v], above = a > 0 ? lower[v] : upper[v];
    if (std::isfinite(below) && std::isfinite(above)) {
      const double increase = std::abs(a) * (upper[v] - lower[v]);
      gap.add(kink, increase);
      slope.add(a * (alpha[v] - below)), total.add(increase);
      continue;
    }
    if (std::isinf(below)) floor = std::max(floor, kink);
    if (std::isinf(above)) ceiling = std::min(ceiling, kink);
    if (std::isfinite(below)) slope.add(a * (alpha[v] - below));
    if (std::isfinite(above)) slope.add(a * (alpha[v] - above));
  }
  if (floor > ceiling) return 0.5 * (floor + ceiling);
  const double zero = kRelativeZero * (total.value() + std::abs(slope.value()));
  auto [left, right] = gap.minimizers(slope.value(), zero);
  if (slope.value() >= -zero) left = -kInf;
  if (slope.value() > zero) right = -kInf;
  left = std::min(std::max(left, floor), ceiling), right = std::max(std::min(right, ceiling), floor);
  if (std::isfinite(left) && std::isfinite(right)) return 0.5 * (left + right);
  return std::isfinite(left) ? left : std::isfinite(right) ? right : 0;
}

}  // namespace hinge
