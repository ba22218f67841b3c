// batch.hpp: several problems over samples of one kernel matrix, solved by the engine of working_set.hpp.
// The pairs of a one-against-one classifier, or the folds of a cross-validation.  Small problems run side by side, one
// thread each; a problem that is most of the work gets all threads.  Every answer is the one the problem has alone, bit
// by bit.  The calling thread alone talks to the control.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/solvers/working_set.hpp"

namespace hinge {

struct BatchProblem {
  Span<const std::int32_t> samples;  // of the whole matrix
  SignedProblem problem;
  Span<double> beta, f;
  bool double_rows = false;          // how rows are kept
  std::int64_t max_iterations = -1;  // in place of the options'
  bool polish = false;               // what was solved, where that is possible
  std::array<double, 2> totals{};    // what the groups of β add up to: for polishing
};

struct BatchResult {
  // status interrupted, not exact and beta unchanged if the run was stopped before this problem began
  SmoResult result;
  std::vector<Snapshot> history;
};

std::vector<BatchResult> solve_batch(const KernelSource& kernel, const std::vector<BatchProblem>& parts,
                                   const WorkingSetOptions& options, RunControl& control);

}  // namespace hinge
