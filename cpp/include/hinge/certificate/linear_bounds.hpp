// linear_bounds.hpp: rigorous bounds on the optimum of a linear problem, docs/math (620):
//
//     min ½‖w‖² + ½ b²/B² + total · b + Σ loss_i(⟨w, x_i⟩ + b),
//     loss_i(f) = max over l ≤ β ≤ u of β (target − f) − tube |β| − ½ ridge β².
//
// or of one with an ℓ1 penalty, docs/math (861): min ‖w‖₁ + |b|/B + Σ loss_i(⟨w, x_i⟩ + b), with total = 0.
//
// Every (w, b) gives an upper bound, every β in its box, with Σβ = total for a free b, a lower bound.  Both include the
// rounding errors of their evaluation.  With an ℓ1 penalty β is scaled such that |Xᵀβ| ≤ 1, (867), and
// the KKT violation is that of the weights.  Does not use any code of the solvers.  One pass over the samples, unless their
// products with w are given.
#pragma once

#include "hinge/bias.hpp"
#include "hinge/certificate/bounds.hpp"
#include "hinge/certificate/linear_part.hpp"
#include "hinge/kernels/samples.hpp"
#include "hinge/span.hpp"

namespace hinge {

struct LinearBoundedProblem {
  const Samples& samples;
  Span<const double> target, lower, upper, ridge;  // one value per sample
  double tube = 0;
  Bias bias = Bias::free;
  double bias_scale = 1;  // B
  double total = 0;
  double bounds_error = 0;  // relative error of lower, upper and ridge
  double totals_error = 0;  // relative error of total
  bool l1 = false;          // an ℓ1 penalty
};

// Products of the samples with w that a solver has computed in double precision, and the distance of w from Xᵀβ.
struct LinearProducts {
  Span<const double> f;  // ⟨w, x_i⟩ with errors of at most (m + 8) u reach ‖x_i‖, m: features of the row
  double reach = 0;
  double distance = 0;   // ‖w − Xᵀβ‖ up to the rounding errors of Xᵀβ, summed in any order
};

// beta must lie in its box up to rounding, and its sum must be the total up to rounding if b is free.  `scale` of the
// result is the size of the terms of the dual objective.  If `accurate`, inner products are computed as in twice the
// precision, which takes several times as long.
Bounds certified_linear_bounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                               Span<const double> beta, bool accurate);

// The same bounds from known products.  The largest value of the samples bounds their norms: these bounds are less
// sharp, and take a small part of the time.
Bounds certified_linear_bounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                               Span<const double> beta, const LinearProducts& products);

// The sums over the samples of `problem`, which may be a part of all samples.
LinearPart linear_part(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                       Span<const double> beta, bool accurate);

// The bounds of the problem whose samples are those of all parts merged into `part`; the samples and arrays of `problem`
// are not used.
Bounds bounds_of_part(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                      const LinearPart& part);

}  // namespace hinge
