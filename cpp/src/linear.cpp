// linear.cpp: which method when, and the certificate that ends a run.
#include "hinge/linear.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linear_choice.hpp"
#include "linear_descent.hpp"
#include "linear_loss.hpp"
#include "linear_newton.hpp"
#include "linear_offset.hpp"
#include "linear_ops.hpp"
#include "linear_passes.hpp"
#include "linear_trail.hpp"
#include "linear_watch.hpp"

namespace hinge {

double LinearBounds::relative() const {
  if (gap == 0) return 0;
  if (!std::isfinite(gap)) return std::numeric_limits<double>::infinity();
  const double size = 0.5 * (std::fabs(primal) + std::fabs(dual));
  return size > 0 ? gap / size : std::numeric_limits<double>::infinity();
}

namespace {

constexpr double kPolishedValues = 20'000;
constexpr std::size_t kPolishedFeatures = 200;
constexpr std::int64_t kPlainEpochs = 20;  // before the first round
constexpr double kFairEpochs = 10;  // Newton's method goes first where it costs no more than these

double squared(Span<const double> v) { return linear_ops().dot_double(v.data(), v.data(), v.size()); }

class LinearRun {
 public:
  LinearRun(const Samples& samples, const LinearProblem& problem, const LinearOptions& options, Monitor& monitor)
      : samples_(samples), problem_(problem), options_(options), watch_(monitor, options.max_seconds),
        passes_(make_passes(samples, {options.threads, [this] { watch_.poll(); }}, options.block_bytes)),
        n_(passes_->rows()), d_(passes_->features()), newton_(*passes_, problem), losses_(problem), parts_(n_) {
    best_.bounds.gap = best_.bounds.primal = std::numeric_limits<double>::infinity();
    best_.bounds.violation = best_.bounds.gap;
    best_.bounds.dual = -best_.bounds.gap;
    for (double r : problem.ridge) smooth_ = smooth_ && r > 0;
  }

  LinearResult run(Span<const double> start) {
    beta_.assign(start.begin(), start.end());
    for (std::size_t i = 0; i < n_; ++i)
      beta_[i] = std::min(problem_.upper[i], std::max(problem_.lower[i], beta_[i]));
    w_.assign(d_, 0.0);
    f_.assign(n_, 0.0);
    best_.beta.assign(n_, 0.0);
    best_.weights.assign(d_, 0.0);
    try {
      best_.status = solve();
    } catch (const Stop& stop) {
      best_.status = stop.status;
      if (stop.status == Status::time_limit) last_words();
    }
    best_.products = passes_->count;
    best_.iterations = best_.epochs + best_.newton_steps;
    return std::move(best_);
  }

 private:
  enum class Outcome { solved, spent, undecided, stuck };

  Status solve() {
    const bool cold = std::all_of(beta_.begin(), beta_.end(), [](double b) { return b == 0; });
    if (!cold || problem_.total != 0) {
      restore_sum(problem_, beta_);
      passes_->combine(beta_, w_);
    }
    set_floor();
    if (cold && problem_.total == 0) {
      adopt(w_, f_, beta_, 0.0);
    } else {
      look(0.0);
    }
    Outcome outcome = proven() ? Outcome::solved : Outcome::undecided;
    double patience = 0;
    bool first = newton_first();
    for (int stuck = 0; outcome == Outcome::undecided; patience *= 2) {
      if (options_.method != LinearMethod::newton && !first) outcome = descend(patience);
      if (outcome != Outcome::undecided) break;
      first = false;
      const bool alone = options_.method == LinearMethod::newton;
      const double fair = 3 * choice().newton_work(last_.gap, wanted()) + patience;
      const double before = best_.bounds.gap;
      outcome = newton(alone ? INFINITY : fair);
      if (alone) break;
      if (outcome == Outcome::stuck && ++stuck < 3) outcome = Outcome::undecided;
      patience = std::max(patience, fair);
      if (best_.bounds.gap < 0.01 * before) patience = 0;
      back_to_best();
    }
    if (outcome == Outcome::solved) {
      polish();
      return Status::solved;
    }
    return outcome == Outcome::spent ? Status::max_iter : Status::numerical;
  }

  // Small problems are solved to rounding, whatever the tolerance; kinked losses until their active set is clear.
  void polish() {
    if (options_.method != LinearMethod::automatic || passes_->stored() > kPolishedValues || d_ > kPolishedFeatures) return;
    goal_ = std::min(goal_, smooth_ ? 1e-15 : 1e-12);
    if (proven()) return;
    back_to_best();
    adopt(w_, f_, beta_, 0.0);
    try {
      newton(INFINITY);
    } catch (const Stop& stop) {  // out of time for more than was asked for
      if (stop.status != Status::time_limit) throw;
    }
  }

  // Where the optimum is zero (a perfect fit, an origin among the samples) a relative gap has no meaning.
  void set_floor() {
    const std::vector<double> nowhere(n_, 0.0);
    const double losses = linear_ops().bounds(losses_.arrays(), nowhere.data(), 0.0, nowhere.data(), parts_.data()).loss;
    floor_ = 1e-14 * losses;
    if (problem_.total == 0) return;
    std::vector<double> norms(n_);
    passes_->squared_norms(norms);
    double mean = 0;
    for (double v : norms) mean += v / static_cast<double>(n_);
    floor_ += 1e-12 * problem_.total * problem_.total * mean;
  }

  void back_to_best() {
    beta_ = best_.beta;
    restore_sum(problem_, beta_);
    passes_->combine(beta_, w_);
    passes_->margins(w_, f_);
    offset_ = best_.offset;
  }

  bool proven() const { return best_.bounds.relative() <= goal_ || best_.bounds.gap <= floor_; }
  bool spent() const {
    return options_.max_iterations >= 0 && best_.epochs + best_.newton_steps >= options_.max_iterations;
  }

  // ---- the certificate: docs/math.md (104)–(106) ----

  // f_ = ⟨w_, x_i⟩ anew, then the bounds at (w_, b, beta_); slack is ½‖w − Xᵀβ‖².
  void look(double slack) {
    passes_->margins(w_, f_);
    adopt(w_, f_, beta_, slack);
  }

  void adopt(const std::vector<double>& w, const std::vector<double>& f, const std::vector<double>& beta,
             double slack) {
    const LossArrays arrays = losses_.arrays();
    const double b = best_offset(problem_, arrays, smooth_, f, offset_);
    const LossBounds found = linear_ops().bounds(arrays, f.data(), b, beta.data(), parts_.data());
    const double sum = found.sum, violation = found.violation;
    double gap = slack + found.gap;
    double primal = 0.5 * squared(w) + found.loss + problem_.total * b;
    if (problem_.bias == Bias::penalised) {
      const double part = b / problem_.bias_scale, other = problem_.bias_scale * sum;
      primal += 0.5 * part * part;
      gap += 0.5 * (part - other) * (part - other);
    } else if (problem_.bias == Bias::free) {
      gap += std::fabs(b * (problem_.total - sum));
    }
    offset_ = b;
    last_ = {primal, primal - gap, gap, violation};
    watch_.snapshot.iteration = best_.epochs + best_.newton_steps;
    watch_.snapshot.violation = violation, watch_.snapshot.primal = primal;
    watch_.snapshot.dual = last_.dual, watch_.snapshot.gap = gap;
    watch_.record();
    if (!(last_.relative() <= best_.bounds.relative())) return;
    best_.bounds = last_;
    best_.weights = w, best_.beta = beta, best_.offset = b;
  }

  // ---- dual coordinate descent ----

  void open_descent() {
    std::vector<double> norms(n_);
    passes_->squared_norms(norms);
    double mean = 0;
    for (double v : norms) mean += v;
    mean /= std::max<double>(1, static_cast<double>(n_));
    double sigma = 0;
    if (problem_.bias == Bias::penalised) sigma = problem_.bias_scale * problem_.bias_scale;
    if (problem_.bias == Bias::free) sigma = mean > 0 ? 0.25 * mean : 1.0;
    descent_ = make_descent(samples_, problem_, norms, sigma, options_.seed, options_.block_bytes);
    const double multiplier = problem_.bias == Bias::free ? offset_ : 0.0;
    descent_->write(beta_, w_, multiplier);
    descent_->wake(parts_);
    descent_->dual = last_.dual;
  }

  // In a long run epochs come in rounds, and after each of them one step along all of it.   (121)–(123)
  void leap() {
    std::vector<double> beta(n_);
    descent_->read(beta);
    if (trail_.empty()) descent_->begin_round();
    trail_.add(beta);
    if (trail_.full()) {
      const double sigma = descent_->sigma, multiplier = descent_->multiplier;
      const double here = augmented_dual(problem_, beta, descent_->weights, sigma, multiplier);
      std::vector<double> w(d_);
      if (trail_.extrapolate(problem_, beta)) {
        passes_->combine(beta, w);
        const double there = augmented_dual(problem_, beta, w, sigma, multiplier);
        if (there > here) {
          descent_->write(beta, w, multiplier);
          descent_->dual += there - here;
        } else {
          descent_->read(beta);
        }
      }
      trail_.clear();
      trail_.add(std::move(beta));
      descent_->begin_round();
    }
  }

  // All samples: is the gap what the epochs think it is?
  void check() {
    descent_->read(beta_);
    double slack = 0, multiplier = 0;
    if (problem_.bias == Bias::free) {
      multiplier = descent_->offset;
      restore_sum(problem_, beta_);
      passes_->combine(beta_, w_);
    } else {
      w_ = descent_->weights;
    }
    passes_->margins(w_, f_);
    if (problem_.bias != Bias::free && likely_proven()) {  // rounding has drawn w away from Xᵀβ: by how much?
      std::vector<double> exact(d_);
      passes_->combine(beta_, exact);
      for (std::size_t j = 0; j < d_; ++j) slack += 0.5 * (w_[j] - exact[j]) * (w_[j] - exact[j]);
      if (options_.expansion) {
        w_ = exact, slack = 0;
        passes_->margins(w_, f_);
      }
    }
    adopt(w_, f_, beta_, slack);
    if (problem_.bias == Bias::free) trail_.clear();  // the multiplier has moved
    descent_->write(beta_, w_, multiplier);
    descent_->wake(parts_);
    descent_->dual = last_.dual;
  }

  // Without Xᵀβ the gap is that of w: good enough to see whether it is worth the proof.
  bool likely_proven() {
    const LossArrays arrays = losses_.arrays();
    const double b = best_offset(problem_, arrays, smooth_, f_, offset_);
    const LossBounds found = linear_ops().bounds(arrays, f_.data(), b, beta_.data(), parts_.data());
    return found.gap <= 1.01 * goal_ * (0.5 * squared(w_) + found.loss) + floor_;
  }

  // Epochs until the gap is proven, or until Newton's method looks cheaper: then `undecided`.
  Outcome descend(double patience) {
    if (descent_) {
      descent_->write(beta_, w_, problem_.bias == Bias::free ? offset_ : 0.0);
      descent_->wake(parts_);
    } else {
      open_descent();
    }
    descent_->dual = last_.dual;
    double checked = descent_->work;
    const double began = descent_->work;
    LinearChoice::Story story;
    trail_.clear();
    for (;;) {
      if (proven()) return Outcome::solved;
      if (spent()) return Outcome::spent;
      const bool rounds = ++sweeps_ > kPlainEpochs && options_.block_bytes == 0;
      if (rounds && trail_.empty()) leap();
      descent_->epoch(watch_);
      if (rounds) leap();
      visits_ += static_cast<double>(descent_->active);  // n of them count as an epoch, however many samples rest
      best_.epochs = static_cast<std::int64_t>(std::ceil(visits_ / std::max(1.0, static_cast<double>(n_))));
      watch_.snapshot.iteration = best_.epochs + best_.newton_steps;
      watch_.snapshot.active = static_cast<std::int64_t>(descent_->active);
      const double thought = descent_->gap, size = std::max(std::fabs(descent_->dual), std::fabs(last_.dual));
      const bool midway = rounds && !trail_.fresh();  // in a round the gap falls and rises
      if (!midway) story.emplace_back(descent_->work, thought);
      const bool likely = thought <= trust_ * options_.tolerance * size;
      const bool slow = options_.method == LinearMethod::automatic && !midway &&
                        descent_->work - began > patience &&
                        choice().newton_is_cheaper(story, trust_ * options_.tolerance * size);
      // a check moves the multiplier of a free bias; without one, it is rarer the longer the run
      const double rarer = problem_.bias == Bias::free ? 0.0 : 0.1 * (descent_->work - began);
      const bool early = descent_->work - checked < 20 * passes_->stored() + rarer || midway;
      if (!likely && !slow && early && !spent()) continue;
      check();
      checked = descent_->work;
      trust_ = std::min(20.0, std::max(0.5, 0.8 * thought / std::max(last_.gap, 1e-300)));
      if (slow && !proven()) return Outcome::undecided;
    }
  }

  LinearChoice choice() const {
    return {static_cast<double>(n_), static_cast<double>(d_), passes_->stored(), smooth_, is_sparse(samples_)};
  }

  // Smooth losses and few features: a handful of steps, each cheaper than some epochs, and all of them on all threads.
  bool newton_first() const {
    if (!smooth_ || options_.method != LinearMethod::automatic || options_.block_bytes > 0) return false;
    const double epoch = Descent::epoch_work(passes_->stored(), static_cast<double>(n_));
    return choice().newton_work(last_.gap, wanted()) <= kFairEpochs * epoch;
  }

  // ---- Newton ----

  NewtonPoint start_point() {
    NewtonPoint point;
    point.w = w_, point.f = f_, point.b = offset_;
    point.beta.resize(n_), point.g.resize(d_);
    return point;
  }

  double wanted() const { return goal_ * 0.5 * std::max(std::fabs(last_.primal + last_.dual), 1e-300); }

  Outcome newton(double budget) { return smooth_ ? newton_smooth(budget) : newton_multipliers(budget); }

  // The certificate of a point of Newton's method.
  void settle(const NewtonPoint& point) {
    if (!options_.expansion) return adopt(point.w, point.f, point.beta, point.slack);
    beta_ = point.beta;
    passes_->combine(beta_, w_);
    look(0.0);
  }

  Outcome newton_smooth(double budget) {
    NewtonPoint point = start_point();
    const double began = passes_->visited;
    newton_.look(losses_.arrays(), point);
    for (;;) {
      settle(point);
      if (proven()) return Outcome::solved;
      if (spent()) return Outcome::spent;
      if (passes_->visited - began > budget) return Outcome::undecided;
      const double target = 0.5 * wanted() * (options_.expansion ? 1e-5 : 1.0);
      const bool gained = newton_.step(losses_.arrays(), target, point, watch_);
      ++best_.newton_steps;
      if (gained) continue;
      settle(point);
      return proven() ? Outcome::solved : Outcome::stuck;
    }
  }

  // Proximal steps on β, each of them a smooth problem with ridge D = width / C_i and anchor β.   (115)
  Outcome newton_multipliers(double budget) {
    NewtonPoint point = start_point();
    const double began = passes_->visited;
    Losses smoothed(problem_);
    std::vector<double> anchor = beta_;
    double residual = 0, count = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double r = std::fabs(problem_.target[i] - f_[i] - offset_) - problem_.tube;
      if (r > 0) residual += r, count += 1;
    }
    double width = count > 0 ? 0.2 * residual / count : 1.0, before = last_.gap;
    for (int idle = 0; idle < 8;) {
      smoothed.anchor(width, anchor);
      newton_.look(smoothed.arrays(), point);
      const double target = std::max(0.25 * wanted(), 0.02 * before) * (options_.expansion ? 1e-5 : 1.0);
      for (int inner = 0; inner < 50 && point.slack > target; ++inner) {
        if (spent() || passes_->visited - began > budget) break;
        const bool gained = newton_.step(smoothed.arrays(), 0.5 * target, point, watch_);
        ++best_.newton_steps;
        if (!gained) break;
      }
      settle(point);
      if (proven()) return Outcome::solved;
      if (spent()) return Outcome::spent;
      if (passes_->visited - began > budget) return Outcome::undecided;
      anchor = point.beta;
      if (last_.gap > 0.2 * before) width *= 0.3;
      idle = last_.gap < 0.9 * before ? 0 : idle + 1;
      before = std::min(before, last_.gap);
    }
    return Outcome::stuck;
  }

  // Out of time: one more look at what coordinate descent has, so that the answer has its gap.
  void last_words() {
    watch_.lift_limit();
    try {
      if (descent_) check();
    } catch (const Stop&) {
      best_.status = Status::interrupted;
    }
  }

  const Samples& samples_;
  const LinearProblem& problem_;
  const LinearOptions& options_;
  Watch watch_;
  std::unique_ptr<LinearPasses> passes_;
  std::size_t n_, d_;
  Newton newton_;
  std::unique_ptr<Descent> descent_;
  Trail trail_;
  std::int64_t sweeps_ = 0;
  Losses losses_;
  std::vector<double> w_, f_, beta_, parts_;
  double visits_ = 0;
  double goal_ = options_.tolerance, floor_ = 0, offset_ = 0, trust_ = 3.0;  // trust: what the epochs think of the gap, over what it is
  bool smooth_ = true;
  LinearBounds last_;
  LinearResult best_;
};

}  // namespace

LinearResult solve_linear(const Samples& samples, const LinearProblem& problem, const LinearOptions& options,
                          Span<const double> beta, Monitor& monitor) {
  return LinearRun(samples, problem, options, monitor).run(beta);
}

}  // namespace hinge
