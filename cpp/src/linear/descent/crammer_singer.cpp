// crammer_singer.cpp: see the header.
#include "hinge/solvers/crammer_singer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "control/run_tracker.hpp"
#include "linear/data/passes.hpp"
#include "linear/data/rows.hpp"
#include "numeric/random.hpp"

namespace hinge {
namespace {

constexpr std::uint32_t kMaxSkippedEpochs = 16;  // largest number of epochs in which an unchanged sample is skipped

template <class Storage>
class CrammerSinger {
 public:
  CrammerSinger(const Storage& data, const CrammerSingerProblem& problem, const LinearOptions& options,
                RunControl& control)
      : rows_(data),
        problem_(problem),
        options_(options),
        tracker_(control, options.max_seconds),
        random_(options.seed),
        n_(data.rows),
        d_(data.features),
        k_(problem.classes),
        norm_(n_),
        w_(d_ * k_),
        anchor_(k_),
        sum_(k_),
        alpha_(n_ * k_),
        next_visit_(n_),
        skipped_epochs_(n_),
        part_(n_),
        f_(k_),
        next_(k_),
        sorted_(k_) {
    double mean = 0;
    for (std::size_t i = 0; i < n_; ++i) mean += norm_[i] = rows_.squared_norm(i);
    if (!std::isfinite(mean)) throw std::invalid_argument(kOverflow);
    mean /= static_cast<double>(std::max<std::size_t>(1, n_));
    if (problem.bias == Bias::penalized) sigma_ = problem.bias_scale * problem.bias_scale;
    if (problem.bias == Bias::free) sigma_ = mean > 0 ? 0.25 * mean : 1.0;
    best_.bounds.gap = best_.bounds.primal = best_.bounds.violation = std::numeric_limits<double>::infinity();
    best_.bounds.dual = -best_.bounds.gap;
  }

  CrammerSingerResult run(Span<const double> start) {
    best_.alpha.assign(n_ * k_, 0.0), best_.weights.assign(d_ * k_, 0.0), best_.offset.assign(k_, 0.0);
    for (std::size_t i = 0; i < n_; ++i) adopt_start(start, i);
    try {
      best_.status = descend();
    } catch (const StopRequest& stop) {
      best_.status = stop.status;
      if (stop.status == Status::time_limit) {
        tracker_.remove_time_limit();
        try {
          check();
        } catch (const StopRequest&) {
          best_.status = Status::interrupted;
        }
      }
    }
    best_.iterations = epoch_;
    return std::move(best_);
  }

 private:
  double upper(std::size_t i, std::size_t m) const {
    return static_cast<std::size_t>(problem_.label[i]) == m ? problem_.cost[i] : 0.0;
  }
  double required_margin(std::size_t i, std::size_t m) const {
    return static_cast<std::size_t>(problem_.label[i]) == m ? 0.0 : 1.0;
  }
  double bias(std::size_t m) const { return anchor_[m] + sigma_ * sum_[m]; }
  bool proven() const { return best_.bounds.relative() <= options_.tolerance; }

  void adopt_start(Span<const double> start, std::size_t i) {
    double sum = 0, size = 0;
    bool inside = true;
    for (std::size_t m = 0; m < k_; ++m) {
      const double a = start[i * k_ + m];
      sum += a, size += std::fabs(a);
      inside = inside && a <= upper(i, m);
    }
    if (!inside || !(std::fabs(sum) <= 1e-12 * size)) return;
    for (std::size_t m = 0; m < k_; ++m) alpha_[i * k_ + m] = start[i * k_ + m];
  }

  void products(std::size_t i) {
    for (std::size_t m = 0; m < k_; ++m) f_[m] = bias(m);
    rows_.each(i, [&](std::size_t j, double x) {
      const double* w = w_.data() + j * k_;
      for (std::size_t m = 0; m < k_; ++m) f_[m] += x * w[m];
    });
  }

  // C_i max_m (e_m + f_m) − f_y + Σ α_m (e_m + f_m) ≥ 0.   (119)
  double gap_part(std::size_t i, double* loss) const {
    double most = 0, inner = 0;
    const double own = f_[static_cast<std::size_t>(problem_.label[i])];
    for (std::size_t m = 0; m < k_; ++m) {
      const double v = required_margin(i, m) + f_[m] - own;
      most = std::max(most, v);
      inner += alpha_[i * k_ + m] * v;
    }
    if (loss) *loss = problem_.cost[i] * most;
    return std::max(0.0, problem_.cost[i] * most + inner);
  }

  // Keerthi et al. (5): maximal gradient minus the minimum over variables that can decrease
  double violation(std::size_t i) const {
    double most = -INFINITY, least = INFINITY;
    for (std::size_t m = 0; m < k_; ++m) {
      const double g = f_[m] + required_margin(i, m);
      most = std::max(most, g);
      if (alpha_[i * k_ + m] < upper(i, m)) least = std::min(least, g);
    }
    return std::isfinite(least) ? std::max(0.0, most - least) : 0.0;
  }

  // min Σ_m ½ A a_m² + (g_m − A α_m) a_m,  a_m ≤ u_m,  Σ a_m = 0: solved by the level at which Σ a_m = 0.   (118)
  void best_of_sample(std::size_t i, double a) {
    double top = -INFINITY;  // subtracting a common level avoids cancellation for small C
    for (std::size_t m = 0; m < k_; ++m) top = std::max(top, f_[m] + required_margin(i, m));
    for (std::size_t m = 0; m < k_; ++m) {
      next_[m] = (f_[m] + required_margin(i, m) - top) - a * alpha_[i * k_ + m];  // B_m
      sorted_[m] = next_[m] + a * upper(i, m);
    }
    std::sort(sorted_.begin(), sorted_.end(), std::greater<double>());
    double level = sorted_[0] - a * problem_.cost[i];
    std::size_t r = 1;
    for (; r < k_ && level / static_cast<double>(r) < sorted_[r]; ++r) level += sorted_[r];
    level /= static_cast<double>(r);
    for (std::size_t m = 0; m < k_; ++m) next_[m] = std::min(upper(i, m), (level - next_[m]) / a);
  }

  void step(std::size_t i) {
    const double a = norm_[i] + sigma_;
    products(i);
    const double part = gap_part(i, nullptr);
    gap_ += part - part_[i];
    part_[i] = part;
    bool moved = false;
    if (a > 0) {
      best_of_sample(i, a);
      double largest = 0;
      for (std::size_t m = 0; m < k_; ++m) largest = std::max(largest, std::fabs(next_[m] - alpha_[i * k_ + m]));
      moved = largest > 1e-14 * problem_.cost[i];
    } else {  // a row of zeros without bias: the loss does not depend on w, and α maximizes the dual
      const std::size_t own = static_cast<std::size_t>(problem_.label[i]);
      std::fill(next_.begin(), next_.end(), 0.0);
      next_[own] = problem_.cost[i], next_[own == 0 ? 1 : 0] = -problem_.cost[i];
      moved = alpha_[i * k_ + own] != problem_.cost[i];
    }
    if (!moved) {
      skipped_epochs_[i] = std::min(kMaxSkippedEpochs, 2 * skipped_epochs_[i] + 1);
      next_visit_[i] = epoch_ + 1 + (skipped_epochs_[i] > 1 ? skipped_epochs_[i] : 0);
      return;
    }
    skipped_epochs_[i] = 0;
    for (std::size_t m = 0; m < k_; ++m) {
      const double change = next_[m] - alpha_[i * k_ + m];
      alpha_[i * k_ + m] = next_[m];
      sum_[m] += change;
      next_[m] = change;
    }
    rows_.each(i, [&](std::size_t j, double x) {
      double* w = w_.data() + j * k_;
      for (std::size_t m = 0; m < k_; ++m) w[m] += x * next_[m];
    });
  }

  // Restores Σ_i α_i^m = 0 for all m: raises negative α of classes with a negative sum, and lowers those of classes
  // with a positive sum in proportion.   (120)
  void restore_sums() {
    add_up();
    double surplus = 0, size = 0;
    for (double s : sum_) surplus += std::max(0.0, s);
    for (double a : alpha_) size += std::fabs(a);
    if (!(surplus > 1e-15 * size)) return;
    std::vector<double> available(k_);
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t m = 0; m < k_; ++m) available[m] += std::max(0.0, -alpha_[i * k_ + m]);
    for (std::size_t i = 0; i < n_; ++i) {
      double* a = alpha_.data() + i * k_;
      double given = 0;
      for (std::size_t m = 0; m < k_; ++m) {
        if (!(sum_[m] < 0) || !(a[m] < 0)) continue;
        const double raise = -a[m] * std::min(1.0, -sum_[m] / available[m]);
        a[m] += raise, given += raise;
      }
      if (given == 0) continue;
      for (std::size_t m = 0; m < k_; ++m)
        if (sum_[m] > 0) a[m] -= given * sum_[m] / surplus;
    }
    add_up();
  }

  void add_up() {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t m = 0; m < k_; ++m) sum_[m] += alpha_[i * k_ + m];
  }

  void combine() {
    std::fill(w_.begin(), w_.end(), 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
      if (i % 256 == 0) tracker_.poll();
      const double* a = alpha_.data() + i * k_;
      if (std::all_of(a, a + k_, [](double v) { return v == 0; })) continue;
      rows_.each(i, [&](std::size_t j, double x) {
        double* w = w_.data() + j * k_;
        for (std::size_t m = 0; m < k_; ++m) w[m] += x * a[m];
      });
    }
  }

  // Makes the point feasible and certifies it.
  void check() {
    if (problem_.bias == Bias::free) {
      for (std::size_t m = 0; m < k_; ++m) anchor_[m] = bias(m);
      restore_sums();
      for (std::size_t m = 0; m < k_; ++m) anchor_[m] -= sigma_ * sum_[m];
    } else {
      add_up();
    }
    combine();
    double loss = 0, gap = 0, worst = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      if (i % 256 == 0) tracker_.poll();
      products(i);
      double own = 0;
      gap += part_[i] = gap_part(i, &own);
      loss += own;
      const double off = violation(i);
      worst = std::max(worst, off);
      if (off > 0 && next_visit_[i] > epoch_) next_visit_[i] = 0, skipped_epochs_[i] = 0;
    }
    gap_ = gap;
    double primal = loss;
    for (double v : w_) primal += 0.5 * v * v;
    for (std::size_t m = 0; m < k_; ++m) {
      if (problem_.bias == Bias::penalized) primal += 0.5 * bias(m) * bias(m) / sigma_;
      if (problem_.bias == Bias::free) gap += std::fabs(bias(m) * sum_[m]);
    }
    const LinearBounds bounds{primal, primal - gap, gap, worst};
    tracker_.snapshot.iteration = epoch_;
    tracker_.snapshot.primal = primal, tracker_.snapshot.dual = bounds.dual, tracker_.snapshot.gap = gap;
    tracker_.snapshot.violation = worst;
    tracker_.record();
    last_ = bounds;
    if (!(bounds.relative() <= best_.bounds.relative())) return;
    best_.bounds = bounds;
    best_.alpha = alpha_;
    for (std::size_t m = 0; m < k_; ++m) {
      best_.offset[m] = problem_.bias == Bias::none ? 0.0 : bias(m);
      for (std::size_t j = 0; j < d_; ++j) best_.weights[m * d_ + j] = w_[j * k_ + m];
    }
  }

  Status descend() {
    check();
    double gap_ratio = 1.5, since = 0;
    std::vector<std::uint32_t> order;
    while (!proven()) {
      if (options_.max_iterations >= 0 && epoch_ >= options_.max_iterations) return Status::max_iter;
      ++epoch_;
      order.clear();
      for (std::size_t i = 0; i < n_; ++i)
        if (next_visit_[i] <= epoch_) order.push_back(static_cast<std::uint32_t>(i));
      shuffle(order.data(), order.size(), random_);
      tracker_.snapshot.active = static_cast<std::int64_t>(order.size());
      for (std::size_t r = 0; r < order.size(); ++r) {
        if (r + 4 < order.size()) rows_.prefetch(order[r + 4]);
        step(order[r]);
        if (r % 64 == 0) tracker_.poll();
      }
      since += static_cast<double>(order.size());
      const bool likely = gap_ <= gap_ratio * options_.tolerance * std::fabs(last_.dual);
      const bool end = options_.max_iterations >= 0 && epoch_ >= options_.max_iterations;
      if (!likely && !end && since < 5 * static_cast<double>(n_)) continue;
      const double estimated_gap = gap_;
      check();
      since = 0;
      gap_ratio = std::min(20.0, std::max(0.5, 0.8 * estimated_gap / std::max(last_.gap, 1e-300)));
    }
    return Status::solved;
  }

  Rows<Storage> rows_;
  const CrammerSingerProblem& problem_;
  const LinearOptions& options_;
  RunTracker tracker_;
  Random random_;
  std::size_t n_, d_, k_;
  double sigma_ = 0, gap_ = 0;
  std::vector<double> norm_, w_, anchor_, sum_, alpha_;  // w_ is d × classes: the weights of a feature are contiguous
  std::vector<std::int64_t> next_visit_;
  std::vector<std::uint32_t> skipped_epochs_;
  std::vector<double> part_, f_, next_, sorted_;
  std::int64_t epoch_ = 0;
  LinearBounds last_;
  CrammerSingerResult best_;
};

}  // namespace

CrammerSingerResult solve_crammer_singer(const Samples& samples, const CrammerSingerProblem& problem,
                                         const LinearOptions& options, Span<const double> alpha, RunControl& control) {
  return std::visit(
      [&](const auto& data) {
        return CrammerSinger<std::decay_t<decltype(data)>>(data, problem, options, control).run(alpha);
      },
      samples);
}

}  // namespace hinge
