// offset.hpp: the offset b that is best for given ⟨w, x_i⟩, docs/math (107).
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "hinge/solvers/linear.hpp"
#include "linear/loss/loss_passes.hpp"

namespace hinge {

// argmin over b of ½ b²/B² + d b + Σ loss_i(f_i + b); 0 where the machine has no bias.  Where `smooth` (ridge > 0 everywhere) the
// slope is continuous and is brought to zero up to rounding; otherwise b is a kink.  The middle where b is not unique.
double best_offset(const LinearProblem& problem, const LossArrays& losses, const LossPasses& passes, bool smooth,
                   Span<const double> f, double start);

// The offsets that leave no sample with a loss, from `low` to `high`, and the samples at these two ends.
struct LossFree {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  std::size_t first = 0, last = 0;
  bool found = false;  // there are such offsets, and both ends are finite
};
LossFree loss_free(const LossArrays& losses, Span<const double> f);

// Σβ = d again where the offset is free: what is too much is taken from all variables of that sign in proportion.   (109)
void restore_sum(const LinearProblem& problem, std::vector<double>& beta);

}  // namespace hinge
