// multiplier.hpp: where a convex, piecewise linear function is lowest, without sorting its kinks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "hinge/span.hpp"

namespace hinge {

class Kinks {
 public:
  // The slope is `slope` left of all kinks and grows by jumps[k] >= 0 at places[k].
  Kinks(Span<const double> places, Span<const double> jumps, double slope) : slope_(slope) {
    kinks_.reserve(places.size());
    for (std::size_t k = 0; k < places.size(); ++k) add(places[k], jumps[k]);
  }
  explicit Kinks(std::size_t room) { kinks_.reserve(room); }

  void add(double place, double jump) {
    kinks_.push_back({place, jump});
    known_ = known_ && !std::isnan(place);
  }
  void start_from(double slope) { slope_ = slope; }

  // The first place at which the slope reaches -flat, and the first at which it gets beyond flat: infinite if it never
  // does, NaN if a place is.  Once; O(n).
  std::pair<double, double> level_stretch(double flat) {
    if (!known_) return {kNaN, kNaN};
    const auto reached = [flat](double slope) { return slope >= -flat; };
    const auto beyond = [flat](double slope) { return slope > flat; };
    double before = slope_;
    const auto at = first(kinks_.begin(), kinks_.end(), before, reached);
    const double left = place(at);
    if (at == kinks_.end() || beyond(before + at->jump)) return {left, left};
    before += at->jump;
    return {left, place(first(at + 1, kinks_.end(), before, beyond))};
  }

 private:
  struct Kink {
    double place, jump;
  };
  using At = std::vector<Kink>::iterator;
  static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

  static bool earlier(const Kink& a, const Kink& b) { return a.place < b.place; }
  double place(At at) const { return at == kinks_.end() ? std::numeric_limits<double>::infinity() : at->place; }

  // The first kink after which the slope has changed sides, `before` being that left of it; of two halves one is looked
  // at again.  What is left of the answer is not later, what is right of it not earlier.
  template <class Side>
  At first(At begin, At end, double& before, Side changed) {
    while (begin != end) {
      const auto middle = begin + (end - begin - 1) / 2;
      std::nth_element(begin, middle, end, earlier);
      double at = before;
      for (auto kink = begin; kink <= middle; ++kink) at += kink->jump;
      if (!changed(at)) {
        before = at;
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
  double slope_ = 0;
  bool known_ = true;
};

// A sum that keeps what rounding takes from it.
class ExactSum {
 public:
  void add(double value) {
    const double next = sum_ + value, part = next - sum_;
    lost_ += (sum_ - (next - part)) + (value - part);
    sum_ = next;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

// The multiplier of one equality row that makes the gap smallest: the middle of the stretch where its slope is zero.
// The gap as a function of it is convex and piecewise linear; the kink of variable v is at -g_v / a_v, and there the
// slope grows by |a_v| (u_v - l_v).  An infinite bound is a kink that must not be passed.  docs/math (5)
inline double best_multiplier(Span<const double> row, Span<const double> alpha, Span<const double> gradient,
                              Span<const double> lower, Span<const double> upper) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Kinks kinks(row.size());
  ExactSum slope, total;
  double floor = -inf, ceiling = inf;
  for (std::size_t v = 0; v < row.size(); ++v) {
    const double a = row[v];
    if (a == 0) continue;
    const double place = -gradient[v] / a;
    if (std::isnan(place)) return 0;
    // answers left and right of it
    const double below = a > 0 ? upper[v] : lower[v], above = a > 0 ? lower[v] : upper[v];
    if (std::isfinite(below) && std::isfinite(above)) {
      const double jump = std::abs(a) * (upper[v] - lower[v]);
      kinks.add(place, jump);
      slope.add(a * (alpha[v] - below)), total.add(jump);
      continue;
    }
    if (std::isinf(below)) floor = std::max(floor, place);
    if (std::isinf(above)) ceiling = std::min(ceiling, place);
    if (std::isfinite(below)) slope.add(a * (alpha[v] - below));
    if (std::isfinite(above)) slope.add(a * (alpha[v] - above));
  }
  if (floor > ceiling) return 0.5 * (floor + ceiling);
  const double flat = 1e-12 * (total.value() + std::abs(slope.value()));
  kinks.start_from(slope.value());
  auto [left, right] = kinks.level_stretch(flat);
  if (slope.value() >= -flat) left = -inf;
  if (slope.value() > flat) right = -inf;
  left = std::min(std::max(left, floor), ceiling), right = std::max(std::min(right, ceiling), floor);
  if (std::isfinite(left) && std::isfinite(right)) return 0.5 * (left + right);
  return std::isfinite(left) ? left : std::isfinite(right) ? right : 0;
}

}  // namespace hinge
