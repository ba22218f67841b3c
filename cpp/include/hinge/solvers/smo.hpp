// smo.hpp: sequential minimal optimization in signed coordinates, docs/math (6):
//
//     min ½ βᵀK̃β + cᵀβ    subject to  Σ_{v in group g} β_v = const,   l ≤ β ≤ u
//
// Variable v belongs to sample v mod n; the slots of a sample share its kernel row.  A step changes two variables of
// one group, or one variable without a group.  Second-order selection [Fan, Chen, Lin 2005] or one of the rules of
// PairRule, Keerthi's two thresholds as the stopping rule, shrinking with reconstruction.  beta must be feasible on
// entry and is updated in place; f = K β is exact on return unless `exact` is false.  Owns its row cache.  A step costs
// two kernel rows and O(active samples).
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/kernels/kernel_source.hpp"
#include "hinge/run_control.hpp"
#include "hinge/span.hpp"

namespace hinge {

struct SignedProblem {
  Span<const double> linear, lower, upper;  // slots · n each
  Span<const std::int8_t> group;            // 0 or 1; −1: no group
  std::size_t slots = 1;
};

// Choice of the two variables of a step; docs/math (8), (801)-(804).
enum class PairRule : int { second_order = 0, first_order = 1, platt = 2, keerthi_1 = 3, keerthi_2 = 4 };

struct SmoOptions {
  double tolerance = 1e-3;  // of the KKT violation, or of the relative gap if stop_on_gap
  bool stop_on_gap = false;
  bool shrinking = true;
  std::int64_t max_iterations = -1;  // −1: no limit
  double max_seconds = -1;           // < 0: no limit
  std::size_t cache_bytes = std::size_t{200} << 20;
  PairRule rule = PairRule::second_order;
  std::int64_t sticky_steps = 0;  // for which a sample that reaches a bound stays fixed
};

// Outcome of polishing (polish.hpp).
enum class Polish : int { untried = 0, done = 1, singular = 2, failed = 3 };

struct SmoResult {
  Status status = Status::solved;
  bool exact = true;                    // f = Kβ; false if the run was cut off while f was not up to date
  bool support_exact = false;           // if not exact: f = Kβ at the samples with a coefficient, and the dual value
  bool single_precision = false;        // kernel rows were stored as float
  bool insufficient_precision = false;  // float rows do not determine f to the tolerance: solve again with double rows
  Polish polish = Polish::untried;
  std::int64_t iterations = 0, row_hits = 0, row_misses = 0, reconstructions = 0, recomputations = 0;
  double violation = 0, objective = 0;
  double f_error = 0;  // bound on the error of f; infinite if it is not known
  double run_error = 0;  // the same along the run, without polishing
  double travel = 0;   // the sum of the absolute changes of β in the run
  std::size_t snapshots = 0;  // recorded so far, if the run had several stages
};

template <class T>  // T: type of the stored rows, float or double
SmoResult solve_smo(const KernelSource& kernel, const SignedProblem& problem, const SmoOptions& options,
                    Span<double> beta, Span<double> f, RunControl& control);

extern template SmoResult solve_smo<float>(const KernelSource&, const SignedProblem&, const SmoOptions&, Span<double>,
                                           Span<double>, RunControl&);
extern template SmoResult solve_smo<double>(const KernelSource&, const SignedProblem&, const SmoOptions&, Span<double>,
                                            Span<double>, RunControl&);

}  // namespace hinge
