// polish.hpp: from a nearly optimal point of the problem of smo.hpp to an exact one, by dense algebra on few variables.
//
// A primal-dual active set iteration, docs/math (9): solve the optimality conditions of the free variables as linear
// equations, fix those that leave their box, free those with a multiplier of the wrong sign, until the guess confirms
// itself.  Rank-deficient systems are not solved here: the caller has other means for them.
#pragma once

#include <array>
#include <functional>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/smo.hpp"
#include "hinge/span.hpp"

namespace hinge {

// β, f = Kβ (all of it in double precision) and the violation (7) at the optimum if it is done, else all as they were.
// totals: what the groups of β are to add up to.  go_on is asked before every round.
Polish polish(const KernelSource& kernel, const SignedProblem& problem, const std::array<double, 2>& totals,
              Span<double> beta, Span<double> f, double& violation, const Parallel& parallel,
              const std::function<bool()>& go_on);

}  // namespace hinge
