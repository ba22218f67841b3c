// method_choice.hpp: choice between descent and Newton's method by counted work, docs/math (116).
// The unit of work is the time of a pass per stored value.  No clock is used, so that results are reproducible.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "linear/newton/newton.hpp"

namespace hinge {

constexpr double kMinDescentShare = 0.1;  // part of the work of Newton's method that descent does before a comparison

constexpr double kNarrowBoxes = 0.3;  // mean of ‖x_i‖² (hi − lo) up to which a few epochs suffice   (130)

constexpr std::size_t kMaxFreeSamples = 4096;  // free samples beyond which sample space is not used: a factor of 134 MB

// Work of factoring the inner products of m samples, measured on two threads.
inline double factor_work(double m) { return 2 * m * m + m * m * m / 80; }

// Quantities that determine the cost of steps in sample space.
struct FreeSamples {
  double count = INFINITY;     // number of free samples at the dual point
  double products = INFINITY;  // work of all inner products
};

class MethodChoice {
 public:
  using History = std::vector<std::pair<double, double>>;  // work, estimated gap

  MethodChoice(double rows, double features, double stored, bool smooth, bool sparse, FreeSamples free = {})
      : n_(rows), d_(features), stored_(stored), smooth_(smooth), sparse_(sparse), free_(free) {}

  // With few samples per feature, most samples inside their boxes are needed, and bands save no time.
  bool few_samples_per_feature() const { return n_ < kMinSamplesPerFeature * d_; }

  // Work of a check: two passes over all samples.
  double check_work() const { return 3 * stored_ + 10 * n_; }

  // Work of a Newton step with few features: passes, Hessian and its factor.
  double step_work() const {
    const double per_row = stored_ / std::max(1.0, n_), free = smooth_ ? 0.5 * n_ : 0.2 * n_;
    return check_work() + free * per_row * per_row * (sparse_ ? 0.5 : 0.125) + d_ * d_ * d_ / 24;
  }

  // Estimated work of Newton's method to reduce the gap from `gap` to `target`.
  double newton_work(double gap, double target) const {
    const double decades = decades_of(gap, target);
    if (d_ <= static_cast<double>(kDirectFeatures)) {
      if (smooth_) return (3 + 0.5 * decades) * step_work();
      const double steps = (few_samples_per_feature() ? kFewSamplesSteps : 1) * (2 + 2 * decades);
      return 2 * check_work() + steps * (step_work() - (few_samples_per_feature() ? 0.0 : 0.7) *
                                                           check_work());  // most passes are over a band only
    }
    return in_sample_space(gap, target) ? sample_work(decades) : products_work(decades);
  }
  // Whether Newton's method would use sample space.   (146)
  bool in_sample_space(double gap, double target) const {
    const double decades = decades_of(gap, target);
    return sample_work(decades) <= kFactorPreference * products_work(decades);
  }

  // Whether the remaining work of descent, extrapolated from its history, exceeds that of Newton's method.
  bool newton_is_cheaper(const History& history, double target) const {
    if (history.size() < 3) return false;
    const auto& [work, gap] = history.back();
    const double newton = newton_work(gap, target);
    if (work < kMinDescentShare * newton) return false;  // the first epochs are not representative
    std::size_t then = history.size() > 3 ? 0 : 1;  // compare with the state at half of the work
    while (history.size() > 3 && history[then + 1].first <= 0.5 * work) ++then;
    const auto& [work_then, gap_then] = history[then];
    const double gained = std::log(gap_then / gap);
    const double left = gained > 0 ? 2 * (work - work_then) * std::log(gap / target) / gained : INFINITY;
    return left > newton;
  }

 private:
  static constexpr double kMinSamplesPerFeature = 12;  // samples per feature below which bands save no time
  static constexpr double kFewSamplesSteps = 5;        // factor on the number of steps in that case
  static constexpr double kFreeGrowth = 1.2;           // growth of the number of free samples during the steps
  static constexpr double kFactorPreference = 4;       // preference for a factor over an unknown number of products

  static double decades_of(double gap, double target) {
    return std::max(0.0, std::log10(gap / std::max(target, 1e-300)));
  }
  double products_work(double decades) const {
    const double per_row = stored_ / std::max(1.0, n_), free = smooth_ ? 0.5 * n_ : 0.2 * n_;
    const double steps = (few_samples_per_feature() && !smooth_ ? kFewSamplesSteps : 1) * (8 + 3 * decades);
    return steps * (check_work() + 150 * product_work(free * per_row, d_));
  }
  double sample_work(double decades) const {
    const double m = kFreeGrowth * free_.count;
    if (!(m <= static_cast<double>(kMaxFreeSamples))) return INFINITY;
    const double steps = smooth_ ? 8 + decades : 12 + 4 * decades;
    return free_.products * (m / n_) * (m / n_) + steps * (3 * check_work() + 20 * d_ + factor_work(m));
  }

  double n_, d_, stored_;
  bool smooth_, sparse_;
  FreeSamples free_;
};

}  // namespace hinge
