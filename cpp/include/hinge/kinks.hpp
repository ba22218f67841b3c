// kinks.hpp: where a convex, piecewise linear function is lowest, without sorting its kinks.
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
    for (std::size_t k = 0; k < places.size(); ++k) {
      kinks_.push_back({places[k], jumps[k]});
      known_ = known_ && !std::isnan(places[k]);
    }
  }

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
  double slope_;
  bool known_ = true;
};

}  // namespace hinge
