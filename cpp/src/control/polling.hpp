// polling.hpp: time, signals and progress of a run; a wish to stop is an exception that ends in the driver.
#pragma once

#include "hinge/run_control.hpp"

namespace hinge {

struct Stop {
  Status status;
};

class Watch {
 public:
  Watch(Monitor& monitor, double max_seconds) : monitor_(monitor), limit_(max_seconds) {}

  // About every millisecond, on the calling thread only.
  void poll() {
    if (muted_) return;
    const double now = watch_.seconds();
    if (limit_ >= 0 && now > limit_) throw Stop{Status::time_limit};
    listen(now);
  }
  void listen() { listen(watch_.seconds()); }  // whatever the time
  void record() {
    snapshot.seconds = watch_.seconds();
    monitor_.record(snapshot);
  }
  double seconds() const { return watch_.seconds(); }
  void mute() { muted_ = true; }  // from now on nothing stops, and nobody is told
  void lift_limit() { limit_ = -1; }  // for the one pass that makes a cut-off run worth something

  Snapshot snapshot;

 private:
  void listen(double now) {
    if (muted_ || now - last_ < 0.05) return;
    last_ = now;
    if (monitor_.interrupted()) throw Stop{Status::interrupted};
    snapshot.seconds = now;
    if (monitor_.wants_progress() && !monitor_.progress(snapshot)) throw Stop{Status::interrupted};
  }

  Monitor& monitor_;
  Stopwatch watch_;
  double limit_, last_ = 0;
  bool muted_ = false;
};

}  // namespace hinge
