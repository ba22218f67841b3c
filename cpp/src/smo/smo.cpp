// smo.cpp: the solver of smo.hpp.  Reading order: run, select, step_pair / step_single, shrink, reconstruct.
#include "hinge/solvers/smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "cache/row_cache.hpp"
#include "control/stopping.hpp"
#include "smo/pair_steps.hpp"

namespace hinge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr double kPollSeconds = 0.05;

template <class T>
class Smo {
 public:
  Smo(const KernelSource& kernel, const SignedProblem& problem, const SmoOptions& options, Span<double> beta,
      Span<double> f, RunControl& control)
      : kernel_(kernel), problem_(problem), options_(options), control_(control), full_beta_(beta), full_f_(f),
        n_(kernel.size()), slots_(problem.slots), cache_(options.cache_bytes, n_), diagonal_all_(n_) {}

  SmoResult run() {
    result_.single_precision = sizeof(T) == sizeof(float);
    start();
    while (!finished()) {
      if (options_.shrinking && --until_shrink_ <= 0) {
        shrink();
        continue;
      }
      if (step()) continue;
      const bool exact = recomputed_at_ == result_.iterations;  // and still no step changes β in floating point
      if (!exact) recompute();
      if (exact || stall_.violation_stalled(violation())) {
        result_.status = Status::numerical;
        break;
      }
    }
    leave();
    return result_;
  }

 private:
  // ---- entering and leaving ------------------------------------------------------------------------------------

  void start() {
    kernel_.diagonal(diagonal_all_);
    double largest = 0;
    for (double d : diagonal_all_) largest = std::max(largest, std::abs(d));
    kernel_scale_ = largest;
    tau_ = 1e-12 * (largest > 0 ? largest : 1.0);
    flat_ = 8 * kUnitRoundoff * largest;
    active_.families = families_of(problem_);
    samples_.resize(n_);
    std::iota(samples_.begin(), samples_.end(), 0);
    gather_active();
    result_.exact = exact_f();
    objective_ = quadratic_value();
    stall_.restart(0, objective_);
    shrink_period_ = until_shrink_ = static_cast<std::int64_t>(std::clamp<std::size_t>(n_, 10, 1000));
  }

  void leave() {
    if (shrunk()) {
      if (result_.status == Status::interrupted) {
        result_.exact = false;
        scatter_active();
      } else {
        reconstruct();
        if (!result_.exact) result_.status = Status::interrupted;
      }
    }
    scatter_active();
    active_.select();
    if (result_.exact) record(snapshot());
    result_.violation = violation();
    result_.objective = objective_;
    result_.row_hits = cache_.hits();
    result_.row_misses = cache_.misses();
  }

  bool shrunk() const { return samples_.size() < n_; }
  std::size_t active() const { return samples_.size(); }
  double violation() const { return active_.violation(); }

  void gather_active() { active_.gather(problem_, samples_, full_beta_, full_f_, diagonal_all_); }

  void scatter_active() {
    const std::size_t m = active();
    for (std::size_t k = 0; k < m; ++k) full_f_[sample(k)] = active_.f[k];
    for (std::size_t s = 0; s < slots_; ++s)
      for (std::size_t k = 0; k < m; ++k) full_beta_[s * n_ + sample(k)] = active_.beta[s * m + k];
  }

  std::size_t sample(std::size_t k) const { return static_cast<std::size_t>(samples_[k]); }

  // ---- when to stop --------------------------------------------------------------------------------------------

  bool finished() {
    active_.select();
    if (result_.exact && violation() <= kkt_tolerance() && settled()) return true;
    const double now = watch_.seconds();
    if (interrupted(now)) return stop(Status::interrupted);
    if (!result_.exact || out_of_time(now)) return stop(Status::time_limit);
    if (options_.max_iterations >= 0 && result_.iterations >= options_.max_iterations)
      return stop(Status::max_iter);
    if (out_of_precision()) return stop(Status::numerical);
    if (schedule_.due(result_.iterations)) record(snapshot());
    if (drift_ > 0.05 * kkt_tolerance() && result_.iterations > recomputed_at_ + 10 * static_cast<std::int64_t>(n_))
      recompute();
    return false;
  }

  bool out_of_time(double now) const { return options_.max_seconds >= 0 && now + reserve_ >= options_.max_seconds; }

  bool stop(Status status) {
    result_.status = status;
    return true;
  }

  // The active problem is solved.  Is the whole one?
  bool settled() {
    for (double value : active_.f)
      if (!std::isfinite(value)) return stop(Status::numerical);  // NaN violates nothing
    if (shrunk()) {
      reconstruct();
      until_shrink_ = shrink_period_;
      active_.select();
      if (violation() > kkt_tolerance() || !result_.exact) return false;
    }
    if (!options_.stop_on_gap) return true;
    const Snapshot now = snapshot();
    if (now.gap <= options_.tolerance * (std::abs(now.primal) + std::abs(now.dual)) / 2 &&
        open_slope_ <= options_.tolerance)
      return true;
    gap_mode_tolerance_ *= 0.25;
    if (gap_mode_tolerance_ > 1e-15 * (1 + largest_gradient_)) return false;
    return stop(Status::numerical);
  }

  double kkt_tolerance() {
    if (!options_.stop_on_gap) return options_.tolerance;
    if (gap_mode_tolerance_ < 0) gap_mode_tolerance_ = largest_gradient_ = violation();  // a start may be good enough
    return gap_mode_tolerance_;
  }

  // Steps still go on, but together they no longer change the objective in floating point, nor are violations smaller.
  bool out_of_precision() {
    const std::int64_t window = 10 * static_cast<std::int64_t>(std::max<std::size_t>(n_, 1000));
    if (!stall_.objective_stalled(result_.iterations, objective_, window)) return false;
    if (shrunk()) {
      reconstruct();  // perhaps those that rest have something to say
      until_shrink_ = shrink_period_;
    }
    active_.select();
    return stall_.violation_stalled(violation());
  }

  // ---- steps ---------------------------------------------------------------------------------------------------

  bool step() {
    const auto taken = active_.step([this](std::size_t k) { return row(k); }, tau_, flat_);
    if (!(taken.length > 0)) return false;
    ++result_.iterations;
    objective_ -= taken.decrease;
    drift_ += kUnitRoundoff * (f_scale_ + 2 * taken.length * kernel_scale_);
    return true;
  }

  const T* row(std::size_t k) {
    return cache_.fetch(sample(k), [&](Span<T> out) {
      const double before = watch_.seconds();
      kernel_.row(sample(k), columns(), out);
      row_seconds_ += watch_.seconds() - before;
      row_entries_ += static_cast<double>(out.size());
    });
  }

  Span<const std::int32_t> columns() const { return shrunk()
      ? Span<const std::int32_t>(samples_) : Span<const std::int32_t>(); }

  // ---- the function cache (LwK 10.26) --------------------------------------------------------------------------

  double coefficient(std::size_t i) const {  // of sample i, summed over slots, from the full vector
    double sum = 0;
    for (std::size_t s = 0; s < slots_; ++s) sum += full_beta_[s * n_ + i];
    return sum;
  }

  // f = K β from scratch over all samples; only while not shrunk.  False, and f as it was, where there is no time for
  // it.
  bool exact_f() {
    std::vector<double> before(n_, 0.0);
    before.swap(active_.f);
    active_.touch();
    for (std::size_t i = 0; i < n_; ++i) {
      const double b = coefficient(i);
      if (b == 0) continue;
      const T* x = row(i);
      active_.add(&x, &b, 1, 0, active());
      const double now = watch_.seconds();
      if (interrupted(now) || out_of_time(now)) {
        before.swap(active_.f);
        return false;
      }
    }
    drift_ = 0;
    recomputed_at_ = result_.iterations;
    return true;
  }

  void recompute() {
    if (shrunk()) reconstruct();
    scatter_active();
    ++result_.recomputations;
    if (exact_f()) {
      const double before = objective_;
      objective_ = quadratic_value();
      stall_.shift_objective(objective_ - before);
    }
    active_.select();
  }

  double quadratic_value() const {
    double sum = 0;
    const std::size_t m = active();
    for (std::size_t v = 0; v < slots_ * m; ++v) sum += active_.beta[v] * (0.5 * active_.f[v % m] + active_.c[v]);
    return sum;
  }

  // ---- shrinking (LwK 10.1.4) ----------------------------------------------------------------------------------

  // At a bound and pushed against it: cannot be part of a violating pair now.
  bool at_rest(const Family& family, std::size_t v) const {
    const double descent = -active_.gradient(v);
    const double up = family.moves_alone ? violation() : family.up,
        low = family.moves_alone ? -violation() : family.low;
    if (active_.beta[v] >= active_.upper[v] && active_.beta[v] <= active_.lower[v]) return true;
    if (active_.beta[v] >= active_.upper[v]) return descent > up;
    if (active_.beta[v] <= active_.lower[v]) return descent < low;
    return false;
  }

  void shrink() {
    until_shrink_ = shrink_period_;
    if (!unshrunk_near_end_ && violation() <= 10 * kkt_tolerance()) {
      unshrunk_near_end_ = true;
      if (shrunk()) reconstruct();
      active_.select();
    }
    const std::size_t m = active();
    std::vector<std::int32_t> kept;
    for (std::size_t k = 0; k < m; ++k) {
      bool rest = true;
      for (std::size_t s = 0; s < slots_ && rest; ++s)
        for (const Family& family : active_.families)
          if (problem_.group[s * n_ + sample(k)] == family.group) rest = rest && at_rest(family, s * m + k);
      if (!rest) kept.push_back(static_cast<std::int32_t>(k));
    }
    if (kept.size() < 2 || kept.size() > m - m / 10) return;  // a tenth less is worth the copying
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

  // All samples active again: f of the resting ones is the reference plus what has changed since.
  void reconstruct() {
    ++result_.reconstructions;
    scatter_active();
    std::vector<char> is_active(n_, 0);
    for (std::int32_t i : samples_) is_active[static_cast<std::size_t>(i)] = 1;
    std::vector<std::int32_t> resting;
    for (std::size_t i = 0; i < n_; ++i)
      if (!is_active[i]) resting.push_back(static_cast<std::int32_t>(i));
    std::vector<double> values(resting.size());
    for (std::size_t k = 0; k < resting.size(); ++k) values[k] = reference_f_[static_cast<std::size_t>(resting[k])];
    std::vector<T> entries(resting.size());
    for (std::size_t i = 0; i < n_; ++i) {
      const double change = coefficient(i) - reference_coefficient_[i];
      if (change == 0) continue;
      kernel_.row(i, resting, Span<T>(entries));
      for (std::size_t k = 0; k < resting.size(); ++k) values[k] += change * static_cast<double>(entries[k]);
      if (interrupted(watch_.seconds())) {
        result_.exact = false;
        break;
      }
    }
    for (std::size_t k = 0; k < resting.size(); ++k) full_f_[static_cast<std::size_t>(resting[k])] = values[k];
    samples_.resize(n_);
    std::iota(samples_.begin(), samples_.end(), 0);
    cache_.clear(n_);
    gather_active();
  }

  double reconstruction_seconds() const {
    if (!shrunk() || row_entries_ == 0) return 0;
    std::size_t changed = 0;
    for (double b : active_.beta) changed += b != 0;
    return row_seconds_ / row_entries_ * double(changed) * double(n_ - active());
  }

  // ---- talking to the caller -----------------------------------------------------------------------------------

  bool interrupted(double now) {
    if (stop_requested_) return true;
    if (now < next_poll_) return false;
    next_poll_ = now + kPollSeconds;
    reserve_ = reconstruction_seconds();
    stop_requested_ = control_.interrupted() || (control_.wants_progress() && !control_.progress(snapshot()));
    return stop_requested_;
  }

  // The gap with the offset midway between the thresholds: an upper bound of the best one; docs/math (4).
  Snapshot snapshot() {
    const std::size_t m = active();
    double gap = 0;
    f_scale_ = open_slope_ = 0;
    for (double value : active_.f) f_scale_ = std::max(f_scale_, std::abs(value));
    for (const Family& family : active_.families) {
      const double offset = family.offset();
      for (std::size_t v = 0; v < slots_ * m; ++v) {
        if (problem_.group[(v / m) * n_ + sample(v % m)] != family.group) continue;
        const double r = active_.gradient(v) + offset, towards = r > 0 ? active_.lower[v] : active_.upper[v];
        if (std::isfinite(towards)) gap += r * (active_.beta[v] - towards);
        else open_slope_ = std::max(open_slope_, std::abs(r));
      }
    }
    if (open_slope_ > options_.tolerance) gap = kInf;  // (3) is no bound while a slope points to an infinite bound
    return {result_.iterations, watch_.seconds(), violation(), -objective_ + gap, -objective_, gap,
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
  std::vector<double> diagonal_all_, reference_f_, reference_coefficient_;
  std::vector<std::int32_t> samples_;
  PairSteps<T> active_;
  Stopwatch watch_;
  RecordSchedule schedule_;
  SmoResult result_;
  double objective_ = 0, kernel_scale_ = 0, f_scale_ = 0, drift_ = 0;
  double tau_ = 0, flat_ = 0;  // the least curvature in a gain, and the least that is no rounding error
  double gap_mode_tolerance_ = -1, largest_gradient_ = 0, open_slope_ = 0;
  double row_seconds_ = 0, row_entries_ = 0, reserve_ = 0, next_poll_ = kPollSeconds;
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
