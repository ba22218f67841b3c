// steps.hpp: a run of Newton's method: on the primal of smooth losses, or of proximal steps on the dual.
#pragma once

#include "linear/newton/band.hpp"
#include "linear/newton/newton.hpp"
#include "linear/state.hpp"

namespace hinge {

class LinearSteps {
 public:
  explicit LinearSteps(LinearState& state) : s_(state), newton_(*state.passes, state.problem) {}

  // From the point of the state until the gap is proven, or until `budget` units of work are spent: `undecided`.
  Outcome run(double budget);
  // Few features, from nothing: a start from fewer samples, then rounds on bands of samples (kinked losses only) or
  // steps.  `undecided` where they have not proven the gap.
  Outcome from_fewer();
  // Few features and kinked losses: the rounds on bands from the weights of the state alone.
  Outcome from_weights() { return bands(false); }
  bool begun() const { return banded_; }
  void renew() { banded_ = false; }  // the gap is another one: bands are worth another turn

 private:
  Outcome bands(bool settled);
  Outcome smooth(double budget);
  Outcome multipliers(double budget);
  NewtonPoint start() const;
  void take_slack(BandPoint& point);  // g anew
  bool settle_expansion(const std::vector<double>& beta);
  void settle(NewtonPoint& point);
  void settle(BandPoint& point, bool moved);

  LinearState& s_;
  Newton newton_;
  bool banded_ = false;  // bands have had their turn
};

}  // namespace hinge
