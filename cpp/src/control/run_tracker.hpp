// run_tracker.hpp: time limit, interrupts, progress reports and history of a run.
// A reason to stop is thrown as a StopRequest, which the main loop of the solver catches.
#pragma once

#include "control/stop_request.hpp"
#include "hinge/run_control.hpp"

namespace hinge {

class RunTracker {
 public:
  // A negative max_seconds means no limit.
  RunTracker(RunControl& control, double max_seconds) : control_(control), max_seconds_(max_seconds) {}

  // Checks the time limit, and every 50 ms interrupts and progress.  Called about every millisecond, on the calling
  // thread only.
  void poll() {
    if (disabled_) return;
    const double now = stopwatch_.seconds();
    if (max_seconds_ >= 0 && now > max_seconds_) throw StopRequest{Status::time_limit};
    poll_control(now);
  }
  void poll_interrupts() { poll_control(stopwatch_.seconds()); }  // ignores the time limit

  void record() {
    snapshot.seconds = stopwatch_.seconds();
    control_.record(snapshot);
  }
  double seconds() const { return stopwatch_.seconds(); }

  void disable() { disabled_ = true; }               // neither stops the run nor reports progress from now on
  void remove_time_limit() { max_seconds_ = -1; }  // for the final pass that certifies the point after the time limit

  Snapshot snapshot;  // updated by the solver; reported and recorded from here

 private:
  void poll_control(double now) {
    if (disabled_ || now - last_ < kControlInterval) return;
    last_ = now;
    if (control_.interrupted()) throw StopRequest{Status::interrupted};
    snapshot.seconds = now;
    if (control_.wants_progress() && !control_.progress(snapshot)) throw StopRequest{Status::interrupted};
  }

  RunControl& control_;
  Stopwatch stopwatch_;
  double max_seconds_, last_ = 0;
  bool disabled_ = false;
};

}  // namespace hinge
