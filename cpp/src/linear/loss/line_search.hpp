// line_search.hpp: the least value of a smooth linear machine along a line, docs/math (114).
#pragma once

#include <cmath>

#include "hinge/solvers/linear.hpp"
#include "linear/data/ops.hpp"
#include "linear/loss/loss_passes.hpp"

namespace hinge {

// 1/B² of a penalised bias, else 0.
inline double own_ridge(const LinearProblem& problem) {
  return problem.bias == Bias::penalised ? 1 / (problem.bias_scale * problem.bias_scale) : 0.0;
}

// Whether a sample that answers with beta is inside its box, and not at the kink of a tube.
inline bool is_free(const LossArrays& losses, std::size_t i, double beta) {
  const bool flat = losses.tube > 0;  // bit by bit: no branch depends on what is hard to foresee
  return (beta != losses.lower[i]) & (beta != losses.upper[i]) & ((beta != 0) | !flat);
}

struct Line {
  const double *f, *q;          // ⟨w, x_i⟩ and ⟨δ, x_i⟩
  double b, q_bias;             // and of the offset
  double along, squared;        // ⟨w, δ⟩ and ‖δ‖²
};

// The derivative along the direction is continuous, piecewise linear and rising: Newton inside a bracket.
inline double line_minimum(const LinearProblem& problem, const LossArrays& losses, const LossPasses& passes,
                           const Line& line, double precision = 1e-10) {
  const double own = own_ridge(problem);
  double low = 0, high = INFINITY, t = 1;
  for (int round = 0; round < 60; ++round) {
    const LossLine part = passes.line(losses, line.f, line.b, line.q, line.q_bias, t);
    const double slope = line.along + t * line.squared + own * line.q_bias * (line.b + t * line.q_bias) +
                         problem.total * line.q_bias - part.slope;
    const double bend = line.squared + own * line.q_bias * line.q_bias + part.bend;
    if (slope == 0 || !(bend > 0)) return t;
    (slope < 0 ? low : high) = t;
    double next = t - slope / bend;
    if (!(next > low && next < high)) next = std::isinf(high) ? 2 * t : 0.5 * (low + high);
    if (std::fabs(next - t) <= precision * t) return next;
    t = next;
  }
  return t;
}

}  // namespace hinge
