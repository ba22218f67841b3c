// sample_space.hpp: Newton's method in the space of the samples that are free, docs/math (141)–(145).
// For many features and few free samples: a direction is a factor of the inner products of these, and exact.
#pragma once

#include <cstdint>
#include <vector>

#include "linear/cholesky/cholesky.hpp"
#include "linear/state.hpp"

namespace hinge {

class SampleSteps {
 public:
  explicit SampleSteps(LinearState& state) : s_(state), factor_(state.parallel) {}

  // From the point of the state, whose β says which samples are free, until the gap is proven; `undecided` where
  // `budget` units of work are spent, too many samples are free, or rounding leaves nothing to gain.
  Outcome run(double budget);

 private:
  struct Point {
    std::vector<double> w, f;
    double b = 0;
  };

  bool proximal(const LossArrays& losses, bool first, double budget);
  void look(const LossArrays& losses);
  void look_at_dual(const LossArrays& losses);
  bool step(const LossArrays& losses, bool from_dual);
  bool solve(const LossArrays& losses);
  void take_gradient();
  void part_of_step(const LossArrays& losses, const Point& from);
  void offer(const Point& point, std::vector<double>& beta);
  void offer_best();
  bool over(double budget) const;
  double gap() const;
  double work() const;

  LinearState& s_;
  SymmetricFactor factor_;
  Point at_, full_;                    // where we are, and where a whole step leads
  std::vector<std::uint32_t> list_;    // the free samples
  std::vector<double> beta_, g_;       // what the samples answer (102), w − Xᵀβ
  std::vector<double> whole_;          // β of a whole step; before it, what says on which side of a tube a sample is
  double value_ = 0, slack_ = 0;       // of the smooth problem: the primal value, ½‖g‖²
  double own_work_ = 0, began_ = 0;
  std::vector<double> primal_w_, primal_f_, dual_beta_, dual_w_;  // the best of both sides so far
  double primal_ = 0, dual_ = 0;
};

}  // namespace hinge
