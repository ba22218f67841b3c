// smo.cpp: the solver of smo.hpp.  Reading order: run, select, step_pair / step_single, shrink, reconstruct.
#include "hinge/smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "hinge/row_cache.hpp"
#include "smo_loops.hpp"

namespace hinge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr double kPollSeconds = 0.05;
constexpr double kSnapshotGrowth = 1.15;  // snapshots thin out geometrically: some 150 of them in 10⁹ steps

// Variables that exchange mass with each other (one equality row), or that move alone (no row).
struct Family {
  std::int8_t group;
  bool moves_alone;
  std::vector<double> can_rise, can_fall;  // 0 or +inf, see smo_loops.hpp
  double up = -kInf, low = kInf;           // Keerthi's thresholds: optimal when up ≤ low

  double violation() const {
    if (moves_alone) return std::max({up, -low, 0.0});
    return up > -kInf && low < kInf ? up - low : 0.0;
  }
};

template <class T>
class Smo {
 public:
  Smo(const KernelSource& kernel, const SignedProblem& problem, const SmoOptions& options, Span<double> beta,
      Span<double> f, Monitor& monitor)
      : kernel_(kernel), problem_(problem), options_(options), monitor_(monitor), full_beta_(beta), full_f_(f),
        n_(kernel.size()), slots_(problem.slots), cache_(options.cache_bytes, n_), diagonal_all_(n_) {}

  SmoResult run() {
    start();
    while (!finished()) {
      if (options_.shrinking && --until_shrink_ <= 0) {
        shrink();
        continue;
      }
      if (family_->moves_alone ? step_single() : step_pair()) continue;
      if (recomputed_at_ == result_.iterations) {  // f is exact and still no step changes β in floating point
        result_.status = Status::numerical;
        break;
      }
      recompute();
    }
    leave();
    return result_;
  }

 private:
  // ---- entering and leaving ------------------------------------------------------------------------------------

  void start() {
    kernel_.diagonal(diagonal_all_);
    double largest = 0;
    for (double d : diagonal_all_) largest = std::max(largest, std::abs(d));
    kernel_scale_ = largest;
    tau_ = 1e-12 * (largest > 0 ? largest : 1.0);
    for (std::int8_t g : {std::int8_t{0}, std::int8_t{1}, std::int8_t{-1}})
      if (std::find(problem_.group.begin(), problem_.group.end(), g) != problem_.group.end())
        families_.push_back(Family{g, g < 0, {}, {}, -kInf, kInf});
    samples_.resize(n_);
    std::iota(samples_.begin(), samples_.end(), 0);
    gather_active();
    exact_f();
    objective_ = quadratic_value();
    shrink_period_ = until_shrink_ = static_cast<std::int64_t>(std::min<std::size_t>(n_, 1000));
  }

  void leave() {
    if (shrunk()) {
      if (result_.status == Status::interrupted) {
        result_.exact = false;
        scatter_active();
      } else {
        reconstruct();
      }
    }
    scatter_active();
    select();
    if (result_.exact) record(snapshot());
    result_.violation = violation_;
    result_.objective = objective_;
    result_.row_hits = cache_.hits();
    result_.row_misses = cache_.misses();
  }

  bool shrunk() const { return samples_.size() < n_; }
  std::size_t active() const { return samples_.size(); }

  // Copies of everything the loops read, for the active samples only: slot s of active sample k is at s·active + k.
  void gather_active() {
    const std::size_t m = active(), size = slots_ * m;
    f_.resize(m), diagonal_.resize(m), beta_.resize(size), c_.resize(size), lower_.resize(size), upper_.resize(size);
    gain_.resize(size);
    for (std::size_t k = 0; k < m; ++k) {
      f_[k] = full_f_[sample(k)];
      diagonal_[k] = diagonal_all_[sample(k)];
    }
    for (std::size_t s = 0; s < slots_; ++s)
      for (std::size_t k = 0; k < m; ++k) {
        const std::size_t v = s * m + k, w = s * n_ + sample(k);
        beta_[v] = full_beta_[w], c_[v] = problem_.linear[w];
        lower_[v] = problem_.lower[w], upper_[v] = problem_.upper[w];
      }
    for (Family& family : families_) {
      family.can_rise.assign(size, kInf), family.can_fall.assign(size, kInf);
      for (std::size_t s = 0; s < slots_; ++s)
        for (std::size_t k = 0; k < m; ++k)
          if (problem_.group[s * n_ + sample(k)] == family.group) mark(family, s * m + k);
    }
  }

  void scatter_active() {
    const std::size_t m = active();
    for (std::size_t k = 0; k < m; ++k) full_f_[sample(k)] = f_[k];
    for (std::size_t s = 0; s < slots_; ++s)
      for (std::size_t k = 0; k < m; ++k) full_beta_[s * n_ + sample(k)] = beta_[s * m + k];
  }

  std::size_t sample(std::size_t k) const { return static_cast<std::size_t>(samples_[k]); }

  void mark(Family& family, std::size_t v) {
    family.can_rise[v] = beta_[v] < upper_[v] ? 0.0 : kInf;
    family.can_fall[v] = beta_[v] > lower_[v] ? 0.0 : kInf;
  }

  // ---- selection -----------------------------------------------------------------------------------------------

  // Thresholds of every family; family_ becomes the one that violates most.
  void select() {
    violation_ = 0;
    family_ = families_.empty() ? nullptr : &families_.front();
    const std::size_t m = active();
    for (Family& family : families_) {
      family.up = -kInf, family.low = kInf;
      for (std::size_t s = 0; s < slots_; ++s) {
        const Thresholds t = loops_.thresholds(f_.data(), c_.data() + s * m, family.can_rise.data() + s * m,
                                               family.can_fall.data() + s * m, m);
        family.up = std::max(family.up, t.up), family.low = std::min(family.low, t.low);
      }
      if (family.violation() > violation_) violation_ = family.violation(), family_ = &family;
    }
  }

  double gradient(std::size_t v) const { return f_[v % active()] + c_[v]; }

  bool finished() {
    select();
    if (violation_ <= kkt_tolerance() && settled()) return true;
    const double now = watch_.seconds();
    if (options_.max_iterations >= 0 && result_.iterations >= options_.max_iterations)
      return stop(Status::max_iter);
    if (options_.max_seconds >= 0 && now + reserve_ >= options_.max_seconds)
      return stop(Status::time_limit);
    if (interrupted(now)) return stop(Status::interrupted);
    if (out_of_precision()) return stop(Status::numerical);
    if (result_.iterations >= next_snapshot_) {
      record(snapshot());
      next_snapshot_ = std::max(next_snapshot_ + 1, static_cast<std::int64_t>(kSnapshotGrowth * double(next_snapshot_)));
    }
    if (drift_ > 0.05 * kkt_tolerance() && result_.iterations > recomputed_at_ + 10 * static_cast<std::int64_t>(n_))
      recompute();
    return false;
  }

  bool stop(Status status) {
    result_.status = status;
    return true;
  }

  // The active problem is solved.  Is the whole one?
  bool settled() {
    if (shrunk()) {
      reconstruct();
      until_shrink_ = shrink_period_;
      select();
      if (violation_ > kkt_tolerance() || !result_.exact) return false;
    }
    if (!options_.stop_on_gap) return true;
    const Snapshot now = snapshot();
    if (now.gap <= options_.tolerance * (std::abs(now.primal) + std::abs(now.dual)) / 2) return true;
    gap_mode_tolerance_ *= 0.25;
    if (gap_mode_tolerance_ > 1e-15 * (1 + largest_gradient_)) return false;
    return stop(Status::numerical);
  }

  double kkt_tolerance() {
    if (!options_.stop_on_gap) return options_.tolerance;
    if (gap_mode_tolerance_ < 0) gap_mode_tolerance_ = 0.1 * violation_, largest_gradient_ = violation_;
    return gap_mode_tolerance_;
  }

  // Steps still go on, but together they no longer change the objective in floating point.
  bool out_of_precision() {
    const std::int64_t window = 10 * static_cast<std::int64_t>(std::max<std::size_t>(n_, 1000));
    if (result_.iterations < window_start_ + window) return false;
    total_gain_ += window_gain_;
    const bool stalled = window_gain_ <= 1e-15 * (std::abs(objective_) + total_gain_);
    window_start_ = result_.iterations, window_gain_ = 0;
    return stalled;
  }

  // ---- steps ---------------------------------------------------------------------------------------------------

  // The most violating variable that can rise, and the partner with the largest second-order gain; LwK 10.5.1.
  bool step_pair() {
    const std::size_t m = active(), size = slots_ * m;
    Family& family = *family_;
    const std::size_t i = first_to_rise(family);
    if (i == size) return false;
    const T* row_i = row(i % m);
    double best = 0;
    for (std::size_t s = 0; s < slots_; ++s)
      best = std::max(best, gains(row_i, family, s * m, diagonal_[i % m]));
    const std::size_t j = static_cast<std::size_t>(std::find(gain_.begin(), gain_.end(), best) - gain_.begin());
    if (j == size || !(best > 0)) return false;

    const T* row_j = row(j % m);
    const double slope = family.up + gradient(j);
    const double curvature = diagonal_[i % m] + diagonal_[j % m] - 2 * static_cast<double>(row_i[j % m]);
    const double room_i = upper_[i] - beta_[i], room_j = beta_[j] - lower_[j];
    const double room = std::min(room_i, room_j);
    const double step = curvature > tau_ ? std::min(slope / curvature, room) : room;
    if (step == kInf) return false;  // a direction of descent without end: the problem is unbounded
    const double old_i = beta_[i], old_j = beta_[j];
    beta_[i] = step >= room_i ? upper_[i] : old_i + step;
    beta_[j] = step >= room_j ? lower_[j] : old_j - step;
    if (beta_[i] == old_i && beta_[j] == old_j) return false;
    mark(family, i), mark(family, j);
    apply(step, step * slope - 0.5 * curvature * step * step);
    update(row_i, beta_[i] - old_i, row_j, beta_[j] - old_j);
    return true;
  }

  std::size_t first_to_rise(const Family& family) const {
    const std::size_t m = active();
    for (std::size_t s = 0; s < slots_; ++s) {
      const double *c = c_.data() + s * m, *can_rise = family.can_rise.data() + s * m;
      for (std::size_t k = 0; k < m; ++k)
        if (-(f_[k] + c[k]) - can_rise[k] == family.up) return s * m + k;
    }
    return slots_ * m;
  }

  // No equality row: one variable at a time (slides; LwK without bias).
  bool step_single() {
    const std::size_t m = active(), size = slots_ * m;
    Family& family = *family_;
    double best = 0;
    std::size_t i = size;
    for (std::size_t s = 0; s < slots_; ++s)
      for (std::size_t k = 0; k < m; ++k) {
        const std::size_t v = s * m + k;
        const double g = f_[k] + c_[v];
        const double pull = g < 0 ? -g - family.can_rise[v] : g - family.can_fall[v];
        const double value = pull > 0 ? pull * pull / std::max(diagonal_[k], tau_) : 0;
        if (value > best) best = value, i = v;
      }
    if (i == size) return false;
    const double g = gradient(i), curvature = diagonal_[i % m];
    const double room = g < 0 ? upper_[i] - beta_[i] : beta_[i] - lower_[i];
    const double step = curvature > tau_ ? std::min(std::abs(g) / curvature, room) : room;
    if (step == kInf) return false;
    const double old = beta_[i];
    beta_[i] = step >= room ? (g < 0 ? upper_[i] : lower_[i]) : (g < 0 ? old + step : old - step);
    if (beta_[i] == old) return false;
    mark(family, i);
    apply(step, step * std::abs(g) - 0.5 * curvature * step * step);
    const T* row_i = row(i % m);
    update(row_i, beta_[i] - old, row_i, 0.0);
    return true;
  }

  void apply(double step, double decrease) {
    ++result_.iterations;
    objective_ -= decrease;
    window_gain_ += decrease;
    drift_ += kUnitRoundoff * (f_scale_ + 2 * step * kernel_scale_);
  }

  double gains(const T* row, const Family& family, std::size_t offset, double diagonal_i) {
    const double* fall = family.can_fall.data() + offset;
    if constexpr (sizeof(T) == sizeof(float))
      return loops_.gains_f32(f_.data(), c_.data() + offset, fall, diagonal_.data(), row, family.up, diagonal_i, tau_,
                              gain_.data() + offset, active());
    else
      return loops_.gains_f64(f_.data(), c_.data() + offset, fall, diagonal_.data(), row, family.up, diagonal_i, tau_,
                              gain_.data() + offset, active());
  }

  void update(const T* x, double a, const T* y, double b) {
    if constexpr (sizeof(T) == sizeof(float))
      loops_.update_f32(f_.data(), x, a, y, b, active());
    else
      loops_.update_f64(f_.data(), x, a, y, b, active());
  }

  const T* row(std::size_t k) {
    return cache_.fetch(sample(k), [&](Span<T> out) {
      const double before = watch_.seconds();
      kernel_.row(sample(k), columns(), out);
      row_seconds_ += watch_.seconds() - before;
      row_entries_ += static_cast<double>(out.size());
    });
  }

  Span<const std::int32_t> columns() const { return shrunk() ? Span<const std::int32_t>(samples_) : Span<const std::int32_t>(); }

  // ---- the function cache (LwK 10.26) --------------------------------------------------------------------------

  double coefficient(std::size_t i) const {  // of sample i, summed over slots, from the full vector
    double sum = 0;
    for (std::size_t s = 0; s < slots_; ++s) sum += full_beta_[s * n_ + i];
    return sum;
  }

  // f = K β from scratch over all samples; only while not shrunk.
  void exact_f() {
    std::fill(f_.begin(), f_.end(), 0.0);
    drift_ = 0;
    recomputed_at_ = result_.iterations;
    for (std::size_t i = 0; i < n_; ++i) {
      const double b = coefficient(i);
      if (b == 0) continue;
      const T* x = row(i);
      update(x, b, x, 0.0);
      if (interrupted(watch_.seconds())) {
        result_.exact = false;
        return;
      }
    }
  }

  void recompute() {
    if (shrunk()) reconstruct();
    scatter_active();
    ++result_.recomputations;
    exact_f();
    objective_ = quadratic_value();
    select();
  }

  double quadratic_value() const {
    double sum = 0;
    const std::size_t m = active();
    for (std::size_t v = 0; v < slots_ * m; ++v) sum += beta_[v] * (0.5 * f_[v % m] + c_[v]);
    return sum;
  }

  // ---- shrinking (LwK 10.1.4) ----------------------------------------------------------------------------------

  // At a bound and pushed against it: cannot be part of a violating pair now.
  bool at_rest(const Family& family, std::size_t v) const {
    const double descent = -gradient(v);
    const double up = family.moves_alone ? violation_ : family.up, low = family.moves_alone ? -violation_ : family.low;
    if (beta_[v] >= upper_[v] && beta_[v] <= lower_[v]) return true;
    if (beta_[v] >= upper_[v]) return descent > up;
    if (beta_[v] <= lower_[v]) return descent < low;
    return false;
  }

  void shrink() {
    until_shrink_ = shrink_period_;
    if (!unshrunk_near_end_ && violation_ <= 10 * kkt_tolerance()) {
      unshrunk_near_end_ = true;
      if (shrunk()) reconstruct();
      select();
    }
    const std::size_t m = active();
    std::vector<std::int32_t> kept;
    for (std::size_t k = 0; k < m; ++k) {
      bool rest = true;
      for (std::size_t s = 0; s < slots_ && rest; ++s)
        for (const Family& family : families_)
          if (problem_.group[s * n_ + sample(k)] == family.group) rest = rest && at_rest(family, s * m + k);
      if (!rest) kept.push_back(static_cast<std::int32_t>(k));
    }
    if (kept.size() < 2 || kept.size() > m - m / 10) return;  // a tenth less is worth the copying
    scatter_active();
    if (!shrunk()) {
      reference_f_.assign(full_f_.begin(), full_f_.end());
      reference_coefficient_.resize(n_);
      for (std::size_t i = 0; i < n_; ++i) reference_coefficient_[i] = coefficient(i);
    }
    cache_.keep_columns(kept);
    for (std::size_t k = 0; k < kept.size(); ++k) samples_[k] = samples_[static_cast<std::size_t>(kept[k])];
    samples_.resize(kept.size());
    gather_active();
    select();
  }

  // All samples active again: f of the resting ones is the reference plus what has changed since.
  void reconstruct() {
    ++result_.reconstructions;
    scatter_active();
    std::vector<char> is_active(n_, 0);
    for (std::int32_t i : samples_) is_active[static_cast<std::size_t>(i)] = 1;
    std::vector<std::int32_t> resting;
    for (std::size_t i = 0; i < n_; ++i)
      if (!is_active[i]) resting.push_back(static_cast<std::int32_t>(i));
    std::vector<double> values(resting.size());
    for (std::size_t k = 0; k < resting.size(); ++k) values[k] = reference_f_[static_cast<std::size_t>(resting[k])];
    std::vector<T> entries(resting.size());
    for (std::size_t i = 0; i < n_; ++i) {
      const double change = coefficient(i) - reference_coefficient_[i];
      if (change == 0) continue;
      kernel_.row(i, resting, Span<T>(entries));
      for (std::size_t k = 0; k < resting.size(); ++k) values[k] += change * static_cast<double>(entries[k]);
      if (interrupted(watch_.seconds())) {
        result_.exact = false;
        break;
      }
    }
    for (std::size_t k = 0; k < resting.size(); ++k) full_f_[static_cast<std::size_t>(resting[k])] = values[k];
    samples_.resize(n_);
    std::iota(samples_.begin(), samples_.end(), 0);
    cache_.clear(n_);
    gather_active();
  }

  double reconstruction_seconds() const {
    if (!shrunk() || row_entries_ == 0) return 0;
    std::size_t changed = 0;
    for (double b : beta_) changed += b != 0;
    return row_seconds_ / row_entries_ * double(changed) * double(n_ - active());
  }

  // ---- talking to the caller -----------------------------------------------------------------------------------

  bool interrupted(double now) {
    if (stop_requested_) return true;
    if (now < next_poll_) return false;
    next_poll_ = now + kPollSeconds;
    reserve_ = reconstruction_seconds();
    stop_requested_ = monitor_.interrupted() || (monitor_.wants_progress() && !monitor_.progress(snapshot()));
    return stop_requested_;
  }

  // The gap with the offset midway between the thresholds: an upper bound of the best one; docs/math.md (4).
  Snapshot snapshot() {
    const std::size_t m = active();
    double gap = 0;
    f_scale_ = 0;
    for (double value : f_) f_scale_ = std::max(f_scale_, std::abs(value));
    for (const Family& family : families_) {
      double offset = 0;
      if (!family.moves_alone) {
        if (family.up > -kInf && family.low < kInf) offset = 0.5 * (family.up + family.low);
        else if (family.up > -kInf) offset = family.up;
        else if (family.low < kInf) offset = family.low;
      }
      for (std::size_t v = 0; v < slots_ * m; ++v) {
        if (problem_.group[(v / m) * n_ + sample(v % m)] != family.group) continue;
        const double r = gradient(v) + offset, towards = r > 0 ? lower_[v] : upper_[v];
        if (std::isfinite(towards)) gap += r * (beta_[v] - towards);
      }
    }
    return {result_.iterations, watch_.seconds(), violation_, -objective_ + gap, -objective_, gap,
            static_cast<std::int64_t>(m), !shrunk()};
  }

  void record(const Snapshot& snapshot) { monitor_.record(snapshot); }

  const KernelSource& kernel_;
  const SignedProblem& problem_;
  const SmoOptions& options_;
  Monitor& monitor_;
  Span<double> full_beta_, full_f_;
  std::size_t n_, slots_;
  RowCache<T> cache_;
  std::vector<double> diagonal_all_, reference_f_, reference_coefficient_;
  std::vector<std::int32_t> samples_;
  std::vector<double> f_, diagonal_, beta_, c_, lower_, upper_, gain_;
  std::vector<Family> families_;
  Family* family_ = nullptr;
  const SmoLoops& loops_ = smo_loops();
  Stopwatch watch_;
  SmoResult result_;
  double violation_ = 0, objective_ = 0, tau_ = 0, kernel_scale_ = 0, f_scale_ = 0, drift_ = 0;
  double gap_mode_tolerance_ = -1, largest_gradient_ = 0, window_gain_ = 0, total_gain_ = 0;
  double row_seconds_ = 0, row_entries_ = 0, reserve_ = 0, next_poll_ = kPollSeconds;
  std::int64_t next_snapshot_ = 0, shrink_period_ = 0, until_shrink_ = 0, recomputed_at_ = -1, window_start_ = 0;
  bool unshrunk_near_end_ = false, stop_requested_ = false;
};

}  // namespace

template <class T>
SmoResult solve_smo(const KernelSource& kernel, const SignedProblem& problem, const SmoOptions& options,
                    Span<double> beta, Span<double> f, Monitor& monitor) {
  return Smo<T>(kernel, problem, options, beta, f, monitor).run();
}

template SmoResult solve_smo<float>(const KernelSource&, const SignedProblem&, const SmoOptions&, Span<double>,
                                    Span<double>, Monitor&);
template SmoResult solve_smo<double>(const KernelSource&, const SignedProblem&, const SmoOptions&, Span<double>,
                                     Span<double>, Monitor&);

}  // namespace hinge
