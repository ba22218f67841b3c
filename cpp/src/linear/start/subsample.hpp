// subsample.hpp: start from the solution on a subsample, which itself starts from a smaller one.   (127)
#pragma once

#include <vector>

#include "control/run_tracker.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/linear.hpp"

namespace hinge {

struct SubsampleStart {
  std::vector<double> w;
  double b = 0;
  double samples = 0;  // size of the last level
  std::vector<double> curvature;  // Hessian of smooth losses from Newton::release_hessian
  double work = 0;
};

// Requires few features.  w is empty if there are too few samples for a subsample.
SubsampleStart subsample_start(const Samples& samples, const LinearProblem& problem, bool smooth,
                             const Parallel& parallel, std::uint64_t seed, RunTracker& tracker);

}  // namespace hinge
