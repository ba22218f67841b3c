// cost_sequence.hpp: problems over samples of one kernel matrix, each for several costs, one after the other.
//
// The boxes of a problem are C times a unit box; every solution is the next one's start, scaled to the new box, and is
// its solution where no bound that moves is touched (LwK 10.1.2).  The pairs of a one-against-one classifier and the
// folds of a cross-validation, for all C of a grid.  One equality row: Σ β = 0.
// Views everything; results go to the caller's arrays and stay there when a run is stopped.  Problems run side by side;
// what is found is the same, bit by bit, for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/parallel.hpp"
#include "hinge/run_control.hpp"
#include "hinge/span.hpp"

namespace hinge {

constexpr std::int8_t kNotStarted = -1;

// n samples, m costs.
struct CostSequenceProblem {
  Span<const std::int32_t> samples;            // of the whole matrix
  Span<const double> linear, lower, upper;     // slots · n; the bounds for C = 1
  std::size_t slots = 1;
  std::int64_t max_iterations = -1;            // for one cost
  Span<double> coefficients;                   // m × n: β summed over slots
  Span<double> offset, seconds;                // m: the offset with the smallest gap, docs/math (5); the time it took
  Span<std::int8_t> status;                    // m: a Status, or kNotStarted
  Span<std::int64_t> iterations;               // m
};

struct CostSequenceOptions {
  double tolerance = 1e-3;
  double max_seconds = -1;
  std::size_t cache_bytes = std::size_t{200} << 20;
  bool double_rows = false;
};

// Throws what the poll throws, and what the kernel throws.
void solve_cost_sequences(const KernelSource& kernel, const std::vector<CostSequenceProblem>& parts,
                          Span<const double> costs,
           const CostSequenceOptions& options, const Parallel& parallel);

}  // namespace hinge
