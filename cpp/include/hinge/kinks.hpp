// kinks.hpp: where a convex, piecewise linear function is lowest, without sorting its kinks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
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

  // The first place at which the slope gets beyond the level: infinite if it never does, NaN if a place is.  O(n): of
  // two halves one is looked at again.
  double first_beyond(double level, bool or_equal) {
    if (!known_) return std::numeric_limits<double>::quiet_NaN();
    double before = slope_;
    auto first = kinks_.begin(), last = kinks_.end();
    while (first != last) {
      const auto middle = first + (last - first - 1) / 2;
      std::nth_element(first, middle, last, [](const Kink& a, const Kink& b) { return a.place < b.place; });
      double at = before;
      for (auto kink = first; kink <= middle; ++kink) at += kink->jump;
      if (or_equal ? at >= level : at > level) {
        if (last - first == 1) return middle->place;
        last = middle + 1;
      } else {
        before = at;
        first = middle + 1;
      }
    }
    return std::numeric_limits<double>::infinity();
  }

 private:
  struct Kink {
    double place, jump;
  };
  std::vector<Kink> kinks_;
  double slope_;
  bool known_ = true;
};

}  // namespace hinge
