// bounds.hpp: rigorous bounds on the optimum of problem (1), docs/math (600)-(605).
//
//     opt = −min ½ αᵀQα + pᵀα + ½ Σ ridge_v α_v²    subject to  Aα = d,  l ≤ α ≤ u,   Q positive semidefinite
//
// Upper bound: the Lagrangian at any α and μ.  Lower bound: the dual objective at a feasible point near α.  Both include
// the rounding errors of their evaluation, the given error of the gradient and the rounding of the data.
// Does not use any code of the solvers.  O(size), without kernel values.
#pragma once

#include <cstddef>

#include "hinge/span.hpp"

namespace hinge {

struct BoundedProblem {
  Span<const double> linear, lower, upper;  // p, l, u
  Span<const double> ridge;                 // empty: zero
  Span<const double> rows, totals;          // A, row by row, and d
  double bounds_error = 0;                  // relative error of l, u and ridge
  double totals_error = 0;                  // relative error of d
  double largest_diagonal = 0;              // bound on |Q_vw|
};

struct BoundedPoint {
  Span<const double> alpha, mu;
  Span<const double> gradient;  // Qα + p
  Span<const double> error;     // bounds on the error of the gradient: one, or one per variable
};

struct Bounds {
  double upper, lower;   // of the optimum; infinite if the point proves nothing
  double rounding;       // the part of upper − lower that is due to errors
  double kkt_violation;  // largest violation of the optimality conditions by a variable, without errors
  double infeasibility;  // largest violation of a constraint by alpha
  double scale;          // size of the terms of the objective, which cancel if the optimum is zero
  double moved = 0;      // distance of alpha from the feasible point of the lower bound, in the ℓ1 norm
};

// The arguments must have matching sizes.
Bounds certified_bounds(const BoundedProblem& problem, const BoundedPoint& point);

}  // namespace hinge
