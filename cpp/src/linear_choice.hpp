// linear_choice.hpp: descent or Newton's method, by counted work, docs/math.md (116).
// Work is in units of what a pass over all samples needs for one stored value; no clock takes part.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "linear_newton.hpp"

namespace hinge {

class LinearChoice {
 public:
  using Story = std::vector<std::pair<double, double>>;  // work, what the epochs thought of the gap

  LinearChoice(double rows, double features, double stored, bool smooth, bool sparse)
      : n_(rows), d_(features), stored_(stored), smooth_(smooth), sparse_(sparse) {}

  // What Newton's method needs to bring the gap from `gap` to `target`.
  double newton_work(double gap, double target) const {
    const double decades = std::max(0.0, std::log10(gap / std::max(target, 1e-300)));
    const double per_row = stored_ / std::max(1.0, n_), free = smooth_ ? 0.5 * n_ : 0.2 * n_;
    const double look = 3 * stored_ + 10 * n_;
    if (d_ <= static_cast<double>(kDirectFeatures)) {
      const double hessian = free * per_row * per_row * (sparse_ ? 0.5 : 0.125) + d_ * d_ * d_ / 24;
      return (smooth_ ? 3 + 0.5 * decades : 3 + 3 * decades) * (look + hessian);
    }
    return (8 + 3 * decades) * (look + 150 * (3 * free * per_row + 10 * d_));
  }

  // Whether what is left of descent, judged by its own story, is more than that.
  bool newton_is_cheaper(const Story& story, double target) const {
    if (story.size() < 3) return false;
    const auto& [work, gap] = story.back();
    const auto& [work_then, gap_then] = story[story.size() / 2 - (story.size() > 3 ? 1 : 0)];
    const double gained = std::log(gap_then / gap);
    const double left = gained > 0 ? 2 * (work - work_then) * std::log(gap / target) / gained : INFINITY;
    return left > newton_work(gap, target);
  }

 private:
  double n_, d_, stored_;
  bool smooth_, sparse_;
};

}  // namespace hinge
