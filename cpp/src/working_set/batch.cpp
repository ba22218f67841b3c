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
#include "parallel/tasks.hpp"

namespace hinge {
namespace {

// What one problem tells, kept for later; stops when the run is to stop.
class BackgroundControl final : public RunControl {
 public:
  BackgroundControl(std::vector<Snapshot>& history, const std::atomic<bool>& stop) : history_(history), stop_(stop) {}
  void record(const Snapshot& snapshot) override { history_.push_back(snapshot); }
  bool wants_progress() override { return false; }
  bool progress(const Snapshot&) override { return true; }
  bool interrupted() override { return stop_.load(std::memory_order_relaxed); }

 private:
  std::vector<Snapshot>& history_;
  const std::atomic<bool>& stop_;
};

// The same on the calling thread, with the caller's own control behind it.
class ForegroundControl final : public RunControl {
 public:
  ForegroundControl(std::vector<Snapshot>& history, RunControl& caller) : history_(history), caller_(caller) {}
  void record(const Snapshot& snapshot) override { history_.push_back(snapshot); }
  bool wants_progress() override { return caller_.wants_progress(); }
  bool progress(const Snapshot& snapshot) override { return caller_.progress(snapshot); }
  bool interrupted() override { return caller_.interrupted(); }

 private:
  std::vector<Snapshot>& history_;
  RunControl& caller_;
};

constexpr std::size_t kMaxConcurrent = 16;  // problems at a time, at most

class Many {
 public:
  Many(const KernelSource& kernel, const std::vector<BatchProblem>& parts, const WorkingSetOptions& options,
       RunControl& control)
      : kernel_(kernel), parts_(parts), options_(options), control_(control),
        threads_(kernel.concurrent() ? options.threads : 1), diagonal_(kernel.size()), results_(parts.size()),
        order_(parts.size()) {
    for (BatchResult& each : results_) each.result.status = Status::interrupted, each.result.exact = false;
    kernel.diagonal(diagonal_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) { return work(a) > work(b); });
  }

  std::vector<BatchResult> run() {
    double left = 0;
    for (std::size_t part : order_) left += work(part);
    std::size_t first = 0;  // those that are more than a thread's share come first, with all threads
    const double threads = static_cast<double>(threads_);
    for (; first < order_.size() && (threads_ == 1 || work(order_[first]) > left / threads); ++first) {
      left -= work(order_[first]);
      if (!solve_in_foreground(order_[first])) return std::move(results_);
    }
    if (first < order_.size()) solve_concurrently(first);
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
    const double share = std::max(work(part) / std::max(all, 1.0), 1.0 / static_cast<double>(kMaxConcurrent));
    const std::size_t bytes = options_.cache_bytes - std::min(options_.cache_bytes / 2, kernel_.own_bytes());
    return static_cast<std::size_t>(std::min(1.0, share) * static_cast<double>(bytes));
  }

  void solve(std::size_t part, int threads, RunControl& control) {
    const BatchProblem& p = parts_[part];
    WorkingSetOptions options = options_;
    options.threads = threads;
    options.max_seconds = seconds_left();
    options.cache_bytes = bytes_of(part);
    options.max_iterations = p.max_iterations;
    if (is_everybody(p.samples)) {
      results_[part].result = solved(kernel_, p, options, control);
    } else {
      results_[part].result = solved(SubsetSource(kernel_, p.samples, diagonal_), p, options, control);
    }
  }

  static SmoResult solved(const KernelSource& kernel, const BatchProblem& p, const WorkingSetOptions& options,
                          RunControl& control) {
    const Stopwatch watch;
    const auto solver = p.double_rows ? solve_working_set<double> : solve_working_set<float>;
    SmoResult result = solver(kernel, p.problem, options, p.beta, p.f, control);
    if (!p.polish || result.status != Status::solved || !result.exact || result.insufficient_precision) return result;
    const auto go_on = [&] {
      if (control.interrupted()) result.status = Status::interrupted;
      return result.status == Status::solved && (options.max_seconds < 0 || watch.seconds() < options.max_seconds);
    };
    const Parallel parallel{options.threads, {}};
    result.polish = polish(kernel, p.problem, p.totals, p.beta, p.f, result.violation, parallel, go_on);
    return result;
  }

  bool is_everybody(Span<const std::int32_t> samples) const {
    if (samples.size() != kernel_.size()) return false;
    for (std::size_t k = 0; k < samples.size(); ++k)
      if (static_cast<std::size_t>(samples[k]) != k) return false;
    return true;
  }

  bool solve_in_foreground(std::size_t part) {
    ForegroundControl control(results_[part].history, control_);
    solve(part, threads_, control);
    return results_[part].result.status != Status::interrupted;
  }

  // Problems order_[first], order_[first + 1], ... with one thread each.
  void solve_concurrently(std::size_t first) {
    const std::size_t count = order_.size() - first;
    std::mutex mutex;
    Snapshot latest;  // of the problem that was finished last
    const auto task = [&](std::size_t k, const std::atomic<bool>& cancelled) {
      BatchResult& result = results_[order_[first + k]];
      BackgroundControl control(result.history, cancelled);
      solve(order_[first + k], 1, control);
      const std::lock_guard<std::mutex> lock(mutex);
      if (!result.history.empty()) latest = result.history.back();
    };
    const auto supervise = [&] {
      std::unique_lock<std::mutex> lock(mutex);
      const Snapshot reported = latest;
      lock.unlock();
      return !control_.interrupted() && (!control_.wants_progress() || control_.progress(reported));
    };
    const std::size_t threads = std::min({static_cast<std::size_t>(threads_), kMaxConcurrent, count});
    if (run_supervised_tasks(count, threads, task, supervise)) return;
    for (std::size_t k = first; k < order_.size() && solve_in_foreground(order_[k]); ++k) {
    }
  }

  const KernelSource& kernel_;
  const std::vector<BatchProblem>& parts_;
  const WorkingSetOptions& options_;
  RunControl& control_;
  const int threads_;
  std::vector<double> diagonal_;
  std::vector<BatchResult> results_;
  std::vector<std::size_t> order_;  // most work first
  Stopwatch watch_;
};

}  // namespace

std::vector<BatchResult> solve_batch(const KernelSource& kernel, const std::vector<BatchProblem>& parts,
                                   const WorkingSetOptions& options, RunControl& control) {
  return Many(kernel, parts, options, control).run();
}

}  // namespace hinge
