// thin_loops.hpp: the two loops of thin products, compiled for the baseline and for AVX2 + FMA.
#pragma once

#include <cstddef>

namespace hinge {

inline constexpr std::size_t kThinRows = 8, kThinWidth = 8;  // rows of K and columns of W at a time

struct ThinLoops {
  // out[r][c] = Σ_j rows[r][j] W[j][c], for kThinRows rows and kThinWidth columns.
  void (*times)(std::size_t n, const float* const* rows, const float* W, float* out);
  // G[j][c] += Σ_r rows[r][j] R[r][c].
  void (*add)(std::size_t n, const float* const* rows, const float* R, float* G);
};

const ThinLoops& thin_loops();

}  // namespace hinge
