// state.hpp: the point a run is at, the certificate of a point, and the best point so far.
// Methods move the point; whoever has one to show calls adopt.  docs/math (104)–(107)
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

enum class Outcome { solved, spent, undecided, stuck };

class LinearState {
 public:
  LinearState(const Samples& samples, const LinearProblem& problem, const LinearOptions& options, RunControl& control);

  // f = ⟨w, x_i⟩ anew, then the bounds at (w, b, beta); slack is ½‖w − Xᵀβ‖².
  void look(double slack);
  // What the samples say of (f, beta), with the b that is best for f; `parts` are theirs.
  struct Sight {
    double b;
    LossBounds bounds;
  };
  Sight see(const std::vector<double>& f, const std::vector<double>& beta);
  // The bounds at any point that has been seen; kept where it is better than the best.  `carried`: slack is what a method
  // has carried along, and rounding may have drawn it away.
  void adopt(const std::vector<double>& w, const std::vector<double>& beta, double slack, const Sight& sight,
             bool carried = false);
  void adopt(const std::vector<double>& w, const std::vector<double>& f, const std::vector<double>& beta,
             double slack) {
    adopt(w, beta, slack, see(f, beta));
  }
  // Whether that would prove what is wanted, or nearly: worth the passes that make sure of it.
  bool likely_proven(const std::vector<double>& w, const Sight& sight, double slack = 0) const;
  // The bounds of the best point, from the samples, where they are not known to be right.
  void settle_best();
  // w and f of beta, made feasible; of the best point.
  void from_beta();
  void back_to_best();
  // From (w, f, beta) to a multiple of it; of w and f alone.
  void scale(double times);
  void scale_weights(double times);

  bool at_floor() const { return best.bounds.gap <= floor; }
  // A gap at the floor proves an optimum that may be zero; it ends the polish of any that is proven already.
  bool proven() const {
    if (best.bounds.relative() <= goal) return true;
    const double least = std::min(std::fabs(best.bounds.primal), std::fabs(best.bounds.dual));
    return at_floor() && (least <= floor || goal < options.tolerance);
  }
  std::int64_t steps_left() const {  // −1: no limit
    return limit < 0 ? -1 : std::max<std::int64_t>(0, limit - best.epochs - best.newton_steps);
  }
  bool spent() const { return steps_left() == 0; }
  double wanted() const;  // the gap that would do
  LinearChoice choice();
  // Few features, all in memory, and no method asked for.
  bool few_features() const {
    return options.method == LinearMethod::automatic && options.block_bytes == 0 && d <= kDirectFeatures;
  }
  // Many features, all in memory, and steps in the space of samples have not failed.
  bool many_features() const {
    return options.method != LinearMethod::descent && options.block_bytes == 0 && d > kDirectFeatures &&
           !no_sample_steps_;
  }
  LinearGram& gram();  // made when first asked for
  void no_more_sample_steps() {  // nor their inner products, which take up to 285 MB
    no_sample_steps_ = true;
    gram_.reset();
  }
  const std::vector<double>& squared_norms();  // found when first asked for
  void forget_norms() { std::vector<double>().swap(norms_); }
  double loss_of_nothing();  // at w = 0, b = 0
  void set_floor(double loss_of_nothing, double loss_of_offset);  // w = 0, without and with the best b

  const LinearProblem& problem;
  const LinearOptions& options;
  RunTracker tracker;
  ThreadPool pool;
  Parallel parallel;
  CompactRows compact;
  const Samples samples;  // where they are dense and mostly zeros, their copy in `compact`
  std::unique_ptr<LinearPasses> passes;
  const std::size_t n, d;
  Losses losses;
  LossPasses loss_passes;
  bool smooth = true;  // D > 0 everywhere
  bool at_nothing = false;  // w = 0, β = 0, and no method has begun
  std::vector<double> w, f, beta, parts;
  double offset = 0, goal, floor = 0;
  std::int64_t limit;  // of epochs and Newton steps; −1: none
  LinearBounds last;
  LinearResult best;

 private:
  FreeSamples free_samples();
  LinearBounds bounds_at(const std::vector<double>& w, double slack, const Sight& sight) const;

  std::vector<double> norms_;
  std::unique_ptr<LinearGram> gram_;
  bool no_sample_steps_ = false;
  double all_products_ = -1;
  bool best_carried_ = false;  // the slack of the best point is
  int asked_ = 0;
};

}  // namespace hinge
