// stopping.hpp: stopping rules of SMO and of the working-set method, and the schedule of their histories.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "control/stop_request.hpp"
#include "hinge/run_control.hpp"

namespace hinge {

// The time at which computations that complete a run are abandoned, somewhat after its time limit.
inline double latest_end(double max_seconds) {
  constexpr double kOverrunShare = 0.04, kOverrunSeconds = 0.05;
  return max_seconds + std::max(kOverrunShare * max_seconds, kOverrunSeconds);
}

// Time limit, interrupts and progress reports of a run.
class StopChecker {
 public:
  // remaining_work() estimates the seconds that ending the run will take; snapshot() returns the state to report.
  // A negative max_seconds means no limit.
  StopChecker(RunControl& control, double max_seconds, std::function<double()> remaining_work,
              std::function<Snapshot()> snapshot)
      : control_(control), max_seconds_(max_seconds), remaining_work_(std::move(remaining_work)),
        snapshot_(std::move(snapshot)) {}

  double seconds() const { return stopwatch_.seconds(); }

  // Checks the time limit, and every 50 ms interrupts and progress.
  bool stop_requested() {
    if (stop_ == Status::interrupted) return true;
    const double now = seconds();
    if (max_seconds_ >= 0 && now + reserved_ >= max_seconds_) stop_ = Status::time_limit;
    if (now >= next_control_) {
      next_control_ = now + kControlInterval;
      reserved_ = remaining_work_();
      const bool reports = !deferred_ && control_.wants_progress();
      if (control_.interrupted() || (reports && !control_.progress(snapshot_()))) stop_ = Status::interrupted;
    }
    return stop_ != Status::solved;
  }

  void poll() {
    if (!stop_requested()) return;
    if (deferred_ && stop_ == Status::time_limit && seconds() <= latest_end(max_seconds_)) return;
    throw StopRequest{stop_};
  }

  bool has_time_limit() const { return max_seconds_ >= 0; }
  double remaining() const {  // seconds until the time limit; infinite without one
    return has_time_limit() ? std::max(0.0, max_seconds_ - seconds()) : std::numeric_limits<double>::infinity();
  }

  // Defers the time limit, to latest_end at most, while f is inconsistent with β or is being recomputed.  If that or an
  // interrupt stops the run, `exact` remains false.
  class DeferTimeLimit {
   public:
    DeferTimeLimit(StopChecker& checker, bool& exact) : checker_(checker), exact_(exact) {
      checker.deferred_ = true, exact = false;
    }
    ~DeferTimeLimit() { checker_.deferred_ = false; }
    DeferTimeLimit(const DeferTimeLimit&) = delete;
    DeferTimeLimit& operator=(const DeferTimeLimit&) = delete;
    void done() { exact_ = true; }

   private:
    StopChecker& checker_;
    bool& exact_;
  };

 private:
  RunControl& control_;
  const double max_seconds_;
  const std::function<double()> remaining_work_;
  const std::function<Snapshot()> snapshot_;
  Stopwatch stopwatch_;
  double next_control_ = kControlInterval, reserved_ = 0;
  Status stop_ = Status::solved;
  bool deferred_ = false;
};

// Detects a run that has reached the limits of floating-point arithmetic: neither the objective nor the violation
// decreases.  Near the optimum, a violation that is much larger than rounding errors changes the objective by less than
// its last digit.  Therefore both are observed.
class StallDetector {
 public:
  explicit StallDetector(std::size_t samples)
      : window_(kStepsPerSample * static_cast<std::int64_t>(std::max(samples, kMinSamples))) {}

  // Whether the objective has not decreased over the last window of steps, beyond rounding.
  bool objective_stalled(std::int64_t steps, double objective) {
    if (!window_ended(steps)) return false;
    const double decrease = objective_ - objective;
    total_decrease_ += std::max(decrease, 0.0);
    restart(steps, objective);
    return !(decrease > kRelativeRounding * (std::abs(objective) + total_decrease_));
  }

  bool window_ended(std::int64_t steps) const { return steps >= since_ + window_; }

  void restart(std::int64_t steps, double objective) { since_ = steps, objective_ = objective; }

  // Whether the violation at the last kMaxChecks checks of all samples was never smaller than before.
  bool violation_stalled(double violation) {
    checks_ = violation < kSufficientDecrease * least_violation_ ? 0 : checks_ + 1;
    least_violation_ = std::min(least_violation_, violation);
    return checks_ >= kMaxChecks;
  }

 private:
  static constexpr std::int64_t kStepsPerSample = 10;  // length of a window
  static constexpr std::size_t kMinSamples = 1000;     // windows are not shorter than for this many samples
  static constexpr double kRelativeRounding = 1e-15;   // smaller decreases of the objective count as none
  static constexpr double kSufficientDecrease = 0.99;  // factor by which a violation must decrease to count as progress
  static constexpr int kMaxChecks = 50;                // checks without progress before the run ends with a stall

  const std::int64_t window_;
  std::int64_t since_ = 0;
  double objective_ = 0, total_decrease_ = 0, least_violation_ = std::numeric_limits<double>::infinity();
  int checks_ = 0;
};

// KKT tolerance of a run.  If the run stops on the relative gap, the tolerance starts with the first violation and is
// reduced whenever it is reached and the gap is still too large.
class KktTolerance {
 public:
  KktTolerance(double tolerance, bool stop_on_gap) : tolerance_(tolerance), stop_on_gap_(stop_on_gap) {}

  double value(double violation) {
    if (!stop_on_gap_) return tolerance_;
    if (current_ < 0) current_ = first_violation_ = violation;  // the start may suffice
    return current_;
  }

  // Returns false if the tolerance cannot be reduced further.
  bool reduce() {
    current_ *= kReduction;
    return current_ > kMinimum * (1 + first_violation_);
  }

 private:
  static constexpr double kReduction = 0.25;
  static constexpr double kMinimum = 1e-15;  // relative to the first violation; the run then ends with a stall

  const double tolerance_;
  const bool stop_on_gap_;
  double current_ = -1, first_violation_ = 0;
};

// Geometrically spaced steps at which the history is recorded: about 150 records in 10⁹ steps.
class RecordSchedule {
 public:
  bool due(std::int64_t steps) {
    if (steps < next_) return false;
    next_ = std::max(next_ + 1, static_cast<std::int64_t>(kSpacing * double(next_)));
    return true;
  }

 private:
  static constexpr double kSpacing = 1.15;  // ratio of consecutive recorded steps

  std::int64_t next_ = 0;
};

}  // namespace hinge
