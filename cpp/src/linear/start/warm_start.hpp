// warm_start.hpp: optimal scaling of a warm start that was computed for other costs, docs/math (131)–(132).
// Multiples tβ of a dual point and tw of its weights are found without a pass over the samples.
// Cost: O(n + d), and some evaluations of the losses of a sample.
#pragma once

#include "hinge/solvers/linear.hpp"

namespace hinge {

// argmax over t ≥ 0 of the dual value of tβ with tβ in its box.  Σβ must be zero if the offset is free.
double best_dual_multiple(const LinearProblem& problem, Span<const double> beta, Span<const double> w);

// argmin over t ≥ 0 of the primal value of t w with its optimal offset, estimated from a sample.
double best_primal_multiple(const LinearProblem& problem, bool smooth, Span<const double> w, Span<const double> f);

}  // namespace hinge
