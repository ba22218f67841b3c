// solve.cpp: which method when.
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

constexpr double kPolishedValues = 20'000;
constexpr std::size_t kPolishedSamples = 1000, kPolishedFeatures = 200;  // so many samples: whatever they hold
constexpr std::int64_t kPolishingSteps = 50;  // what they have not gained, rounding hides
constexpr double kFairEpochs = 10;  // Newton's method goes first where it costs no more than these
constexpr double kDearEpochs = 20;  // a start from fewer samples does not go first where its steps cost more
constexpr double kNear = 0.1;       // relative gap of a warm start where most samples stand where they will
constexpr double kNothing = 1.99;   // and of one that says nothing: without any dual value it is 2
constexpr double kCheapSteps = 0.8;  // epochs
constexpr double kRatherEasy = 1.2;  // as kEasy
constexpr double kCoarse = 1e-5;                  // relative gaps that a few epochs prove also where it is rather easy

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
      if (stop.status == Status::time_limit) last_words();
    }
    settle_best();
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
      const bool nothing = problem.bias == Bias::none;  // then that is what is seen
      const double loss = nothing ? 0.0 : state_.loss_of_nothing();
      const LinearState::Sight sight = state_.see(state_.f, state_.beta);
      state_.set_floor(nothing ? sight.bounds.loss : loss, sight.bounds.loss);
      state_.adopt(state_.w, state_.beta, 0.0, sight);
      state_.at_nothing = true;
      if (!state_.proven() && state_.few_features()) prove_nothing(state_);
    } else {
      const double loss = state_.loss_of_nothing();
      const std::vector<double> zeros(state_.n, 0.0);
      state_.set_floor(loss, state_.smooth ? state_.see(zeros, zeros).bounds.loss : loss);
      warm();
    }
    Outcome outcome = state_.proven() ? Outcome::solved : Outcome::undecided;
    if (outcome == Outcome::undecided && cold && from_fewer()) {
      state_.at_nothing = false;
      outcome = steps_.from_fewer();
    }
    if (outcome == Outcome::undecided && !cold && state_.few_features()) outcome = from_warm();
    if (outcome == Outcome::undecided) outcome = by_turns();
    if (outcome == Outcome::solved) {
      polish();
      return Status::solved;
    }
    return outcome == Outcome::spent ? Status::max_iter : Status::numerical;
  }

  // The best multiples of a point that was found for other costs.   (131)–(132)
  void warm() {
    state_.from_beta();
    state_.passes->margins(state_.w, state_.f);
    if (state_.problem.total == 0) state_.scale(best_dual_multiple(state_.problem, state_.beta, state_.w));
    state_.adopt(state_.w, state_.f, state_.beta, 0.0);
  }

  // Few features: kinked losses go to the bands at once where most samples stand already where they will; else both kinds
  // of losses begin with the weights, unless these say nothing and fewer samples say more.
  Outcome from_warm() {
    const double gap = state_.best.bounds.relative();
    if (!state_.smooth && gap <= kNear) return steps_.run(INFINITY);
    if (!from_fewer()) return Outcome::undecided;
    if (!state_.smooth && gap >= kNothing) {
      const Outcome outcome = steps_.from_fewer();
      if (outcome != Outcome::undecided || steps_.begun()) return outcome;
    }
    best_weights();
    return state_.smooth ? steps_.run(INFINITY) : steps_.from_weights();
  }

  void best_weights() {
    state_.scale_weights(best_primal_multiple(state_.problem, state_.smooth, state_.w, state_.f));
  }

  // Descent and Newton's method, whichever looks cheaper; where Newton's method exceeds its estimate, descent gets as
  // much work before the next comparison.
  Outcome by_turns() {
    if (state_.options.method == LinearMethod::newton) {
      if (state_.smooth) best_weights();
      const Outcome outcome = by_steps(INFINITY);
      if (outcome != Outcome::undecided) return outcome;
      state_.back_to_best();
      return by_steps(INFINITY);
    }
    Outcome outcome = Outcome::undecided;
    double patience = 0;
    bool first = newton_first();
    if (first) {
      state_.at_nothing = false;
      best_weights();
    }
    for (int stuck = 0;; patience *= 2) {
      if (!first) outcome = epochs_.run(patience);
      if (outcome != Outcome::undecided) return outcome;
      first = false;
      const double fair = 3 * state_.choice().newton_work(state_.last.gap, state_.wanted()) + patience;
      const double before = state_.best.bounds.gap;
      outcome = by_steps(fair);
      if (outcome == Outcome::stuck && ++stuck < 3) outcome = Outcome::undecided;
      if (outcome != Outcome::undecided) return outcome;
      patience = std::max(patience, fair);
      if (state_.best.bounds.gap < 0.01 * before) patience = 0;
      state_.back_to_best();
    }
  }

  // Newton's method, in the space where it is cheaper; that of the samples has one turn.
  Outcome by_steps(double budget) {
    if (!state_.choice().in_sample_space(state_.last.gap, state_.wanted())) return steps_.run(budget);
    const Outcome outcome = sample_steps_.run(budget);
    state_.no_more_sample_steps();
    return outcome;
  }

  // Few features: not where Newton's steps are dear, nor where a few epochs are enough.   (130)
  bool from_fewer() {
    if (!state_.few_features()) return false;
    if (state_.smooth) return newton_epochs() <= kDearEpochs;
    const LinearProblem& problem = state_.problem;
    const std::vector<double>& norms = state_.squared_norms();
    const LinearOps& ops = linear_ops();
    const double width = ops.dot_double(norms.data(), problem.upper.data(), state_.n) -
                         ops.dot_double(norms.data(), problem.lower.data(), state_.n);
    const bool dear = state_.choice().step_work() >= kCheapSteps * epoch_work();
    return width > (dear && state_.goal >= kCoarse ? kRatherEasy : kEasy) * static_cast<double>(state_.n);
  }

  // Smooth losses and few features: a handful of steps, each cheaper than some epochs, and all of them on all threads.
  bool newton_first() {
    const LinearOptions& options = state_.options;
    if (!state_.smooth || options.method != LinearMethod::automatic || options.block_bytes > 0) return false;
    return newton_epochs() <= kFairEpochs;
  }

  // What Newton's method needs, in epochs.
  double newton_epochs() {
    return state_.choice().newton_work(state_.last.gap, state_.wanted()) / epoch_work();
  }
  double epoch_work() const {
    return Descent::epoch_work(state_.passes->stored(), static_cast<double>(state_.n));
  }

  // Small problems are solved to rounding, whatever the tolerance; kinked losses until their active set is clear.
  void polish() {
    const bool small = state_.passes->stored() <= kPolishedValues || state_.n <= kPolishedSamples;
    if (state_.options.method != LinearMethod::automatic || !small || state_.d > kPolishedFeatures) return;
    state_.goal = std::min(state_.goal, state_.smooth ? 1e-15 : 1e-12);
    if (state_.proven()) return;
    const std::int64_t most = state_.best.epochs + state_.best.newton_steps + kPolishingSteps;
    state_.limit = state_.limit < 0 ? most : std::min(state_.limit, most);
    state_.back_to_best();
    state_.adopt(state_.w, state_.f, state_.beta, 0.0);
    try {
      steps_.renew();
      steps_.run(INFINITY);
    } catch (const StopRequest& stop) {  // out of time for more than was asked for
      if (stop.status != Status::time_limit) throw;
    }
  }

  // Whatever has ended the run, the bounds of its answer are those of the samples: two passes, whoever asks to stop.
  void settle_best() {
    state_.tracker.disable();
    state_.settle_best();
    state_.goal = state_.options.tolerance;
    if (state_.best.status == Status::solved && !state_.proven()) state_.best.status = Status::numerical;
  }

  // Out of time: one more look at what coordinate descent has, so that the answer has its gap.
  void last_words() {
    state_.tracker.remove_time_limit();
    try {
      if (epochs_.begun()) epochs_.check();
    } catch (const StopRequest&) {
      state_.best.status = Status::interrupted;
    }
  }

  LinearState state_;
  LinearEpochs epochs_;
  LinearSteps steps_;
  SampleSteps sample_steps_;
};

}  // namespace

LinearResult solve_linear(const Samples& samples, const LinearProblem& problem, const LinearOptions& options,
                          Span<const double> beta, RunControl& control) {
  try {
    return LinearRun(samples, problem, options, control).run(beta);
  } catch (const StopRequest& stop) {  // before there was a point
    LinearResult nothing;
    nothing.status = stop.status;
    nothing.weights.assign(features(samples), 0.0);
    nothing.beta.assign(rows(samples), 0.0);
    nothing.bounds.gap = nothing.bounds.primal = nothing.bounds.violation = INFINITY;
    nothing.bounds.dual = -INFINITY;
    return nothing;
  }
}

}  // namespace hinge
