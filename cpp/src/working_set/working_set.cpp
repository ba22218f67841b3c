// working_set.cpp: reading order: run; step_set (choose, solve_inner, spread) or step_all; shrink, reconstruct;
// finished.
#include "hinge/solvers/working_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "control/stopping.hpp"
#include "hinge/parallel.hpp"
#include "working_set/active_samples.hpp"
#include "working_set/gradient_refinement.hpp"
#include "working_set/kernel_block.hpp"
#include "working_set/row_access.hpp"
#include "working_set/row_prefetch.hpp"
#include "working_set/selection.hpp"
#include "working_set/violators.hpp"

namespace hinge {
namespace {

constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr std::size_t kWhole = 1000;          // so many active samples are one working set
constexpr double kBeyond = 0.85;              // of the tolerance: where steps on all samples, which are cheap, end
constexpr double kGoal = 0.2;                 // of the violation is what an inner solve leaves
constexpr double kShrunk = 0.7;               // of the active samples: shrinking to less than that is worth the copying
constexpr std::int64_t kBetweenLooks = 250;   // steps
constexpr std::int64_t kRefinements = 5;

template <class T>
class Engine {
 public:
  Engine(const KernelSource& kernel, const SignedProblem& problem, const WorkingSetOptions& options, Span<double> beta,
         Span<double> f, RunControl& control)
      : kernel_(kernel), problem_(problem), options_(options), control_(control),
        memory_(for_kernel_values(options.cache_bytes, beta.size())), f_(f), active_(problem, beta, f),
        violators_(active_, options.selection), rows_(kernel, memory_ / 2), ahead_(active_, violators_, rows_),
            block_(kernel),
        choice_(active_, violators_, options.size, memory_), look_(kernel, memory_ / 4),
        checker_(control, options.max_seconds, [this] { return settling_seconds(); },
                 [this] { return snapshot(); }) {
    std::fill(f_.begin(), f_.end(), 0.0);
    parallel_.threads = options.threads;
    parallel_.poll = [this] { checker_.poll(); };
  }

  SmoResult run() {
    try {
      start();
      while (!finished()) {
        if (active_.size() <= whole_limit()) {
          step_all();
        } else {
          step_set();
        }
        if (options_.shrinking) shrink();
      }
    } catch (const StopRequest& request) {
      result_.status = request.status;
    }
    leave();
    return result_;
  }

 private:
  static constexpr bool kSingle = sizeof(T) == sizeof(float);

  PairSteps<T>& steps() { return active_.steps; }
  RowStore<T>& store() { return rows_.store; }

  // A variable takes some 40 numbers, here and with the caller.  Half of the memory is for kernel values at any rate.
  static std::size_t for_kernel_values(std::size_t bytes, std::size_t variables) {
    return bytes - std::min(bytes / 2, 40 * sizeof(double) * variables);
  }

  // ---- entering and leaving ------------------------------------------------------------------------------------

  void start() {
    result_.exact = false, result_.single_precision = kSingle;
    kernel_.diagonal(active_.diagonal());
    double largest = 0;
    for (double d : active_.diagonal()) largest = std::max(largest, std::abs(d));
    tau_ = 1e-12 * (largest > 0 ? largest : 1.0);
    flat_ = 8 * kUnitRoundoff * largest;
    active_.gather();
    rows_.add_passing(active_.coefficients(), store().columns(), steps().f, parallel_);
    steps().touch();
    value_anew();
    result_.exact = true;
  }

  void leave() {
    active_.scatter();
    try {
      settle();
    } catch (const StopRequest& request) {
      result_.status = request.status;
    }
    steps().select();
    if (result_.exact) control_.record(snapshot());
    result_.violation = steps().violation();
    result_.objective = objective_;
    result_.row_hits = store().hits();
    result_.row_misses = rows_.misses();
  }

  // f of all samples, as exact as the certificate needs it.
  void settle() {
    if (result_.status == Status::interrupted) {  // no time for either
      result_.exact = result_.exact && !active_.shrunk() && !kSingle;
      return;
    }
    if (active_.shrunk()) reconstruct();
    if (!kSingle || !result_.exact || result_.status == Status::solved) return;
    if (look_again() > tolerable()) recompute();
    active_.scatter();
  }

  std::size_t whole_limit() const {
    return std::min(options_.size ? options_.size : kWhole, rows_.store.capacity());
  }

  // ---- when to stop --------------------------------------------------------------------------------------------

  bool finished() {
    steps().select();
    while (steps().violation() <= kkt_tolerance()) {
      for (double value : steps().f)
        if (!std::isfinite(value)) throw StopRequest{Status::numerical};  // NaN violates nothing
      if (holds_for_all() && solved() && stands_a_second_look()) return true;
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

  // Steps still go on, but together they no longer lower the objective in floating point.
  bool stalled() {
    const std::int64_t window = 10 * static_cast<std::int64_t>(std::max<std::size_t>(f_.size(), 1000));
    if (!stall_.objective_stalled(result_.iterations, objective_, window)) return false;
    if (active_.shrunk()) reconstruct();  // perhaps those that rest have something to say
    steps().select();
    return stall_.violation_stalled(steps().violation());
  }

  bool holds_for_all() {
    if (active_.shrunk()) reconstruct();
    steps().select();
    return steps().violation() <= kkt_tolerance();
  }

  // The KKT conditions hold.  Is that all that was asked for?
  bool solved() {
    if (!options_.stop_on_gap) return true;
    const Snapshot now = snapshot();
    if (std::isfinite(now.gap) && now.gap <= options_.tolerance * (std::abs(now.primal) + std::abs(now.dual)) / 2)
      return true;
    gap_mode_tolerance_ *= 0.25;
    if (gap_mode_tolerance_ <= 1e-15 * (1 + first_violation_)) throw StopRequest{Status::numerical};
    return false;
  }

  double kkt_tolerance() {
    if (!options_.stop_on_gap) return options_.tolerance;
    if (gap_mode_tolerance_ < 0) gap_mode_tolerance_ = first_violation_ = steps().violation();  // maybe good enough
    return gap_mode_tolerance_;
  }

  // f was kept up to date with rows in single precision.  Is it right, and does what was found hold with the right
  // one?  If f is off by too much, all of it is computed anew and the steps go on: what is left to do is small, and so
  // is then the error of the rows.  True also if that has been tried often enough; `rough` says so.
  bool stands_a_second_look() {
    if (!kSingle) return true;
    if (look_again() <= tolerable())
      return (steps().violation() <= kkt_tolerance() && solved()) || ++almost_ > kRefinements;
    result_.insufficient_precision = result_.recomputations >= kRefinements;
    if (!result_.insufficient_precision) recompute();
    return result_.insufficient_precision;
  }

  double tolerable() const {
    return tolerable_error(problem_, options_.tolerance, options_.stop_on_gap, objective_);
  }

  // f in double precision where the certificate depends on it; how far it was off.  All samples are active.
  double look_again() {
    active_.scatter();
    const Weighted used = active_.coefficients();
    StopChecker::DeferTimeLimit defer(checker_, result_.exact);
    error_ = std::max(error_, steps().correct(used.samples, look_.at(used, parallel_)));
    steps().select();
    Weighted others = restless(active_, used, error_);
    look_.add(used, others, parallel_);
    defer.done();
    error_ = std::max(error_, steps().correct(others.samples, others.values));
    steps().select();
    value_anew();
    return error_;
  }

  // ---- all active samples at once ------------------------------------------------------------------------------

  // SMO on the active samples, until it is time to look up.
  void step_all() {
    const std::int64_t before = result_.iterations;
    ahead_.begin();
    for (steps().select(); steps().violation() > kBeyond * kkt_tolerance(); ++result_.iterations) {
      const std::int64_t count = result_.iterations - before;
      if (count == kBetweenLooks || out_of_steps() || (count % 64 == 63 && checker_.stop_requested())) break;
      if (!kSingle) record();  // rows in single precision have no story to tell
      const auto step = steps().step([this](std::size_t k) { return ahead_.row(k, parallel_); }, tau_, flat_);
      if (!(step.length > 0)) break;
      objective_ -= step.decrease;
    }
    if (result_.iterations == before) no_step();
  }

  // No step changes β in floating point.  Perhaps one does when f is exact.
  void no_step() {
    checker_.poll();
    if (out_of_steps()) return;
    if (stepless_at_ == result_.iterations) throw StopRequest{Status::numerical};
    stepless_at_ = result_.iterations;
    recompute();
    if (stall_.violation_stalled(steps().violation())) throw StopRequest{Status::numerical};
  }

  // ---- working sets --------------------------------------------------------------------------------------------

  void step_set() {
    set_ = choice_.next();
    block_.fill(set_, active_.samples(), parallel_);
    if (solve_inner()) spread();
    else no_step();
  }

  // False if no step was possible.
  bool solve_inner() {
    inner_.families = steps().families;
    inner_.gather(steps(), set_);
    const double goal = std::max(kGoal * steps().violation(), 0.5 * kkt_tolerance());
    const std::int64_t limit = static_cast<std::int64_t>(std::max<std::size_t>(1000, 50 * set_.size()));
    std::int64_t count = 0;
    double decrease = 0;
    for (inner_.select(); inner_.violation() > goal && count < limit; ++count) {
      if (out_of_steps(count) || (count % 256 == 255 && checker_.stop_requested())) break;
      const auto step = inner_.step([this](std::size_t k) { return block_.row(k); }, tau_, flat_);
      if (!(step.length > 0)) break;
      decrease += step.decrease;
    }
    result_.iterations += count;
    objective_ -= decrease;
    return count > 0;
  }

  // Write β back, and add the rows of the samples that moved to f.  Rows of variables that stay free will be needed
  // again and are kept; one that went to a bound tends to stay there, and its row is forgotten at once.
  void spread() {
    const std::size_t m = set_.size(), n = active_.size();
    const std::size_t room = rows_.worth_storing();
    Weighted kept, passing;
    for (std::size_t k = 0; k < m; ++k) {
      const std::size_t l = static_cast<std::size_t>(set_[k]), i = active_.sample(l);
      const bool was_free = active_.is_free(l);
      double sum = 0;
      bool differs = false;
      for (std::size_t v = k, w = l; v < inner_.size(); v += m, w += n) {
        differs = differs || inner_.beta[v] != steps().beta[w];
        sum += inner_.beta[v] - steps().beta[w];
        steps().beta[w] = inner_.beta[v];
      }
      if (differs) steps().mark(l);
      if (sum == 0) continue;
      const bool keep = kept.samples.size() < room && (store().holds(i) || (was_free && active_.is_free(l)));
      (keep ? kept : passing).add(i, sum);
    }
    choice_.saw_move(kept.samples.size() + passing.samples.size());
    StopChecker::DeferTimeLimit defer(checker_, result_.exact);
    store().limit(std::min(2 * choice_.free(), room));
    rows_.fetch(kept.samples, parallel_);
    rows_.add_stored(kept, steps(), options_.threads);
    rows_.add_passing(passing, store().columns(), steps().f, parallel_);
    steps().touch();
    defer.done();
  }

  // ---- shrinking (LwK 10.1.4) ----------------------------------------------------------------------------------

  void shrink() {
    steps().select();
    std::vector<std::int32_t> kept;
    for (std::size_t k = 0; k < active_.size(); ++k)
      if (!active_.at_rest(k)) kept.push_back(static_cast<std::int32_t>(k));
    if (kept.size() < 2 || double(kept.size()) > kShrunk * double(active_.size())) return;
    active_.keep(kept);
    store().narrow(kept, active_.samples());
  }

  // All samples active again: f of the resting ones is what it was plus what has changed since.  Where it takes a
  // second look anyway, those that are used have it now.
  void reconstruct() {
    active_.scatter();
    ++result_.reconstructions;
    StopChecker::DeferTimeLimit defer(checker_, result_.exact);
    const Weighted used = kSingle && !options_.stop_on_gap ? active_.coefficients() : Weighted{};
    const std::vector<double> exact = look_.at(used, parallel_);
    for (std::size_t k = 0; k < exact.size(); ++k)
      if (const std::int32_t at = active_.position(used.samples[k]); at >= 0)
        error_ = std::max(error_, std::abs(exact[k] - steps().f[static_cast<std::size_t>(at)]));
    Weighted resting = active_.resting(used);
    rows_.add_passing(active_.changes(), *kernel_.columns(resting.samples, memory_ / 4), resting.values, parallel_);
    defer.done();
    active_.wake(resting);
    steps().correct(used.samples, exact);
    store().open({});
  }

  // What the end will take, by what kernel values have taken so far; in double precision they take twice as long.
  double settling_seconds() const {
    double used = 0;
    for (double b : active_.steps.beta) used += b != 0;
    const double resting = double(f_.size() - active_.size());
    return 1.2 * rows_.seconds_for(used * resting + (kSingle ? 2 * used * used : 0));
  }

  // f = K β from scratch, in double precision.
  void recompute() {
    if (active_.shrunk()) reconstruct();
    active_.scatter();
    ++result_.recomputations;
    std::vector<double> values(f_.size(), 0.0);
    rows_.add_exactly(active_.coefficients(), store().columns(), values, parallel_);
    steps().f.swap(values);
    steps().touch(), steps().select();
    error_ = 0;
    value_anew();
  }

  void value_anew() {
    objective_ = active_.quadratic_value();
    stall_.restart(result_.iterations, objective_);  // the jump is no step
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
  const std::size_t memory_;  // of the caller's bytes, what is left for kernel values
  Span<double> f_;
  ActiveSamples<T> active_;
  Violators<T> violators_;
  RowTraffic<T> rows_;
  RowsAhead<T> ahead_;
  WorkingBlock<T> block_;
  SetChoice<T> choice_;
  SecondLook look_;
  PairSteps<T> inner_;
  StopChecker checker_;
  StallDetector stall_;
  RecordSchedule schedule_;
  Parallel parallel_;
  SmoResult result_;
  std::vector<std::int32_t> set_;  // positions
  double tau_ = 0, flat_ = 0;  // the least curvature in a gain, and the least that is no rounding error
  double objective_ = 0, gap_mode_tolerance_ = -1, first_violation_ = 0;
  double error_ = 0;  // of f, the largest seen
  std::int64_t almost_ = 0, stepless_at_ = -1;
};

}  // namespace

template <class T>
SmoResult solve_working_set(const KernelSource& kernel, const SignedProblem& problem, const WorkingSetOptions& options,
                            Span<double> beta, Span<double> f, RunControl& control) {
  return Engine<T>(kernel, problem, options, beta, f, control).run();
}

template SmoResult solve_working_set<float>(const KernelSource&, const SignedProblem&, const WorkingSetOptions&,
                                            Span<double>, Span<double>, RunControl&);
template SmoResult solve_working_set<double>(const KernelSource&, const SignedProblem&, const WorkingSetOptions&,
                                             Span<double>, Span<double>, RunControl&);

}  // namespace hinge
