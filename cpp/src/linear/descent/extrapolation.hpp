// extrapolation.hpp: extrapolation along the last epochs of coordinate descent, docs/math (121)–(123)
// [Anderson 1965; Bertrand and Massias 2021].  Owns the dual points of one round: (kRound + 1) n doubles.
#pragma once

#include <cstddef>
#include <vector>

#include "hinge/solvers/linear.hpp"

namespace hinge {

// Computes Σ c_k p^k with Σ c_k = 1 and minimal ‖Σ c_k (p^k − p^{k−1})‖ for at least two points; false on failure.
bool extrapolated(const std::vector<std::vector<double>>& points, std::vector<double>& out);

class Extrapolation {
 public:
  static constexpr std::size_t kRound = 10;  // epochs per round, all in the same order

  void clear() { points_.clear(); }
  void add(std::vector<double> beta) { points_.push_back(std::move(beta)); }
  bool empty() const { return points_.empty(); }
  bool fresh() const { return points_.size() == 1; }
  bool full() const { return points_.size() > kRound; }
  // The extrapolated point, projected onto the box; false on failure.
  bool extrapolate(const LinearProblem& problem, std::vector<double>& beta) const;

 private:
  std::vector<std::vector<double>> points_;
};

// Value of the augmented dual at β with w = Xᵀβ, which an epoch increases, (108).
double augmented_dual(const LinearProblem& problem, Span<const double> beta, Span<const double> w, double sigma,
                      double multiplier);

}  // namespace hinge
