// run_control.hpp: progress reports, interrupts and history of a run.
#pragma once

#include <chrono>
#include <cstdint>

namespace hinge {

enum class Status : int { solved = 0, max_iter = 1, time_limit = 2, interrupted = 3, numerical = 4 };

// State of a solver at one iteration.
struct Snapshot {
  std::int64_t iteration = 0;
  double seconds = 0, violation = 0, primal = 0, dual = 0, gap = 0;
  std::int64_t active = 0;
  bool exact = true;  // false while samples are shrunk: primal, dual and gap then cover the active samples only
};

// Connection of a run with its caller.  Solvers call it on the calling thread only.
class RunControl {
 public:
  virtual ~RunControl() = default;
  virtual void record(const Snapshot&) = 0;    // appends to the history
  virtual bool wants_progress() = 0;           // whether a progress report is due; cheap; true at most every 100 ms
  virtual bool progress(const Snapshot&) = 0;  // reports progress; false requests a stop
  virtual bool interrupted() = 0;              // whether a signal is pending; called about every 50 ms
};

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace hinge
