// run_control.hpp: how a long loop speaks with its caller: progress out, a wish to stop in.
#pragma once

#include <chrono>
#include <cstdint>

namespace hinge {

enum class Status : int { solved = 0, max_iter = 1, time_limit = 2, interrupted = 3, numerical = 4 };

struct Snapshot {
  std::int64_t iteration = 0;
  double seconds = 0, violation = 0, primal = 0, dual = 0, gap = 0;
  std::int64_t active = 0;
  bool exact = true;  // false while shrunk: the gap then speaks of the active samples only
};

class Monitor {
 public:
  virtual ~Monitor() = default;
  virtual void record(const Snapshot&) = 0;    // part of the history
  virtual bool wants_progress() = 0;           // cheap; true at most every tenth of a second
  virtual bool progress(const Snapshot&) = 0;  // false: stop
  virtual bool interrupted() = 0;              // a signal is waiting; polled about every 50 ms
};

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace hinge
