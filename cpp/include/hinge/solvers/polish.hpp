// polish.hpp: exact solution of the active-set equations, from a nearly optimal point of the problem of smo.hpp.
//
// Primal-dual active-set iteration, docs/math (9): solves the optimality conditions of the free variables as linear
// equations, fixes variables that leave their bounds, frees variables whose multiplier has the wrong sign, and repeats
// until the active set does not change.  Singular systems are reported, not solved.  Cost of a round: the kernel matrix
// of the m free variables, O(m³), and a product with K.
#pragma once

#include <array>
#include <functional>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/smo.hpp"
#include "hinge/span.hpp"

namespace hinge {

// If the result is Polish::done, updates β, f = Kβ (in double precision), the violation (7) and the bound on the error
// of f; otherwise leaves them unchanged.  totals: the required sums of β over the groups.  Stops if may_continue(),
// called before every round, returns false.
Polish polish(const KernelSource& kernel, const SignedProblem& problem, const std::array<double, 2>& totals,
              Span<double> beta, Span<double> f, double& violation, double& f_error, const Parallel& parallel,
              const std::function<bool()>& may_continue);

}  // namespace hinge
