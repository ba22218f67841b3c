// linear_offset.hpp: the offset b that is best for given ⟨w, x_i⟩, docs/math.md (107).
#pragma once

#include "hinge/linear.hpp"

namespace hinge {

// argmin over b of ½ b²/B² + d b + Σ loss_i(f_i + b); 0 where the machine has no bias.  With ridge > 0 everywhere the
// slope is continuous and is brought to zero up to rounding; otherwise b is a kink (the middle where b is not unique).
double best_offset(const LinearProblem& problem, Span<const double> ridge, Span<const double> anchor,
                   Span<const double> f, double start);

}  // namespace hinge
