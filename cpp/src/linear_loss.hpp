// linear_loss.hpp: the losses of linear machines as support functions of a box, docs/math.md (101)–(103).
// One formula for hinge, squared hinge, ε-insensitive and its square; the anchor is that of a proximal step.
#pragma once

#include <algorithm>
#include <cmath>

namespace hinge {

struct LossTerm {
  double target, lower, upper, ridge, tube, anchor;

  double within(double v) const { return v < lower ? lower : v > upper ? upper : v; }

  // argmax over the box of −fβ − h(β) − …: the negative derivative of the loss at f, (102)
  double best(double f) const {
    const double r = target - f + ridge * anchor;
    if (ridge > 0) {
      const double z = r > tube ? r - tube : r < -tube ? r + tube : 0.0;
      return within(z / ridge);
    }
    return r > tube ? upper : r < -tube ? lower : 0.0;
  }
  double value(double f, double at) const {  // −fβ − h(β) at β = at
    const double shift = at - anchor;
    return at * (target - f) - tube * std::fabs(at) - 0.5 * ridge * shift * shift;
  }
  // loss(f) + h(β) + fβ ≥ 0 without an anchor: this sample's part of the gap, (105)
  double gap(double f, double beta) const {
    const double star = best(f);
    const double part = (star - beta) * (target - f - 0.5 * ridge * (star + beta)) -
                        tube * (std::fabs(star) - std::fabs(beta));
    return part > 0 ? part : 0.0;
  }
  // size of the smallest subgradient of fβ + h(β) over the box: how far the optimality conditions are off
  double violation(double f, double beta) const {
    const double g = f + ridge * beta - target;
    const double up = beta >= 0 ? g + tube : g - tube;    // slope to the right
    const double down = beta > 0 ? g + tube : g - tube;   // slope to the left
    double most = 0;
    if (beta < upper && -up > most) most = -up;
    if (beta > lower && down > most) most = down;
    return most;
  }
};

}  // namespace hinge
