// smo.cpp: see smo.hpp.  Main loop: run; steps in smo/pair_steps.hpp; shrink and reconstruct.
#include "hinge/solvers/smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "cache/row_cache.hpp"
#include "control/stopping.hpp"
#include "smo/gradient_error.hpp"
#include "smo/pair_steps.hpp"
#include "smo/two_loops.hpp"

namespace hinge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr double kMaxRelativeDrift = 0.05;  // of f, relative to the tolerance; f is recomputed if it may be exceeded
constexpr std::int64_t kMinRecomputeInterval = 10;  // steps per sample between two such recomputations
constexpr std::size_t kMinShrinkPeriod = 10, kMaxShrinkPeriod = 1000;  // range of the steps between attempts to shrink
constexpr double kUnshrinkFactor = 10;       // times the tolerance; at this violation all samples are activated once
constexpr std::size_t kMinShrinkShare = 10;  // shrinking by less than 1/10 of the samples is not worth the copying

template <class T>
class Smo {
 public:
  Smo(const KernelSource& kernel, const SignedProblem& problem, const SmoOptions& options, Span<double> beta,
      Span<double> f, RunControl& control)
      : kernel_(kernel), problem_(problem), options_(options), control_(control), full_beta_(beta), full_f_(f),
        n_(kernel.size()), slots_(problem.slots), cache_(options.cache_bytes, n_), stall_(n_),
        tolerance_(options.tolerance, options.stop_on_gap), diagonal_all_(n_), loops_(options.rule) {}

  SmoResult run() {
    result_.single_precision = sizeof(T) == sizeof(float);
    start();
    while (!finished()) {
      if (options_.shrinking && --until_shrink_ <= 0) {
        shrink();
        continue;
      }
      if (step() || active_.release_all()) continue;
      // If f is exact and no step changes β in floating point, the run ends.
      const bool exact = recomputed_at_ == result_.iterations;
      if (!exact) recompute();
      if (exact || stall_.violation_stalled(violation())) {
        result_.status = Status::numerical;
        break;
      }
    }
    end();
    return result_;
  }

 private:
  // ---- start and end -------------------------------------------------------------------------------------------

  void start() {
    kernel_.diagonal(diagonal_all_);
    double largest = 0;
    for (double d : diagonal_all_) largest = std::max(largest, std::abs(d));
    kernel_scale_ = largest;
    bounds_ = CurvatureBounds::of(diagonal_all_);
    error_ = GradientError(kernel_, diagonal_all_);
    active_.families = families_of(problem_);
    active_.sticky_steps = options_.sticky_steps;
    samples_.resize(n_);
    std::iota(samples_.begin(), samples_.end(), 0);
    gather_active();
    result_.exact = compute_f();
    objective_ = quadratic_value();
    stall_.restart(0, objective_);
    shrink_period_ = until_shrink_ = static_cast<std::int64_t>(std::clamp(n_, kMinShrinkPeriod, kMaxShrinkPeriod));
  }

  void end() {
    if (shrunk()) {
      if (result_.status == Status::interrupted) {
        result_.exact = false;
        scatter_active();
      } else {
        reconstruct();
        if (!result_.exact) result_.status = stop_requested_ ? Status::interrupted : Status::time_limit;
      }
    }
    scatter_active();
    active_.release_all();
    active_.select();
    if (result_.exact) record(snapshot());
    result_.violation = violation();
    result_.objective = objective_;
    result_.f_error = result_.run_error = result_.single_precision || !result_.exact ? kInf : error_.value();
    result_.row_hits = cache_.hits();
    result_.row_misses = cache_.misses();
  }

  bool shrunk() const { return samples_.size() < n_; }
  std::size_t active() const { return samples_.size(); }
  double violation() const { return active_.violation(); }

  void gather_active() {
    active_.gather(problem_, samples_, full_beta_, full_f_, diagonal_all_);
    loops_.restart();
  }

  void scatter_active() {
    const std::size_t m = active();
    for (std::size_t k = 0; k < m; ++k) full_f_[sample(k)] = active_.f[k];
    for (std::size_t s = 0; s < slots_; ++s)
      for (std::size_t k = 0; k < m; ++k) full_beta_[s * n_ + sample(k)] = active_.beta[s * m + k];
  }

  std::size_t sample(std::size_t k) const { return static_cast<std::size_t>(samples_[k]); }

  // ---- stopping ------------------------------------------------------------------------------------------------

  bool finished() {
    active_.select();
    if (violation() <= kkt_tolerance() && active_.release_all()) active_.select();
    if (result_.exact && violation() <= kkt_tolerance() && solved()) return true;
    const double now = stopwatch_.seconds();
    if (interrupted(now)) return stop(Status::interrupted);
    if (!result_.exact || out_of_time(now)) return stop(Status::time_limit);
    if (options_.max_iterations >= 0 && result_.iterations >= options_.max_iterations)
      return stop(Status::max_iter);
    if (stalled()) return stop(Status::numerical);
    if (schedule_.due(result_.iterations)) record(snapshot());
    if (drift_ > kMaxRelativeDrift * kkt_tolerance() &&
        result_.iterations > recomputed_at_ + kMinRecomputeInterval * static_cast<std::int64_t>(n_))
      recompute();
    return false;
  }

  bool out_of_time(double now) const {
    return options_.max_seconds >= 0 && now + reconstruction_seconds_ >= options_.max_seconds;
  }

  bool stop(Status status) {
    result_.status = status;
    return true;
  }

  // Whether the complete problem is solved, given that the active one is; or the status is set to numerical.
  bool solved() {
    for (double value : active_.f)
      if (!std::isfinite(value)) return stop(Status::numerical);  // NaN violates no condition
    if (shrunk()) {
      reconstruct();
      until_shrink_ = shrink_period_;
      active_.select();
      if (violation() > kkt_tolerance() || !result_.exact) return false;
    }
    if (!options_.stop_on_gap) return true;
    const Snapshot now = snapshot();
    if (now.gap <= options_.tolerance * (std::abs(now.primal) + std::abs(now.dual)) / 2 &&
        unbounded_slope_ <= options_.tolerance)
      return true;
    return tolerance_.reduce() ? false : stop(Status::numerical);
  }

  double kkt_tolerance() { return tolerance_.value(violation()); }

  // Whether steps no longer decrease the objective in floating point, nor the violation.
  bool stalled() {
    if (!stall_.window_ended(result_.iterations)) return false;
    if (!shrunk()) objective_ = quadratic_value();  // the sum of the decreases of all steps has large rounding errors
    if (!stall_.objective_stalled(result_.iterations, objective_)) return false;
    active_.release_all();
    if (shrunk()) {
      reconstruct();  // inactive samples may violate the conditions
      until_shrink_ = shrink_period_;
    }
    active_.select();
    return stall_.violation_stalled(violation());
  }

  // ---- steps ---------------------------------------------------------------------------------------------------

  bool step() {
    const auto taken = next_step([this](std::size_t k) { return row(k); });
    if (!(taken.length > 0)) return false;
    ++result_.iterations;
    objective_ -= taken.decrease;
    error_.add(taken.moved, taken.growth, 2);
    result_.travel += taken.moved;
    drift_ += kUnitRoundoff * (f_scale_ + 2 * taken.length * kernel_scale_);
    active_.advance();
    return true;
  }

  template <class Row>
  typename PairSteps<T>::Step next_step(Row&& rows) {
    if (options_.rule == PairRule::second_order) return active_.step(rows, bounds_);
    if (options_.rule == PairRule::first_order) return active_.step_first_order(rows, bounds_);
    return loops_.next(active_, rows, bounds_, kkt_tolerance());
  }

  const T* row(std::size_t k) {
    return cache_.fetch(sample(k), [&](Span<T> out) {
      const double before = stopwatch_.seconds();
      kernel_.row(sample(k), columns(), out);
      row_seconds_ += stopwatch_.seconds() - before;
      row_entries_ += static_cast<double>(out.size());
    });
  }

  Span<const std::int32_t> columns() const {
    return shrunk() ? Span<const std::int32_t>(samples_) : Span<const std::int32_t>();
  }

  // ---- the function cache (LwK 10.26) --------------------------------------------------------------------------

  double coefficient(std::size_t i) const {  // of sample i, summed over slots, from the full vector
    double sum = 0;
    for (std::size_t s = 0; s < slots_; ++s) sum += full_beta_[s * n_ + i];
    return sum;
  }

  // Computes f = K β for all samples; only while not shrunk.  Returns false and leaves f unchanged if time runs out.
  bool compute_f() {
    std::vector<double> before(n_, 0.0);
    before.swap(active_.f);
    active_.invalidate();
    for (std::size_t i = 0; i < n_; ++i) {
      const double b = coefficient(i);
      if (b == 0) continue;
      const T* x = row(i);
      active_.add(&x, &b, 1, 0, active());
      const double now = stopwatch_.seconds();
      if (interrupted(now) || out_of_time(now)) {
        before.swap(active_.f);
        return false;
      }
    }
    drift_ = 0;
    double sum = 0;
    for (double b : full_beta_) sum += std::abs(b);
    error_.restart(sum, n_);
    recomputed_at_ = result_.iterations;
    return true;
  }

  void recompute() {
    if (shrunk()) reconstruct();
    scatter_active();
    ++result_.recomputations;
    if (compute_f()) objective_ = quadratic_value();
    active_.select();
  }

  double quadratic_value() const {
    double sum = 0;
    const std::size_t m = active();
    for (std::size_t v = 0; v < slots_ * m; ++v) sum += active_.beta[v] * (0.5 * active_.f[v % m] + active_.c[v]);
    return sum;
  }

  // ---- shrinking (LwK 10.1.4) ----------------------------------------------------------------------------------

  // Whether variable v is at a bound and its gradient points outwards, so that no violating pair contains it.
  bool can_be_shrunk(const Family& family, std::size_t v) const {
    const double descent = -active_.gradient(v);
    const double up = family.single ? violation() : family.up;
    const double low = family.single ? -violation() : family.low;
    if (active_.beta[v] >= active_.upper[v] && active_.beta[v] <= active_.lower[v]) return true;
    if (active_.beta[v] >= active_.upper[v]) return descent > up;
    if (active_.beta[v] <= active_.lower[v]) return descent < low;
    return false;
  }

  void shrink() {
    until_shrink_ = shrink_period_;
    active_.release_all();
    active_.select();
    if (!unshrunk_near_end_ && violation() <= kUnshrinkFactor * kkt_tolerance()) {
      unshrunk_near_end_ = true;
      if (shrunk()) reconstruct();
      active_.select();
    }
    const std::size_t m = active();
    std::vector<std::int32_t> kept;
    for (std::size_t k = 0; k < m; ++k) {
      bool inactive = true;
      for (std::size_t s = 0; s < slots_ && inactive; ++s)
        for (const Family& family : active_.families)
          if (problem_.group[s * n_ + sample(k)] == family.group)
            inactive = inactive && can_be_shrunk(family, s * m + k);
      if (!inactive) kept.push_back(static_cast<std::int32_t>(k));
    }
    if (kept.size() < 2 || kept.size() > m - m / kMinShrinkShare) return;
    scatter_active();
    if (!shrunk()) {
      reference_f_.assign(full_f_.begin(), full_f_.end());
      reference_coefficient_.resize(n_);
      for (std::size_t i = 0; i < n_; ++i) reference_coefficient_[i] = coefficient(i);
    }
    cache_.keep_columns(kept);
    for (std::size_t k = 0; k < kept.size(); ++k) samples_[k] = samples_[static_cast<std::size_t>(kept[k])];
    samples_.resize(kept.size());
    gather_active();
    active_.select();
  }

  // Activates all samples.  f of the inactive ones is the reference plus the contribution of the changes of β since
  // then.
  void reconstruct() {
    ++result_.reconstructions;
    scatter_active();
    std::vector<char> is_active(n_, 0);
    for (std::int32_t i : samples_) is_active[static_cast<std::size_t>(i)] = 1;
    std::vector<std::int32_t> inactive;
    for (std::size_t i = 0; i < n_; ++i)
      if (!is_active[i]) inactive.push_back(static_cast<std::int32_t>(i));
    std::vector<double> values(inactive.size());
    for (std::size_t k = 0; k < inactive.size(); ++k) values[k] = reference_f_[static_cast<std::size_t>(inactive[k])];
    std::vector<T> entries(inactive.size());
    double moved = 0;
    std::size_t terms = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double change = coefficient(i) - reference_coefficient_[i];
      if (change == 0) continue;
      moved += std::abs(change), ++terms;
      kernel_.row(i, inactive, Span<T>(entries));
      for (std::size_t k = 0; k < inactive.size(); ++k) values[k] += change * static_cast<double>(entries[k]);
      const double now = stopwatch_.seconds();
      const bool late = options_.max_seconds >= 0 && now > latest_end(options_.max_seconds);
      if (late || interrupted(now)) {
        result_.exact = false;
        break;
      }
    }
    error_.add(moved, 0, terms);
    for (std::size_t k = 0; k < inactive.size(); ++k) full_f_[static_cast<std::size_t>(inactive[k])] = values[k];
    samples_.resize(n_);
    std::iota(samples_.begin(), samples_.end(), 0);
    cache_.clear(n_);
    gather_active();
  }

  double estimated_reconstruction_seconds() const {
    if (!shrunk() || row_entries_ == 0) return 0;
    std::size_t changed = 0;
    for (double b : active_.beta) changed += b != 0;
    return row_seconds_ / row_entries_ * double(changed) * double(n_ - active());
  }

  // ---- run control ---------------------------------------------------------------------------------------------

  bool interrupted(double now) {
    if (stop_requested_) return true;
    if (now < next_poll_) return false;
    next_poll_ = now + kControlInterval;
    reconstruction_seconds_ = estimated_reconstruction_seconds();
    stop_requested_ = control_.interrupted() || (control_.wants_progress() && !control_.progress(snapshot()));
    return stop_requested_;
  }

  // The gap with the multiplier midway between the thresholds, an upper bound of the smallest gap; docs/math (4).
  Snapshot snapshot() {
    active_.release_all();
    active_.select();
    const std::size_t m = active();
    double gap = 0;
    f_scale_ = unbounded_slope_ = 0;
    for (double value : active_.f) f_scale_ = std::max(f_scale_, std::abs(value));
    for (const Family& family : active_.families) {
      const double offset = family.offset();
      for (std::size_t v = 0; v < slots_ * m; ++v) {
        if (problem_.group[(v / m) * n_ + sample(v % m)] != family.group) continue;
        const double r = active_.gradient(v) + offset, bound = r > 0 ? active_.lower[v] : active_.upper[v];
        if (std::isfinite(bound)) gap += r * (active_.beta[v] - bound);
        else unbounded_slope_ = std::max(unbounded_slope_, std::abs(r));
      }
    }
    // (3) is not a bound while a gradient points to an infinite bound.
    if (unbounded_slope_ > options_.tolerance) gap = kInf;
    const double objective = shrunk() ? objective_ : quadratic_value();
    return {result_.iterations, stopwatch_.seconds(), violation(), -objective + gap, -objective, gap,
            static_cast<std::int64_t>(m), !shrunk()};
  }

  void record(const Snapshot& snapshot) { control_.record(snapshot); }

  const KernelSource& kernel_;
  const SignedProblem& problem_;
  const SmoOptions& options_;
  RunControl& control_;
  Span<double> full_beta_, full_f_;
  std::size_t n_, slots_;
  RowCache<T> cache_;
  StallDetector stall_;
  KktTolerance tolerance_;
  std::vector<double> diagonal_all_, reference_f_, reference_coefficient_;
  std::vector<std::int32_t> samples_;
  PairSteps<T> active_;
  TwoLoops<T> loops_;
  Stopwatch stopwatch_;
  RecordSchedule schedule_;
  SmoResult result_;
  double objective_ = 0, kernel_scale_ = 0, f_scale_ = 0, drift_ = 0;
  CurvatureBounds bounds_;
  GradientError error_;
  double unbounded_slope_ = 0;
  double row_seconds_ = 0, row_entries_ = 0, reconstruction_seconds_ = 0, next_poll_ = kControlInterval;
  std::int64_t shrink_period_ = 0, until_shrink_ = 0, recomputed_at_ = -1;
  bool unshrunk_near_end_ = false, stop_requested_ = false;
};

}  // namespace

template <class T>
SmoResult solve_smo(const KernelSource& kernel, const SignedProblem& problem, const SmoOptions& options,
                    Span<double> beta, Span<double> f, RunControl& control) {
  return Smo<T>(kernel, problem, options, beta, f, control).run();
}

template SmoResult solve_smo<float>(const KernelSource&, const SignedProblem&, const SmoOptions&, Span<double>,
                                    Span<double>, RunControl&);
template SmoResult solve_smo<double>(const KernelSource&, const SignedProblem&, const SmoOptions&, Span<double>,
                                     Span<double>, RunControl&);

}  // namespace hinge
