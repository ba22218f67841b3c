// method_choice.hpp: descent or Newton's method, by counted work, docs/math (116).
// Work is in units of what a pass over all samples needs for one stored value; no clock takes part.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "linear/newton/newton.hpp"

namespace hinge {

constexpr double kHaste = 0.1;  // of the work of Newton's method: descent has had at least so much before it gives way

constexpr double kEasy = 0.3;  // mean of ‖x_i‖² times the way from one bound to the other: a few epochs do, at most   (130)

constexpr std::size_t kMostFree = 4096;  // samples: the factor of their inner products takes 134 MB

// Of the inner products of m samples, on two threads: measured.
inline double factor_work(double m) { return 2 * m * m + m * m * m / 80; }

// What must be known for steps in the space of samples.
struct FreeSamples {
  double count = INFINITY;     // of the free ones, as far as the dual point says
  double products = INFINITY;  // the work of all inner products
};

class LinearChoice {
 public:
  using Story = std::vector<std::pair<double, double>>;  // work, what the epochs thought of the gap

  LinearChoice(double rows, double features, double stored, bool smooth, bool sparse, FreeSamples free = {})
      : n_(rows), d_(features), stored_(stored), smooth_(smooth), sparse_(sparse), free_(free) {}

  // Few samples for each feature: most of those that are not at a bound count, and no band is the right one.
  bool crowded() const { return n_ < kCrowded * d_; }

  // A look at all samples, there and back.
  double look() const { return 3 * stored_ + 10 * n_; }

  // A step of Newton's method on all samples of few features: looks, curvature, and its factor.
  double step_work() const {
    const double per_row = stored_ / std::max(1.0, n_), free = smooth_ ? 0.5 * n_ : 0.2 * n_;
    return look() + free * per_row * per_row * (sparse_ ? 0.5 : 0.125) + d_ * d_ * d_ / 24;
  }

  // What Newton's method needs to bring the gap from `gap` to `target`.
  double newton_work(double gap, double target) const {
    const double decades = decades_of(gap, target);
    if (d_ <= static_cast<double>(kDirectFeatures)) {
      if (smooth_) return (3 + 0.5 * decades) * step_work();
      const double steps = (crowded() ? kCrowdedSteps : 1) * (2 + 2 * decades);
      return 2 * look() + steps * (step_work() - (crowded() ? 0.0 : 0.7) * look());  // most of its looks are at a band
    }
    return in_sample_space(gap, target) ? sample_work(decades) : products_work(decades);
  }
  // Whether that would be by steps in the space of samples.   (146)
  bool in_sample_space(double gap, double target) const {
    const double decades = decades_of(gap, target);
    return sample_work(decades) <= kSurer * products_work(decades);
  }

  // Whether what is left of descent, judged by its own story, is more than that.
  bool newton_is_cheaper(const Story& story, double target) const {
    if (story.size() < 3) return false;
    const auto& [work, gap] = story.back();
    const double newton = newton_work(gap, target);
    if (work < kHaste * newton) return false;  // the first epochs say little
    std::size_t then = story.size() > 3 ? 0 : 1;  // half of the work ago: a short while tells nothing
    while (story.size() > 3 && story[then + 1].first <= 0.5 * work) ++then;
    const auto& [work_then, gap_then] = story[then];
    const double gained = std::log(gap_then / gap);
    const double left = gained > 0 ? 2 * (work - work_then) * std::log(gap / target) / gained : INFINITY;
    return left > newton;
  }

 private:
  static constexpr double kCrowded = 12, kCrowdedSteps = 5;
  static constexpr double kGrows = 1.2;  // what the dual point of a few epochs says of the free samples
  static constexpr double kSurer = 4;    // nobody knows how many products a direction needs; a factor is exact

  static double decades_of(double gap, double target) {
    return std::max(0.0, std::log10(gap / std::max(target, 1e-300)));
  }
  double products_work(double decades) const {
    const double per_row = stored_ / std::max(1.0, n_), free = smooth_ ? 0.5 * n_ : 0.2 * n_;
    const double steps = (crowded() && !smooth_ ? kCrowdedSteps : 1) * (8 + 3 * decades);
    return steps * (look() + 150 * product_work(free * per_row, d_));
  }
  double sample_work(double decades) const {
    const double m = kGrows * free_.count;
    if (!(m <= static_cast<double>(kMostFree))) return INFINITY;
    const double steps = smooth_ ? 8 + decades : 12 + 4 * decades;
    return free_.products * (m / n_) * (m / n_) + steps * (3 * look() + 20 * d_ + factor_work(m));
  }

  double n_, d_, stored_;
  bool smooth_, sparse_;
  FreeSamples free_;
};

}  // namespace hinge
