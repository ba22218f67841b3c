// slack_sums.hpp: what is missing to the margin, and the sums over all samples that Newton's method for b asks for.
// Owns nothing but sums: some 8 kB per machine for each of at most m / 4096 + 1 parts, whose bounds depend on m only.
// Cost: O(mk), threaded.
#pragma once

#include <cstddef>

#include "hinge/parallel.hpp"

namespace hinge {

// For every one of k machines: Σ Cᵢ over positive losses, Σ Cᵢ sᵢ ξᵢ and Σ Cᵢ ξᵢ².
struct SlackSums {
  double *curved, *pull, *loss;
};

// missing = ξ = max(0, 1 - s (f + b)); f, s, missing: m × k; cost: m × k, the same for all machines or not; b: k.
// Sums are in float over 64 samples at most, and then in double.
void slack_sums(std::size_t m, std::size_t k, const float* f, const float* sign, const float* cost, const double* b,
             float* missing, const SlackSums& sums, const Parallel& parallel);

}  // namespace hinge
