// epochs.hpp: a run of dual coordinate descent: epochs, extrapolation and checks of the duality gap.
#pragma once

#include <cmath>
#include <memory>

#include "linear/descent/descent.hpp"
#include "linear/descent/extrapolation.hpp"
#include "linear/state.hpp"

namespace hinge {

class DescentRun {
 public:
  explicit DescentRun(LinearState& state) : s_(state) {}

  // Runs from the point of the state until the gap is proven.  After `work_before_newton` units of work, returns
  // `undecided` when Newton's method is estimated to be cheaper.
  Outcome run(double work_before_newton);
  // Certifies the current point with a pass over all samples.
  void check();
  bool begun() const { return descent_ != nullptr; }
  double work() const { return descent_ ? descent_->work : 0.0; }

 private:
  bool single_precision_allowed() const;
  bool single_precision_exhausted() const;
  void create_descent(bool single_precision);
  void switch_to_double();
  void collect_or_extrapolate();
  void enter(double multiplier);
  bool mean_proves_gap();
  double drift() const;
  bool drift_is_negligible() const;
  bool stalled();
  bool newton_is_cheaper(const MethodChoice::History& history, double target, double min_work) const;

  LinearState& s_;
  std::unique_ptr<Descent> descent_;
  Extrapolation extrapolation_;
  std::int64_t epochs_ = 0;
  double visits_ = 0;
  struct {
    double plain = 0, squared = 0;  // coefficients of the error of the gap for an error of f proportional to ‖x_i‖:
                                    // linear, quadratic   (139)
  } rounding_;
  struct {
    double gap = INFINITY, dual = -INFINITY;
    std::int64_t epochs = 0;
  } progress_;  // bounds at the last progress, and the epochs until then
  double slack_ = 0;  // ½‖w − Xᵀβ‖² at the last check, if it was computed (always in single precision)
  double null_primal_ = INFINITY;  // primal value of the null model, if the epochs started there without a bias
  double gap_ratio_ = 3.0;  // ratio of the estimated gap to the gap at the last check
};

}  // namespace hinge
