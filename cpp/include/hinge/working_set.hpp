// working_set.hpp: the training engine.  The problem of smo.hpp, solved on two levels:
//
//   outer: choose a few hundred samples (worst violators, half of them carried over), fetch their kernel rows as one
//          block, and after the inner solve bring f = K β up to date over all samples;
//   inner: SMO on the chosen samples, whose kernel block stays in the processor's cache.
//
// LwK 10.4 (working sets), [Joachims 1999], [Wen et al. 2018].  beta enters feasible and leaves better; f leaves exact.
// Owns its row store.  An outer step costs the missing kernel rows (matrix products, all threads) and one pass over
// the rows of the samples that moved.  The same bits for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/kernel_source.hpp"
#include "hinge/smo.hpp"

namespace hinge {

struct WorkingSetOptions {
  double tolerance = 1e-3;
  bool stop_on_gap = false;
  std::int64_t max_iterations = -1;  // inner steps
  double max_seconds = -1;
  std::size_t cache_bytes = std::size_t{200} << 20;
  std::size_t size = 0;  // samples of the working set; 0: chosen
  int threads = 1;
  bool shrinking = true;
};

template <class T>
SmoResult solve_working_set(const KernelSource& kernel, const SignedProblem& problem, const WorkingSetOptions& options,
                            Span<double> beta, Span<double> f, Monitor& monitor);

extern template SmoResult solve_working_set<float>(const KernelSource&, const SignedProblem&, const WorkingSetOptions&,
                                                   Span<double>, Span<double>, Monitor&);
extern template SmoResult solve_working_set<double>(const KernelSource&, const SignedProblem&, const WorkingSetOptions&,
                                                    Span<double>, Span<double>, Monitor&);

}  // namespace hinge
