// descent.hpp: coordinate descent on the working set of a linear problem with an ℓ1 penalty, docs/math (864)–(866).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "hinge/bias.hpp"
#include "hinge/solvers/linear.hpp"
#include "linear/l1/columns.hpp"
#include "numeric/random.hpp"

namespace hinge {

class RunTracker;

// The problem in scaled coordinates, (862): with s_i = σ_i (t_i − f_i) / √D_i, a_i = min(max(s_i, 0), cap_i), the loss of
// a sample is a_i (s_i − a_i / 2) and β_i = scale_i a_i, where σ_i is the side of the box and scale_i = σ_i / √D_i.
struct L1State {
  L1State(const LinearProblem& problem, std::size_t features);

  double activation(std::size_t i) const {
    const double s = slack[i] > 0 ? slack[i] : 0.0;
    return capped && s > cap[i] ? cap[i] : s;
  }
  // Whether the loss of a sample is curved at its value.
  bool active(std::size_t i) const { return slack[i] > 0 && slack[i] < cap[i]; }
  double losses() const;
  double penalty() const;  // ‖w‖₁ + |b|/B
  double primal() const { return penalty() + losses(); }
  // The largest value of the dual objective on the ray through β, for Xᵀβ of at most `largest` in magnitude, and the
  // point at which it is attained, (863).
  struct Dual {
    double value, factor;
  };
  Dual best_dual(double largest) const;
  // Σ scale_i a_i = Σβ.
  double sum_of_beta() const;

  Bias bias;
  double bias_scale;
  bool capped = false;  // whether a cap is finite
  std::vector<double> scale, cap, target;  // target: scale_i t_i
  std::vector<double> weights, slack;
  double offset = 0;
};

class L1Descent {
 public:
  L1Descent(L1State& state, const Columns& columns, RunTracker& tracker, std::uint64_t seed)
      : state_(state), columns_(columns), tracker_(tracker), random_(seed) {}

  // Descends until the duality gap of the problem with these features only is at most `gap`, `out_of_steps` returns true,
  // or the decrease of the objective is a rounding error and the gap does not decrease.
  void run(const std::vector<std::uint32_t>& features, double gap, const std::function<bool()>& out_of_steps);

  // Minimizes over a free offset; exact up to rounding.
  void minimize_offset();

  std::int64_t epochs = 0;
  std::int64_t newton_steps = 0;
  double visited = 0;  // values read, without those of Newton steps

 private:
  struct Slope {
    double gradient, curvature;
  };
  template <bool capped>
  Slope slope(const Column& column) const;
  template <bool capped>
  double step(std::uint32_t feature);  // returns the violation of the optimality condition before the step
  double step(std::uint32_t feature);
  void penalized_offset_step();
  template <bool capped>
  double moved(const Column& column, double step);  // slack −= step · column; returns the change of the losses
  void epoch(double threshold);
  void round();
  void extrapolate();
  bool newton();
  double newton_step();
  void combine(const std::vector<double>& p, std::vector<double>& q);
  void multiply(const std::vector<double>& q, std::vector<double>& p);
  bool solve_directly(std::vector<double>& x);
  void solve_by_conjugate_gradients(std::vector<double>& x);
  void move_within_orthant(const std::vector<double>& weights, const std::vector<double>& slack, double offset,
                           const std::vector<double>& direction, double share);
  double subproblem_gap();
  void count(double values);

  L1State& state_;
  const Columns& columns_;
  RunTracker& tracker_;
  Random random_;
  std::vector<std::uint32_t> features_, active_;
  std::vector<std::uint32_t> support_;
  std::vector<std::vector<double>> points_;  // weights of the working set and the offset, after the last epochs
  double unpolled_ = 0;
  double largest_violation_ = 0;
  bool long_step_ = false;     // whether the last Newton step was long without leaving out weights
  bool second_order_ = false;  // whether the next iteration of `run` is a Newton step
};

}  // namespace hinge
