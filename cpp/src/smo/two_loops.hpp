// two_loops.hpp: Platt's choice of the two samples of an SMO step and Keerthi's two modifications of it.
//
// The outer loop sweeps over all samples or over the free ones; the inner loop chooses the partner.  LwK §10.5.5 and
// Algorithms 10.3, 10.4; docs/math (802)-(804).  The values f of all samples are up to date, so a sample is examined in
// constant time; a violating sample costs a pass over all samples.  Does not own the steps; restart() must be called
// when their samples change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/solvers/smo.hpp"
#include "smo/pair_steps.hpp"

namespace hinge {

template <class T>
class TwoLoops {
 public:
  using Step = typename PairSteps<T>::Step;

  explicit TwoLoops(PairRule rule) : rule_(rule) {}

  void restart() { states_.clear(), all_ = true, position_ = changed_ = examined_ = 0; }

  // Examines samples until one of them makes a step.  If two sweeps over all samples find no step, takes the most
  // violating pair: then the violation is due to rounding, or the sweeps used thresholds of earlier steps.
  template <class Row>
  Step next(PairSteps<T>& steps, Row&& row, const CurvatureBounds& bounds, double tolerance) {
    if (states_.size() != steps.families.size()) start(steps);
    for (int idle_sweeps = 0; idle_sweeps < kMaxIdleSweeps;) {
      const Step step = rule_ == PairRule::keerthi_2 && !all_ ? best_free_pair(steps, row, bounds, tolerance)
                                                              : sweep(steps, row, bounds, tolerance);
      if (step.length > 0) return step;
      if (all_ && changed_ == 0) {
        ++idle_sweeps;
        start(steps);  // the offsets and thresholds of the last steps may be out of date
      }
      begin_sweep();
    }
    return steps.step_first_order(row, bounds);
  }

 private:
  static constexpr int kMaxIdleSweeps = 2;  // sweeps without a step before the most violating pair is taken
  static constexpr std::size_t kFullSweepShare = 10;  // a sweep over all follows when fewer than 1/10 of the free change

  // Of a family: Platt's offset b, and the samples that attain Keerthi's thresholds among those examined.
  struct State {
    double offset = 0;
    std::size_t up = 0, low = 0;
  };

  void start(PairSteps<T>& steps) {
    steps.select();
    states_.resize(steps.families.size());
    for (std::size_t g = 0; g < states_.size(); ++g) {
      const Family& family = steps.families[g];
      states_[g] = {family.offset(), family.at < steps.samples() ? family.at : 0, steps.lowest(family)};
    }
  }

  // Platt: free samples are swept until fewer than a tenth of them change; Keerthi: until none changes.
  void begin_sweep() {
    const bool few = rule_ == PairRule::platt ? kFullSweepShare * changed_ < examined_ : changed_ == 0;
    all_ = !all_ && (few || changed_ == 0 || rule_ == PairRule::keerthi_2);
    position_ = changed_ = examined_ = 0;
  }

  template <class Row>
  Step sweep(PairSteps<T>& steps, Row& row, const CurvatureBounds& bounds, double tolerance) {
    const std::size_t m = steps.samples();
    while (position_ < states_.size() * m) {
      const std::size_t g = position_ / m, k = position_ % m;
      ++position_;
      if (!all_ && !steps.is_free(steps.families[g], k)) continue;
      ++examined_;
      const Step step = examine(steps, g, k, row, bounds, tolerance);
      if (!(step.length > 0)) continue;
      ++changed_;
      return step;
    }
    return {};
  }

  template <class Row>
  Step examine(PairSteps<T>& steps, std::size_t g, std::size_t k, Row& row, const CurvatureBounds& bounds,
               double tolerance) {
    Family& family = steps.families[g];
    const double up = steps.up(family, k), low = steps.low(family, k);
    if (family.single) return std::max(up, -low) > tolerance ? steps.step_on(family, k, row, bounds) : Step{};
    if (!(up > family.low || family.up > low)) return {};  // no pair with this sample decreases the objective
    if (rule_ != PairRule::platt) return examine_thresholds(steps, g, k, row, bounds, tolerance);
    const double offset = states_[g].offset;
    if (!(std::max(up - offset, offset - low) > 0.5 * tolerance)) return {};
    return second_choice(steps, g, k, row, bounds);
  }

  // ---- Platt: LwK Algorithm 10.3 -------------------------------------------------------------------------------

  // The free partner with the largest difference of errors; then any free partner, then any other one, both from a
  // random position.
  template <class Row>
  Step second_choice(PairSteps<T>& steps, std::size_t g, std::size_t k, Row& row, const CurvatureBounds& bounds) {
    const Family& family = steps.families[g];
    const std::size_t m = steps.samples();
    std::size_t best = m;
    double largest = 0;
    for (std::size_t l = 0; l < m; ++l) {
      const double slope = std::max(steps.up(family, k) - steps.low(family, l), steps.up(family, l) - steps.low(family, k));
      if (slope > largest && l != k && steps.is_free(family, l)) largest = slope, best = l;
    }
    if (best < m)
      if (const Step step = try_pair(steps, g, k, best, row, bounds); step.length > 0) return step;
    for (bool free : {true, false}) {
      const std::size_t first = random(m);
      for (std::size_t t = 0; t < m; ++t) {
        const std::size_t l = (first + t) % m;
        if (l == k || steps.is_free(family, l) != free) continue;
        if (const Step step = try_pair(steps, g, k, l, row, bounds); step.length > 0) return step;
      }
    }
    // Two variables of one sample, as α and α* of regression, may also form a pair.
    return try_pair(steps, g, k, k, row, bounds);
  }

  template <class Row>
  Step try_pair(PairSteps<T>& steps, std::size_t g, std::size_t k, std::size_t l, Row& row,
                const CurvatureBounds& bounds) {
    Family& family = steps.families[g];
    if (steps.up(family, l) - steps.low(family, k) > steps.up(family, k) - steps.low(family, l)) std::swap(k, l);
    const Step step = steps.step_on(family, k, l, row, bounds);
    if (step.length > 0) states_[g].offset = offset_after(steps, family, k, l);
    return step;
  }

  // The offset for which a sample of the last step that is free has no error; the midpoint if both are at bounds.
  static double offset_after(const PairSteps<T>& steps, const Family& family, std::size_t k, std::size_t l) {
    if (steps.is_free(family, k)) return steps.up(family, k);
    if (steps.is_free(family, l)) return steps.up(family, l);
    const double middle = 0.5 * (steps.low(family, k) + steps.up(family, l));
    return std::isfinite(middle) ? middle : family.offset();
  }

  // ---- Keerthi's thresholds: LwK (10.88)-(10.91) -----------------------------------------------------------------

  // The partner of a sample is the sample that attains the opposite threshold.
  template <class Row>
  Step examine_thresholds(PairSteps<T>& steps, std::size_t g, std::size_t k, Row& row, const CurvatureBounds& bounds,
                          double tolerance) {
    Family& family = steps.families[g];
    State& state = states_[g];
    if (steps.up(family, k) > steps.up(family, state.up)) state.up = k;
    if (steps.low(family, k) < steps.low(family, state.low)) state.low = k;
    const double rise = steps.up(family, k) - steps.low(family, state.low);
    const double fall = steps.up(family, state.up) - steps.low(family, k);
    if (!(std::max(rise, fall) > tolerance)) return {};
    return rise >= fall ? keerthi_step(steps, g, k, state.low, row, bounds)
                        : keerthi_step(steps, g, state.up, k, row, bounds);
  }

  template <class Row>
  Step keerthi_step(PairSteps<T>& steps, std::size_t g, std::size_t k, std::size_t l, Row& row,
                    const CurvatureBounds& bounds) {
    const Step step = steps.step_on(steps.families[g], k, l, row, bounds);
    if (step.length > 0) states_[g] = {0, attained(steps, g, k, l, true), attained(steps, g, k, l, false)};
    return step;
  }

  // The sample among the free ones and the two of the last step that attains the upper or the lower threshold.
  static std::size_t attained(const PairSteps<T>& steps, std::size_t g, std::size_t k, std::size_t l, bool upper) {
    const Family& family = steps.families[g];
    const auto better = [&](std::size_t a, std::size_t b) {
      return upper ? steps.up(family, a) > steps.up(family, b) : steps.low(family, a) < steps.low(family, b);
    };
    std::size_t best = better(l, k) ? l : k;
    for (std::size_t t = 0; t < steps.samples(); ++t)
      if (better(t, best) && steps.is_free(family, t)) best = t;
    return best;
  }

  // Second modification: the most violating pair of free samples, in the family where it violates most.
  template <class Row>
  Step best_free_pair(PairSteps<T>& steps, Row& row, const CurvatureBounds& bounds, double tolerance) {
    const std::size_t m = steps.samples();
    double largest = tolerance;
    std::size_t best = states_.size(), best_up = 0, best_low = 0;
    for (std::size_t g = 0; g < states_.size(); ++g) {
      const Family& family = steps.families[g];
      std::size_t up = m, low = m;
      for (std::size_t k = 0; k < m; ++k) {
        if (!steps.is_free(family, k)) continue;
        if (up == m || steps.up(family, k) > steps.up(family, up)) up = k;
        if (low == m || steps.low(family, k) < steps.low(family, low)) low = k;
      }
      if (up == m) continue;
      const double violation = family.single ? std::max(steps.up(family, up), -steps.low(family, low))
                                             : steps.up(family, up) - steps.low(family, low);
      if (violation > largest) largest = violation, best = g, best_up = up, best_low = low;
    }
    if (best == states_.size()) return {};
    Family& family = steps.families[best];
    const Step step = family.single
                          ? steps.step_on(family, steps.up(family, best_up) > -steps.low(family, best_low) ? best_up : best_low,
                                          row, bounds)
                          : keerthi_step(steps, best, best_up, best_low, row, bounds);
    if (step.length > 0) ++changed_;
    return step;
  }

  std::size_t random(std::size_t n) {  // of a multiplicative congruential generator; runs are reproducible
    seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(seed_ >> 33) % n;
  }

  const PairRule rule_;
  std::vector<State> states_;
  bool all_ = true;  // the current sweep is over all samples, not only over the free ones
  std::size_t position_ = 0, changed_ = 0, examined_ = 0;
  std::uint64_t seed_ = 1;
};

}  // namespace hinge
