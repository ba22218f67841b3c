// state.hpp: current point of a run, certificates, and the best point so far, docs/math (104)–(107).
// Methods change the current point and call adopt for every point that may become the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "control/run_tracker.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/linear.hpp"
#include "linear/cholesky/gram.hpp"
#include "linear/data/compressed.hpp"
#include "linear/data/passes.hpp"
#include "linear/loss/loss.hpp"
#include "linear/loss/loss_passes.hpp"
#include "linear/method_choice.hpp"
#include "parallel/thread_pool.hpp"

namespace hinge {

enum class Outcome { solved, out_of_steps, undecided, stalled };

class LinearState {
 public:
  LinearState(const Samples& samples, const LinearProblem& problem, const LinearOptions& options, RunControl& control);

  // Computes f = ⟨w, x_i⟩ and adopts (w, b, beta), where w = Xᵀβ has been computed.
  void certify_combination();
  // Optimal offset for f and the sums over all losses at (f, beta); `parts` receives the parts of the gap.
  struct Evaluation {
    double b;
    LossBounds bounds;
  };
  Evaluation evaluate(const std::vector<double>& f, const std::vector<double>& beta);
  // Products of a point that were computed from the samples, for the certificate of the result; see KnownProducts.
  struct Products {
    const std::vector<double>* f = nullptr;
    double reach = 0, distance = 0;
  };
  // Products if f = ⟨w, x_i⟩ was computed in one pass.
  static Products computed(const std::vector<double>& w, const std::vector<double>& f, double distance = 0);
  // Certifies an evaluated point and keeps it if it is better than the best one.  slack is ½‖w − Xᵀβ‖²; `incremental`:
  // it was updated incrementally and may be affected by rounding.
  void adopt(const std::vector<double>& w, const std::vector<double>& beta, double slack, const Evaluation& evaluation,
             const Products& products, bool incremental = false);
  // The same without products.
  void adopt(const std::vector<double>& w, const std::vector<double>& f, const std::vector<double>& beta,
             double slack) {
    adopt(w, beta, slack, evaluate(f, beta), Products{});
  }
  // Whether the point would prove the target gap, at least approximately, so that an exact certificate is worthwhile.
  bool likely_proven(const std::vector<double>& w, const Evaluation& evaluation, double slack = 0) const;
  // Recomputes the bounds of the best point from the samples if they were updated incrementally.
  void recertify_best();
  // Makes beta feasible and computes w; returns to the best point.
  void weights_from_beta();
  void restore_best();
  // Multiplies (w, f, beta), or w and f alone, by a factor.
  void scale(double times);
  void scale_weights(double times);

  bool at_floor() const { return best.bounds.gap <= floor; }
  // Whether the target gap is proven.  A gap at the floor suffices if the optimum may be zero, and ends a polish.
  bool proven() const {
    if (best.bounds.relative() <= goal) return true;
    const double least = std::min(std::fabs(best.bounds.primal), std::fabs(best.bounds.dual));
    return at_floor() && (least <= floor || goal < options.tolerance);
  }
  std::int64_t steps_left() const {  // −1: no limit
    return limit < 0 ? -1 : std::max<std::int64_t>(0, limit - best.epochs - best.newton_steps);
  }
  bool out_of_steps() const { return steps_left() == 0; }
  double target_gap() const;  // target of the absolute gap
  MethodChoice choice();
  // Few features, all samples in memory, automatic choice of the method.
  bool few_features() const {
    return options.method == LinearMethod::automatic && options.block_bytes == 0 && d <= kDirectFeatures;
  }
  // Many features, all samples in memory, and the method in sample space has not failed.
  bool many_features() const {
    return options.method != LinearMethod::descent && options.block_bytes == 0 && d > kDirectFeatures &&
           !sample_space_disabled_;
  }
  LinearGram& gram();  // created on first use
  void disable_sample_space() {  // also frees the inner products (up to 285 MB)
    sample_space_disabled_ = true;
    gram_.reset();
  }
  const std::vector<double>& squared_norms();  // computed on first use
  void forget_norms() { std::vector<double>().swap(norms_); }
  double null_loss();  // at w = 0, b = 0
  void set_floor(double null_loss, double loss_of_offset);  // losses at w = 0, without and with the optimal b

  const LinearProblem& problem;
  const LinearOptions& options;
  RunTracker tracker;
  ThreadPool pool;
  Parallel parallel;
  CompactRows compact;
  const Samples samples;  // refers to `compact` if the samples are dense and mostly zero
  std::unique_ptr<LinearPasses> passes;
  const std::size_t n, d;
  Losses losses;
  LossPasses loss_passes;
  bool smooth = true;  // D > 0 everywhere
  bool at_null_model = false;  // w = 0, β = 0, and no method has started
  std::vector<double> w, f, beta, parts;
  double offset = 0, goal, floor = 0;
  std::int64_t limit;  // largest number of epochs and Newton steps; −1: none
  LinearBounds last;
  LinearResult best;

 private:
  FreeSamples free_samples();
  LinearBounds bounds_at(const std::vector<double>& w, double slack, const Evaluation& evaluation) const;

  std::vector<double> norms_;
  std::unique_ptr<LinearGram> gram_;
  bool sample_space_disabled_ = false;
  double all_products_ = -1;
  bool best_incremental_ = false;  // whether the slack of the best point was updated incrementally
  int requests_ = 0;
};

}  // namespace hinge
