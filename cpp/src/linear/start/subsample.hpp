// subsample.hpp: where to start: the same machine on fewer samples, and for that on fewer still.   (127)
#pragma once

#include <vector>

#include "control/run_tracker.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/linear.hpp"

namespace hinge {

struct CoarseStart {
  std::vector<double> w;
  double b = 0;
  double samples = 0;  // of the last level
  std::vector<double> curvature;  // of smooth losses, as Newton::lend gives it
  double work = 0;
};

// Few features only; w is empty where there are too few samples for it to pay.
CoarseStart start_from_fewer(const Samples& samples, const LinearProblem& problem, bool smooth,
                             const Parallel& parallel, std::uint64_t seed, RunTracker& tracker);

}  // namespace hinge
