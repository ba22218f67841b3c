// warm_start.hpp: how much of a point that was found for other costs to start from, docs/math (131)–(132).
// All multiples tβ of a dual point, and tw of its weights, are as feasible as it is: the best of each is found without a
// look at the samples.  Cost: O(n + d), and some more looks at a few of the losses.
#pragma once

#include "hinge/solvers/linear.hpp"

namespace hinge {

// argmax over t ≥ 0 of the dual value of tβ, as far as tβ stays in its box.  Σβ must be zero where the offset is free.
double best_dual_multiple(const LinearProblem& problem, Span<const double> beta, Span<const double> w);

// argmin over t ≥ 0 of the primal value of t w, each with the offset that is best for it, as a few samples see it.
double best_primal_multiple(const LinearProblem& problem, bool smooth, Span<const double> w, Span<const double> f);

}  // namespace hinge
