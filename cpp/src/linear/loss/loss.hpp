// loss.hpp: the losses of linear problems as support functions of a box, docs/math (101)–(103).
// One formula for hinge, squared hinge, ε-insensitive and its square: one sample (LossTerm) or all (Losses).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "hinge/solvers/linear.hpp"
#include "linear/data/ops.hpp"

namespace hinge {

// Distance of v to [−width, width], with sign.
inline double beyond(double v, double width) { return v - std::min(std::max(v, -width), width); }

struct LossTerm {
  double target, lower, upper, ridge, tube;

  // Branch-free: the side of a sample is hard to predict.
  double within(double v) const { return std::min(std::max(v, lower), upper); }
  double beyond_tube(double v) const { return beyond(v, tube); }

  // argmax over the box of −fβ − h(β) − …: the negative derivative of the loss at f, (102)
  double best(double f) const {
    const double r = beyond_tube(target - f);
    return within(ridge > 0 ? r / ridge : r * kHugeInverse);
  }
  // loss(f) + h(β) + fβ ≥ 0: the part of this sample in the gap, (105)
  double gap(double f, double beta) const {
    const double star = best(f);
    const double part = (star - beta) * (target - f - 0.5 * ridge * (star + beta)) -
                        tube * (std::fabs(star) - std::fabs(beta));
    return std::max(part, 0.0);
  }
};

// The losses of a problem as arrays; with `anchor`, those of a proximal step.
class Losses {
 public:
  explicit Losses(const LinearProblem& problem) : problem_(problem) {
    bool kinked = true;  // then 1/D is the same for all samples and needs no array
    for (double ridge : problem.ridge) kinked = kinked && !(ridge > 0);
    if (kinked) return;
    inverse_.resize(problem.ridge.size());
    for (std::size_t i = 0; i < inverse_.size(); ++i)
      inverse_[i] = problem.ridge[i] > 0 ? 1 / problem.ridge[i] : kHugeInverse;
  }
  // Sets D_i = width / C_i around the anchor.
  void anchor(double width, const std::vector<double>& at) {
    target_.resize(at.size()), ridge_.resize(at.size()), inverse_.resize(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double box = problem_.upper[i] > -problem_.lower[i] ? problem_.upper[i] : -problem_.lower[i];
      ridge_[i] = width / (box > 1e-300 ? box : 1e-300);
      inverse_[i] = 1 / ridge_[i];
      target_[i] = problem_.target[i] + ridge_[i] * at[i];
    }
  }
  LossArrays arrays() const {
    const bool anchored = !target_.empty();
    return {anchored ? target_.data() : problem_.target.data(), problem_.lower.data(),
            problem_.upper.data(), anchored ? ridge_.data() : problem_.ridge.data(),
            inverse_.empty() ? nullptr : inverse_.data(), problem_.tube, problem_.ridge.size()};
  }

 private:
  const LinearProblem& problem_;
  std::vector<double> target_, ridge_, inverse_;
};

}  // namespace hinge
