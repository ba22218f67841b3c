// steps.hpp: a run of Newton's method: on the primal for smooth losses, with proximal steps for piecewise linear ones.
#pragma once

#include "linear/newton/band.hpp"
#include "linear/newton/newton.hpp"
#include "linear/state.hpp"

namespace hinge {

class NewtonRun {
 public:
  explicit NewtonRun(LinearState& state) : s_(state), newton_(*state.passes, state.problem) {}

  // Runs from the point of the state until the gap is proven; `undecided` if `budget` units of work are used up.
  Outcome run(double budget);
  // Few features, cold start: a subsample start, then bands (piecewise linear losses) or Newton steps.  `undecided` if
  // the gap is not proven.
  Outcome run_from_subsample();
  // Few features and piecewise linear losses: bands, starting from the weights of the state.
  Outcome run_from_weights() { return run_bands(false); }
  bool bands_tried() const { return bands_tried_; }
  void allow_bands() { bands_tried_ = false; }  // allows bands again, for another target gap

 private:
  Outcome run_bands(bool nearly_final);
  Outcome run_smooth(double budget);
  Outcome run_proximal(double budget);
  NewtonPoint start() const;
  void update_slack(BandPoint& point);  // recomputes g
  bool certify_expansion(const std::vector<double>& beta);
  void certify(NewtonPoint& point);
  void certify(BandPoint& point, bool incremental_f);

  LinearState& s_;
  Newton newton_;
  bool bands_tried_ = false;  // bands have been tried
};

}  // namespace hinge
