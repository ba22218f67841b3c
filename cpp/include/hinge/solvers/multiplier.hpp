// multiplier.hpp: the multiplier of an equality row that minimizes the duality gap, docs/math (5).
#pragma once

#include "hinge/span.hpp"

namespace hinge {

// As a function of the multiplier, the gap is convex and piecewise linear: the kink of variable v is at -g_v / a_v,
// where the slope increases by |a_v| (u_v - l_v).  An infinite bound restricts the multiplier to one side of the kink.
// Returns the midpoint of the minimizers.  O(n), without sorting.
double best_multiplier(Span<const double> row, Span<const double> alpha, Span<const double> gradient,
                       Span<const double> lower, Span<const double> upper);

}  // namespace hinge
