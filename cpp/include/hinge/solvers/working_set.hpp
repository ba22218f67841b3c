// working_set.hpp: the training engine.  The problem of smo.hpp, solved on two levels:
//
//   outer: choose some hundred samples (worst violators, half of them carried over), compute the kernel values among
//          them, and after the inner solve bring f = K β up to date over all active samples;
//   inner: SMO on the chosen samples, whose kernel block stays in the processor's cache.
//
// LwK 10.4 (working sets), [Joachims 1999], [Wen et al. 2018].  Samples that rest at their bounds are set aside and
// looked at again before the end; where few are left, all of them are the working set.  Rows of variables that stay
// free are kept, the others are computed when they are needed, multiplied and forgotten: memory is dearer than
// arithmetic.  With float rows f is checked against double precision at the end, and corrected where it has to be.
//
// beta enters feasible and leaves better; f leaves exact unless `exact` is false.  The same bits for any number of
// threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/solvers/smo.hpp"

namespace hinge {

// Which samples are the worst: those with the largest gradient, the largest share of the duality gap, or the largest
// distance of the multiplier from where the gradient pushes it; LwK Table 10.1.
enum class Selection : int { gradient = 0, gap = 1, multiplier = 2 };

struct WorkingSetOptions {
  double tolerance = 1e-3;
  bool stop_on_gap = false;
  std::int64_t max_iterations = -1;  // inner steps
  double max_seconds = -1;
  std::size_t cache_bytes = std::size_t{200} << 20;
  std::size_t size = 0;  // samples of the working set; 0: chosen
  int threads = 1;
  bool shrinking = true;
  Selection selection = Selection::gradient;
};

template <class T>
SmoResult solve_working_set(const KernelSource& kernel, const SignedProblem& problem, const WorkingSetOptions& options,
                            Span<double> beta, Span<double> f, RunControl& control);

extern template SmoResult solve_working_set<float>(const KernelSource&, const SignedProblem&, const WorkingSetOptions&,
                                                   Span<double>, Span<double>, RunControl&);
extern template SmoResult solve_working_set<double>(const KernelSource&, const SignedProblem&, const WorkingSetOptions&,
                                                    Span<double>, Span<double>, RunControl&);

}  // namespace hinge
