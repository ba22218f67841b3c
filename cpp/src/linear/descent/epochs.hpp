// epochs.hpp: a run of dual coordinate descent: epochs, rounds of them, checks of the gap.
#pragma once

#include <cmath>
#include <memory>

#include "linear/descent/descent.hpp"
#include "linear/descent/extrapolation.hpp"
#include "linear/state.hpp"

namespace hinge {

class LinearEpochs {
 public:
  explicit LinearEpochs(LinearState& state) : s_(state) {}

  // From the point of the state until the gap is proven, or (after `patience` units of work) until Newton's method
  // looks cheaper: then `undecided`.
  Outcome run(double patience);
  // All samples: is the gap what the epochs think it is?
  void check();
  bool begun() const { return descent_ != nullptr; }
  double work() const { return descent_ ? descent_->work : 0.0; }

 private:
  bool may_round() const;
  bool too_rough() const;
  void open(bool rounded);
  void refine();
  void leap();
  void enter(double multiplier);
  bool mean_proves();
  double strayed() const;
  bool hardly_strayed() const;
  bool slower_than_steps(const LinearChoice::Story& story, double target, double not_before) const;

  LinearState& s_;
  std::unique_ptr<Descent> descent_;
  Trail trail_;
  std::int64_t sweeps_ = 0;
  double visits_ = 0;
  struct {
    double plain = 0, squared = 0;  // what an error of f in proportion to ‖x_i‖ adds to the gap, and its square   (139)
  } noise_;
  double drift_ = 0;  // ½‖w − Xᵀβ‖² of the epochs, where the last check has asked for it: always in single precision
  double nothing_ = INFINITY;  // the primal value of nothing, where the epochs began there and there is no bias
  double trust_ = 3.0;  // what the epochs think of the gap, over what it is
};

}  // namespace hinge
