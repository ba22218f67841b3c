// cost_sequence.cpp: see cost_sequence.hpp.  Main loop: solve_all; one cost: SequenceSolver::solve_cost.
#include "hinge/solvers/cost_sequence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "cache/resident_rows.hpp"
#include "hinge/solvers/smo.hpp"
#include "hinge/solvers/working_set.hpp"
#include "kernels/gram/subset.hpp"
#include "parallel/tasks.hpp"
#include "smo/pair_steps.hpp"

namespace hinge {
namespace {

constexpr std::size_t kMaxResidentSamples = 8192;  // larger problems do not store their kernel matrix
constexpr std::size_t kMaxResidentShare = 4;       // the matrix of a problem takes at most 1/4 of the cache size
constexpr std::int64_t kMaxStepsPerSample = 8;     // steps without shrinking before SMO with shrinking continues
constexpr std::int64_t kStepsPerPoll = 64;           // steps between two checks for interrupts and the time limit
constexpr std::size_t kMinTasks = 24;        // with fewer problems, sequences are divided into this many tasks
constexpr std::size_t kMinCostsPerTask = 3;  // shorter parts of a sequence would gain nothing from warm starts
constexpr double kRelativeRounding = 1e-12;  // rounding of bounds relative to their distance, and of slopes

// Interrupts of the poller, which are exceptions; no history and no progress reports.
class PollerControl final : public RunControl {
 public:
  explicit PollerControl(Poller& poller) : poller_(poller) {}
  void record(const Snapshot&) override {}
  bool wants_progress() override { return false; }
  bool progress(const Snapshot&) override { return true; }
  bool interrupted() override {
    poller_.poll();
    return false;
  }

 private:
  Poller& poller_;
};

// A problem for the current cost and its solution.
struct SequenceState {
  std::vector<double> beta, lower, upper, f;
  std::vector<std::int8_t> group;
  double cost = 0;  // 0 before the first cost

  SignedProblem signed_problem(const CostSequenceProblem& problem) const {
    return {problem.linear, lower, upper, group, problem.slots};
  }

  void reset(const CostSequenceProblem& problem) {
    const std::size_t n = problem.samples.size(), size = problem.slots * n;
    group.assign(size, 0), f.assign(n, 0.0);
    for (std::vector<double>* v : {&beta, &lower, &upper}) v->assign(size, 0.0);
    cost = 0;
  }

  void set_bounds(const CostSequenceProblem& problem) {
    for (std::size_t v = 0; v < lower.size(); ++v)
      lower[v] = cost * problem.lower[v], upper[v] = cost * problem.upper[v];
  }

  // Sets the bounds of the next cost and a feasible start.  Returns true if the start is the solution.
  bool warm_start(const CostSequenceProblem& problem, double next) {
    const double scale = cost > 0 ? next / cost : 0.0;
    bool unchanged = cost > 0;
    for (std::size_t v = 0; v < lower.size() && unchanged; ++v) {
      const double b = beta[v];
      const bool at_moving_bound =
          (b <= lower[v] && problem.lower[v] != 0) || (b >= upper[v] && problem.upper[v] != 0);
      unchanged = !at_moving_bound && b >= next * problem.lower[v] && b <= next * problem.upper[v];
    }
    for (std::size_t v = 0; v < lower.size() && cost > 0 && !unchanged; ++v) {
      double& b = beta[v];
      const double low = next * problem.lower[v], high = next * problem.upper[v];
      b = b <= lower[v] ? low : b >= upper[v] ? high : std::clamp(b * scale, low, high);
    }
    if (!unchanged)
      for (double& value : f) value *= scale;
    cost = next;
    set_bounds(problem);
    return unchanged;
  }
};

// The minimizer of the gap over the multiplier: a weighted median of the kinks −g between the thresholds, or the
// midpoint of an interval of minimizers; docs/math (5).
double best_offset(const CostSequenceProblem& problem, const SequenceState& state) {
  const std::vector<double>& beta = state.beta;
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::size_t n = problem.samples.size(), size = problem.slots * n;
  const auto kink = [&](std::size_t v) { return -(state.f[v % n] + problem.linear[v]); };
  double up = -inf, low = inf;
  for (std::size_t v = 0; v < size; ++v) {
    const double rounding = kRelativeRounding * (state.upper[v] - state.lower[v]);
    if (beta[v] < state.upper[v] - rounding) up = std::max(up, kink(v));
    if (beta[v] > state.lower[v] + rounding) low = std::min(low, kink(v));
  }
  if (up == -inf || low == inf) return up > -inf ? up : low < inf ? low : 0.0;
  if (up <= low) return 0.5 * (up + low);
  double slope = 0, total = 0;  // the slope to the left of the kinks
  std::vector<std::pair<double, double>> kinks;  // positions and increases of the slope
  for (std::size_t v = 0; v < size; ++v) {
    const double at = kink(v), width = state.upper[v] - state.lower[v];
    slope += at < low ? beta[v] - state.lower[v] : beta[v] - state.upper[v];
    total += width;
    if (at >= low && at <= up) kinks.emplace_back(at, width);
  }
  std::sort(kinks.begin(), kinks.end());
  const double zero = kRelativeRounding * total;
  for (std::size_t k = 0; k < kinks.size(); ++k) {
    slope += kinks[k].second;
    if (slope > zero) return kinks[k].first;
    if (slope >= -zero) return k + 1 < kinks.size() ? 0.5 * (kinks[k].first + kinks[k + 1].first) : kinks[k].first;
  }
  return kinks.empty() ? 0.5 * (up + low) : kinks.back().first;
}

// Solver of one thread for the costs of one problem after another.
template <class T>
class SequenceSolver {
 public:
  SequenceSolver(const KernelSource& kernel, Span<const double> diagonal, Span<const double> costs,
          const CostSequenceOptions& options, const Stopwatch& stopwatch, int threads)
      : kernel_(kernel), diagonal_(diagonal), costs_(costs), options_(options), stopwatch_(stopwatch),
        threads_(threads) {}

  // Begins a sequence.  resident: store the kernel matrix of the problem.
  void open(const CostSequenceProblem& problem, bool resident) {
    problem_ = &problem, resident_ = resident;
    if (resident_) rows_.open(kernel_, problem.samples, diagonal_);
    state_.reset(problem);
  }

  // Solves the problem for cost r.  Returns false if the time limit is reached before.
  bool solve_cost(std::size_t r, Poller& poller) {
    const CostSequenceProblem& problem = *problem_;
    poller_ = &poller;
    poller.poll();
    if (out_of_time()) return false;
    const double start = stopwatch_.seconds();
    if (state_.warm_start(problem, costs_[r])) {
      problem.status[r] = problem.status[r - 1], problem.offset[r] = problem.offset[r - 1];
    } else {
      const SmoResult result = resident_ ? solve_resident() : solve_large();
      problem.iterations[r] = result.iterations;
      problem.offset[r] = best_offset(problem, state_);
      problem.status[r] = static_cast<std::int8_t>(result.status);
    }
    write_coefficients(r);
    problem.seconds[r] = stopwatch_.seconds() - start;
    return true;
  }

 private:
  std::size_t n() const { return problem_->samples.size(); }
  double remaining_seconds() const {
    return options_.max_seconds < 0 ? -1.0 : std::max(0.0, options_.max_seconds - stopwatch_.seconds());
  }
  bool out_of_time() const { return options_.max_seconds >= 0 && stopwatch_.seconds() >= options_.max_seconds; }

  void write_coefficients(std::size_t r) const {
    double* const out = problem_->coefficients.data() + r * n();
    std::copy(state_.beta.begin(), state_.beta.begin() + n(), out);
    for (std::size_t v = n(); v < state_.beta.size(); ++v) out[v % n()] += state_.beta[v];
  }

  // SMO on all samples with stored rows; after kMaxStepsPerSample · n steps SMO with shrinking continues.
  SmoResult solve_resident() {
    const SignedProblem problem = state_.signed_problem(*problem_);
    all_.resize(n());
    std::iota(all_.begin(), all_.end(), 0);
    if (steps_.families.empty()) steps_.families = families_of(problem);
    steps_.gather(problem, all_, state_.beta, state_.f, rows_.diagonal());
    const CurvatureBounds bounds = CurvatureBounds::of(rows_.diagonal());
    const std::int64_t max_steps = kMaxStepsPerSample * static_cast<std::int64_t>(n());
    const auto row = [this](std::size_t k) { return rows_.row(k); };
    SmoResult result;
    bool stalled = false;
    for (steps_.select(); steps_.violation() > options_.tolerance && !stalled; ++result.iterations) {
      if (result.iterations >= max_steps || out_of_steps(result.iterations)) break;
      if (result.iterations % kStepsPerPoll == kStepsPerPoll - 1) {
        poller_->poll();
        if (out_of_time()) break;
      }
      stalled = !(steps_.step(row, bounds).length > 0);
    }
    std::copy(steps_.beta.begin(), steps_.beta.end(), state_.beta.begin());
    std::copy(steps_.f.begin(), steps_.f.end(), state_.f.begin());
    if (steps_.violation() <= options_.tolerance && finite()) return result;
    return solve_with_shrinking(problem, result.iterations);
  }

  bool finite() const {  // NaN violates no condition
    return std::all_of(state_.f.begin(), state_.f.end(), [](double value) { return std::isfinite(value); });
  }

  bool out_of_steps(std::int64_t taken) const {
    return problem_->max_iterations >= 0 && taken >= problem_->max_iterations;
  }

  SmoResult solve_with_shrinking(const SignedProblem& problem, std::int64_t taken) {
    const std::int64_t limit = problem_->max_iterations;
    const std::int64_t remaining = limit < 0 ? -1 : std::max<std::int64_t>(0, limit - taken);
    const SmoOptions options{options_.tolerance, false, true, remaining, remaining_seconds(), sizeof(T) * n() * n()};
    PollerControl control(*poller_);
    SmoResult result = solve_smo<T>(rows_, problem, options, state_.beta, state_.f, control);
    result.iterations += taken;
    return result;
  }

  // The working-set method on all threads, for problems whose matrix is not stored.
  SmoResult solve_large() {
    const SubsetSource kernel(kernel_, problem_->samples, diagonal_);
    WorkingSetOptions options;
    options.tolerance = options_.tolerance;
    options.max_iterations = problem_->max_iterations;
    options.max_seconds = remaining_seconds();
    options.cache_bytes = options_.cache_bytes;
    options.threads = threads_;
    PollerControl control(*poller_);
    const SignedProblem problem = state_.signed_problem(*problem_);
    SmoResult result = solve_working_set<T>(kernel, problem, options, state_.beta, state_.f, control);
    if (!result.insufficient_precision || result.status != Status::solved) return result;
    options.max_seconds = remaining_seconds();
    const std::int64_t taken = result.iterations;
    result = solve_working_set<double>(kernel, problem, options, state_.beta, state_.f, control);
    result.iterations += taken;
    return result;
  }

  const KernelSource& kernel_;
  Span<const double> diagonal_, costs_;
  const CostSequenceOptions& options_;
  const Stopwatch& stopwatch_;
  const int threads_;
  const CostSequenceProblem* problem_ = nullptr;
  Poller* poller_ = nullptr;
  bool resident_ = true;
  SequenceState state_;
  ResidentRows<T> rows_;
  PairSteps<T> steps_;
  std::vector<std::int32_t> all_;
};

// The costs [first, last) of a problem.
struct SequenceTask {
  std::size_t problem, first, last;
};

template <class T>
void solve_all(const KernelSource& kernel, const std::vector<CostSequenceProblem>& problems, Span<const double> costs,
               const CostSequenceOptions& options, const Parallel& parallel) {
  std::vector<double> diagonal(kernel.size());
  kernel.diagonal(diagonal);
  const Stopwatch stopwatch;
  const int threads = kernel.concurrent() ? parallel.threads : 1;
  const auto resident = [&](std::size_t p) {
    const std::size_t n = problems[p].samples.size();
    return n <= kMaxResidentSamples && sizeof(T) * n * n <= options.cache_bytes / kMaxResidentShare;
  };
  std::vector<SequenceTask> small;
  std::vector<std::size_t> large;
  // If there are few problems, their sequences are divided.  The division does not depend on the number of threads, so
  // neither do the results.
  const std::size_t parts = std::clamp<std::size_t>(kMinTasks / std::max<std::size_t>(1, problems.size()), 1,
                                                     std::max<std::size_t>(1, costs.size() / kMinCostsPerTask));
  for (std::size_t p = 0; p < problems.size(); ++p) {
    if (!resident(p)) large.push_back(p);
    else
      for (std::size_t k = 0; k < parts; ++k)
        small.push_back({p, k * costs.size() / parts, (k + 1) * costs.size() / parts});
  }
  std::stable_sort(small.begin(), small.end(), [&](const SequenceTask& a, const SequenceTask& b) {
    const std::size_t x = problems[a.problem].samples.size(), y = problems[b.problem].samples.size();
    return costs[a.first] != costs[b.first] ? costs[a.first] > costs[b.first] : x > y;
  });
  std::vector<std::unique_ptr<SequenceSolver<T>>> solvers;  // of the large problems, which are solved cost by cost
  for (std::size_t p : large) {
    solvers.push_back(std::make_unique<SequenceSolver<T>>(kernel, diagonal, costs, options, stopwatch, threads));
    solvers.back()->open(problems[p], false);
  }
  run_tasks(costs.size(), {1, parallel.poll}, [&] {
    return [&](std::size_t r, Poller& poller) {
      for (const auto& solver : solvers) solver->solve_cost(r, poller);
    };
  });
  run_tasks(small.size(), {threads, parallel.poll}, [&] {
    const auto solver = std::make_shared<SequenceSolver<T>>(kernel, diagonal, costs, options, stopwatch, 1);
    return [&, solver](std::size_t k, Poller& poller) {
      solver->open(problems[small[k].problem], true);
      for (std::size_t r = small[k].first; r < small[k].last && solver->solve_cost(r, poller); ++r) {
      }
    };
  });
}

}  // namespace

void solve_cost_sequences(const KernelSource& kernel, const std::vector<CostSequenceProblem>& problems,
                          Span<const double> costs, const CostSequenceOptions& options, const Parallel& parallel) {
  if (options.double_rows) solve_all<double>(kernel, problems, costs, options, parallel);
  else solve_all<float>(kernel, problems, costs, options, parallel);
}

}  // namespace hinge
