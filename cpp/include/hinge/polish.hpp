// polish.hpp: from a nearly optimal point of the problem of smo.hpp to an exact one, by dense algebra on few variables.
//
// A primal-dual active set iteration, docs/math.md (9): solve the optimality conditions of the free variables as linear
// equations, fix those that leave their box, free those with a multiplier of the wrong sign, until the guess confirms
// itself.  Rank-deficient systems are not solved here: the caller has other means for them.
#pragma once

#include "hinge/kernel_source.hpp"
#include "hinge/parallel.hpp"
#include "hinge/smo.hpp"
#include "hinge/span.hpp"

namespace hinge {

// What the groups of β add up to; `polish` keeps it.
struct GroupSums {
  double of[2] = {0, 0};
};
GroupSums group_sums(const SignedProblem& problem, Span<const double> beta);

// β, f = Kβ (all of it in double precision) and the violation (7) at the optimum, and true; or all as they were, and false.
bool polish(const KernelSource& kernel, const SignedProblem& problem, const GroupSums& sums, Span<double> beta,
            Span<double> f, double& violation, const Parallel& parallel);

}  // namespace hinge
