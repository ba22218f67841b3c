// newton.hpp: Newton's method on the primal of a linear machine with ridge D > 0, docs/math (111)–(114).
// The objective is piecewise quadratic: a Newton direction (Cholesky for few features, else preconditioned conjugate
// gradients) and an exact line search end after finitely many steps [Keerthi and DeCoste 2005].  With few features a
// step costs one pass: curvature and gradient follow from the samples that have become free, or no longer are.   (128)
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

constexpr std::size_t kDirectFeatures = 1200;  // up to these a direction is found by Cholesky

// The work of one round of conjugate gradients: two looks at the free samples, here and there, and vectors of all features.
inline double product_work(double stored, double features) { return 3 * stored + 10 * features; }

struct NewtonPoint {
  std::vector<double> w, f, beta, g;  // weights, ⟨w, x_i⟩, the dual point (102), w − Xᵀβ (− shift)
  double b = 0, slack = 0;            // slack = ½‖g‖²: what the inner problem can still gain
};

class Newton {
 public:
  // `shift`: what samples that are not among those of `passes` add to Σβx; empty: nothing.
  Newton(LinearPasses& passes, const LinearProblem& problem, Span<const double> shift = {})
      : passes_(passes), loss_passes_(passes.parallel()), problem_(problem), shift_(shift),
        factor_(passes.parallel()) {}

  // b, β, g and slack of point.w and point.f.
  void look(const LossArrays& losses, NewtonPoint& point);
  // One step from a point that has been looked at; the direction is as good as a slack of `wanted` asks for.
  // False if rounding leaves nothing to gain.
  bool step(const LossArrays& losses, double wanted, NewtonPoint& point, RunTracker& tracker);
  // Directions by the curvature of fewer samples, which stand for all (`lend` of the method that was used on them), as
  // long as that is near enough: a step is then two passes, and no matrix is made.   (148)
  void borrow(std::vector<double> curvature);
  std::vector<double> lend() { return std::move(sum_); }
  // g and slack anew where the last step has carried them along: with large curvatures rounding draws them away.
  void settle(NewtonPoint& point) {
    if (carried_) take_slack(point);
  }
  bool carried() const { return carried_; }

 private:
  struct Change {  // what a step has changed about the samples that are free, or no longer
    std::vector<std::uint32_t> rows;
    std::vector<double> curvature, pull;  // what each adds to A and to Xᵀβ beyond the prediction
  };

  void list_free(const LossArrays& losses, const NewtonPoint& point);
  void give_back(const LossArrays& losses, const NewtonPoint& point);
  bool follow(const LossArrays& losses, double t, double b_before, NewtonPoint& point);
  void take_slack(NewtonPoint& point);
  void direction(const LossArrays& losses, Span<const double> g, double wanted, RunTracker& tracker);
  void by_cholesky(const LossArrays& losses, Span<const double> g);
  void take_scale(const LossArrays& losses);
  void by_conjugate_gradients(Span<const double> g, double wanted, RunTracker& tracker);
  double search(const LossArrays& losses, const NewtonPoint& point, Span<const double> q) const;
  double own_ridge() const;

  LinearPasses& passes_;
  LossPasses loss_passes_;
  const LinearProblem& problem_;
  Span<const double> shift_;
  std::vector<std::uint32_t> list_;  // rows whose β is inside its box
  std::vector<double> scale_;        // 1/D of these, once take_scale has been called
  std::vector<double> q_, delta_, work_, first_, second_;
  SymmetricFactor factor_;
  std::vector<double> sum_;       // A = Σ s x xᵀ over the list (upper triangle, with a row and a column for the bias)
  std::vector<double> next_;      // β after a step
  Change change_;
  bool direct_ = false, summed_ = false;  // the last direction was found by Cholesky; A is that of the list
  bool borrowed_ = false, factored_ = false;  // A is that of fewer samples; its factor is made
  bool carried_ = false;  // g is that of the step before and what has changed since
  double delta_bias_ = 0;
};

}  // namespace hinge
