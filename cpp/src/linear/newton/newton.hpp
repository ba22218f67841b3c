// newton.hpp: Newton's method on the primal of a linear problem with ridge D > 0, docs/math (111)–(114).
// The objective is piecewise quadratic: a Newton direction (Cholesky for few features, else preconditioned conjugate
// gradients) and an exact line search end after finitely many steps [Keerthi and DeCoste 2005].  With few features a
// step costs one pass: Hessian and gradient are updated by the samples that became free or bound.   (128)
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "control/run_tracker.hpp"
#include "hinge/solvers/linear.hpp"
#include "linear/cholesky/cholesky.hpp"
#include "linear/data/ops.hpp"
#include "linear/data/passes.hpp"
#include "linear/loss/loss_passes.hpp"

namespace hinge {

constexpr std::size_t kDirectFeatures = 1200;  // up to this many features directions are computed by Cholesky

// Work of one iteration of conjugate gradients: two accesses to the free samples, and vectors of all features.
inline double product_work(double stored, double features) { return 3 * stored + 10 * features; }

struct NewtonPoint {
  std::vector<double> w, f, beta, g;  // weights, ⟨w, x_i⟩, the dual point (102), w − Xᵀβ (− shift)
  double b = 0, slack = 0;            // slack = ½‖g‖²: bound on the remaining gain
  double reach = 0;                   // bounds the error of f, see KnownProducts; (622)
};

class Newton {
 public:
  // `shift`: contribution to Σβx of samples that are not in `passes`; empty: none.
  Newton(LinearPasses& passes, const LinearProblem& problem, Span<const double> shift = {})
      : passes_(passes), loss_passes_(passes.parallel()), problem_(problem), shift_(shift),
        factor_(passes.parallel()) {}

  // Computes b, β, g and slack from point.w and point.f.
  void evaluate(const LossArrays& losses, NewtonPoint& point);
  // Takes one step from an evaluated point; the direction is accurate enough for a slack of `target_gap`.  Returns
  // false if only rounding errors remain.
  bool step(const LossArrays& losses, double target_gap, NewtonPoint& point, RunTracker& tracker);
  // Uses the Hessian of a subsample (from `release_hessian` of the method applied to it) as long as it is accurate
  // enough: a step then costs two passes and no new Hessian.   (148)
  void use_hessian(std::vector<double> curvature);
  std::vector<double> release_hessian() { return std::move(sum_); }
  // Recomputes g and slack if the last step updated them incrementally, which large curvatures make inaccurate.
  void recompute_slack(NewtonPoint& point) {
    if (incremental_) update_slack(point);
  }
  bool incremental() const { return incremental_; }

 private:
  struct Change {  // samples that a step made free or bound
    std::vector<std::uint32_t> rows;
    std::vector<double> curvature, dual_change;  // their contributions to A, and to Xᵀβ beyond the prediction
  };

  void list_free_samples(const LossArrays& losses, const NewtonPoint& point);
  void drop_reused_hessian(const LossArrays& losses, const NewtonPoint& point);
  bool update_incrementally(const LossArrays& losses, double t, double b_before, NewtonPoint& point);
  void update_slack(NewtonPoint& point);
  void direction(const LossArrays& losses, Span<const double> g, double target_gap, RunTracker& tracker);
  void solve_by_cholesky(const LossArrays& losses, Span<const double> g);
  void update_scale(const LossArrays& losses);
  void solve_by_conjugate_gradients(Span<const double> g, double target_gap, RunTracker& tracker);
  double search(const LossArrays& losses, const NewtonPoint& point, Span<const double> q) const;
  double bias_ridge() const;

  LinearPasses& passes_;
  LossPasses loss_passes_;
  const LinearProblem& problem_;
  Span<const double> shift_;
  std::vector<std::uint32_t> list_;  // rows whose β is inside its box
  std::vector<double> scale_;        // 1/D of these, once update_scale has been called
  std::vector<double> q_, delta_, work_, first_, second_;
  SymmetricFactor factor_;
  std::vector<double> sum_;       // A = Σ s x xᵀ over the list (upper triangle, with a row and a column for the bias)
  std::vector<double> next_;      // β after a step
  Change change_;
  bool direct_ = false, summed_ = false;  // the last direction is by Cholesky; A belongs to the list
  bool reused_ = false, factored_ = false;  // A is that of a subsample; its factor exists
  bool incremental_ = false;  // g was updated incrementally
  double delta_bias_ = 0;
};

}  // namespace hinge
