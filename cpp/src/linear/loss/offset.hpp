// offset.hpp: optimal offset b for given ⟨w, x_i⟩, docs/math (107).
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "hinge/solvers/linear.hpp"
#include "linear/loss/loss_passes.hpp"

namespace hinge {

// argmin over b of ½ b²/B² + d b + Σ loss_i(f_i + b); 0 without a bias.  If `smooth` (ridge > 0 everywhere),
// the derivative is continuous and its root is found to rounding; otherwise b is a kink.  The midpoint if b is not
// unique.
double best_offset(const LinearProblem& problem, const LossArrays& losses, const LossPasses& passes, bool smooth,
                   Span<const double> f, double start);

// Interval [low, high] of offsets for which no sample has a loss, and the samples at its ends.
struct LossFree {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  std::size_t first = 0, last = 0;
  bool found = false;  // the interval is nonempty and bounded
};
LossFree loss_free(const LossArrays& losses, Span<const double> f);

// Restores Σβ = d for a free offset by scaling the variables of the sign that is in excess.   (109)
void restore_sum(const LinearProblem& problem, std::vector<double>& beta);

}  // namespace hinge
