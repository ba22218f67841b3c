// batch.hpp: several problems over samples of one kernel matrix, solved by the working-set method: the pairs of a
// one-vs-one classifier or the folds of a cross-validation.
// Small problems run in parallel, one thread each; a problem that dominates the work uses all threads.  If there are few
// samples, the kernel matrix is computed once for all problems.  Solutions do not depend on the number of threads, and
// agree with those of the problems alone up to the rounding of kernel values.  Only the calling thread calls the run
// control.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/solvers/working_set.hpp"

namespace hinge {

struct BatchProblem {
  Span<const std::int32_t> samples;  // rows of the kernel matrix
  SignedProblem problem;
  Span<double> beta, f;
  bool double_rows = false;          // kernel rows in double instead of float
  std::int64_t max_iterations = -1;  // replaces that of the options
  bool polish = false;               // polish the solution (polish.hpp)
  std::array<double, 2> totals{};    // the sums of β over the groups; for polishing
};

struct BatchResult {
  SmoResult result;  // interrupted and not exact, with beta unchanged, if the batch was stopped before this problem
  std::vector<Snapshot> history;
};

std::vector<BatchResult> solve_batch(const KernelSource& kernel, const std::vector<BatchProblem>& problems,
                                     const WorkingSetOptions& options, RunControl& control);

}  // namespace hinge
