// line_search.hpp: exact line search for a smooth linear problem, docs/math (114).
#pragma once

#include <cmath>

#include "hinge/solvers/linear.hpp"
#include "linear/data/ops.hpp"
#include "linear/loss/loss_passes.hpp"

namespace hinge {

// 1/B² for a penalized bias, otherwise 0.
inline double bias_ridge(const LinearProblem& problem) {
  return problem.bias == Bias::penalized ? 1 / (problem.bias_scale * problem.bias_scale) : 0.0;
}

// Whether beta is inside its box and not at the kink of the tube.
inline bool is_free(const LossArrays& losses, std::size_t i, double beta) {
  const bool flat = losses.tube > 0;  // branch-free: the branches would be hard to predict
  return (beta != losses.lower[i]) & (beta != losses.upper[i]) & ((beta != 0) | !flat);
}

struct Line {
  const double *f, *q;          // ⟨w, x_i⟩ and ⟨δ, x_i⟩
  double b, q_bias;             // and of the offset
  double along, squared;        // ⟨w, δ⟩ and ‖δ‖²
};

// The derivative along the line is continuous, piecewise linear and increasing: safeguarded Newton iteration.
inline double line_minimum(const LinearProblem& problem, const LossArrays& losses, const LossPasses& passes,
                           const Line& line, double precision = 1e-10) {
  const double own = bias_ridge(problem);
  double low = 0, high = INFINITY, t = 1;
  for (int round = 0; round < 60; ++round) {
    const LossLine part = passes.line(losses, line.f, line.b, line.q, line.q_bias, t);
    const double slope = line.along + t * line.squared + own * line.q_bias * (line.b + t * line.q_bias) +
                         problem.total * line.q_bias - part.slope;
    const double curvature = line.squared + own * line.q_bias * line.q_bias + part.curvature;
    if (slope == 0 || !(curvature > 0)) return t;
    (slope < 0 ? low : high) = t;
    double next = t - slope / curvature;
    if (!(next > low && next < high)) next = std::isinf(high) ? 2 * t : 0.5 * (low + high);
    if (std::fabs(next - t) <= precision * t) return next;
    t = next;
  }
  return t;
}

}  // namespace hinge
