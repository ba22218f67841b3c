// gradient_refinement.hpp: f in double precision at the samples on which the certificate depends, after steps on kernel
// rows in single precision; docs/math (4).
//
// The dual value is made of the f of samples with a coefficient: they are computed anew, and when steps follow and
// another look, brought up to date by what has changed.  Of the others, those matter that do not clearly rest at their
// bound: whoever rests by more than its f can be off has no share in the gap.  How far f can be off is known from those
// that were computed anew: rounding errors of a row grow with the norm of its sample in feature space.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/smo.hpp"
#include "working_set/active_samples.hpp"

namespace hinge {

class SecondLook {
 public:
  SecondLook(const KernelSource& kernel, std::size_t bytes) : kernel_(kernel), bytes_(bytes) {}

  // f of the samples that are used.
  std::vector<double> at(const Weighted& used, const Parallel& parallel) {
    std::vector<double> coef(kernel_.size(), 0.0);
    for (std::size_t k = 0; k < used.samples.size(); ++k) coef[index(used.samples[k])] = used.values[k];
    Weighted changes, fresh, known;
    if (coef_.empty()) coef_.assign(coef.size(), 0.0), f_.assign(coef.size(), kUnknown);
    for (std::size_t i = 0; i < coef.size(); ++i)
      if (coef[i] != coef_[i]) changes.add(i, coef[i] - coef_[i]);
    for (std::int32_t i : used.samples) (std::isnan(f_[index(i)]) ? fresh : known).add(index(i), 0.0);
    for (std::size_t k = 0; k < known.samples.size(); ++k) known.values[k] = f_[index(known.samples[k])];

    f_.assign(f_.size(), kUnknown), coef_.clear();  // until all of it is there
    std::vector<double> values(used.samples.size(), 0.0);
    if (4 * (changes.samples.size() + fresh.samples.size()) > used.samples.size()) {
      kernel_.add_square(used.samples, used.values, values, bytes_, parallel);
      for (std::size_t k = 0; k < values.size(); ++k) f_[index(used.samples[k])] = values[k];
    } else {
      for (auto* const part : {&known, &fresh}) {
        add(part == &known ? changes : used, *part, parallel);
        for (std::size_t k = 0; k < part->samples.size(); ++k) f_[index(part->samples[k])] = part->values[k];
      }
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = f_[index(used.samples[k])];
    }
    coef_.swap(coef);
    return values;
  }

  // some.values += K[some, weighted] · their values
  void add(const Weighted& weighted, Weighted& some, const Parallel& parallel) const {
    if (weighted.samples.empty() || some.samples.empty()) return;
    kernel_.add_rows(weighted.samples, weighted.values, *kernel_.columns(some.samples, bytes_), double{}, some.values,
                     parallel);
  }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

  const KernelSource& kernel_;
  const std::size_t bytes_;
  std::vector<double> coef_, f_;  // at the last look; f where it was looked at
};

// Samples without a coefficient that do not rest by four times the error seen, and more where their norm is larger than
// any of those it was seen at.  All samples are active.
template <class T>
Weighted restless(const ActiveSamples<T>& active, const Weighted& used, double error) {
  std::vector<char> idle(active.size(), 1);
  double largest = 0;
  for (std::int32_t i : used.samples) {
    idle[static_cast<std::size_t>(i)] = 0;
    largest = std::max(largest, std::abs(active.diagonal(static_cast<std::size_t>(i))));
  }
  Weighted out;
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (!idle[i]) continue;
    const double norm = largest > 0 ? std::sqrt(std::abs(active.diagonal(i)) / largest) : 1;
    if (!active.at_rest(i, 4 * error * std::max(1.0, norm))) out.add(i, 0.0);
  }
  return out;
}

// The error of f that is half of what the caller tolerates.
inline double tolerable_error(const SignedProblem& problem, double tolerance, bool of_gap, double objective) {
  if (!of_gap) return 0.5 * tolerance;
  double width = 0;
  for (std::size_t v = 0; v < problem.upper.size(); ++v)
    if (const double w = problem.upper[v] - problem.lower[v]; std::isfinite(w)) width += w;
  return 0.5 * tolerance * std::abs(objective) / std::max(width, 1e-300);
}

}  // namespace hinge
