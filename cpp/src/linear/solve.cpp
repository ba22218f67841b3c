// solve.cpp: driver of the linear solver: start, choice of the method, polishing.
#include "hinge/solvers/linear.hpp"

#include <algorithm>
#include <cmath>

#include "linear/data/ops.hpp"
#include "linear/descent/descent.hpp"
#include "linear/descent/epochs.hpp"
#include "linear/newton/sample_space.hpp"
#include "linear/newton/steps.hpp"
#include "linear/start/null_model.hpp"
#include "linear/start/warm_start.hpp"
#include "linear/state.hpp"

namespace hinge {
namespace {

constexpr double kMaxPolishedValues = 20'000;  // problems with more stored values and more samples are not polished
constexpr std::size_t kMaxPolishedSamples = 1000, kMaxPolishedFeatures = 200;
constexpr std::int64_t kMaxPolishingSteps = 50;  // steps of a polish; later gains are lost in rounding
constexpr double kNewtonFirstEpochs = 10;   // Newton's method is used first if it costs at most this many epochs
constexpr double kMaxSubsampleEpochs = 20;   // no subsample start if its Newton steps cost more epochs than this
constexpr double kNearlyFinalGap = 0.1;        // relative gap of a warm start at which most active sets are final
constexpr double kUninformativeGap = 1.99;  // relative gap of an uninformative warm start (2 if the dual value is zero)
constexpr double kCheapStepEpochs = 0.8;  // epochs that a cheap Newton step costs at most
constexpr double kModerateBoxes = 1.2;  // kNarrowBoxes for coarse tolerances and expensive Newton steps
constexpr double kCoarseGap = 1e-5;     // smallest relative gap that counts as coarse

class LinearRun {
 public:
  LinearRun(const Samples& samples, const LinearProblem& problem, const LinearOptions& options, RunControl& control)
      : state_(samples, problem, options, control), epochs_(state_), steps_(state_), sample_steps_(state_) {}

  LinearResult run(Span<const double> start) {
    LinearResult& best = state_.best;
    try {
      best.status = solve(start);
    } catch (const StopRequest& stop) {
      best.status = stop.status;
      if (stop.status == Status::time_limit) final_check();
    }
    recertify_best();
    if (best.weights.empty()) best.weights.assign(state_.d, 0.0);
    best.products = state_.passes->count;
    best.floor = state_.floor;
    best.work = state_.passes->visited + epochs_.work();
    best.iterations = best.epochs + best.newton_steps;
    return std::move(best);
  }

 private:
  Status solve(Span<const double> start) {
    const LinearProblem& problem = state_.problem;
    state_.beta.assign(start.begin(), start.end());
    for (std::size_t i = 0; i < state_.n; ++i)
      state_.beta[i] = std::min(problem.upper[i], std::max(problem.lower[i], state_.beta[i]));
    const bool cold = problem.total == 0 && std::all_of(start.begin(), start.end(), [](double b) { return b == 0; });
    if (cold) {
      const bool no_bias = problem.bias == Bias::none;  // then the evaluation below is at the null model
      const double loss = no_bias ? 0.0 : state_.null_loss();
      const LinearState::Evaluation evaluation = state_.evaluate(state_.f, state_.beta);
      state_.set_floor(no_bias ? evaluation.bounds.loss : loss, evaluation.bounds.loss);
      state_.adopt(state_.w, state_.beta, 0.0, evaluation, state_.computed(state_.w, state_.f));
      state_.at_null_model = true;
      if (!state_.proven() && state_.few_features()) certify_null_model(state_);
    } else {
      const double loss = state_.null_loss();
      const std::vector<double> zeros(state_.n, 0.0);
      state_.set_floor(loss, state_.smooth ? state_.evaluate(zeros, zeros).bounds.loss : loss);
      scale_warm_start();
    }
    Outcome outcome = state_.proven() ? Outcome::solved : Outcome::undecided;
    if (outcome == Outcome::undecided && cold && subsample_start_saves_time()) {
      state_.at_null_model = false;
      outcome = steps_.run_from_subsample();
    }
    if (outcome == Outcome::undecided && !cold && state_.few_features()) outcome = run_from_warm_start();
    if (outcome == Outcome::undecided) outcome = alternate();
    if (outcome == Outcome::solved) {
      polish();
      return Status::solved;
    }
    return outcome == Outcome::out_of_steps ? Status::max_iter : Status::numerical;
  }

  // Scales a warm start that was computed for other costs.   (131)–(132)
  void scale_warm_start() {
    state_.weights_from_beta();
    state_.passes->margins(state_.w, state_.f);
    if (state_.problem.total == 0) state_.scale(best_dual_multiple(state_.problem, state_.beta, state_.w));
    state_.adopt(state_.w, state_.f, state_.beta, 0.0);
  }

  // Few features.  Piecewise linear losses use bands at once if the active set of the warm start is nearly final.
  // Otherwise the run starts from the weights, or from a subsample if the warm start is uninformative.
  Outcome run_from_warm_start() {
    const double gap = state_.best.bounds.relative();
    if (!state_.smooth && gap <= kNearlyFinalGap) return steps_.run(INFINITY);
    if (!subsample_start_saves_time()) return Outcome::undecided;
    if (!state_.smooth && gap >= kUninformativeGap) {
      const Outcome outcome = steps_.run_from_subsample();
      if (outcome != Outcome::undecided || steps_.bands_tried()) return outcome;
    }
    scale_to_best_primal();
    return state_.smooth ? steps_.run(INFINITY) : steps_.run_from_weights();
  }

  void scale_to_best_primal() {
    state_.scale_weights(best_primal_multiple(state_.problem, state_.smooth, state_.w, state_.f));
  }

  // Alternates between descent and Newton's method by estimated cost.  If Newton's method exceeds its estimate, descent
  // gets as much work before the next comparison.
  Outcome alternate() {
    if (state_.options.method == LinearMethod::newton) {
      if (state_.smooth) scale_to_best_primal();
      const Outcome outcome = run_newton(INFINITY);
      if (outcome != Outcome::undecided) return outcome;
      state_.restore_best();
      return run_newton(INFINITY);
    }
    Outcome outcome = Outcome::undecided;
    double work_before_newton = 0;
    bool first = newton_first();
    if (first) {
      state_.at_null_model = false;
      scale_to_best_primal();
    }
    for (int stalled = 0;; work_before_newton *= 2) {
      if (!first) outcome = epochs_.run(work_before_newton);
      if (outcome != Outcome::undecided) return outcome;
      first = false;
      const double budget = 3 * state_.choice().newton_work(state_.last.gap, state_.target_gap()) + work_before_newton;
      const double before = state_.best.bounds.gap;
      outcome = run_newton(budget);
      if (outcome == Outcome::stalled && ++stalled < 3) outcome = Outcome::undecided;
      if (outcome != Outcome::undecided) return outcome;
      work_before_newton = std::max(work_before_newton, budget);
      if (state_.best.bounds.gap < 0.01 * before) work_before_newton = 0;
      state_.restore_best();
    }
  }

  // Runs Newton's method in the cheaper space.  Sample space is tried once.
  Outcome run_newton(double work_budget) {
    if (!state_.choice().in_sample_space(state_.last.gap, state_.target_gap())) return steps_.run(work_budget);
    const Outcome outcome = sample_steps_.run(work_budget);
    state_.disable_sample_space();
    return outcome;
  }

  // Whether a subsample start saves time: few features, cheap Newton steps, and more than a few epochs needed.   (130)
  bool subsample_start_saves_time() {
    if (!state_.few_features()) return false;
    if (state_.smooth) return newton_epochs() <= kMaxSubsampleEpochs;
    const LinearProblem& problem = state_.problem;
    const std::vector<double>& norms = state_.squared_norms();
    const LinearOps& ops = linear_ops();
    const double width = ops.dot_double(norms.data(), problem.upper.data(), state_.n) -
                         ops.dot_double(norms.data(), problem.lower.data(), state_.n);
    const bool expensive = state_.choice().step_work() >= kCheapStepEpochs * epoch_work();
    return width >
           (expensive && state_.goal >= kCoarseGap ? kModerateBoxes : kNarrowBoxes) * static_cast<double>(state_.n);
  }

  // Whether to start with Newton's method: smooth losses and few features, where a few steps on all threads suffice.
  bool newton_first() {
    const LinearOptions& options = state_.options;
    if (!state_.smooth || options.method != LinearMethod::automatic || options.block_bytes > 0) return false;
    return newton_epochs() <= kNewtonFirstEpochs;
  }

  // Estimated cost of Newton's method in epochs.
  double newton_epochs() {
    return state_.choice().newton_work(state_.last.gap, state_.target_gap()) / epoch_work();
  }
  double epoch_work() const {
    return Descent::epoch_work(state_.passes->stored(), static_cast<double>(state_.n));
  }

  // Solves small problems to rounding, whatever the tolerance; piecewise linear losses until the active set is final.
  void polish() {
    const bool small = state_.passes->stored() <= kMaxPolishedValues || state_.n <= kMaxPolishedSamples;
    if (state_.options.method != LinearMethod::automatic || !small || state_.d > kMaxPolishedFeatures) return;
    state_.goal = std::min(state_.goal, state_.smooth ? 1e-15 : 1e-12);
    if (state_.proven()) return;
    const std::int64_t max_steps = state_.best.epochs + state_.best.newton_steps + kMaxPolishingSteps;
    state_.limit = state_.limit < 0 ? max_steps : std::min(state_.limit, max_steps);
    state_.restore_best();
    state_.adopt(state_.w, state_.beta, 0.0, state_.evaluate(state_.f, state_.beta),
                 state_.computed(state_.w, state_.f));
    try {
      steps_.allow_bands();
      steps_.run(INFINITY);
    } catch (const StopRequest& stop) {  // the requested tolerance has been reached already
      if (stop.status != Status::time_limit) throw;
    }
  }

  // Recomputes the bounds of the result from the samples in two passes that are not interrupted.
  void recertify_best() {
    state_.tracker.disable();
    state_.recertify_best();
    state_.goal = state_.options.tolerance;
    if (state_.best.status == Status::solved && !state_.proven()) state_.best.status = Status::numerical;
  }

  // After the time limit: certify the last point of coordinate descent.
  void final_check() {
    state_.tracker.remove_time_limit();
    try {
      if (epochs_.begun()) epochs_.check();
    } catch (const StopRequest&) {
      state_.best.status = Status::interrupted;
    }
  }

  LinearState state_;
  DescentRun epochs_;
  NewtonRun steps_;
  SampleSpaceNewton sample_steps_;
};

}  // namespace

LinearResult solve_linear(const Samples& samples, const LinearProblem& problem, const LinearOptions& options,
                          Span<const double> beta, RunControl& control) {
  try {
    return LinearRun(samples, problem, options, control).run(beta);
  } catch (const StopRequest& stop) {  // stopped before the first point
    LinearResult result;
    result.status = stop.status;
    result.weights.assign(features(samples), 0.0);
    result.beta.assign(rows(samples), 0.0);
    result.bounds.gap = result.bounds.primal = result.bounds.violation = INFINITY;
    result.bounds.dual = -INFINITY;
    return result;
  }
}

}  // namespace hinge
