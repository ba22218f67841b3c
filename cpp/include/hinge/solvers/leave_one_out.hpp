// leave_one_out.hpp: the exact solutions without each of several samples, from one solution of the problem
//     min ½βᵀKβ + cᵀβ   subject to  Σβ = e (or no constraint),  l ≤ β ≤ u                       docs/math (201)
//
// The coefficient of a sample moves to zero, which is a path.  All paths begin at the same solution, so the matrix of
// its margin is inverted once, and an event of a path changes a small matrix only.  docs/math (531)–(534)
// Does not own its arguments.  Cost of an event: (n + |M|) k + k² after k changes of the margin.
// A path that meets a singular matrix, or too many events, fails; use ActiveSet for it.  The caller checks the
// optimality of the results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

// A solution and the inverse of the matrix H of its margin A, in which the multiplier of the constraint, if there is
// one, is the last variable.
struct LeaveOneOutProblem {
  std::size_t n = 0, slots = 1;               // samples, variables per sample; variable v belongs to sample v mod n
  std::size_t margin = 0;                     // variables of the margin; the size of A without the multiplier
  std::size_t pivots = 0;                     // the size a of A
  Span<const double> schur;                   // n × n: K − K_A H⁻¹ K_Aᵀ
  Span<const double> solved;                  // a × n: H⁻¹ K_Aᵀ
  Span<const double> solved_transposed;       // n × a
  Span<const double> inverse;                 // a × a: H⁻¹
  Span<const std::int64_t> margin_variables;  // in the order of A
  Span<const double> linear, lower, upper, beta;  // per variable
  Span<const std::int8_t> place;                  // per variable: at its lower (0) or upper (1) bound or free (2)
  Span<const double> f;                           // Kβ, per sample
  double mu = 0;                                  // the multiplier
};

// Computes the solutions without samples[k], one after the other: coefficients (per sample) in the rows of `beta`, and
// the multiplier in `mu`.  events[k] is −1 if the path failed.
void leave_one_out(const LeaveOneOutProblem& problem, Span<const std::int64_t> samples, Span<double> beta,
                   Span<double> mu, Span<std::int64_t> events, const Parallel& parallel);

}  // namespace hinge
