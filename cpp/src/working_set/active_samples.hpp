// active_samples.hpp: the samples that training looks at now, and what is known of all others; LwK 10.1.4.
//
// The full vectors β and f belong to the caller; those of the active samples are copied into `steps`, where they are
// worked on, and come back with scatter().  While samples rest, their f is what it was when the first of them was set
// aside: reference(i); changes() says what has happened to β since.
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

// Some samples and a number for each.
struct Weighted {
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
    everybody();
  }

  PairSteps<T> steps;

  Span<double> diagonal() { return diagonal_; }
  double diagonal(std::size_t i) const { return diagonal_[i]; }
  std::size_t size() const { return samples_.size(); }
  bool shrunk() const { return samples_.size() < f_.size(); }
  std::size_t sample(std::size_t k) const { return static_cast<std::size_t>(samples_[k]); }
  const std::vector<std::int32_t>& samples() const { return samples_; }
  std::int32_t position(std::int32_t sample) const { return position_[static_cast<std::size_t>(sample)]; }  // or -1

  void gather() { steps.gather(problem_, samples_, beta_, f_, diagonal_); }

  void scatter() {
    const std::size_t m = size(), n = f_.size();
    for (std::size_t k = 0; k < m; ++k) f_[sample(k)] = steps.f[k];
    for (std::size_t s = 0; s < problem_.slots; ++s)
      for (std::size_t k = 0; k < m; ++k) beta_[s * n + sample(k)] = steps.beta[s * m + k];
  }

  // The coefficients of all samples, after scatter().
  Weighted coefficients() const {
    Weighted used;
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

  // At a bound and pushed against it: it could not move in a pair with the extreme sample of the other side, nor if
  // f changed by less than the margin.
  bool at_rest(std::size_t k, double margin = 0) const {
    for (const Family& family : steps.families) {
      const double up = family.moves_alone ? steps.violation() : family.up;
      const double low = family.moves_alone ? -steps.violation() : family.low;
      if (family.rise[k] < Family::kInf && -steps.f[k] - family.rise[k] >= low - margin) return false;
      if (family.fall[k] > -Family::kInf && -steps.f[k] - family.fall[k] <= up + margin) return false;
    }
    return true;
  }

  // Only the samples at these positions stay active.
  void keep(const std::vector<std::int32_t>& positions) {
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

  // The resting samples and the f they had; without those that are known otherwise.
  Weighted resting(const Weighted& known) const {
    std::vector<char> wanted(f_.size(), 1);
    for (std::int32_t i : known.samples) wanted[static_cast<std::size_t>(i)] = 0;
    Weighted out;
    for (std::size_t i = 0; i < f_.size(); ++i)
      if (wanted[i] && position_[i] < 0) out.add(i, reference_f_[i]);
    return out;
  }

  // How far β has gone since; after scatter().
  Weighted changes() const {
    Weighted out;
    for (std::size_t i = 0; i < f_.size(); ++i)
      if (const double difference = coefficient(i) - reference_[i]; difference != 0) out.add(i, difference);
    return out;
  }

  // All samples are active again; f of those that rested is given.
  void wake(const Weighted& resting) {
    for (std::size_t k = 0; k < resting.samples.size(); ++k)
      f_[static_cast<std::size_t>(resting.samples[k])] = resting.values[k];
    everybody();
    gather();
  }

  // The gap with the offset midway between the thresholds; docs/math (4).  Infinite while a slope larger than the
  // tolerance points to an infinite bound: (3) is no bound then.
  double gap(double tolerance) {
    steps.select();
    double gap = 0, open_slope = 0;
    for (const Family& family : steps.families) {
      const double offset = family.offset();
      for (std::size_t v = 0; v < steps.size(); ++v) {
        if (steps.group[v] != family.group) continue;
        const double r = steps.gradient(v) + offset, towards = r > 0 ? steps.lower[v] : steps.upper[v];
        if (std::isfinite(towards)) gap += r * (steps.beta[v] - towards);
        else open_slope = std::max(open_slope, std::abs(r));
      }
    }
    return open_slope > tolerance ? std::numeric_limits<double>::infinity() : gap;
  }

 private:
  double coefficient(std::size_t i) const {  // summed over slots
    double sum = 0;
    for (std::size_t v = i; v < beta_.size(); v += f_.size()) sum += beta_[v];
    return sum;
  }

  void everybody() {
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
