// ranking.hpp: problems over pairs, with one variable per preference "sample i before sample j", docs/math (430)–(436):
//   min over α:  ½ βᵀKβ − Σ_p α_p + ½ Σ_p d_p α_p²,   0 ≤ α ≤ C,   β = Σ_p α_p (e_i − e_j)  for the pairs p = (i, j).
// The matrix over pairs, with entries K_ik − K_il − K_jk + K_jl, is never stored.  Memory is O(pairs + samples).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hinge/kernels/gram.hpp"
#include "hinge/kernels/samples.hpp"
#include "hinge/run_control.hpp"
#include "hinge/span.hpp"

namespace hinge {

// The kernel matrix over pairs.  Does not own `base`.  A row costs two rows of `base` and O(pairs).  A linear
// combination of rows costs one linear combination of rows of `base`, and O(pairs).
std::unique_ptr<Gram> make_pair_gram(const Gram& base, std::vector<std::int32_t> first,
                                     std::vector<std::int32_t> second);

// K_ii + K_jj − 2 K_ij for every pair.
void pair_diagonal(const KernelSource& base, Span<const std::int32_t> first, Span<const std::int32_t> second,
                   Span<double> out);

struct PairProblem {
  Span<const std::int32_t> first, second;  // per pair
  Span<const double> cost;                 // per pair
  Span<const std::int64_t> block;          // pairs block[b] … block[b + 1] − 1 form a block (a query)
  Span<const double> ridge;                // d per pair, positive, if the costs are infinite; empty: d = 0
};

struct PairOptions {
  double tolerance = 1e-3;           // relative duality gap, or KKT violation
  bool stop_on_gap = true;
  std::int64_t max_iterations = -1;  // epochs; −1: 1e7 divided by the number of pairs, at least 1000
  double max_seconds = -1;           // < 0: no limit
  int threads = 1;
  std::uint64_t seed = 0;
};

struct PairResult {
  Status status = Status::solved;
  std::int64_t iterations = 0;
  double primal = 0, dual = 0, gap = 0, violation = 0;
  std::vector<double> scores;  // f
};

// Coordinate descent, block by block (436).  alpha must satisfy its bounds and is updated in place.  The status is
// numerical if the gap does not decrease any more; alpha is then the point with the smallest gap.
// linear: the samples if the kernel is linear, else nullptr.  Cost of an epoch: O(pairs + n d) with `linear`, using w;
// otherwise O(pairs + n²).
PairResult solve_pairs(const Gram& gram, const Samples* linear, const PairProblem& problem, const PairOptions& options,
                       Span<double> alpha, RunControl& control);

}  // namespace hinge
