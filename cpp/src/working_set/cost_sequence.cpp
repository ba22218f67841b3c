// cost_sequence.cpp: reading order: climb, Climber::climb, next_start, solve.
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

constexpr std::size_t kLargestResident = 8192;  // samples whose matrix is kept whole, a thread
constexpr std::int64_t kQuick = 8;              // times n: so many steps without shrinking
constexpr std::int64_t kBetweenPolls = 64;      // steps
constexpr std::size_t kTasks = 24;              // ladders are cut where there are fewer of them
constexpr std::size_t kShortest = 3;            // costs of a piece
constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;

// Signals and stops come through the poller, as exceptions; nobody looks at progress.
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

// The problem of one part for one cost, and where its solution stands.
struct Stand {
  std::vector<double> beta, lower, upper, f;
  std::vector<std::int8_t> group;
  double cost = 0;  // 0: none yet

  SignedProblem problem(const CostSequenceProblem& part) const { return {part.linear, lower, upper, group,
      part.slots}; }

  void open(const CostSequenceProblem& part) {
    const std::size_t n = part.samples.size(), size = part.slots * n;
    group.assign(size, 0), f.assign(n, 0.0);
    for (std::vector<double>* v : {&beta, &lower, &upper}) v->assign(size, 0.0);
    cost = 0;
  }

  void set_bounds(const CostSequenceProblem& part) {
    for (std::size_t v = 0; v < lower.size(); ++v) lower[v] = cost * part.lower[v], upper[v] = cost * part.upper[v];
  }

  // The boxes of a new cost, and a start in them.  True if it is the solution already.
  bool move_to(const CostSequenceProblem& part, double next) {
    const double scale = cost > 0 ? next / cost : 0.0;
    bool same = cost > 0;
    for (std::size_t v = 0; v < lower.size() && same; ++v) {
      const double b = beta[v];
      const bool touches = (b <= lower[v] && part.lower[v] != 0) || (b >= upper[v] && part.upper[v] != 0);
      same = !touches && b >= next * part.lower[v] && b <= next * part.upper[v];
    }
    for (std::size_t v = 0; v < lower.size() && cost > 0 && !same; ++v) {
      double& b = beta[v];
      const double low = next * part.lower[v], high = next * part.upper[v];
      b = b <= lower[v] ? low : b >= upper[v] ? high : std::clamp(b * scale, low, high);
    }
    if (!same)
      for (double& value : f) value *= scale;
    cost = next;
    set_bounds(part);
    return same;
  }
};

// argmin over μ of the gap: a weighted median of the kinks −g, of which only those between the thresholds count.
// docs/math (5); where the gap is flat, the middle.
double best_offset(const CostSequenceProblem& part, const Stand& stand) {
  const std::vector<double>& beta = stand.beta;
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::size_t n = part.samples.size(), size = part.slots * n;
  const auto kink = [&](std::size_t v) { return -(stand.f[v % n] + part.linear[v]); };
  double up = -inf, low = inf;
  for (std::size_t v = 0; v < size; ++v) {
    const double least = 1e-12 * (stand.upper[v] - stand.lower[v]);  // a bound missed by rounding is a bound
    if (beta[v] < stand.upper[v] - least) up = std::max(up, kink(v));
    if (beta[v] > stand.lower[v] + least) low = std::min(low, kink(v));
  }
  if (up == -inf || low == inf) return up > -inf ? up : low < inf ? low : 0.0;
  if (up <= low) return 0.5 * (up + low);
  double slope = 0, total = 0;  // left of all kinks that count
  std::vector<std::pair<double, double>> kinks;  // and by how much the slope grows there
  for (std::size_t v = 0; v < size; ++v) {
    const double at = kink(v), width = stand.upper[v] - stand.lower[v];
    slope += at < low ? beta[v] - stand.lower[v] : beta[v] - stand.upper[v];
    total += width;
    if (at >= low && at <= up) kinks.emplace_back(at, width);
  }
  std::sort(kinks.begin(), kinks.end());
  const double flat = 1e-12 * total;
  for (std::size_t k = 0; k < kinks.size(); ++k) {
    slope += kinks[k].second;
    if (slope > flat) return kinks[k].first;
    if (slope >= -flat) return k + 1 < kinks.size() ? 0.5 * (kinks[k].first + kinks[k + 1].first) : kinks[k].first;
  }
  return kinks.empty() ? 0.5 * (up + low) : kinks.back().first;
}

// One thread's ladders.
template <class T>
class Climber {
 public:
  Climber(const KernelSource& kernel, Span<const double> diagonal, Span<const double> costs,
          const CostSequenceOptions& options, const Stopwatch& watch, int threads)
      : kernel_(kernel), diagonal_(diagonal), costs_(costs), options_(options), watch_(watch), threads_(threads) {}

  void open(const CostSequenceProblem& part, bool resident) {
    part_ = &part, resident_ = resident;
    if (resident_) rows_.open(kernel_, part.samples, diagonal_);
    stand_.open(part);
  }

  // The problem for cost r.  False if there is no time for it.
  bool climb(std::size_t r, Poller& poller) {
    const CostSequenceProblem& part = *part_;
    poller_ = &poller;
    poller.poll();
    if (out_of_time()) return false;
    const double began = watch_.seconds();
    if (stand_.move_to(part, costs_[r])) {
      part.status[r] = part.status[r - 1], part.offset[r] = part.offset[r - 1];
    } else {
      const SmoResult result = resident_ ? solve() : solve_large();
      part.iterations[r] = result.iterations;
      part.offset[r] = best_offset(part, stand_);
      part.status[r] = static_cast<std::int8_t>(result.status);
    }
    write_coefficients(r);
    part.seconds[r] = watch_.seconds() - began;
    return true;
  }

 private:
  std::size_t n() const { return part_->samples.size(); }
  double seconds_left() const {
    return options_.max_seconds < 0 ? -1.0 : std::max(0.0, options_.max_seconds - watch_.seconds());
  }
  bool out_of_time() const { return options_.max_seconds >= 0 && watch_.seconds() >= options_.max_seconds; }

  void write_coefficients(std::size_t r) const {
    double* const out = part_->coefficients.data() + r * n();
    std::copy(stand_.beta.begin(), stand_.beta.begin() + n(), out);
    for (std::size_t v = n(); v < stand_.beta.size(); ++v) out[v % n()] += stand_.beta[v];
  }

  // SMO over all samples, their rows at hand; if that takes long, the rest of the way with shrinking.
  SmoResult solve() {
    const CostSequenceProblem& part = *part_;
    const SignedProblem problem = stand_.problem(part);
    everyone_.resize(n());
    std::iota(everyone_.begin(), everyone_.end(), 0);
    if (steps_.families.empty()) steps_.families = families_of(problem);
    steps_.gather(problem, everyone_, stand_.beta, stand_.f, rows_.diagonal());
    double largest = 0;
    for (double d : rows_.diagonal()) largest = std::max(largest, std::abs(d));
    const double tau = 1e-12 * (largest > 0 ? largest : 1.0), flat = 8 * kUnitRoundoff * largest;
    const std::int64_t quick = kQuick * static_cast<std::int64_t>(n());
    const auto row = [this](std::size_t k) { return rows_.row(k); };
    SmoResult result;
    bool stuck = false;
    for (steps_.select(); steps_.violation() > options_.tolerance && !stuck; ++result.iterations) {
      if (result.iterations >= quick || out_of_steps(result.iterations)) break;
      if (result.iterations % kBetweenPolls == kBetweenPolls - 1) {
        poller_->poll();
        if (out_of_time()) break;
      }
      stuck = !(steps_.step(row, tau, flat).length > 0);
    }
    std::copy(steps_.beta.begin(), steps_.beta.end(), stand_.beta.begin());
    std::copy(steps_.f.begin(), steps_.f.end(), stand_.f.begin());
    if (steps_.violation() <= options_.tolerance && finite()) return result;
    return finish(problem, result.iterations);
  }

  bool finite() const {  // NaN violates nothing
    return std::all_of(stand_.f.begin(), stand_.f.end(), [](double value) { return std::isfinite(value); });
  }

  bool out_of_steps(std::int64_t taken) const { return part_->max_iterations >= 0 && taken >= part_->max_iterations; }

  SmoResult finish(const SignedProblem& problem, std::int64_t taken) {
    const std::int64_t left = part_->max_iterations < 0 ? -1 : std::max<std::int64_t>(0, part_->max_iterations - taken);
    const SmoOptions options{options_.tolerance, false, true, left, seconds_left(), sizeof(T) * n() * n()};
    PollerControl control(*poller_);
    SmoResult result = solve_smo<T>(rows_, problem, options, stand_.beta, stand_.f, control);
    result.iterations += taken;
    return result;
  }

  // Too many samples for that: the training engine, on all threads.
  SmoResult solve_large() {
    const SubsetSource kernel(kernel_, part_->samples, diagonal_);
    WorkingSetOptions options;
    options.tolerance = options_.tolerance;
    options.max_iterations = part_->max_iterations;
    options.max_seconds = seconds_left();
    options.cache_bytes = options_.cache_bytes;
    options.threads = threads_;
    PollerControl control(*poller_);
    const SignedProblem problem = stand_.problem(*part_);
    SmoResult result = solve_working_set<T>(kernel, problem, options, stand_.beta, stand_.f, control);
    if (!result.insufficient_precision || result.status != Status::solved) return result;
    options.max_seconds = seconds_left();
    const std::int64_t taken = result.iterations;
    result = solve_working_set<double>(kernel, problem, options, stand_.beta, stand_.f, control);
    result.iterations += taken;
    return result;
  }

  const KernelSource& kernel_;
  Span<const double> diagonal_, costs_;
  const CostSequenceOptions& options_;
  const Stopwatch& watch_;
  const int threads_;
  const CostSequenceProblem* part_ = nullptr;
  Poller* poller_ = nullptr;
  bool resident_ = true;
  Stand stand_;
  ResidentRows<T> rows_;
  PairSteps<T> steps_;
  std::vector<std::int32_t> everyone_;
};

struct Task {
  std::size_t part, first, last;
};

template <class T>
void solve_all(const KernelSource& kernel, const std::vector<CostSequenceProblem>& parts, Span<const double> costs,
               const CostSequenceOptions& options, const Parallel& parallel) {
  std::vector<double> diagonal(kernel.size());
  kernel.diagonal(diagonal);
  const Stopwatch watch;
  const int threads = kernel.concurrent() ? parallel.threads : 1;
  const auto resident = [&](std::size_t p) {
    const std::size_t n = parts[p].samples.size();
    return n <= kLargestResident && sizeof(T) * n * n <= options.cache_bytes / 4;
  };
  std::vector<Task> small;
  std::vector<std::size_t> large;
  // Few ladders are cut into pieces, whatever the number of threads: the same tasks, the same answers.
  const std::size_t pieces = std::clamp<std::size_t>(kTasks / std::max<std::size_t>(1, parts.size()), 1,
                                                     std::max<std::size_t>(1, costs.size() / kShortest));
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!resident(p)) large.push_back(p);
    else
      for (std::size_t k = 0; k < pieces; ++k)
        small.push_back({p, k * costs.size() / pieces, (k + 1) * costs.size() / pieces});
  }
  std::stable_sort(small.begin(), small.end(), [&](const Task& a, const Task& b) {
    const std::size_t x = parts[a.part].samples.size(), y = parts[b.part].samples.size();
    return costs[a.first] != costs[b.first] ? costs[a.first] > costs[b.first] : x > y;
  });
  std::vector<std::unique_ptr<Climber<T>>> climbers;  // of the large problems: cost by cost, all of them
  for (std::size_t p : large) {
    climbers.push_back(std::make_unique<Climber<T>>(kernel, diagonal, costs, options, watch, threads));
    climbers.back()->open(parts[p], false);
  }
  run_tasks(costs.size(), {1, parallel.poll}, [&] {
    return [&](std::size_t r, Poller& poller) {
      for (const auto& climber : climbers) climber->climb(r, poller);
    };
  });
  run_tasks(small.size(), {threads, parallel.poll}, [&] {
    return [&, climber = Climber<T>(kernel, diagonal, costs, options, watch, 1)](std::size_t k,
        Poller& poller) mutable {
      climber.open(parts[small[k].part], true);
      for (std::size_t r = small[k].first; r < small[k].last && climber.climb(r, poller); ++r) {
      }
    };
  });
}

}  // namespace

void solve_cost_sequences(const KernelSource& kernel, const std::vector<CostSequenceProblem>& parts,
                          Span<const double> costs,
           const CostSequenceOptions& options, const Parallel& parallel) {
  if (options.double_rows) solve_all<double>(kernel, parts, costs, options, parallel);
  else solve_all<float>(kernel, parts, costs, options, parallel);
}

}  // namespace hinge
