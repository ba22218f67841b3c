// working_set.cpp: the engine of working_set.hpp.  Reading order: run, choose, solve_inner, spread.
#include "hinge/working_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "hinge/parallel.hpp"
#include "pair_steps.hpp"
#include "row_store.hpp"

namespace hinge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::size_t kSize = 1024;     // samples of a working set
constexpr std::size_t kColumns = 2048;  // of f brought up to date at a time: they stay in the first-level cache

constexpr int kIdle = 10;               // outer steps without gain: rounding has the last word

struct StopRequest {
  Status status;
};

template <class T>
class Engine {
 public:
  Engine(const KernelSource& kernel, const SignedProblem& problem, const WorkingSetOptions& options, Span<double> beta,
         Span<double> f, Monitor& monitor)
      : kernel_(kernel), problem_(problem), options_(options), monitor_(monitor), beta_(beta), f_(f),
        n_(kernel.size()), store_(kernel, options.cache_bytes), diagonal_(n_), chosen_(n_, 0) {
    const std::size_t wanted = options.size ? options.size : kSize;
    q_ = std::max<std::size_t>(2, std::min({wanted, std::max<std::size_t>(n_, 2), store_.capacity()}));
    parallel_.threads = options.threads;
    parallel_.poll = [this] { poll(); };
    inner_.families = families_ = families_of(problem);
  }

  SmoResult run() {
    try {
      start();
      while (!finished()) {
        choose();
        store_.fetch(set_, parallel_);
        if (!solve_inner()) break;
        spread();
      }
    } catch (const StopRequest& request) {
      result_.status = request.status;
    }
    thresholds();
    monitor_.record(snapshot());
    result_.violation = violation_;
    result_.objective = objective_;
    result_.row_hits = store_.hits();
    result_.row_misses = store_.misses();
    return result_;
  }

 private:
  void start() {
    kernel_.diagonal(diagonal_);
    double largest = 0;
    for (double d : diagonal_) largest = std::max(largest, std::abs(d));
    tau_ = 1e-12 * (largest > 0 ? largest : 1.0);
    std::fill(f_.begin(), f_.end(), 0.0);
    std::vector<std::int32_t> used;
    for (std::size_t i = 0; i < n_; ++i)
      if (coefficient(i) != 0) used.push_back(static_cast<std::int32_t>(i));
    for (std::size_t first = 0; first < used.size(); first += q_) {
      const std::size_t count = std::min(q_, used.size() - first);
      const Span<const std::int32_t> some(used.data() + first, count);
      store_.fetch(some, parallel_);
      std::vector<double> change;
      for (std::int32_t i : some) change.push_back(coefficient(static_cast<std::size_t>(i)));
      add_rows(some, change);
    }
    objective_ = 0;
    for (std::size_t v = 0; v < beta_.size(); ++v) objective_ += beta_[v] * (0.5 * f_[v % n_] + problem_.linear[v]);
    last_objective_ = objective_;
  }

  double coefficient(std::size_t i) const {
    double sum = 0;
    for (std::size_t s = 0; s < problem_.slots; ++s) sum += beta_[s * n_ + i];
    return sum;
  }

  bool can_rise(std::size_t v) const { return beta_[v] < problem_.upper[v]; }
  bool can_fall(std::size_t v) const { return beta_[v] > problem_.lower[v]; }
  double descent(std::size_t v) const { return -(f_[v % n_] + problem_.linear[v]); }

  // Keerthi's thresholds over all variables; docs/math.md (7).
  void thresholds() {
    for (Family& family : families_) family.up = -kInf, family.low = kInf;
    for (std::size_t s = 0; s < problem_.slots; ++s)
      for (std::size_t i = 0; i < n_; ++i) {
        const std::size_t v = s * n_ + i;
        const double x = -(f_[i] + problem_.linear[v]);
        Family& family = family_of(v);
        if (can_rise(v) && x > family.up) family.up = x;
        if (can_fall(v) && x < family.low) family.low = x;
      }
    violation_ = 0;
    for (const Family& family : families_) violation_ = std::max(violation_, family.violation());
  }

  Family& family_of(std::size_t v) {
    if (families_.size() == 1) return families_.front();
    for (Family& family : families_)
      if (family.group == problem_.group[v]) return family;
    return families_.front();
  }

  bool finished() {
    thresholds();
    const Snapshot now = snapshot();
    monitor_.record(now);
    if (monitor_.wants_progress() && !monitor_.progress(now)) throw StopRequest{Status::interrupted};
    if (violation_ <= kkt_tolerance() && solved(now)) return true;
    if (std::isnan(now.gap) || std::isnan(violation_) || stalled()) throw StopRequest{Status::numerical};
    if (options_.max_iterations >= 0 && result_.iterations >= options_.max_iterations)
      throw StopRequest{Status::max_iter};
    poll();
    return false;
  }

  // Outer steps still go on, but they no longer lower the objective in floating point.
  bool stalled() {
    const double gain = last_objective_ - objective_;
    total_gain_ += std::max(gain, 0.0);
    last_objective_ = objective_;
    idle_ = gain > 1e-15 * (std::abs(objective_) + total_gain_) || result_.iterations == 0 ? 0 : idle_ + 1;
    return idle_ >= kIdle;
  }

  bool solved(const Snapshot& now) {
    if (!options_.stop_on_gap) return true;
    if (now.gap <= options_.tolerance * (std::abs(now.primal) + std::abs(now.dual)) / 2) return true;
    gap_mode_tolerance_ *= 0.25;
    if (gap_mode_tolerance_ <= 1e-15 * (1 + first_violation_)) throw StopRequest{Status::numerical};
    return false;
  }

  double kkt_tolerance() {
    if (!options_.stop_on_gap) return options_.tolerance;
    if (gap_mode_tolerance_ < 0) gap_mode_tolerance_ = first_violation_ = violation_;  // a start may be good enough
    return gap_mode_tolerance_;
  }

  void poll() {
    if (options_.max_seconds >= 0 && watch_.seconds() >= options_.max_seconds) throw StopRequest{Status::time_limit};
    if (watch_.seconds() < next_poll_) return;
    next_poll_ = watch_.seconds() + 0.05;
    if (monitor_.interrupted()) throw StopRequest{Status::interrupted};
  }

  // ---- choosing the working set --------------------------------------------------------------------------------

  // Up to half of the last set stays, free variables first; the rest are the worst violators of either side, beginning
  // with the worst family: the pair that violates most is always among them.
  void choose() {
    std::vector<std::int32_t> kept;
    for (const bool free : {true, false})
      for (std::int32_t i : set_)
        if (kept.size() < std::min(q_ / 2, q_ - 2) && is_free(static_cast<std::size_t>(i)) == free) kept.push_back(i);
    std::fill(chosen_.begin(), chosen_.end(), 0);
    for (std::int32_t i : kept) chosen_[static_cast<std::size_t>(i)] = 1;
    set_ = std::move(kept);
    std::vector<const Family*> order;
    for (const Family& family : families_)
      if (family.violation() > 0) order.push_back(&family);
    std::stable_sort(order.begin(), order.end(),
                     [](const Family* a, const Family* b) { return a->violation() > b->violation(); });
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::size_t room = q_ - set_.size(), share = std::min(room, std::max<std::size_t>(2, room / (order.size() - k)));
      const std::size_t before = set_.size();
      add_violators(*order[k], true, (share + 1) / 2);
      add_violators(*order[k], false, share - (set_.size() - before));
    }
    std::sort(set_.begin(), set_.end());
  }

  bool is_free(std::size_t i) const {
    for (std::size_t s = 0; s < problem_.slots; ++s)
      if (can_rise(s * n_ + i) && can_fall(s * n_ + i)) return true;
    return false;
  }

  // The `count` samples not yet chosen that violate most on one side of a family.
  void add_violators(const Family& family, bool rising, std::size_t count) {
    candidates_.clear();
    const double other = family.moves_alone ? 0.0 : rising ? family.low : family.up;
    for (std::size_t s = 0; s < problem_.slots; ++s)
      for (std::size_t i = 0; i < n_; ++i) {
        const std::size_t v = s * n_ + i;
        if (problem_.group[v] != family.group || chosen_[i]) continue;
        if (rising ? !can_rise(v) : !can_fall(v)) continue;
        const double x = -(f_[i] + problem_.linear[v]), excess = rising ? x - other : other - x;
        if (excess > 0) candidates_.push_back({excess, static_cast<std::int32_t>(i)});
      }
    const auto worse = [](const Candidate& a, const Candidate& b) {
      return a.excess != b.excess ? a.excess > b.excess : a.sample < b.sample;
    };
    if (candidates_.size() > count) {
      std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count), candidates_.end(),
                       worse);
      candidates_.resize(count);
    }
    for (const Candidate& candidate : candidates_) {
      char& taken = chosen_[static_cast<std::size_t>(candidate.sample)];
      if (!taken) set_.push_back(candidate.sample);
      taken = 1;
    }
  }

  // ---- the inner problem ---------------------------------------------------------------------------------------

  bool solve_inner() {
    const std::size_t m = set_.size();
    inner_.gather(problem_, set_, beta_, f_, diagonal_);
    block_.resize(m * m);
    for (std::size_t a = 0; a < m; ++a) {
      const T* row = store_.row(static_cast<std::size_t>(set_[a]));
      T* out = block_.data() + a * m;
      for (std::size_t b = 0; b < m; ++b) out[b] = row[static_cast<std::size_t>(set_[b])];
    }
    const double goal = std::max(0.1 * violation_, 0.5 * kkt_tolerance());
    const std::int64_t limit = static_cast<std::int64_t>(std::max<std::size_t>(1000, 50 * m));
    std::int64_t steps = 0;
    double decrease = 0;
    for (inner_.select(); inner_.violation() > goal && steps < limit; inner_.select()) {
      if (options_.max_iterations >= 0 && result_.iterations + steps >= options_.max_iterations) break;
      const auto step = inner_.step([&](std::size_t k) { return block_.data() + k * m; }, tau_, tau_);
      if (!(step.length > 0)) break;
      ++steps, decrease += step.decrease;
    }
    result_.iterations += steps;
    objective_ -= decrease;
    if (steps == 0) result_.status = Status::numerical;
    return steps > 0;
  }

  // Write β back, and add the rows of the samples that moved to f.
  void spread() {
    const std::size_t m = set_.size();
    std::vector<std::int32_t> moved;
    std::vector<double> change;
    for (std::size_t k = 0; k < m; ++k) {
      const std::size_t i = static_cast<std::size_t>(set_[k]);
      double sum = 0;
      for (std::size_t s = 0; s < problem_.slots; ++s) {
        sum += inner_.beta[s * m + k] - beta_[s * n_ + i];
        beta_[s * n_ + i] = inner_.beta[s * m + k];
      }
      if (sum != 0) moved.push_back(set_[k]), change.push_back(sum);
    }
    add_rows(moved, change);
  }

  void add_rows(Span<const std::int32_t> list, const std::vector<double>& change) {
    std::vector<const T*> rows;
    for (std::int32_t i : list) rows.push_back(store_.row(static_cast<std::size_t>(i)));
    const std::size_t tasks = (n_ + kColumns - 1) / kColumns;
    const Parallel parallel{options_.threads, {}};
    run_tasks(tasks, parallel, [&] {
      return [&](std::size_t task, Pulse&) {
        const std::size_t first = task * kColumns, count = std::min(kColumns, n_ - first);
        double* const out = f_.data() + first;
        for (std::size_t k = 0; k + 1 < rows.size(); k += 2)
          axpy2(out, rows[k] + first, change[k], rows[k + 1] + first, change[k + 1], count);
        if (rows.size() % 2) axpy2(out, rows.back() + first, change.back(), rows.back() + first, 0.0, count);
      };
    });
  }

  void axpy2(double* out, const T* x, double a, const T* y, double b, std::size_t count) const {
    if constexpr (sizeof(T) == sizeof(float))
      loops_.update_f32(out, x, a, y, b, count);
    else
      loops_.update_f64(out, x, a, y, b, count);
  }

  // The gap with the offset midway between the thresholds; docs/math.md (4).
  Snapshot snapshot() {
    double gap = 0, open_slope = 0;
    for (std::size_t v = 0; v < beta_.size(); ++v) {
      const double r = family_of(v).offset() - descent(v), towards = r > 0 ? problem_.lower[v] : problem_.upper[v];
      if (std::isfinite(towards)) gap += r * (beta_[v] - towards);
      else open_slope = std::max(open_slope, std::abs(r));
    }
    if (open_slope > options_.tolerance) gap = kInf;  // (3) is no bound while a slope points to an infinite bound
    return {result_.iterations, watch_.seconds(), violation_, -objective_ + gap, -objective_, gap,
            static_cast<std::int64_t>(n_), true};
  }

  struct Candidate {
    double excess;
    std::int32_t sample;
  };

  const KernelSource& kernel_;
  const SignedProblem& problem_;
  const WorkingSetOptions& options_;
  Monitor& monitor_;
  Span<double> beta_, f_;
  std::size_t n_, q_ = 0;
  RowStore<T> store_;
  std::vector<double> diagonal_;
  std::vector<char> chosen_;
  std::vector<std::int32_t> set_;
  std::vector<Candidate> candidates_;
  std::vector<Family> families_;
  PairSteps<T> inner_;
  std::vector<T> block_;
  const SmoLoops& loops_ = smo_loops();
  Parallel parallel_;
  Stopwatch watch_;
  SmoResult result_;
  double tau_ = 0, violation_ = 0, objective_ = 0, next_poll_ = 0.05, gap_mode_tolerance_ = -1, first_violation_ = 0;
  double last_objective_ = 0, total_gain_ = 0;
  int idle_ = 0;
};

}  // namespace

template <class T>
SmoResult solve_working_set(const KernelSource& kernel, const SignedProblem& problem, const WorkingSetOptions& options,
                            Span<double> beta, Span<double> f, Monitor& monitor) {
  return Engine<T>(kernel, problem, options, beta, f, monitor).run();
}

template SmoResult solve_working_set<float>(const KernelSource&, const SignedProblem&, const WorkingSetOptions&,
                                            Span<double>, Span<double>, Monitor&);
template SmoResult solve_working_set<double>(const KernelSource&, const SignedProblem&, const WorkingSetOptions&,
                                             Span<double>, Span<double>, Monitor&);

}  // namespace hinge
