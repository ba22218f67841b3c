// working_set.hpp: working-set method for the problem of smo.hpp, on two levels:
//
//   outer: selects some hundred samples (the worst violators; up to half of the previous set is kept), computes the
//          kernel values among them, and after the inner solve updates f = K β for all active samples;
//   inner: SMO on the selected samples, whose kernel block stays in the processor's cache.
//
// LwK 10.4, [Joachims 1999], [Wen et al. 2018].  Inactive samples at their bounds are shrunk and checked again before
// the end.  If few samples are active, all of them form the working set.  Rows of free variables are stored; other rows
// are computed when needed and discarded, because reading memory costs more than arithmetic.  With float rows, f is
// verified in double precision at the end and corrected if necessary.
//
// beta must be feasible on entry and is updated in place; f is exact on return unless `exact` is false.  Results do not
// depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/solvers/smo.hpp"

namespace hinge {

// Ranking of violators: by the gradient, by the contribution to the duality gap, or by the distance of the variable
// from the bound towards which it moves; LwK Table 10.1.
enum class Selection : int { gradient = 0, gap = 1, multiplier = 2 };

struct WorkingSetOptions {
  double tolerance = 1e-3;
  bool stop_on_gap = false;
  std::int64_t max_iterations = -1;  // inner steps; −1: no limit
  double max_seconds = -1;
  std::size_t cache_bytes = std::size_t{200} << 20;
  std::size_t size = 0;  // samples of the working set; 0: automatic
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
