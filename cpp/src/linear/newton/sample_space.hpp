// sample_space.hpp: Newton's method in the space of the free samples, docs/math (141)–(145).
// For many features and few free samples: directions are exact, from a factor of their inner products.
#pragma once

#include <cstdint>
#include <vector>

#include "linear/cholesky/cholesky.hpp"
#include "linear/state.hpp"

namespace hinge {

class SampleSpaceNewton {
 public:
  explicit SampleSpaceNewton(LinearState& state) : s_(state), factor_(state.parallel) {}

  // Runs from the point of the state, whose β determines the free samples, until the gap is proven; `undecided` if
  // `budget` units of work are used up, too many samples are free, or only rounding errors remain.
  Outcome run(double budget);

 private:
  struct Point {
    std::vector<double> w, f;
    double b = 0;
  };

  bool proximal(const LossArrays& losses, bool first, double budget);
  void evaluate(const LossArrays& losses);
  void evaluate_dual(const LossArrays& losses);
  bool step(const LossArrays& losses, bool from_dual);
  bool solve(const LossArrays& losses);
  void take_gradient();
  void line_search_step(const LossArrays& losses, const Point& from);
  void adopt_pair(const Point& point, std::vector<double>& beta);
  void adopt_best_pair();
  bool finished(double budget) const;
  double gap() const;
  double work() const;

  LinearState& s_;
  SymmetricFactor factor_;
  Point at_, full_;                    // current point and point after a full step
  std::vector<std::uint32_t> list_;    // the free samples
  std::vector<double> beta_, g_;       // dual point (102), w − Xᵀβ
  std::vector<double> full_beta_;          // β of a full step; before it, the sides of the tube
  double value_ = 0, slack_ = 0;       // primal value of the smooth problem, ½‖g‖²
  double own_work_ = 0, began_ = 0;
  std::vector<double> primal_w_, primal_f_, dual_beta_, dual_w_;  // best primal and best dual point so far
  double primal_ = 0, dual_ = 0;
};

}  // namespace hinge
