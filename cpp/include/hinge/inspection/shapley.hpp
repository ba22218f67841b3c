// shapley.hpp: exact interventional Shapley values of kernel expansions.  docs/math (501)–(511)
//
// The expansion is f(x) = Σ_s c_s Π_g κ_g(x, s) · q(γ x·s + c₀), where κ_g is the product of the factors of the features
// in group g and q is a polynomial.  The players are the groups of features.  Absent features take the values of a
// background row; the result is the mean over the background rows.
//
// Does not own its arguments.  Cost: rows · background · vectors · groups · nodes, where the number of quadrature nodes
// is the smallest one whose error is below the rounding error, and at most half the number of groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

struct ShapleyTerm {
  std::vector<Node> factors;               // rbf, laplacian or bspline, applied to every feature; empty: 1
  std::vector<double> polynomial = {1.0};  // coefficients of q, constant first
  double gamma = 1, coef0 = 0;             // argument of q
};

struct ShapleyData {
  const double* X;             // rows × features
  const double* background;    // background_rows × features
  const double* vectors;       // count × features
  const double* coefficients;  // count × functions
  const std::int32_t* group;   // of every feature, 0 ≤ group < groups
  std::size_t rows, background_rows, count, features, functions, groups;
};

// Adds to values (rows × groups × functions), and to interactions (rows × groups × groups × functions) unless it is
// nullptr, the values of one term.  Off-diagonal interactions are halves of the Shapley interaction index; the diagonal
// is not set.
void shapley_values(const ShapleyData& data, const ShapleyTerm& term, double* values, double* interactions,
                    const Parallel& parallel);

}  // namespace hinge
