// cost_sequence.hpp: problems over samples of one kernel matrix, each solved for a decreasing sequence of costs C: the
// pairs of a one-vs-one classifier and the folds of a cross-validation, for all C of a grid.
//
// The bounds of a problem are C times fixed bounds.  Every solution, scaled to the new bounds, is the warm start of the
// next cost; it is also the solution if no bound that depends on C is active (LwK 10.1.2).  One equality row: Σ β = 0.
// Views its arguments; results are written to arrays of the caller and remain valid if the run is stopped.  Problems
// run in parallel; results do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/parallel.hpp"
#include "hinge/run_control.hpp"
#include "hinge/span.hpp"

namespace hinge {

// A problem with n samples, for m costs.
struct CostSequenceProblem {
  Span<const std::int32_t> samples;            // rows of the kernel matrix
  Span<const double> linear, lower, upper;     // slots · n; the bounds for C = 1
  std::size_t slots = 1;
  std::int64_t max_iterations = -1;            // per cost; −1: no limit
  Span<double> coefficients;                   // m × n: β summed over the slots of a sample
  Span<double> offset, seconds;                // m: the offset with the smallest gap, docs/math (5); the run time
  Span<std::int8_t> status;                    // m: a Status; unchanged for costs that were not reached
  Span<std::int64_t> iterations;               // m
};

struct CostSequenceOptions {
  double tolerance = 1e-3;
  double max_seconds = -1;
  std::size_t cache_bytes = std::size_t{200} << 20;
  bool double_rows = false;
};

// Exceptions of parallel.poll and of the kernel are passed on.
void solve_cost_sequences(const KernelSource& kernel, const std::vector<CostSequenceProblem>& problems,
                          Span<const double> costs, const CostSequenceOptions& options, const Parallel& parallel);

}  // namespace hinge
