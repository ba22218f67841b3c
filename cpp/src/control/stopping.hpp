// stopping.hpp: when a run must end (out of time, a signal, a wish of the monitor, no more progress), and when its
// story is written down.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "hinge/run_control.hpp"

namespace hinge {

struct StopRequest {
  Status status;
};

class RunControl {
 public:
  // reserve(): seconds that the end of the run will take; snapshot(): what to show.
  RunControl(Monitor& monitor, double max_seconds, std::function<double()> reserve, std::function<Snapshot()> snapshot)
      : monitor_(monitor), max_seconds_(max_seconds), reserve_(std::move(reserve)), snapshot_(std::move(snapshot)) {}

  double seconds() const { return watch_.seconds(); }

  // Looks at the clock, and every 50 ms at the rest.
  bool wants_to_stop() {
    if (stop_ == Status::interrupted) return true;
    const double now = seconds();
    if (max_seconds_ >= 0 && now + reserved_ >= max_seconds_) stop_ = Status::time_limit;
    if (now >= next_look_) {
      next_look_ = now + 0.05;
      reserved_ = reserve_();
      const bool shows = !unstoppable_ && monitor_.wants_progress();
      if (monitor_.interrupted() || (shows && !monitor_.progress(snapshot_()))) stop_ = Status::interrupted;
    }
    return stop_ != Status::solved;
  }

  void poll() {
    if (wants_to_stop() && !(unstoppable_ && stop_ == Status::time_limit)) throw StopRequest{stop_};
  }

  // β has changed and f has not yet, or f is being made anew: until it is there only a signal may end the run, and
  // `exact` is false if it does.
  class Unstoppable {
   public:
    Unstoppable(RunControl& control, bool& exact) : control_(control), exact_(exact) {
      control.unstoppable_ = true, exact = false;
    }
    ~Unstoppable() { control_.unstoppable_ = false; }
    Unstoppable(const Unstoppable&) = delete;
    Unstoppable& operator=(const Unstoppable&) = delete;
    void done() { exact_ = true; }

   private:
    RunControl& control_;
    bool& exact_;
  };

 private:
  Monitor& monitor_;
  const double max_seconds_;
  const std::function<double()> reserve_;
  const std::function<Snapshot()> snapshot_;
  Stopwatch watch_;
  double next_look_ = 0.05, reserved_ = 0;
  Status stop_ = Status::solved;
  bool unstoppable_ = false;
};

// Whether the objective still falls, looked at once in a while, and where it does not, whether violations still do: near
// the end they are worth less than the last digit of the objective long before they are rounding errors themselves.
class Progress {
 public:
  // It has not fallen over the last `window` steps, as floating point sees it.
  bool ended(std::int64_t steps, double objective, std::int64_t window) {
    if (steps < since_ + window) return false;
    const double gain = objective_ - objective;
    total_ += std::max(gain, 0.0);
    restart(steps, objective);
    return !(gain > 1e-15 * (std::abs(objective) + total_));
  }

  void restart(std::int64_t steps, double objective) { since_ = steps, objective_ = objective; }
  void jump(double change) { objective_ += change; }  // of an objective that was computed anew: no gain

  // Fifty looks at all samples in a row have found no smaller violation (it goes up and down): rounding has the last
  // word.
  bool in_vain(double violation) {
    vain_ = violation < 0.99 * least_ ? 0 : vain_ + 1;
    least_ = std::min(least_, violation);
    return vain_ >= 50;
  }

 private:
  std::int64_t since_ = 0;
  double objective_ = 0, total_ = 0, least_ = std::numeric_limits<double>::infinity();
  int vain_ = 0;
};

// When to take a snapshot: they thin out geometrically, some 150 of them in 10⁹ steps.
class Snapshots {
 public:
  bool due(std::int64_t steps) {
    if (steps < next_) return false;
    next_ = std::max(next_ + 1, static_cast<std::int64_t>(1.15 * double(next_)));
    return true;
  }

 private:
  std::int64_t next_ = 0;
};

}  // namespace hinge
