// extrapolation.hpp: extrapolation along the last epochs of coordinate descent, docs/math (121)–(123)
// [Anderson 1965; Bertrand and Massias 2021].  Owns the dual points of one round: (kRound + 1) n doubles.
#pragma once

#include <cstddef>
#include <vector>

#include "hinge/solvers/linear.hpp"

namespace hinge {

class Trail {
 public:
  static constexpr std::size_t kRound = 10;  // epochs, all in one order

  void clear() { points_.clear(); }
  void add(std::vector<double> beta) { points_.push_back(std::move(beta)); }
  bool empty() const { return points_.empty(); }
  bool fresh() const { return points_.size() == 1; }
  bool full() const { return points_.size() > kRound; }
  // Σ c_k β^k with Σ c_k = 1 and ‖Σ c_k (β^k − β^{k−1})‖ smallest, moved into the box; false if there is no such point.
  bool extrapolate(const LinearProblem& problem, std::vector<double>& beta) const;

 private:
  std::vector<std::vector<double>> points_;
};

// The value of the augmented dual at β with w = Xᵀβ: what an epoch descends on, (108).
double augmented_dual(const LinearProblem& problem, Span<const double> beta, Span<const double> w, double sigma,
                      double multiplier);

}  // namespace hinge
