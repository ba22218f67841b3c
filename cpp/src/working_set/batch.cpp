// batch.cpp: who works on which problem, and who listens for signals.
#include "hinge/solvers/batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

#include "hinge/solvers/polish.hpp"
#include "kernels/gram/subset.hpp"

namespace hinge {
namespace {

// What one problem tells, kept for later; stops when the run is to stop.
class PartMonitor final : public Monitor {
 public:
  PartMonitor(std::vector<Snapshot>& history, const std::atomic<bool>& stop) : history_(history), stop_(stop) {}
  void record(const Snapshot& snapshot) override { history_.push_back(snapshot); }
  bool wants_progress() override { return false; }
  bool progress(const Snapshot&) override { return true; }
  bool interrupted() override { return stop_.load(std::memory_order_relaxed); }

 private:
  std::vector<Snapshot>& history_;
  const std::atomic<bool>& stop_;
};

// The same on the calling thread, with the caller's own monitor behind it.
class FrontMonitor final : public Monitor {
 public:
  FrontMonitor(std::vector<Snapshot>& history, Monitor& caller) : history_(history), caller_(caller) {}
  void record(const Snapshot& snapshot) override { history_.push_back(snapshot); }
  bool wants_progress() override { return caller_.wants_progress(); }
  bool progress(const Snapshot& snapshot) override { return caller_.progress(snapshot); }
  bool interrupted() override { return caller_.interrupted(); }

 private:
  std::vector<Snapshot>& history_;
  Monitor& caller_;
};

constexpr std::size_t kSideBySide = 16;  // problems at a time, at most

class Many {
 public:
  Many(const KernelSource& kernel, const std::vector<ProblemPart>& parts, const WorkingSetOptions& options,
       Monitor& monitor)
      : kernel_(kernel), parts_(parts), options_(options), monitor_(monitor),
        threads_(kernel.concurrent() ? options.threads : 1), diagonal_(kernel.size()), results_(parts.size()),
        order_(parts.size()) {
    kernel.diagonal(diagonal_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) { return work(a) > work(b); });
  }

  std::vector<PartResult> run() {
    double left = 0;
    for (std::size_t part : order_) left += work(part);
    std::size_t first = 0;  // those that are more than a thread's share come first, with all threads
    const double threads = static_cast<double>(threads_);
    for (; first < order_.size() && (threads_ == 1 || work(order_[first]) > left / threads); ++first) {
      left -= work(order_[first]);
      if (!solve_in_front(order_[first])) return std::move(results_);
    }
    if (first < order_.size()) side_by_side(first);
    return std::move(results_);
  }

 private:
  double work(std::size_t part) const {
    const double n = static_cast<double>(parts_[part].samples.size());
    return n * n;
  }

  double seconds_left() const {
    return options_.max_seconds < 0 ? -1 : std::max(0.0, options_.max_seconds - watch_.seconds());
  }

  // The same for any number of threads, since what a problem does depends on it: its share of the work, or so much
  // that as many as run side by side take little more than all.
  std::size_t bytes_of(std::size_t part) const {
    double all = 0;
    for (std::size_t each : order_) all += work(each);
    const double share = std::max(work(part) / std::max(all, 1.0), 1.0 / static_cast<double>(kSideBySide));
    const std::size_t bytes = options_.cache_bytes - std::min(options_.cache_bytes / 2, kernel_.own_bytes());
    return static_cast<std::size_t>(std::min(1.0, share) * static_cast<double>(bytes));
  }

  void solve(std::size_t part, int threads, Monitor& monitor) {
    const ProblemPart& p = parts_[part];
    WorkingSetOptions options = options_;
    options.threads = threads;
    options.max_seconds = seconds_left();
    options.cache_bytes = bytes_of(part);
    options.max_iterations = p.max_iterations;
    if (is_everybody(p.samples)) {
      results_[part].result = solved(kernel_, p, options, monitor);
    } else {
      results_[part].result = solved(Restricted(kernel_, p.samples, diagonal_), p, options, monitor);
    }
    results_[part].begun = true;
  }

  static SmoResult solved(const KernelSource& kernel, const ProblemPart& p, const WorkingSetOptions& options,
                          Monitor& monitor) {
    const Stopwatch watch;
    const auto solver = p.double_rows ? solve_working_set<double> : solve_working_set<float>;
    SmoResult result = solver(kernel, p.problem, options, p.beta, p.f, monitor);
    if (!p.polish || result.status != Status::solved || !result.exact || result.rough) return result;
    const auto go_on = [&] {
      if (monitor.interrupted()) result.status = Status::interrupted;
      return result.status == Status::solved && (options.max_seconds < 0 || watch.seconds() < options.max_seconds);
    };
    const Parallel parallel{options.threads, {}};
    result.polish = static_cast<int>(
        polish(kernel, p.problem, p.totals, p.beta, p.f, result.violation, parallel, go_on));
    return result;
  }

  bool is_everybody(Span<const std::int32_t> samples) const {
    if (samples.size() != kernel_.size()) return false;
    for (std::size_t k = 0; k < samples.size(); ++k)
      if (static_cast<std::size_t>(samples[k]) != k) return false;
    return true;
  }

  bool solve_in_front(std::size_t part) {
    FrontMonitor monitor(results_[part].history, monitor_);
    solve(part, threads_, monitor);
    return results_[part].result.status != Status::interrupted;
  }

  // The calling thread looks after signals while the others work.
  void side_by_side(std::size_t first) {
    std::atomic<std::size_t> next{first};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    std::mutex guard;
    std::condition_variable changed;
    std::size_t working = 0;
    Snapshot latest;  // of a problem that is done
    const std::size_t count = std::min({static_cast<std::size_t>(threads_), kSideBySide, order_.size() - first});
    const auto work = [&]() noexcept {
      try {
        for (std::size_t k = next++; k < order_.size() && !stop; k = next++) {
          PartMonitor monitor(results_[order_[k]].history, stop);
          solve(order_[k], 1, monitor);
          const std::lock_guard<std::mutex> lock(guard);
          if (!results_[order_[k]].history.empty()) latest = results_[order_[k]].history.back();
        }
      } catch (...) {
        const std::lock_guard<std::mutex> lock(guard);
        if (!failure) failure = std::current_exception();
        stop = true;
      }
      const std::lock_guard<std::mutex> lock(guard);
      --working;
      changed.notify_one();
    };
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < count; ++t) {
      try {
        std::unique_lock<std::mutex> lock(guard);
        ++working;
        lock.unlock();
        workers.emplace_back(work);
      } catch (const std::system_error&) {  // no more threads to be had
        const std::lock_guard<std::mutex> lock(guard);
        --working;
        break;
      }
    }
    if (workers.empty()) {
      for (std::size_t k = first; k < order_.size() && solve_in_front(order_[k]); ++k) {
      }
      return;
    }
    for (std::unique_lock<std::mutex> lock(guard);;) {
      if (changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return working == 0; })) break;
      const Snapshot shown = latest;
      lock.unlock();
      if (!stop && (monitor_.interrupted() || (monitor_.wants_progress() && !monitor_.progress(shown)))) stop = true;
      lock.lock();
    }
    for (std::thread& worker : workers) worker.join();
    if (failure) std::rethrow_exception(failure);
  }

  const KernelSource& kernel_;
  const std::vector<ProblemPart>& parts_;
  const WorkingSetOptions& options_;
  Monitor& monitor_;
  const int threads_;
  std::vector<double> diagonal_;
  std::vector<PartResult> results_;
  std::vector<std::size_t> order_;  // most work first
  Stopwatch watch_;
};

}  // namespace

std::vector<PartResult> solve_many(const KernelSource& kernel, const std::vector<ProblemPart>& parts,
                                   const WorkingSetOptions& options, Monitor& monitor) {
  return Many(kernel, parts, options, monitor).run();
}

}  // namespace hinge
