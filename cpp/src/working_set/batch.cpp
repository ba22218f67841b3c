// batch.cpp: see batch.hpp.
#include "hinge/solvers/batch.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "control/stopping.hpp"
#include "hinge/kernels/gram.hpp"
#include "hinge/solvers/polish.hpp"
#include "kernels/gram/subset.hpp"
#include "parallel/tasks.hpp"

namespace hinge {
namespace {

// Run control of a problem on a worker thread: stores the history and stops if the batch is cancelled.
class BackgroundControl final : public RunControl {
 public:
  BackgroundControl(std::vector<Snapshot>& history, const std::atomic<bool>& cancelled)
      : history_(history), cancelled_(cancelled) {}
  void record(const Snapshot& snapshot) override { history_.push_back(snapshot); }
  bool wants_progress() override { return false; }
  bool progress(const Snapshot&) override { return true; }
  bool interrupted() override { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::vector<Snapshot>& history_;
  const std::atomic<bool>& cancelled_;
};

// Run control of a problem on the calling thread: stores the history and passes the other calls on.
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

constexpr std::size_t kMaxConcurrent = 16;  // problems that are solved at the same time

// The kernel matrix is computed once for all problems if it has at most this many rows and the problems have at least
// as many kernel values.  Later problems then read values that earlier ones would have computed again.
constexpr std::size_t kMaxSharedRows = 2048;

// Steps of the first stage of a problem that is polished, and the factor from one stage to the next.
constexpr std::int64_t kFirstStageSteps = 500, kFirstStageStepsPerSample = 4, kStageGrowth = 2;

// The kernel matrix of all samples of some problems, in the order in which the problems list them: the samples of a
// class are then neighbors, and a problem reads few runs of consecutive values.
class SharedMatrix {
 public:
  // Computes the matrix, unless the problems share too few values, the matrix does not fit into the cache, or the
  // computation is stopped: the time limit or the interrupt then ends every problem.
  SharedMatrix(const KernelSource& kernel, const std::vector<BatchProblem>& problems, const WorkingSetOptions& options,
               RunControl& control) {
    const bool computed = kernel.cost() > 0 && kernel.concurrent();
    if (problems.size() < 2 || kernel.size() > kMaxSharedRows || !computed) return;
    std::size_t values = 0;
    for (const BatchProblem& p : problems) values += p.samples.size() * p.samples.size();
    list_samples(kernel.size(), problems);
    const std::size_t n = order_.size();
    bytes_ = sizeof(double) * n * n;
    if (values < n * n || bytes_ > options.cache_bytes / 2) return;
    StopChecker checker(control, options.max_seconds, [] { return 0.0; }, [] { return Snapshot{}; });
    values_.reset(new double[n * n]);  // not initialized
    try {
      std::vector<double> diagonal(kernel.size());
      kernel.diagonal(diagonal);
      fill(SubsetSource(kernel, order_, diagonal), values_.get(),
           Parallel{options.threads, [&] { checker.poll(); }});
    } catch (const StopRequest&) {
      return;
    }
    gram_ = make_gram(values_.get(), n, kernel.value_error());
  }

  const KernelSource* source() const { return gram_.get(); }  // nullptr if there is no matrix
  std::size_t bytes() const { return gram_ ? bytes_ : 0; }

  // The rows of samples in the matrix.
  std::vector<std::int32_t> rows_of(Span<const std::int32_t> samples) const {
    std::vector<std::int32_t> rows;
    rows.reserve(samples.size());
    for (std::int32_t i : samples) rows.push_back(row_[static_cast<std::size_t>(i)]);
    return rows;
  }

 private:
  void list_samples(std::size_t all, const std::vector<BatchProblem>& problems) {
    row_.assign(all, -1);
    for (const BatchProblem& p : problems)
      for (std::int32_t i : p.samples)
        if (std::int32_t& row = row_[static_cast<std::size_t>(i)]; row < 0) {
          row = static_cast<std::int32_t>(order_.size());
          order_.push_back(i);
        }
  }

  std::vector<std::int32_t> order_, row_;  // samples in the order of the rows; row of every sample
  std::unique_ptr<double[]> values_;
  std::unique_ptr<Gram> gram_;
  std::size_t bytes_ = 0;
};

class Batch {
 public:
  Batch(const KernelSource& kernel, const std::vector<BatchProblem>& problems, const WorkingSetOptions& options,
        RunControl& control)
      : shared_(kernel, problems, options, control), kernel_(shared_.source() ? *shared_.source() : kernel),
        problems_(problems), options_(options), control_(control), threads_(kernel.concurrent() ? options.threads : 1),
        diagonal_(kernel_.size()), results_(problems.size()), order_(problems.size()) {
    for (BatchResult& each : results_) each.result.status = Status::interrupted, each.result.exact = false;
    kernel_.diagonal(diagonal_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) { return work(a) > work(b); });
  }

  std::vector<BatchResult> run() {
    double remaining = 0;
    for (std::size_t p : order_) remaining += work(p);
    unstarted_ = remaining;
    std::size_t first = 0;  // problems with more than the share of a thread come first and use all threads
    const double threads = static_cast<double>(threads_);
    for (; first < order_.size() && (threads_ == 1 || work(order_[first]) > remaining / threads); ++first) {
      remaining -= work(order_[first]);
      if (!solve_in_foreground(order_[first])) return std::move(results_);
    }
    if (first < order_.size()) solve_concurrently(first);
    return std::move(results_);
  }

 private:
  // Estimated work, in arbitrary units.
  double work(std::size_t p) const {
    const double n = static_cast<double>(problems_[p].samples.size());
    return n * n;
  }

  // The time of problem p: its share of the work that is left, on this many of `parts` concurrent threads.
  double available_seconds(std::size_t p, double parts) {
    if (options_.max_seconds < 0) return -1;
    const std::lock_guard<std::mutex> lock(mutex_);
    const double share = unstarted_ > 0 ? std::min(1.0, parts * work(p) / unstarted_) : 1;
    unstarted_ -= work(p);
    return share * std::max(0.0, options_.max_seconds - stopwatch_.seconds());
  }

  // The cache of a problem: its share of the work, but at least 1/kMaxConcurrent, so that all concurrent problems
  // together need little more than the total.  Does not depend on the number of threads, because the steps of a problem
  // depend on it.
  std::size_t cache_bytes(std::size_t p) const {
    double total = 0;
    for (std::size_t q : order_) total += work(q);
    const double share = std::max(work(p) / std::max(total, 1.0), 1.0 / static_cast<double>(kMaxConcurrent));
    const std::size_t used = kernel_.own_bytes() + shared_.bytes();
    const std::size_t bytes = options_.cache_bytes - std::min(options_.cache_bytes / 2, used);
    return static_cast<std::size_t>(std::min(1.0, share) * static_cast<double>(bytes));
  }

  void solve(std::size_t p, int threads, double parts, RunControl& control) {
    const BatchProblem& problem = problems_[p];
    WorkingSetOptions options = options_;
    options.threads = threads;
    options.max_seconds = available_seconds(p, parts);
    options.cache_bytes = cache_bytes(p);
    options.max_iterations = problem.max_iterations;
    const std::vector<std::int32_t> shared_rows = shared_.source() ? shared_.rows_of(problem.samples)
                                                                   : std::vector<std::int32_t>();
    const Span<const std::int32_t> rows = shared_.source() ? Span<const std::int32_t>(shared_rows) : problem.samples;
    if (covers_all_rows(rows)) {
      results_[p].result = solve_and_polish(p, kernel_, options, control);
    } else {
      const SubsetSource subset(kernel_, rows, diagonal_);
      results_[p].result = solve_and_polish(p, subset, options, control);
    }
  }

  // Slow convergence is often that of the last few free variables, which the linear system of polishing determines at
  // once.  A problem to be polished is therefore solved in stages of increasing length, with an attempt after each.
  // With float rows there is one stage: at the end of each, the gradient would have to be computed in double precision.
  SmoResult solve_and_polish(std::size_t p, const KernelSource& kernel, WorkingSetOptions options,
                             RunControl& control) {
    const BatchProblem& problem = problems_[p];
    const auto solver = problem.double_rows ? solve_working_set<double> : solve_working_set<float>;
    if (!problem.polish) return solver(kernel, problem.problem, options, problem.beta, problem.f, control);
    const Stopwatch stopwatch;
    const double max_seconds = options.max_seconds;
    const std::int64_t max_iterations = options.max_iterations;
    const auto has_time = [&] { return max_seconds < 0 || stopwatch.seconds() < max_seconds; };
    std::int64_t stage = kFirstStageSteps + kFirstStageStepsPerSample * static_cast<std::int64_t>(kernel.size());
    if (!problem.double_rows) stage = std::numeric_limits<std::int64_t>::max();
    SmoResult result;
    for (;; stage *= kStageGrowth) {
      const std::int64_t left = max_iterations - result.iterations;
      options.max_iterations = max_iterations < 0 ? stage : std::min(stage, left);
      options.max_seconds = max_seconds < 0 ? -1 : std::max(0.0, max_seconds - stopwatch.seconds());
      append(result, solver(kernel, problem.problem, options, problem.beta, problem.f, control), results_[p].history);
      const bool cut = result.status == Status::max_iter && (max_iterations < 0 || left > stage);
      if (!(cut || result.status == Status::solved) || !result.exact || result.insufficient_precision) return result;
      if (!cut || is_worth_polishing(problem, result.iterations)) {
        const auto may_continue = [&] {
          if (control.interrupted()) result.status = Status::interrupted;
          return result.status != Status::interrupted && has_time();
        };
        if (polish(p, kernel, cut, result, Parallel{options.threads, {}}, may_continue)) return result;
      }
      if (!cut || result.status == Status::interrupted) return result;
    }
  }

  // Returns false if the solution of an unfinished run could not be polished: its point is then unchanged.
  bool polish(std::size_t p, const KernelSource& kernel, bool unfinished, SmoResult& result, const Parallel& parallel,
              const std::function<bool()>& may_continue) {
    const BatchProblem& problem = problems_[p];
    const std::vector<double> beta(problem.beta.begin(), problem.beta.end()), f(problem.f.begin(), problem.f.end());
    double violation = result.violation, f_error = result.f_error;
    const Polish outcome = hinge::polish(kernel, problem.problem, problem.totals, problem.beta, problem.f, violation,
                                         f_error, parallel, may_continue);
    const bool solves = outcome == Polish::done && (options_.stop_on_gap || violation <= options_.tolerance);
    if (unfinished && !solves) {
      std::copy(beta.begin(), beta.end(), problem.beta.begin());
      std::copy(f.begin(), f.end(), problem.f.begin());
      return false;
    }
    result.polish = outcome, result.violation = violation, result.f_error = f_error;
    if (unfinished) result.status = Status::solved;
    return true;
  }

  // Whether the factorization of the free variables costs less than the steps so far.
  static bool is_worth_polishing(const BatchProblem& p, std::int64_t steps) {
    double free = 0;
    for (std::size_t v = 0; v < p.beta.size(); ++v)
      free += p.beta[v] > p.problem.lower[v] && p.beta[v] < p.problem.upper[v];
    return free * free * free / 3 <= static_cast<double>(steps) * static_cast<double>(p.beta.size());
  }

  // Adds the counts of a stage that continued from `total`, and moves its history behind that of the stages before.
  static void append(SmoResult& total, SmoResult stage, std::vector<Snapshot>& history) {
    if (total.iterations > 0) {
      const std::size_t before = static_cast<std::size_t>(total.snapshots);
      const double seconds = before > 0 ? history[before - 1].seconds : 0;
      for (std::size_t k = before; k < history.size(); ++k)
        history[k].iteration += total.iterations, history[k].seconds += seconds;
      stage.iterations += total.iterations, stage.travel += total.travel;
      stage.row_hits += total.row_hits, stage.row_misses += total.row_misses;
      stage.reconstructions += total.reconstructions, stage.recomputations += total.recomputations;
      stage.run_error = std::max(stage.run_error, total.run_error);
    }
    total = stage;
    total.snapshots = history.size();
  }

  bool covers_all_rows(Span<const std::int32_t> rows) const {
    if (rows.size() != kernel_.size()) return false;
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (static_cast<std::size_t>(rows[k]) != k) return false;
    return true;
  }

  // Returns false if the run was interrupted.
  bool solve_in_foreground(std::size_t p) {
    ForegroundControl control(results_[p].history, control_);
    solve(p, threads_, 1, control);
    return results_[p].result.status != Status::interrupted;
  }

  // Problems order_[first], order_[first + 1], ... with one thread each.
  void solve_concurrently(std::size_t first) {
    const std::size_t count = order_.size() - first;
    const std::size_t threads = std::min({static_cast<std::size_t>(threads_), kMaxConcurrent, count});
    std::mutex mutex;
    Snapshot latest;  // of the problem that was finished last
    const auto task = [&](std::size_t k, const std::atomic<bool>& cancelled) {
      BatchResult& result = results_[order_[first + k]];
      BackgroundControl control(result.history, cancelled);
      solve(order_[first + k], 1, double(threads), control);
      const std::lock_guard<std::mutex> lock(mutex);
      if (!result.history.empty()) latest = result.history.back();
    };
    const auto supervise = [&] {
      std::unique_lock<std::mutex> lock(mutex);
      const Snapshot reported = latest;
      lock.unlock();
      return !control_.interrupted() && (!control_.wants_progress() || control_.progress(reported));
    };
    if (run_supervised_tasks(count, threads, task, supervise)) return;
    for (std::size_t k = first; k < order_.size() && solve_in_foreground(order_[k]); ++k) {
    }
  }

  const SharedMatrix shared_;
  const KernelSource& kernel_;  // of the problems: the shared matrix, if there is one
  const std::vector<BatchProblem>& problems_;
  const WorkingSetOptions& options_;
  RunControl& control_;
  const int threads_;
  std::vector<double> diagonal_;
  std::vector<BatchResult> results_;
  std::vector<std::size_t> order_;  // decreasing work
  Stopwatch stopwatch_;
  std::mutex mutex_;
  double unstarted_ = 0;  // work of the problems that have not been started
};

}  // namespace

std::vector<BatchResult> solve_batch(const KernelSource& kernel, const std::vector<BatchProblem>& problems,
                                     const WorkingSetOptions& options, RunControl& control) {
  return Batch(kernel, problems, options, control).run();
}

}  // namespace hinge
