// solve.cpp: driver of the solver for linear problems with an ℓ1 penalty: gradients of all features, certificate,
// choice of the working set.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "control/run_tracker.hpp"
#include "hinge/solvers/l1_linear.hpp"
#include "linear/data/passes.hpp"
#include "linear/l1/columns.hpp"
#include "linear/l1/descent.hpp"

namespace hinge {
namespace {

constexpr std::size_t kFirstFeatures = 256; // working set of a cold start
constexpr double kFinalShare = 0.4;         // of the final gap: goal of the last working sets
constexpr double kRoundShare = 0.3;         // of the present gap: goal of a working set
constexpr std::int64_t kRoundSteps = 20;    // Newton steps and passes after which a larger working set is chosen again
constexpr int kMaxStalledRounds = 5;        // rounds without progress before reporting a numerical stall
constexpr double kLeastDecrease = 1e-12;    // relative decrease of the objective by a round that counts as progress
constexpr double kSlowReduction = 0.9;      // of the gap by a round that counts as progress

class L1Run {
 public:
  L1Run(const Samples& samples, const LinearProblem& problem, const L1LinearOptions& options, RunControl& control)
      : problem_(problem), options_(options), tracker_(control, options.max_seconds),
        state_(problem, features(samples)), columns_(samples, state_.scale),
        descent_(state_, columns_, tracker_, options.seed), gradient_(features(samples)) {
    const Parallel parallel{options.threads, [this] { tracker_.poll(); }, nullptr};
    passes_ = make_passes(samples, parallel, 0);
  }

  L1LinearResult run(Span<const double> weights, double offset) {
    try {
      start(weights, offset);
      result_.status = solve();
    } catch (const StopRequest& stop) {
      result_.status = stop.status;
      tracker_.disable();  // the last pass certifies the current point
      evaluate();
    }
    result_.weights = state_.weights, result_.offset = state_.offset;
    result_.epochs = descent_.epochs, result_.iterations = iterations();
    return std::move(result_);
  }

 private:
  void start(Span<const double> weights, double offset) {
    std::copy(weights.begin(), weights.end(), state_.weights.begin());
    state_.offset = state_.bias == Bias::none ? 0.0 : offset;
    state_.slack = state_.target;  // the point of a run that stops during the following pass is evaluated below
    compute_slack();
    descent_.minimize_offset();
  }

  // s_i = scale_i (t_i − ⟨w, x_i⟩ − b), without the rounding errors of the steps.
  void compute_slack() {
    const bool zero = std::all_of(state_.weights.begin(), state_.weights.end(), [](double w) { return w == 0; });
    std::vector<double> f(state_.slack.size(), 0.0);
    if (!zero) passes_->margins(state_.weights, f);
    for (std::size_t i = 0; i < f.size(); ++i)
      state_.slack[i] = state_.scale[i] * (problem_.target[i] - (f[i] + state_.offset));
  }

  Status solve() {
    double primal = INFINITY, gap = INFINITY;  // the best ones so far
    for (int stalled = 0;; ++result_.rounds) {
      evaluate();
      const LinearBounds& bounds = result_.bounds;
      const bool progress = bounds.primal < (1 - kLeastDecrease) * primal || bounds.gap < kSlowReduction * gap;
      primal = std::min(primal, bounds.primal), gap = std::min(gap, bounds.gap);
      stalled = progress ? 0 : stalled + 1;
      if (result_.bounds.relative() <= options_.tolerance) return Status::solved;
      if (out_of_steps()) return Status::max_iter;
      if (stalled >= kMaxStalledRounds) return Status::numerical;
      select_features();
      std::vector<std::uint32_t> missing;
      for (std::uint32_t j : chosen_)
        if (columns_.slot(j) == Columns::kNone) missing.push_back(j);
      std::sort(missing.begin(), missing.end());
      columns_.copy(missing);
      if (!missing.empty()) passes_->visited += passes_->stored(), tracker_.poll();
      const double size = 0.5 * (std::fabs(result_.bounds.primal) + std::fabs(result_.bounds.dual));
      const double goal = std::max(kFinalShare * options_.tolerance * size, kRoundShare * result_.bounds.gap);
      const std::int64_t last = iterations() + kRoundSteps;
      const auto ends = [this, last] { return out_of_steps() || (chosen_.size() > kFirstFeatures && iterations() >= last); };
      descent_.run(chosen_, goal * std::pow(0.1, stalled), ends);
    }
  }

  // Newton steps, and the values read otherwise, in units of all stored values.
  std::int64_t iterations() const {
    const double stored = std::max(1.0, passes_->stored());
    const double passes = std::ceil((passes_->visited + descent_.visited) / stored);
    return descent_.newton_steps + static_cast<std::int64_t>(passes);
  }

  bool out_of_steps() const { return options_.max_iterations >= 0 && iterations() >= options_.max_iterations; }

  // Gradients of all features, the duality gap and the violation of the optimality conditions.   (863)
  void evaluate() {
    const std::size_t n = state_.slack.size();
    std::vector<double> beta(n);
    for (std::size_t i = 0; i < n; ++i) beta[i] = state_.scale[i] * state_.activation(i);
    passes_->combine(beta, gradient_);
    const bool penalized = state_.bias == Bias::penalized;
    double largest = penalized ? state_.bias_scale * std::fabs(state_.sum_of_beta()) : 0.0, violation = 0;
    std::int64_t nonzero = 0;
    for (std::size_t j = 0; j < gradient_.size(); ++j) {
      const double w = state_.weights[j], g = gradient_[j];  // of −losses
      largest = std::max(largest, std::fabs(g));
      violation = std::max(violation, w != 0 ? std::fabs(g - (w > 0 ? 1.0 : -1.0)) : std::fabs(g) - 1);
      nonzero += w != 0;
    }
    LinearBounds& bounds = result_.bounds;
    const L1State::Dual dual = state_.best_dual(largest);
    bounds.primal = state_.primal(), bounds.violation = violation;
    if (result_.beta.empty() || dual.value > bounds.dual) {
      bounds.dual = dual.value;
      for (double& b : beta) b *= dual.factor;
      result_.beta = std::move(beta);
    }
    bounds.gap = std::max(0.0, bounds.primal - bounds.dual);
    Snapshot& snapshot = tracker_.snapshot;
    snapshot.iteration = iterations(), snapshot.violation = violation, snapshot.active = nonzero;
    snapshot.primal = bounds.primal, snapshot.dual = bounds.dual, snapshot.gap = bounds.gap;
    tracker_.record();
  }

  // The nonzero features, and as many others with the largest gradients, at least kFirstFeatures.   (865)
  void select_features() {
    chosen_.clear();
    std::vector<std::uint32_t> others;
    const double margin = 1 - std::min(0.5, tracker_.snapshot.violation);
    for (std::size_t j = 0; j < gradient_.size(); ++j) {
      if (state_.weights[j] != 0) chosen_.push_back(static_cast<std::uint32_t>(j));
      else if (std::fabs(gradient_[j]) > margin) others.push_back(static_cast<std::uint32_t>(j));
    }
    const std::size_t count = std::min(others.size(), std::max(chosen_.size(), kFirstFeatures));
    const auto larger = [&](std::uint32_t a, std::uint32_t b) {
      const double x = std::fabs(gradient_[a]), y = std::fabs(gradient_[b]);
      return x != y ? x > y : a < b;
    };
    std::nth_element(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(count), others.end(), larger);
    chosen_.insert(chosen_.end(), others.begin(), others.begin() + static_cast<std::ptrdiff_t>(count));
    std::sort(chosen_.begin(), chosen_.end());
  }

  const LinearProblem& problem_;
  const L1LinearOptions options_;
  RunTracker tracker_;
  L1State state_;
  Columns columns_;
  L1Descent descent_;
  std::vector<double> gradient_;  // Xᵀβ
  std::vector<std::uint32_t> chosen_;
  std::unique_ptr<LinearPasses> passes_;
  L1LinearResult result_;
};

}  // namespace

L1LinearResult solve_l1_linear(const Samples& samples, const LinearProblem& problem, const L1LinearOptions& options,
                               Span<const double> weights, double offset, RunControl& control) {
  return L1Run(samples, problem, options, control).run(weights, offset);
}

}  // namespace hinge
