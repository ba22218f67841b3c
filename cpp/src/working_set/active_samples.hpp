// active_samples.hpp: active samples of shrinking, LwK 10.1.4.
//
// The vectors β and f of all samples belong to the caller.  Those of the active samples are copied to `steps`, where
// they are updated, and copied back by scatter().  f of inactive samples is that of the reference point, at which the
// first sample was shrunk; changes() returns the change of β since then.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "hinge/solvers/smo.hpp"
#include "smo/pair_steps.hpp"

namespace hinge {

// A list of samples with a value for each.
struct WeightedSamples {
  std::vector<std::int32_t> samples;
  std::vector<double> values;

  void add(std::size_t sample, double value) {
    samples.push_back(static_cast<std::int32_t>(sample)), values.push_back(value);
  }
};

template <class T>
class ActiveSamples {
 public:
  ActiveSamples(const SignedProblem& problem, Span<double> beta, Span<double> f)
      : problem_(problem), beta_(beta), f_(f), diagonal_(f.size()), samples_(f.size()), position_(f.size()) {
    steps.families = families_of(problem);
    activate_all();
  }

  PairSteps<T> steps;

  Span<double> diagonal() { return diagonal_; }
  double diagonal(std::size_t i) const { return diagonal_[i]; }
  std::size_t size() const { return samples_.size(); }
  bool shrunk() const { return samples_.size() < f_.size(); }
  std::size_t sample(std::size_t k) const { return static_cast<std::size_t>(samples_[k]); }
  const std::vector<std::int32_t>& samples() const { return samples_; }
  std::int32_t position(std::int32_t sample) const {  // among the active samples; -1 if inactive
    return position_[static_cast<std::size_t>(sample)];
  }

  void gather() { steps.gather(problem_, samples_, beta_, f_, diagonal_); }

  void scatter() {
    const std::size_t m = size(), n = f_.size();
    for (std::size_t k = 0; k < m; ++k) f_[sample(k)] = steps.f[k];
    for (std::size_t s = 0; s < problem_.slots; ++s)
      for (std::size_t k = 0; k < m; ++k) beta_[s * n + sample(k)] = steps.beta[s * m + k];
  }

  // The nonzero coefficients of all samples; after scatter().
  WeightedSamples coefficients() const {
    WeightedSamples used;
    for (std::size_t i = 0; i < f_.size(); ++i)
      if (const double b = coefficient(i); b != 0) used.add(i, b);
    return used;
  }

  double quadratic_value() const {
    double sum = 0;
    for (std::size_t v = 0; v < steps.size(); ++v)
      sum += steps.beta[v] * (0.5 * steps.f[v % steps.samples()] + steps.c[v]);
    return sum;
  }

  bool is_free(std::size_t k) const {
    for (std::size_t v = k; v < steps.size(); v += steps.samples())
      if (steps.can_rise(v) && steps.can_fall(v)) return true;
    return false;
  }

  // Whether the variables of the k-th active sample are at bounds with gradients pointing outwards, so that no
  // violating pair contains them, even if f changed by less than the margin.
  bool can_be_shrunk(std::size_t k, double margin = 0) const {
    for (const Family& family : steps.families) {
      const double up = family.single ? steps.violation() : family.up;
      const double low = family.single ? -steps.violation() : family.low;
      if (family.rise[k] < Family::kInf && -steps.f[k] - family.rise[k] >= low - margin) return false;
      if (family.fall[k] > -Family::kInf && -steps.f[k] - family.fall[k] <= up + margin) return false;
    }
    return true;
  }

  // Deactivates all samples except those at these positions.
  void shrink_to(const std::vector<std::int32_t>& positions) {
    scatter();
    if (!shrunk()) {
      reference_f_.assign(f_.begin(), f_.end());
      reference_.resize(f_.size());
      for (std::size_t i = 0; i < f_.size(); ++i) reference_[i] = coefficient(i);
    }
    for (std::size_t k = 0; k < positions.size(); ++k) samples_[k] = samples_[static_cast<std::size_t>(positions[k])];
    samples_.resize(positions.size());
    std::fill(position_.begin(), position_.end(), -1);
    for (std::size_t k = 0; k < size(); ++k) position_[sample(k)] = static_cast<std::int32_t>(k);
    gather();
  }

  // The inactive samples with f at the reference point, except the `known` ones.
  WeightedSamples inactive(const WeightedSamples& known) const {
    std::vector<char> included(f_.size(), 1);
    for (std::int32_t i : known.samples) included[static_cast<std::size_t>(i)] = 0;
    WeightedSamples out;
    for (std::size_t i = 0; i < f_.size(); ++i)
      if (included[i] && position_[i] < 0) out.add(i, reference_f_[i]);
    return out;
  }

  // The change of β since the reference point; after scatter().
  WeightedSamples changes() const {
    WeightedSamples out;
    for (std::size_t i = 0; i < f_.size(); ++i)
      if (const double difference = coefficient(i) - reference_[i]; difference != 0) out.add(i, difference);
    return out;
  }

  // Activates all samples; `inactive` has f of the inactive ones.
  void reactivate(const WeightedSamples& inactive) {
    for (std::size_t k = 0; k < inactive.samples.size(); ++k)
      f_[static_cast<std::size_t>(inactive.samples[k])] = inactive.values[k];
    activate_all();
    gather();
  }

  // The gap with the multiplier midway between the thresholds; docs/math (4).  Infinite while a gradient larger than
  // the tolerance points to an infinite bound: (3) is not a bound then.
  double gap(double tolerance) {
    steps.select();
    double gap = 0, unbounded_slope = 0;
    for (const Family& family : steps.families) {
      const double offset = family.offset();
      for (std::size_t v = 0; v < steps.size(); ++v) {
        if (steps.group[v] != family.group) continue;
        const double r = steps.gradient(v) + offset, bound = r > 0 ? steps.lower[v] : steps.upper[v];
        if (std::isfinite(bound)) gap += r * (steps.beta[v] - bound);
        else unbounded_slope = std::max(unbounded_slope, std::abs(r));
      }
    }
    return unbounded_slope > tolerance ? std::numeric_limits<double>::infinity() : gap;
  }

 private:
  double coefficient(std::size_t i) const {  // summed over slots
    double sum = 0;
    for (std::size_t v = i; v < beta_.size(); v += f_.size()) sum += beta_[v];
    return sum;
  }

  void activate_all() {
    samples_.resize(f_.size());
    std::iota(samples_.begin(), samples_.end(), 0);
    std::iota(position_.begin(), position_.end(), 0);
  }

  const SignedProblem& problem_;
  Span<double> beta_, f_;
  std::vector<double> diagonal_, reference_f_, reference_;
  std::vector<std::int32_t> samples_, position_;
};

}  // namespace hinge
