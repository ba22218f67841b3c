// l1_linear.hpp: linear problems with an ℓ1 penalty, docs/math (861):
//   min over w, b:  ‖w‖₁ + |b|/B + Σ loss_i(⟨w, x_i⟩ + b),   loss_i(f) = max_{lo_i ≤ β ≤ hi_i} (t_i − f) β − ½ D_i β²
// with D_i > 0.  A free bias is B = ∞ and requires Σβ = 0; no bias is B = 0.  A bound of every box must be zero: losses
// of a margin.
// Coordinate descent on a working set of features, with Newton steps and extrapolation.
// Views only; the result owns its vectors.  Memory: O(n + d), and a copy of the stored values of features that were in a
// working set.  Results are bit-identical for any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "hinge/kernels/samples.hpp"
#include "hinge/run_control.hpp"
#include "hinge/solvers/linear.hpp"
#include "hinge/span.hpp"

namespace hinge {

struct L1LinearOptions {
  double tolerance = 1e-4;           // relative duality gap
  std::int64_t max_iterations = -1;  // passes over the samples, with descent in units of a pass, and Newton steps; −1: no
                                     // limit
  double max_seconds = -1;           // < 0: no limit
  int threads = 1;                   // for passes over all samples
  std::uint64_t seed = 0;            // order of the features
};

struct L1LinearResult {
  Status status = Status::solved;
  std::int64_t iterations = 0;  // passes, as in the options
  std::int64_t epochs = 0;      // epochs of descent over working sets
  std::int64_t rounds = 0;      // working sets
  LinearBounds bounds;
  std::vector<double> weights, beta;
  double offset = 0;
};

// Starts from the given weights and offset; the offset is ignored without a bias.
L1LinearResult solve_l1_linear(const Samples& samples, const LinearProblem& problem, const L1LinearOptions& options,
                               Span<const double> weights, double offset, RunControl& control);

}  // namespace hinge
