// slack_sums.hpp: slacks of k two-class models and the sums over the samples for Newton's method in b.
// Temporary memory: about 8 kB per model for each of m / 4096 + 1 tasks, which depend on m only.  Cost: O(mk),
// parallel.
#pragma once

#include <cstddef>

#include "hinge/parallel.hpp"

namespace hinge {

// For each of k models.
struct SlackSums {
  double* curvature;  // Σ Cᵢ over the samples with ξᵢ > 0
  double* slope;      // Σ Cᵢ sᵢ ξᵢ
  double* loss;       // Σ Cᵢ ξᵢ²
};

// slack = ξ = max(0, 1 - s (f + b)) with signs s.  f, sign, cost and slack are m × k, b has k entries.
// Sums are in float over at most 64 samples and then in double.
void slack_sums(std::size_t m, std::size_t k, const float* f, const float* sign, const float* cost, const double* b,
                float* slack, const SlackSums& sums, const Parallel& parallel);

}  // namespace hinge
