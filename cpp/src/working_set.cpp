// working_set.cpp: the engine of working_set.hpp.
// Reading order: run; step_set (choose, solve_inner, spread) or step_all; shrink, reconstruct; finished.
#include "hinge/working_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>
#include <cstdio>
#include <cstdlib>

#include "arena.hpp"
#include "hinge/parallel.hpp"
#include "pair_steps.hpp"
#include "row_store.hpp"

namespace hinge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
static double env(const char* name, double other) { const char* v = std::getenv(name); return v ? std::atof(v) : other; }
const std::size_t kSize = static_cast<std::size_t>(env("HSIZE", 1024));          // samples of a working set, at least
const std::size_t kLargest = static_cast<std::size_t>(env("HLARGE", 4096));       // and at most
const std::size_t kWhole = static_cast<std::size_t>(env("HWHOLE", 6000));         // so many active samples are one set
const std::size_t kAhead = static_cast<std::size_t>(env("HAHEAD", 96));           // rows fetched with one that is missing
const double kGoal = env("HGOAL", 0.1);
const double kShrinkAt = env("HSHRINK", 0.7);
const std::size_t kSoft = static_cast<std::size_t>(env("HSOFT", 128)) << 20;
const bool kTrace = env("HTRACE", 0) > 0;
constexpr std::size_t kColumns = 2048;  // of f brought up to date at a time: they stay in the first-level cache
constexpr double kSnapshotGrowth = 1.15;  // snapshots thin out geometrically
constexpr int kIdle = 10;                 // looks without gain: rounding has the last word
constexpr std::int64_t kBetweenLooks = 1000;  // steps
constexpr std::size_t kProbes = 64;           // samples at which f is compared with what it should be
constexpr std::int64_t kRefinements = 5;

struct StopRequest {
  Status status;
};

template <class T>
class Engine {
 public:
  Engine(const KernelSource& kernel, const SignedProblem& problem, const WorkingSetOptions& options, Span<double> beta,
         Span<double> f, Monitor& monitor)
      : kernel_(kernel), problem_(problem), options_(options), monitor_(monitor), beta_(beta), f_(f),
        n_(kernel.size()), slots_(problem.slots), store_(kernel, options.cache_bytes), diagonal_(n_), active_(n_),
        position_(n_), chosen_(n_, 0), in_block_(n_, -1) {
    std::iota(active_.begin(), active_.end(), 0);
    std::iota(position_.begin(), position_.end(), 0);
    parallel_.threads = options.threads;
    parallel_.poll = [this] { poll(); };
    inner_.families = whole_.families = families_of(problem);
    t0=watch_.seconds();
  }

  SmoResult run() {
    try {
      start();
      while (!finished()) {
        if (active_.size() <= std::min(whole_limit(), store_.capacity())) {
          step_all();
        } else {
          step_set();
        }
        if (options_.shrinking) shrink();
      }
    } catch (const StopRequest& request) {
      result_.status = request.status;
    }
    leave();
    if (kTrace) std::fprintf(stderr,"passing %.3f %ld rows %.3f gather %.3f inner %.3f spread %.3f choose %.3f all %.3f shrink %.3f rec %.3f total %.3f outers %d its %ld (all %ld) moved %ld misses %ld rec %ld\n",tp,npass,tr,tg,ti,ts,tc,ta,tsh,trec,watch_.seconds()-t0,outers_,(long)result_.iterations,(long)all_its_,nm,(long)store_.misses(),(long)result_.reconstructions);
    return result_;
  }

 private:
  double tr=0,tg=0,ti=0,ts=0,tc=0,ta=0,tsh=0,trec=0,t0=0; double tp=0; long nm=0, npass=0, all_its_=0; int outers_=0;
  // ---- entering and leaving ------------------------------------------------------------------------------------

  void start() {
    result_.exact = false;
    kernel_.diagonal(diagonal_);
    double largest = 0;
    for (double d : diagonal_) largest = std::max(largest, std::abs(d));
    tau_ = 1e-12 * (largest > 0 ? largest : 1.0);
    std::fill(f_.begin(), f_.end(), 0.0);
    whole_.gather(problem_, active_, beta_, f_, diagonal_);
    std::vector<std::int32_t> used;
    std::vector<double> coefficients;
    coefficients_in_use(used, coefficients);
    kernel_.add_rows(used, coefficients, store_.columns(), double{}, whole_.f, parallel_);
    whole_.touch();
    objective_ = last_objective_ = quadratic_value();
    result_.exact = true;
  }

  void leave() {
    if (result_.exact) scatter();
    if (shrunk()) {
      if (result_.status == Status::interrupted) {
        result_.exact = false;
      } else {
        try {
          reconstruct();
        } catch (const StopRequest& request) {
          result_.status = request.status, result_.exact = false;
        }
      }
    }
    whole_.select();
    if (result_.exact) monitor_.record(snapshot());
    result_.violation = whole_.violation();
    result_.objective = objective_;
    result_.row_hits = store_.hits();
    result_.row_misses = store_.misses();
  }

  std::size_t whole_limit() const { return options_.size ? options_.size : kWhole; }
  bool shrunk() const { return active_.size() < n_; }
  std::size_t sample(std::size_t k) const { return static_cast<std::size_t>(active_[k]); }

  double coefficient(std::size_t i) const {  // of sample i, summed over slots, from the full vector
    double sum = 0;
    for (std::size_t s = 0; s < slots_; ++s) sum += beta_[s * n_ + i];
    return sum;
  }

  double quadratic_value() const {
    double sum = 0;
    for (std::size_t v = 0; v < whole_.size(); ++v)
      sum += whole_.beta[v] * (0.5 * whole_.f[v % whole_.samples()] + whole_.c[v]);
    return sum;
  }

  // The active samples' β and f, back to the full vectors.
  void scatter() {
    const std::size_t m = active_.size();
    for (std::size_t k = 0; k < m; ++k) f_[sample(k)] = whole_.f[k];
    for (std::size_t s = 0; s < slots_; ++s)
      for (std::size_t k = 0; k < m; ++k) beta_[s * n_ + sample(k)] = whole_.beta[s * m + k];
  }

  // ---- when to stop --------------------------------------------------------------------------------------------

  bool finished() {
    whole_.select();
    while (whole_.violation() <= kkt_tolerance()) {
      for (double value : whole_.f)
        if (!std::isfinite(value)) throw StopRequest{Status::numerical};  // NaN violates nothing
      if (shrunk()) {
        reconstruct();
        whole_.select();
        if (whole_.violation() > kkt_tolerance()) break;
      }
      if (solved() && rows_were_good_enough()) return true;
    }
    if (result_.iterations >= next_snapshot_) {
      monitor_.record(snapshot());
      next_snapshot_ = std::max(next_snapshot_ + 1, static_cast<std::int64_t>(kSnapshotGrowth * double(next_snapshot_)));
    }
    if (std::isnan(whole_.violation()) || stalled()) throw StopRequest{Status::numerical};
    if (out_of_steps()) throw StopRequest{Status::max_iter};
    poll();
    return false;
  }

  bool out_of_steps(std::int64_t more = 0) const {
    return options_.max_iterations >= 0 && result_.iterations + more >= options_.max_iterations;
  }

  // Steps still go on, but they no longer lower the objective in floating point.
  bool stalled() {
    const double gain = last_objective_ - objective_;
    total_gain_ += std::max(gain, 0.0);
    last_objective_ = objective_;
    idle_ = gain > 1e-15 * (std::abs(objective_) + total_gain_) || result_.iterations == 0 ? 0 : idle_ + 1;
    return idle_ >= kIdle;
  }

  // The KKT conditions hold.  Is that all that was asked for?
  bool solved() {
    if (!options_.stop_on_gap) return true;
    const Snapshot now = snapshot();
    if (now.gap <= options_.tolerance * (std::abs(now.primal) + std::abs(now.dual)) / 2) return true;
    gap_mode_tolerance_ *= 0.25;
    if (gap_mode_tolerance_ <= 1e-15 * (1 + first_violation_)) throw StopRequest{Status::numerical};
    return false;
  }

  double kkt_tolerance() {
    if (!options_.stop_on_gap) return options_.tolerance;
    if (gap_mode_tolerance_ < 0) gap_mode_tolerance_ = first_violation_ = whole_.violation();  // maybe good enough
    return gap_mode_tolerance_;
  }

  // f was kept up to date with rows in single precision.  Some values of it are compared with what it should be; if
  // they differ, f is computed anew in double precision and the steps go on: what is left to do is small, and so is
  // then the error of the rows.  True also if that has been tried often enough; `rough` says so.
  bool rows_were_good_enough() {
    if (sizeof(T) == sizeof(double)) return true;
    std::vector<std::int32_t> used, probes;
    std::vector<double> coefficients;
    scatter();
    coefficients_in_use(used, coefficients);
    const std::size_t count = std::min(kProbes, n_);
    for (std::size_t k = 0; k < count; ++k) probes.push_back(static_cast<std::int32_t>(k * n_ / count));
    std::vector<double> exact(count, 0.0);
    kernel_.add_rows(used, coefficients, *kernel_.columns(probes, kBlockBytes), double{}, exact, parallel_);
    double error = 0;
    for (std::size_t k = 0; k < count; ++k)
      error = std::max(error, std::abs(exact[k] - f_[static_cast<std::size_t>(probes[k])]));
    if (error <= allowed_error()) return true;
    result_.rough = result_.recomputations >= kRefinements;
    if (result_.rough) return true;
    rebuild();
    whole_.select();
    return false;
  }

  // Half of what the caller tolerates, in the units of f.
  double allowed_error() const {
    if (!options_.stop_on_gap) return 0.5 * options_.tolerance;
    double width = 0;
    for (std::size_t v = 0; v < problem_.upper.size(); ++v) {
      const double w = problem_.upper[v] - problem_.lower[v];
      if (std::isfinite(w)) width += w;
    }
    return 0.5 * options_.tolerance * std::abs(objective_) / std::max(width, 1e-300);
  }

  void coefficients_in_use(std::vector<std::int32_t>& used, std::vector<double>& coefficients) const {
    for (std::size_t i = 0; i < n_; ++i)
      if (const double b = coefficient(i); b != 0) used.push_back(static_cast<std::int32_t>(i)), coefficients.push_back(b);
  }

  // What is to be done at once, and what to leave for later.
  bool wants_to_stop() {
    if (stop_ == Status::interrupted) return true;
    const double now = watch_.seconds();
    if (options_.max_seconds >= 0 && now + reserve_ >= options_.max_seconds) stop_ = Status::time_limit;
    if (now < next_poll_) return stop_ != Status::solved;
    next_poll_ = now + 0.05;
    reserve_ = reconstruction_seconds();
    if (monitor_.interrupted() || (!unstoppable_ && monitor_.wants_progress() && !monitor_.progress(snapshot())))
      stop_ = Status::interrupted;
    return stop_ != Status::solved;
  }

  void poll() {
    if (wants_to_stop() && !(unstoppable_ && stop_ == Status::time_limit)) throw StopRequest{stop_};
  }

  // ---- kernel rows ---------------------------------------------------------------------------------------------

  void fetch(Span<const std::int32_t> list) {
    const std::int64_t before = store_.misses();
    const double start = watch_.seconds();
    store_.fetch(list, parallel_);
    tr += watch_.seconds()-start; if (kTrace && watch_.seconds()-start>0.01) std::fprintf(stderr,"fetch %zu of %zu: %.4f misses %ld\n",list.size(),active_.size(),watch_.seconds()-start,(long)(store_.misses()-before));
    row_seconds_ += watch_.seconds() - start;
    row_values_ += static_cast<double>(store_.misses() - before) * static_cast<double>(active_.size());
  }

  // f += Σ change · row, in runs of columns.
  void add_rows(Span<const std::int32_t> list, const std::vector<double>& change) {
    std::vector<const T*> rows;
    for (std::int32_t i : list) rows.push_back(store_.row(static_cast<std::size_t>(i)));
    add_to(whole_.f, rows, change, active_.size());
    whole_.touch();
  }

  void add_to(std::vector<double>& f, const std::vector<const T*>& rows, const std::vector<double>& change,
              std::size_t length) {
    const Parallel parallel{options_.threads, {}};
    run_tasks((length + kColumns - 1) / kColumns, parallel, [&] {
      return [&](std::size_t task, Pulse&) {
        const std::size_t first = task * kColumns, count = std::min(kColumns, length - first);
        if constexpr (sizeof(T) == sizeof(float))
          loops_.add_f32(f.data() + first, rows.data(), change.data(), rows.size(), first, count);
        else
          loops_.add_f64(f.data() + first, rows.data(), change.data(), rows.size(), first, count);
      };
    });
  }

  // ---- all active samples at once ------------------------------------------------------------------------------

  // SMO on the active samples, until it is time to look up.
  void step_all() {
    double t = watch_.seconds(), tr0 = tr;
    const auto row = [this](std::size_t k) { return row_of(k); };
    std::int64_t steps = 0;
    last_row_ = -1;
    store_.limit(active_.size());
    for (whole_.select(); steps < kBetweenLooks && whole_.violation() > kkt_tolerance(); ++steps) {
      if (out_of_steps(steps) || (steps % 64 == 63 && wants_to_stop())) break;
      const auto step = whole_.step(row, tau_, tau_);
      if (!(step.length > 0)) {
        result_.iterations += steps;
        no_step();
        return;
      }
      objective_ -= step.decrease;
    }
    result_.iterations += steps; all_its_ += steps;
    ta += watch_.seconds()-t-(tr-tr0);
  }

  const T* row_of(std::size_t k) {
    const std::size_t i = sample(k);
    if (!store_.holds(i)) fetch_ahead(k);
    store_.use(i);
    last_row_ = static_cast<std::int32_t>(i);
    return store_.row(i);
  }

  // A row is missing: those that will be missing next come with it.
  void fetch_ahead(std::size_t k) {
    const std::size_t room = std::min(store_.capacity() / 2, kAhead);
    std::vector<std::int32_t> list{active_[k]};
    if (last_row_ >= 0 && last_row_ != active_[k]) list.push_back(last_row_);
    for (const Family& family : whole_.families)
      for (const bool rising : {true, false}) {
        collect(family, rising, [this](std::size_t l) { return !store_.holds(sample(l)); });
        keep_worst(room / (2 * whole_.families.size()));
        for (const Candidate& candidate : candidates_) {
          const std::int32_t i = active_[static_cast<std::size_t>(candidate.position)];
          if (list.size() < room && std::find(list.begin(), list.end(), i) == list.end()) list.push_back(i);
        }
      }
    fetch(list);
  }

  // No step changes β in floating point.
  void no_step() {
    if (stepless_at_ == result_.iterations) throw StopRequest{Status::numerical};
    stepless_at_ = result_.iterations;
    rebuild();
  }

  // ---- the worst violators -------------------------------------------------------------------------------------

  struct Candidate {
    double excess;
    std::uint32_t lot;  // decides between equals: not the order of the samples
    std::int32_t position;
  };

  template <class Wanted>
  void collect(const Family& family, bool rising, Wanted wanted) {
    candidates_.clear();
    const double other = family.moves_alone ? 0.0 : rising ? family.low : family.up;
    for (std::size_t k = 0; k < active_.size(); ++k) {
      const double excess = rising ? -whole_.f[k] - family.rise[k] - other : other + whole_.f[k] + family.fall[k];
      if (excess > 0 && wanted(k))
        candidates_.push_back({excess, static_cast<std::uint32_t>(active_[k]) * 2654435761u, static_cast<std::int32_t>(k)});
    }
  }

  void keep_worst(std::size_t count) {
    const auto worse = [](const Candidate& a, const Candidate& b) {
      return a.excess != b.excess ? a.excess > b.excess : a.lot != b.lot ? a.lot < b.lot : a.position < b.position;
    };
    if (candidates_.size() <= count) return;
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count), candidates_.end(),
                     worse);
    candidates_.resize(count);
  }

  // ---- working sets --------------------------------------------------------------------------------------------

  void step_set() {
    ++outers_;
    double t=watch_.seconds();
    choose();
    tc += watch_.seconds()-t;
    solve_inner();
    t=watch_.seconds();
    spread();
    ts += watch_.seconds()-t;
    if (kTrace && outers_ % 5 == 1) {
      whole_.select(); std::size_t rest=0, fr=0; for (std::size_t k=0;k<active_.size();++k) { rest+=at_rest(k); fr+=is_free(k);} 
      std::fprintf(stderr,"outer %d t %.2f its %ld set %zu viol %.4f active %zu rest %zu free %zu moved %ld obj %.6f\n",outers_,watch_.seconds(),(long)result_.iterations,set_.size(),whole_.violation(),active_.size(),rest,fr,nm,objective_);
    }
  }

  // Up to half of the last set stays, free variables first; the rest are the worst violators of either side, beginning
  // with the worst family: the pair that violates most is always among them.
  void choose() {
    const std::size_t q = set_size();
    std::vector<std::int32_t> kept;
    for (const bool free : {true, false})
      for (std::int32_t k : set_)
        if (kept.size() < std::min(q / 2, q - 2) && is_free(static_cast<std::size_t>(k)) == free) kept.push_back(k);
    std::fill(chosen_.begin(), chosen_.end(), 0);
    for (std::int32_t k : kept) chosen_[static_cast<std::size_t>(k)] = 1;
    set_ = std::move(kept);
    std::vector<const Family*> order;
    for (const Family& family : whole_.families)
      if (family.violation() > 0) order.push_back(&family);
    std::stable_sort(order.begin(), order.end(),
                     [](const Family* a, const Family* b) { return a->violation() > b->violation(); });
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::size_t room = q - set_.size(), share = std::min(room, std::max<std::size_t>(2, room / (order.size() - k)));
      const std::size_t before = set_.size();
      add_violators(*order[k], true, (share + 1) / 2);
      add_violators(*order[k], false, share - (set_.size() - before));
    }
    std::sort(set_.begin(), set_.end());
  }

  // All free variables should find room: those that do not would be moved by turns only.
  std::size_t set_size() {
    const std::size_t most = std::max<std::size_t>(2, active_.size());
    free_ = 0;
    for (std::size_t k = 0; k < active_.size(); ++k) free_ += is_free(k);
    if (options_.size) return std::min(options_.size, most);
    size_ = std::max(size_, std::clamp(3 * free_ / 2, kSize, kLargest));
    return std::min(size_, most);
  }

  bool is_free(std::size_t k) const {
    for (std::size_t v = k; v < whole_.size(); v += whole_.samples())
      if (whole_.can_rise(v) && whole_.can_fall(v)) return true;
    return false;
  }

  // The `count` samples not yet chosen that violate most on one side of a family.
  void add_violators(const Family& family, bool rising, std::size_t count) {
    collect(family, rising, [this](std::size_t k) { return !chosen_[k]; });
    keep_worst(count);
    for (const Candidate& candidate : candidates_) {
      chosen_[static_cast<std::size_t>(candidate.position)] = 1;
      set_.push_back(candidate.position);
    }
  }

  void solve_inner() {
    double t=watch_.seconds();
    const std::size_t m = set_.size();
    inner_.gather(whole_, set_);
    compute_block();
    tg += watch_.seconds()-t; t=watch_.seconds();
    const double goal = std::max(kGoal * whole_.violation(), 0.5 * kkt_tolerance());
    const std::int64_t limit = static_cast<std::int64_t>(std::max<std::size_t>(1000, 50 * m));
    std::int64_t steps = 0;
    double decrease = 0;
    for (inner_.select(); inner_.violation() > goal && steps < limit; ++steps) {
      if (out_of_steps(steps) || (steps % 256 == 255 && wants_to_stop())) break;
      const auto step = inner_.step([&](std::size_t k) { return block_.data() + k * m; }, tau_, tau_);
      if (!(step.length > 0)) break;
      decrease += step.decrease;
    }
    result_.iterations += steps;
    objective_ -= decrease;
    ti += watch_.seconds()-t;
    if (steps == 0) no_step();
  }

  // The kernel values among the samples of the set.  Those among samples that were in the last one are there.
  void compute_block() {
    const std::size_t m = set_.size(), before = block_samples_.size();
    std::vector<std::int32_t> samples, fresh, from(m);  // from: row of the last block, or -1
    std::vector<std::size_t> fresh_at, kept_at;
    for (std::size_t k = 0; k < before; ++k) in_block_[static_cast<std::size_t>(block_samples_[k])] = static_cast<std::int32_t>(k);
    for (std::size_t k = 0; k < m; ++k) {
      samples.push_back(active_[static_cast<std::size_t>(set_[k])]);
      from[k] = in_block_[static_cast<std::size_t>(samples[k])];
      (from[k] < 0 ? fresh_at : kept_at).push_back(k);
      if (from[k] < 0) fresh.push_back(samples[k]);
    }
    for (std::int32_t i : block_samples_) in_block_[static_cast<std::size_t>(i)] = -1;
    if (next_block_.size() < m * m) next_block_.resize(m * m);
    T* const block = next_block_.data();
    std::vector<T*> rows;
    for (std::size_t k : fresh_at) rows.push_back(block + k * m);
    kernel_.block_rows(fresh, *kernel_.columns(samples, kBlockBytes), Span<T* const>(rows.data(), rows.size()), parallel_);
    constexpr std::size_t run = 16;
    run_tasks((kept_at.size() + run - 1) / run, Parallel{options_.threads, {}}, [&] {
      return [&](std::size_t task, Pulse&) {
        const std::size_t first = task * run, last = std::min(kept_at.size(), first + run);
        for (std::size_t k = first; k < last; ++k) {
          const std::size_t a = kept_at[k];
          const T* const old = block_.data() + static_cast<std::size_t>(from[a]) * before;
          for (std::size_t b : kept_at) block[a * m + b] = old[static_cast<std::size_t>(from[b])];
        }
        for (std::size_t b : fresh_at)
          for (std::size_t k = first; k < last; ++k) block[kept_at[k] * m + b] = block[b * m + kept_at[k]];
      };
    });
    block_.swap(next_block_);
    block_samples_.swap(samples);
  }

  // Write β back, and add the rows of the samples that moved to f.  Rows of variables that stay free will be needed again
  // and are kept; one that went to a bound tends to stay there, and its row is forgotten at once.
  void spread() {
    const std::size_t m = set_.size(), n = active_.size();
    std::vector<std::int32_t> kept, passing;
    std::vector<double> kept_change, passing_change;
    for (std::size_t k = 0; k < m; ++k) {
      const std::size_t l = static_cast<std::size_t>(set_[k]);
      const bool was_free = is_free(l);
      double sum = 0;
      bool differs = false;
      for (std::size_t s = 0; s < slots_; ++s) {
        differs = differs || inner_.beta[s * m + k] != whole_.beta[s * n + l];
        sum += inner_.beta[s * m + k] - whole_.beta[s * n + l];
        whole_.beta[s * n + l] = inner_.beta[s * m + k];
      }
      if (differs) whole_.mark(l);
      if (sum == 0) continue;
      const bool keep = kept.size() < std::min(store_.capacity(), soft_rows()) && (store_.holds(sample(l)) || (was_free && is_free(l)));
      (keep ? kept : passing).push_back(active_[l]);
      (keep ? kept_change : passing_change).push_back(sum);
    }
    nm += kept.size()+passing.size(); npass += passing.size();
    Unstoppable now(*this);
    store_.limit(std::min(2 * free_, soft_rows()));
    fetch(kept);
    add_rows(kept, kept_change);
    double t = watch_.seconds();
    kernel_.add_rows(passing, passing_change, store_.columns(), T{}, whole_.f, parallel_);
    row_values_ += static_cast<double>(passing.size()) * static_cast<double>(active_.size());
    row_seconds_ += watch_.seconds() - t; tp += watch_.seconds()-t;
    whole_.touch();
    now.done();
  }

  std::size_t soft_rows() const { return kSoft / (sizeof(T) * active_.size()); }

  // ---- shrinking (LwK 10.1.4) ----------------------------------------------------------------------------------

  // At a bound and pushed against it: cannot be part of a violating pair now.
  bool at_rest(std::size_t k) const {
    for (const Family& family : whole_.families) {
      const double up = family.moves_alone ? whole_.violation() : family.up;
      const double low = family.moves_alone ? -whole_.violation() : family.low;
      const double rising = -whole_.f[k] - family.rise[k], falling = -whole_.f[k] - family.fall[k];
      // It rests if it could move neither way in a pair with the extreme one of the other side.
      if (family.rise[k] < kInf && rising >= low) return false;
      if (family.fall[k] > -kInf && falling <= up) return false;
    }
    return true;
  }

  void shrink() {
    double t = watch_.seconds();
    whole_.select();
    std::vector<std::int32_t> kept;
    for (std::size_t k = 0; k < active_.size(); ++k)
      if (!at_rest(k)) kept.push_back(static_cast<std::int32_t>(k));
    if (kept.size() < 2 || double(kept.size()) > kShrinkAt * double(active_.size())) { tsh += watch_.seconds()-t; return; }
    scatter();
    if (!shrunk()) {
      reference_f_.assign(f_.begin(), f_.end());
      reference_coefficient_.resize(n_);
      for (std::size_t i = 0; i < n_; ++i) reference_coefficient_[i] = coefficient(i);
    }
    activate(kept);
    if (kTrace) std::fprintf(stderr,"shrink to %zu at viol %.4f\n",kept.size(),whole_.violation());
    tsh += watch_.seconds()-t;
  }

  // From now on only the samples at these positions of the active ones.
  void activate(const std::vector<std::int32_t>& positions) {
    std::vector<std::int32_t> set;  // by sample, over the change
    for (std::int32_t k : set_) set.push_back(active_[static_cast<std::size_t>(k)]);
    for (std::size_t k = 0; k < positions.size(); ++k) active_[k] = active_[static_cast<std::size_t>(positions[k])];
    active_.resize(positions.size());
    store_.narrow(positions, active_);
    std::fill(position_.begin(), position_.end(), -1);
    for (std::size_t k = 0; k < active_.size(); ++k) position_[sample(k)] = static_cast<std::int32_t>(k);
    set_.clear();
    for (std::int32_t i : set)
      if (position_[static_cast<std::size_t>(i)] >= 0) set_.push_back(position_[static_cast<std::size_t>(i)]);
    whole_.gather(problem_, active_, beta_, f_, diagonal_);
  }

  // All samples active again: f of the resting ones is the reference plus what has changed since.
  void reconstruct() {
    double t = watch_.seconds();
    scatter();
    std::vector<std::int32_t> resting, changed;
    for (std::size_t i = 0; i < n_; ++i)
      if (position_[i] < 0) resting.push_back(static_cast<std::int32_t>(i));
    std::vector<double> change, values(resting.size());
    for (std::size_t k = 0; k < resting.size(); ++k) values[k] = reference_f_[static_cast<std::size_t>(resting[k])];
    for (std::size_t i = 0; i < n_; ++i) {
      const double difference = coefficient(i) - reference_coefficient_[i];
      if (difference != 0) changed.push_back(static_cast<std::int32_t>(i)), change.push_back(difference);
    }
    ++result_.reconstructions;
    if (!resting.empty()) {
      Unstoppable now(*this);
      kernel_.add_rows(changed, change, *kernel_.columns(resting, options_.cache_bytes / 4), T{}, values, parallel_);
      now.done();
    }
    for (std::size_t k = 0; k < resting.size(); ++k) f_[static_cast<std::size_t>(resting[k])] = values[k];
    active_.resize(n_);
    std::iota(active_.begin(), active_.end(), 0);
    std::iota(position_.begin(), position_.end(), 0);
    set_.clear();
    store_.open({});
    whole_.gather(problem_, active_, beta_, f_, diagonal_);
    trec += watch_.seconds()-t;
    if (kTrace) { whole_.select(); std::fprintf(stderr,"reconstruct %.3f changed %zu resting %zu viol %.4f\n",watch_.seconds()-t,changed.size(),resting.size(),whole_.violation()); }
  }

  // β has changed and f has not: until it has, only a signal may end the run, and then f is not exact.
  class Unstoppable {
   public:
    explicit Unstoppable(Engine& engine) : engine_(engine) { engine.result_.exact = false, engine.unstoppable_ = true; }
    ~Unstoppable() { engine_.unstoppable_ = false; }
    void done() { engine_.result_.exact = true; }

   private:
    Engine& engine_;
  };

  double reconstruction_seconds() const {
    if (!shrunk() || row_values_ == 0) return 0;
    std::size_t changed = 0;
    for (double b : whole_.beta) changed += b != 0;
    return 1.2 * row_seconds_ / row_values_ * double(changed) * double(n_ - active_.size());
  }

  // f = K β from scratch, in double precision.
  void rebuild() {
    if (shrunk()) reconstruct();
    scatter();
    std::vector<std::int32_t> used;
    std::vector<double> coefficients;
    coefficients_in_use(used, coefficients);
    std::vector<double> values(n_, 0.0);
    Unstoppable now(*this);
    kernel_.add_rows(used, coefficients, store_.columns(), double{}, values, parallel_);
    now.done();
    whole_.f = values;
    whole_.touch();
    objective_ = quadratic_value();
    ++result_.recomputations;
  }

  // The gap with the offset midway between the thresholds; docs/math.md (4).
  Snapshot snapshot() {
    whole_.select();
    double gap = 0, open_slope = 0;
    for (const Family& family : whole_.families) {
      const double offset = family.offset();
      for (std::size_t v = 0; v < whole_.size(); ++v) {
        if (whole_.group[v] != family.group) continue;
        const double r = whole_.gradient(v) + offset, towards = r > 0 ? whole_.lower[v] : whole_.upper[v];
        if (std::isfinite(towards)) gap += r * (whole_.beta[v] - towards);
        else open_slope = std::max(open_slope, std::abs(r));
      }
    }
    if (open_slope > options_.tolerance) gap = kInf;  // (3) is no bound while a slope points to an infinite bound
    return {result_.iterations, watch_.seconds(), whole_.violation(), -objective_ + gap, -objective_, gap,
            static_cast<std::int64_t>(active_.size()), !shrunk()};
  }

  static constexpr std::size_t kBlockBytes = std::size_t(8) << 20;

  const KernelSource& kernel_;
  const SignedProblem& problem_;
  const WorkingSetOptions& options_;
  Monitor& monitor_;
  Span<double> beta_, f_;
  std::size_t n_, slots_, size_ = 0, free_ = 0;
  RowStore<T> store_;
  std::vector<double> diagonal_, reference_f_, reference_coefficient_;
  std::vector<std::int32_t> active_, position_, set_;  // set_: positions
  std::vector<char> chosen_;
  std::vector<std::int32_t> in_block_;  // rows of the block by sample, while it is made; else -1
  std::vector<Candidate> candidates_;
  PairSteps<T> whole_, inner_;
  std::vector<T> block_, next_block_;
  std::vector<std::int32_t> block_samples_;
  const SmoLoops& loops_ = smo_loops();
  Parallel parallel_;
  Stopwatch watch_;
  SmoResult result_;
  Status stop_ = Status::solved;
  double tau_ = 0, objective_ = 0, next_poll_ = 0.05, reserve_ = 0, gap_mode_tolerance_ = -1, first_violation_ = 0;
  double last_objective_ = 0, total_gain_ = 0, row_seconds_ = 0, row_values_ = 0;
  std::int64_t next_snapshot_ = 0, stepless_at_ = -1;
  std::int32_t last_row_ = -1;
  int idle_ = 0;
  bool unstoppable_ = false;
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
