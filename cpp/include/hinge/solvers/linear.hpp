// linear.hpp: linear problems in signed coordinates, docs/math (101):
//   min over w, b:  ½‖w‖² + ½ b²/B² + d b + Σ loss_i(⟨w, x_i⟩ + b),   loss_i(f) = max_{lo_i ≤ β ≤ hi_i} −fβ − h_i(β),
//   h_i(β) = ½ D_i β² + ε|β| − t_i β.   A free bias is B = ∞ and requires Σβ = d; no bias is B = 0.
// Views only; the result owns its vectors.  Memory: O(n + d) in addition to the samples; with few features, a copy of
// some rows; for dense rows that are mostly zero, a copy of the nonzero values; with many features and samples in
// memory, inner products of the free samples: at most 285 MB, and a copy of their stored values.
// Results are bit-identical for any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "hinge/bias.hpp"
#include "hinge/kernels/samples.hpp"
#include "hinge/parallel.hpp"
#include "hinge/run_control.hpp"
#include "hinge/span.hpp"

namespace hinge {

struct LinearProblem {
  Span<const double> target, lower, upper, ridge;  // t, lo, hi, D: one per sample; lo ≤ 0 ≤ hi
  double tube = 0;                                 // ε
  Bias bias = Bias::free;
  double bias_scale = 1;  // B of a penalized bias
  double total = 0;       // d
};

enum class LinearMethod : int { automatic = 0, descent = 1, newton = 2 };

// Order in which an epoch of descent visits the samples; docs/math (805).
enum class VisitOrder : int { permutation = 0, sequential = 1, fixed_permutation = 2, random = 3 };

struct LinearOptions {
  double tolerance = 1e-4;           // relative duality gap
  LinearMethod method = LinearMethod::automatic;
  std::int64_t max_iterations = -1;  // epochs and Newton steps; −1: no limit
  double max_seconds = -1;           // < 0: no limit
  int threads = 1;
  std::uint64_t seed = 0;
  bool expansion = false;            // the result must be w = Xᵀβ exactly
  std::size_t block_bytes = 0;       // > 0: samples on disk; visited in blocks of this many bytes, in permutations
  VisitOrder order = VisitOrder::permutation;  // extrapolation and lanes need permutations
  bool shrinking = true;
};

// The bounds of the certificate, docs/math (104)–(106).
struct LinearBounds {
  double primal = 0, dual = 0, gap = 0, violation = 0;
  double relative() const;
};

// Products of the samples with the result, if they were computed in double precision.
struct KnownProducts {
  std::vector<double> f;  // ⟨w, x_i⟩ with errors of at most (m + 8) u reach ‖x_i‖, m: features of the row; or empty
  double reach = 0;
  double distance = 0;    // ‖w − Xᵀβ‖ up to the rounding errors of Xᵀβ, summed in any order
};

struct LinearResult {
  Status status = Status::solved;
  std::int64_t iterations = 0, epochs = 0, newton_steps = 0, products = 0;
  std::int64_t sample_steps = 0;  // Newton steps in sample space
  double work = 0;  // total work; the unit is the time of a pass per stored value
  LinearBounds bounds;
  std::vector<double> weights, beta;
  double offset = 0, floor = 0;  // floor: gaps below it count as zero, (133)
  KnownProducts known;
};

// `beta` is the initial point (zeros for a cold start); it need not be feasible.
LinearResult solve_linear(const Samples& samples, const LinearProblem& problem, const LinearOptions& options,
                          Span<const double> beta, RunControl& control);

// out[i · models + m] = ⟨weights of model m, x_i⟩; poll as in Parallel.
void linear_products(const Samples& samples, Span<const double> weights, std::size_t models,
                     const Parallel& parallel, Span<double> out);

}  // namespace hinge
