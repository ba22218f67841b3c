// gradient_refinement.hpp: f in double precision at the samples on which the certificate depends, after steps with
// kernel rows in single precision; docs/math (4).
//
// The dual value depends on f at the samples with a coefficient.  There f is computed in double precision; if steps
// follow, the next refinement adds the contribution of the changes.  Of the other samples, those matter whose KKT
// condition is not satisfied by more than the possible error of f: the rest contributes nothing to the gap.  The
// possible error is estimated from the recomputed samples; rounding errors of a row grow with the norm of its sample in
// feature space.
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

class GradientRefinement {
 public:
  GradientRefinement(const KernelSource& kernel, std::size_t bytes) : kernel_(kernel), bytes_(bytes) {}

  // f at the samples with a coefficient.
  std::vector<double> at(const WeightedSamples& used, const Parallel& parallel) {
    std::vector<double> coef(kernel_.size(), 0.0);
    for (std::size_t k = 0; k < used.samples.size(); ++k) coef[index(used.samples[k])] = used.values[k];
    WeightedSamples changes, unknown, known;
    if (coef_.empty()) coef_.assign(coef.size(), 0.0), f_.assign(coef.size(), kUnknown);
    for (std::size_t i = 0; i < coef.size(); ++i)
      if (coef[i] != coef_[i]) changes.add(i, coef[i] - coef_[i]);
    for (std::int32_t i : used.samples) (std::isnan(f_[index(i)]) ? unknown : known).add(index(i), 0.0);
    for (std::size_t k = 0; k < known.samples.size(); ++k) known.values[k] = f_[index(known.samples[k])];

    f_.assign(f_.size(), kUnknown), coef_.clear();  // invalid if the computation is cancelled
    std::vector<double> values(used.samples.size(), 0.0);
    if (kMaxUpdateShare * (changes.samples.size() + unknown.samples.size()) > used.samples.size()) {
      kernel_.add_square(used.samples, used.values, values, bytes_, parallel);
      for (std::size_t k = 0; k < values.size(); ++k) f_[index(used.samples[k])] = values[k];
    } else {
      for (auto* const part : {&known, &unknown}) {
        add(part == &known ? changes : used, *part, parallel);
        for (std::size_t k = 0; k < part->samples.size(); ++k) f_[index(part->samples[k])] = part->values[k];
      }
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = f_[index(used.samples[k])];
    }
    coef_.swap(coef);
    return values;
  }

  // target.values += K[target, weighted] · weighted.values
  void add(const WeightedSamples& weighted, WeightedSamples& target, const Parallel& parallel) const {
    if (weighted.samples.empty() || target.samples.empty()) return;
    kernel_.add_rows(weighted.samples, weighted.values, *kernel_.columns(target.samples, bytes_), double{},
                     target.values,
                     parallel);
  }

 private:
  static constexpr std::size_t kMaxUpdateShare = 4;  // updates of more than 1/4 of the samples are not cheaper
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

  const KernelSource& kernel_;
  const std::size_t bytes_;
  std::vector<double> coef_, f_;  // of the last refinement; f is kUnknown elsewhere
};

// Samples without a coefficient whose KKT condition is not satisfied by kErrorMargin times the error of f that was
// observed, scaled by the norm of the sample if that is larger than the norms of the samples with a coefficient.  All
// samples must be active.
constexpr double kErrorMargin = 4;
template <class T>
WeightedSamples uncertain_samples(const ActiveSamples<T>& active, const WeightedSamples& used, double error) {
  std::vector<char> unused(active.size(), 1);
  double largest = 0;
  for (std::int32_t i : used.samples) {
    unused[static_cast<std::size_t>(i)] = 0;
    largest = std::max(largest, std::abs(active.diagonal(static_cast<std::size_t>(i))));
  }
  WeightedSamples out;
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (!unused[i]) continue;
    const double norm = largest > 0 ? std::sqrt(std::abs(active.diagonal(i)) / largest) : 1;
    if (!active.can_be_shrunk(i, kErrorMargin * error * std::max(1.0, norm))) out.add(i, 0.0);
  }
  return out;
}

// The error of f at which the stopping rule may be wrong by half of the tolerance.
inline double max_gradient_error(const SignedProblem& problem, double tolerance, bool of_gap, double objective) {
  if (!of_gap) return 0.5 * tolerance;
  double width = 0;
  for (std::size_t v = 0; v < problem.upper.size(); ++v)
    if (const double w = problem.upper[v] - problem.lower[v]; std::isfinite(w)) width += w;
  return 0.5 * tolerance * std::abs(objective) / std::max(width, 1e-300);
}

}  // namespace hinge
