// working_set.cpp: see working_set.hpp.  Main loop: run.
#include "hinge/solvers/working_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "control/stopping.hpp"
#include "hinge/parallel.hpp"
#include "smo/gradient_error.hpp"
#include "working_set/active_samples.hpp"
#include "working_set/gradient_refinement.hpp"
#include "working_set/kernel_block.hpp"
#include "working_set/row_access.hpp"
#include "working_set/row_prefetch.hpp"
#include "working_set/selection.hpp"
#include "working_set/violators.hpp"

namespace hinge {
namespace {

constexpr std::size_t kMaxDirectSamples = 1000;  // up to this many active samples form one working set
constexpr double kDirectReduction = 0.85;        // part of the tolerance at which steps on all active samples end
constexpr std::int64_t kMaxDirectSteps = 250;    // steps on all active samples before the stopping rule is checked
constexpr double kInnerReduction = 0.2;          // part of the violation at which an inner solve ends
constexpr double kMinInnerTolerance = 0.5;       // an inner solve ends at this part of the tolerance in any case
constexpr std::size_t kMinInnerSteps = 1000, kInnerStepsPerSample = 50;  // an inner solve ends after the larger number
constexpr std::int64_t kDirectStepsPerPoll = 64, kInnerStepsPerPoll = 256;
constexpr double kMaxShrunkShare = 0.7;      // samples are shrunk if at most this share of the active ones remains
constexpr std::int64_t kMaxRefinements = 5;  // refinements of f before insufficient_precision is reported
constexpr std::size_t kBytesPerVariable = 40 * sizeof(double);  // memory besides kernel values
constexpr double kFinalisationReserve = 1.2;  // safety factor of the estimated time of the last computations
constexpr double kMaxReserve = 0.3;  // largest share of the time limit that is reserved for them
constexpr double kUpdateShare = 0.2;          // share of the remaining time that the update after a working set may take
constexpr std::size_t kMeasuredRows = 16;     // rows that measure the time of kernel values before the first update
constexpr std::size_t kMeasuredSamples = 50'000;  // with a time limit and more samples than this, the time is measured

template <class T>
class WorkingSetSolver {
 public:
  WorkingSetSolver(const KernelSource& kernel, const SignedProblem& problem, const WorkingSetOptions& options,
                   Span<double> beta, Span<double> f, RunControl& control)
      : kernel_(kernel), problem_(problem), options_(options), control_(control),
        memory_(kernel_bytes(options.cache_bytes, beta.size())), f_(f), active_(problem, beta, f),
        violators_(active_, options.selection), rows_(kernel, memory_ / 2), prefetch_(active_, violators_, rows_),
        block_(kernel), selection_(active_, violators_, options.size, memory_), refinement_(kernel, memory_ / 4),
        checker_(control, options.max_seconds, [this] { return finalisation_seconds(); },
                 [this] { return snapshot(); }),
        stall_(f.size()), tolerance_(options.tolerance, options.stop_on_gap) {
    std::fill(f_.begin(), f_.end(), 0.0);
    parallel_.threads = options.threads;
    parallel_.poll = [this] { checker_.poll(); };
  }

  SmoResult run() {
    try {
      start();
      while (!finished()) {
        if (active_.size() <= direct_limit()) {
          step_on_active_samples();
        } else {
          step_on_working_set();
        }
        if (options_.shrinking) shrink();
      }
    } catch (const StopRequest& request) {
      result_.status = request.status;
    }
    end_run();
    return result_;
  }

 private:
  static constexpr bool kSingle = sizeof(T) == sizeof(float);

  PairSteps<T>& steps() { return active_.steps; }
  RowStore<T>& store() { return rows_.store; }

  // The memory for kernel values: at least half of the cache size.
  static std::size_t kernel_bytes(std::size_t bytes, std::size_t variables) {
    return bytes - std::min(bytes / 2, kBytesPerVariable * variables);
  }

  // ---- start and end -------------------------------------------------------------------------------------------

  void start() {
    result_.exact = false, result_.single_precision = kSingle;
    kernel_.diagonal(active_.diagonal());
    bounds_ = CurvatureBounds::of(active_.diagonal());
    rounding_ = GradientError(kernel_, active_.diagonal());
    active_.gather();
    const WeightedSamples used = active_.coefficients();
    rows_.add_discarded(used, store().columns(), steps().f, parallel_);
    rounding_.restart(sum_of_beta(), used.samples.size());
    steps().invalidate();
    recompute_objective();
    result_.exact = true;
    if (checker_.has_time_limit() && f_.size() > kMeasuredSamples) rows_.measure(kMeasuredRows, parallel_);
  }

  void end_run() {
    active_.scatter();
    try {
      finalise_gradient();
    } catch (const StopRequest& request) {
      result_.status = request.status;
    }
    if (!result_.exact && result_.support_exact)
      for (std::size_t k = 0; k < support_.samples.size(); ++k)
        f_[static_cast<std::size_t>(support_.samples[k])] = support_.values[k];
    steps().select();
    if (result_.exact) control_.record(snapshot());
    result_.violation = steps().violation();
    result_.objective = objective_;
    result_.f_error = f_error();
    result_.run_error = kSingle || !result_.exact ? std::numeric_limits<double>::infinity() : result_.f_error;
    result_.row_hits = store().hits();
    result_.row_misses = rows_.misses();
  }

  // Computes f of all samples as accurately as the certificate needs it.  After the time limit, f at the samples with a
  // coefficient is computed first: it determines the dual value.
  void finalise_gradient() {
    if (result_.status == Status::interrupted) {  // no time for the computations below
      result_.exact = result_.exact && !active_.shrunk() && !kSingle;
      return;
    }
    const bool limited = result_.status == Status::time_limit;
    if (limited && result_.exact && (active_.shrunk() || kSingle)) compute_support();
    if (active_.shrunk()) reconstruct();
    if (!kSingle || !result_.exact || result_.status == Status::solved) return;
    if (refine_gradient() > max_error() && !limited) recompute();
    active_.scatter();
  }

  double sum_of_beta() const {
    double sum = 0;
    for (double b : active_.steps.beta) sum += std::abs(b);
    return sum;
  }

  // After float rows: f was computed in double precision where the certificate depends on it, with a few corrections.
  double f_error() {
    if (!result_.exact && !result_.support_exact) return std::numeric_limits<double>::infinity();
    if (!kSingle && result_.exact) return rounding_.value();
    const WeightedSamples used = active_.coefficients();
    double sum = 0;
    for (double b : used.values) sum += std::abs(b);
    rounding_.restart(sum, used.samples.size());
    return static_cast<double>(2 * refinements_ + 1) * rounding_.value();
  }

  void compute_support() {
    support_ = active_.coefficients();
    StopChecker::DeferTimeLimit defer(checker_, result_.exact);
    support_.values = refinement_.at(support_, parallel_);
    defer.done();
    result_.support_exact = true;
  }

  std::size_t direct_limit() const {
    return std::min(options_.size ? options_.size : kMaxDirectSamples, rows_.store.capacity());
  }

  // ---- stopping ------------------------------------------------------------------------------------------------

  bool finished() {
    steps().select();
    while (steps().violation() <= kkt_tolerance()) {
      for (double value : steps().f)
        if (!std::isfinite(value)) throw StopRequest{Status::numerical};  // NaN violates no condition
      if (holds_for_all_samples() && solved() && verified_in_double()) return true;
    }
    record();
    if (std::isnan(steps().violation()) || stalled()) throw StopRequest{Status::numerical};
    if (out_of_steps()) throw StopRequest{Status::max_iter};
    checker_.poll();
    return false;
  }

  void record() {
    if (schedule_.due(result_.iterations)) control_.record(snapshot());
  }

  bool out_of_steps(std::int64_t more = 0) const {
    return options_.max_iterations >= 0 && result_.iterations + more >= options_.max_iterations;
  }

  // Whether steps no longer decrease the objective in floating point, nor the violation.
  bool stalled() {
    if (!stall_.objective_stalled(result_.iterations, objective_)) return false;
    if (active_.shrunk()) reconstruct();  // inactive samples may violate the conditions
    steps().select();
    return stall_.violation_stalled(steps().violation());
  }

  bool holds_for_all_samples() {
    if (active_.shrunk()) reconstruct();
    steps().select();
    return steps().violation() <= kkt_tolerance();
  }

  // Whether the stopping rule is satisfied, given that the KKT conditions hold to the current tolerance.
  bool solved() {
    if (!options_.stop_on_gap) return true;
    const Snapshot now = snapshot();
    if (std::isfinite(now.gap) && now.gap <= options_.tolerance * (std::abs(now.primal) + std::abs(now.dual)) / 2)
      return true;
    if (!tolerance_.reduce()) throw StopRequest{Status::numerical};
    return false;
  }

  double kkt_tolerance() { return tolerance_.value(steps().violation()); }

  // Verifies in double precision a solution that was found with float rows.  If the error of f is too large, f is
  // recomputed and the steps continue; the remaining changes, and with them the errors of the rows, are then small.
  // Also returns true if that was tried kMaxRefinements times, with insufficient_precision set.
  bool verified_in_double() {
    if (!kSingle) return true;
    if (refine_gradient() <= max_error())
      return (steps().violation() <= kkt_tolerance() && solved()) || ++failed_verifications_ > kMaxRefinements;
    result_.insufficient_precision = result_.recomputations >= kMaxRefinements;
    if (!result_.insufficient_precision) recompute();
    return result_.insufficient_precision;
  }

  double max_error() const {
    return max_gradient_error(problem_, options_.tolerance, options_.stop_on_gap, objective_);
  }

  // Computes f in double precision at the samples on which the certificate depends; returns the largest error so far.
  // All samples must be active.
  double refine_gradient() {
    active_.scatter();
    const WeightedSamples used = active_.coefficients();
    StopChecker::DeferTimeLimit defer(checker_, result_.exact);
    ++refinements_;
    error_ = std::max(error_, steps().correct(used.samples, refinement_.at(used, parallel_)));
    steps().select();
    WeightedSamples others = uncertain_samples(active_, used, error_);
    refinement_.add(used, others, parallel_);
    defer.done();
    error_ = std::max(error_, steps().correct(others.samples, others.values));
    steps().select();
    recompute_objective();
    return error_;
  }

  // ---- steps on all active samples -----------------------------------------------------------------------------

  // SMO on the active samples, until the next check of the stopping rule.
  void step_on_active_samples() {
    const std::int64_t before = result_.iterations;
    prefetch_.begin();
    for (steps().select(); steps().violation() > kDirectReduction * kkt_tolerance(); ++result_.iterations) {
      const std::int64_t count = result_.iterations - before;
      if (count == kMaxDirectSteps || out_of_steps() ||
          (count % kDirectStepsPerPoll == kDirectStepsPerPoll - 1 && checker_.stop_requested())) break;
      if (!kSingle) record();  // with float rows the values are not exact enough
      const auto step = steps().step([this](std::size_t k) { return prefetch_.row(k, parallel_); }, bounds_);
      if (!(step.length > 0)) break;
      objective_ -= step.decrease;
      rounding_.add(step.moved, step.growth, 2);
      result_.travel += step.moved;
    }
    if (result_.iterations == before) handle_zero_step();
  }

  // No step changes β in floating point.  Recomputes f; if there is still no step, the run ends.
  void handle_zero_step() {
    checker_.poll();
    if (out_of_steps()) return;
    if (last_zero_step_ == result_.iterations) throw StopRequest{Status::numerical};
    last_zero_step_ = result_.iterations;
    recompute();
    if (stall_.violation_stalled(steps().violation())) throw StopRequest{Status::numerical};
  }

  // ---- working sets --------------------------------------------------------------------------------------------

  void step_on_working_set() {
    if (checker_.has_time_limit()) {
      const double row = rows_.seconds_for(double(active_.size()));
      if (row > 0) selection_.limit_size(static_cast<std::size_t>(std::min(kUpdateShare * checker_.remaining() / row, 1e9)));
    }
    const double objective = objective_;
    set_ = selection_.next();
    block_.fill(set_, active_.samples(), parallel_);
    if (!solve_inner()) {
      handle_zero_step();
    } else if (!checker_.has_time_limit()) {
      update_gradient();
    } else {
      update_gradient_in_time(objective);
    }
  }

  // Undoes the steps on the working set, which changed the objective, if the time does not suffice to update f.
  void update_gradient_in_time(double objective) {
    if (rows_.seconds_for(double(changed_samples()) * double(active_.size())) > checker_.remaining()) {
      objective_ = objective;
      throw StopRequest{Status::time_limit};
    }
    const std::vector<double> beta(steps().beta.begin(), steps().beta.end()), f(steps().f.begin(), steps().f.end());
    try {
      update_gradient();
    } catch (const StopRequest&) {
      std::copy(beta.begin(), beta.end(), steps().beta.begin());
      std::copy(f.begin(), f.end(), steps().f.begin());
      active_.scatter(), active_.gather();
      objective_ = objective, result_.exact = true;
      throw;
    }
  }

  std::size_t changed_samples() const {
    const std::size_t m = set_.size(), n = active_.size();
    std::size_t count = 0;
    for (std::size_t k = 0; k < m; ++k) {
      bool changed = false;
      for (std::size_t v = k, w = static_cast<std::size_t>(set_[k]); v < inner_.size(); v += m, w += n)
        changed = changed || inner_.beta[v] != active_.steps.beta[w];
      count += changed;
    }
    return count;
  }

  // Returns false if no step was possible.
  bool solve_inner() {
    inner_.families = steps().families;
    inner_.gather(steps(), set_);
    const double goal = std::max(kInnerReduction * steps().violation(), kMinInnerTolerance * kkt_tolerance());
    const std::int64_t limit = static_cast<std::int64_t>(std::max(kMinInnerSteps, kInnerStepsPerSample * set_.size()));
    std::int64_t count = 0;
    double decrease = 0;
    for (inner_.select(); inner_.violation() > goal && count < limit; ++count) {
      if (out_of_steps(count) || (count % kInnerStepsPerPoll == kInnerStepsPerPoll - 1 &&
                                  checker_.stop_requested())) break;
      const auto step = inner_.step([this](std::size_t k) { return block_.row(k); }, bounds_);
      if (!(step.length > 0)) break;
      decrease += step.decrease;
    }
    result_.iterations += count;
    objective_ -= decrease;
    return count > 0;
  }

  // Copies β from the inner problem and adds the rows of the changed samples to f.  Rows of variables that remain free
  // will be needed again and are stored; a variable that reached a bound tends to stay there, and its row is discarded.
  void update_gradient() {
    const std::size_t m = set_.size(), n = active_.size();
    const std::size_t max_stored = rows_.worth_storing();
    WeightedSamples stored, discarded;
    double moved = 0, growth = 0;
    for (std::size_t k = 0; k < m; ++k) {
      const std::size_t l = static_cast<std::size_t>(set_[k]), i = active_.sample(l);
      const bool was_free = active_.is_free(l);
      double sum = 0;
      bool changed = false;
      for (std::size_t v = k, w = l; v < inner_.size(); v += m, w += n) {
        changed = changed || inner_.beta[v] != steps().beta[w];
        sum += inner_.beta[v] - steps().beta[w];
        moved += std::abs(inner_.beta[v] - steps().beta[w]);
        growth += std::abs(inner_.beta[v]) - std::abs(steps().beta[w]);
        steps().beta[w] = inner_.beta[v];
      }
      if (changed) steps().update_directions(l);
      if (sum == 0) continue;
      const bool store_row = stored.samples.size() < max_stored &&
                             (store().holds(i) || (was_free && active_.is_free(l)));
      (store_row ? stored : discarded).add(i, sum);
    }
    selection_.record_moved(stored.samples.size() + discarded.samples.size());
    rounding_.add(moved, growth, stored.samples.size() + discarded.samples.size());
    result_.travel += moved;
    StopChecker::DeferTimeLimit defer(checker_, result_.exact);
    store().limit_rows(std::min(2 * selection_.free(), max_stored));
    rows_.fetch(stored.samples, parallel_);
    rows_.add_stored(stored, steps(), options_.threads);
    rows_.add_discarded(discarded, store().columns(), steps().f, parallel_);
    steps().invalidate();
    defer.done();
  }

  // ---- shrinking (LwK 10.1.4) ----------------------------------------------------------------------------------

  void shrink() {
    steps().select();
    std::vector<std::int32_t> kept;
    for (std::size_t k = 0; k < active_.size(); ++k)
      if (!active_.can_be_shrunk(k)) kept.push_back(static_cast<std::int32_t>(k));
    if (kept.size() < 2 || double(kept.size()) > kMaxShrunkShare * double(active_.size())) return;
    active_.shrink_to(kept);
    store().narrow(kept, active_.samples());
  }

  // Activates all samples.  f of the inactive ones is the reference plus the contribution of the changes of β since
  // then.  If f will be verified in double precision anyway, samples with a coefficient get their exact f now.
  void reconstruct() {
    active_.scatter();
    ++result_.reconstructions;
    StopChecker::DeferTimeLimit defer(checker_, result_.exact);
    const WeightedSamples used = kSingle && !options_.stop_on_gap ? active_.coefficients() : WeightedSamples{};
    const std::vector<double> exact = refinement_.at(used, parallel_);
    for (std::size_t k = 0; k < exact.size(); ++k)
      if (const std::int32_t position = active_.position(used.samples[k]); position >= 0)
        error_ = std::max(error_, std::abs(exact[k] - steps().f[static_cast<std::size_t>(position)]));
    WeightedSamples inactive = active_.inactive(used);
    const WeightedSamples changes = active_.changes();
    rows_.add_discarded(changes, *kernel_.columns(inactive.samples, memory_ / 4), inactive.values, parallel_);
    rounding_.add(0, 0, changes.samples.size());
    defer.done();
    active_.reactivate(inactive);
    steps().correct(used.samples, exact);
    store().open({});
  }

  // Estimated time of finalise_gradient, from the time of kernel values so far; in double precision they take twice as
  // long.  If that is more than kMaxReserve of the time limit, time is reserved for the lower bound only, or not at all:
  // the time is better used for steps.
  double finalisation_seconds() const {
    if (!checker_.has_time_limit()) return 0;
    double used = 0, uncertain = 0;
    for (double b : active_.steps.beta) used += b != 0;
    const double inactive = double(f_.size() - active_.size());
    if (kSingle)
      for (std::size_t k = 0; k < active_.size(); ++k) uncertain += !active_.can_be_shrunk(k);
    const double support = kSingle || inactive > 0 ? 2 * used * used : 0;
    const double most = kMaxReserve * options_.max_seconds;
    for (const double values : {support + used * inactive + 2 * used * uncertain, support})
      if (const double seconds = kFinalisationReserve * rows_.seconds_for(values); seconds <= most) return seconds;
    return 0;
  }

  // Recomputes f = K β in double precision.
  void recompute() {
    if (active_.shrunk()) reconstruct();
    active_.scatter();
    ++result_.recomputations;
    std::vector<double> values(f_.size(), 0.0);
    rows_.add_in_double(active_.coefficients(), store().columns(), values, parallel_);
    steps().f.swap(values);
    rounding_.restart(sum_of_beta(), f_.size());
    steps().invalidate(), steps().select();
    error_ = 0;
    recompute_objective();
  }

  void recompute_objective() {
    objective_ = active_.quadratic_value();
    stall_.restart(result_.iterations, objective_);  // the difference is not due to steps
  }

  Snapshot snapshot() {
    const double gap = active_.gap(options_.tolerance);
    return {result_.iterations, checker_.seconds(), steps().violation(), -objective_ + gap, -objective_, gap,
            static_cast<std::int64_t>(active_.size()), !active_.shrunk()};
  }

  const KernelSource& kernel_;
  const SignedProblem& problem_;
  const WorkingSetOptions& options_;
  RunControl& control_;
  const std::size_t memory_;  // bytes for kernel values
  Span<double> f_;
  ActiveSamples<T> active_;
  Violators<T> violators_;
  RowAccess<T> rows_;
  RowPrefetch<T> prefetch_;
  KernelBlock<T> block_;
  WorkingSetSelection<T> selection_;
  GradientRefinement refinement_;
  PairSteps<T> inner_;
  StopChecker checker_;
  StallDetector stall_;
  KktTolerance tolerance_;
  RecordSchedule schedule_;
  Parallel parallel_;
  SmoResult result_;
  std::vector<std::int32_t> set_;  // positions of the working set
  CurvatureBounds bounds_;
  GradientError rounding_;  // of f, without the errors of float rows
  std::int64_t refinements_ = 0;
  double objective_ = 0;
  WeightedSamples support_;  // after the time limit: the samples with a coefficient, and their exact f
  double error_ = 0;  // the largest error of f that was observed
  std::int64_t failed_verifications_ = 0, last_zero_step_ = -1;
};

}  // namespace

template <class T>
SmoResult solve_working_set(const KernelSource& kernel, const SignedProblem& problem, const WorkingSetOptions& options,
                            Span<double> beta, Span<double> f, RunControl& control) {
  return WorkingSetSolver<T>(kernel, problem, options, beta, f, control).run();
}

template SmoResult solve_working_set<float>(const KernelSource&, const SignedProblem&, const WorkingSetOptions&,
                                            Span<double>, Span<double>, RunControl&);
template SmoResult solve_working_set<double>(const KernelSource&, const SignedProblem&, const WorkingSetOptions&,
                                             Span<double>, Span<double>, RunControl&);

}  // namespace hinge
