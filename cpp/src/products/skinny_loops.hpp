// skinny_loops.hpp: the loops of thin products, compiled for the baseline, for AVX2 + FMA + F16C and for AVX-512.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/dispatch.hpp"

namespace hinge {

using Half = std::uint16_t;  // the bits of a float16: nothing but these loops looks into it

inline constexpr std::size_t kSkinnyRows = 16, kSkinnyWidth = 16;  // rows of K and columns of W at a time, at most
inline constexpr std::size_t kSkinnyPad = 16;                    // columns of W and G are so much longer, filled with 0

// For kSkinnyRows rows of K and k <= kSkinnyWidth columns; columns of W and G are `stride` apart.
template <class T>
struct SkinnyLoopsOf {
  // out[r][c] = Σ_j rows[r][j] W[c][j], rows of out kSkinnyWidth apart.
  void (*times)(std::size_t n, const T* const* rows, const float* W, std::size_t stride, std::size_t k, float* out);
  // G[c][j] += Σ_r rows[r][j] R[r][c], rows of R kSkinnyWidth apart.
  void (*add)(std::size_t n, const T* const* rows, const float* R, std::size_t k, float* G, std::size_t stride);
};

struct SkinnyLoops {
  SkinnyLoopsOf<float> single;
  SkinnyLoopsOf<Half> half;                                     // none where the processor does not convert
  void (*narrow)(std::size_t n, const float* x, Half* out);  // rounds to nearest; none, likewise
  template <class T>
  const SkinnyLoopsOf<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return single;
    } else {
      return half;
    }
  }
};

extern const SkinnyLoops skinny_loops_base, skinny_loops_avx2, skinny_loops_avx512;

inline const SkinnyLoops& skinny_loops() { return for_processor(skinny_loops_base, skinny_loops_avx2,
                                                                skinny_loops_avx512); }

}  // namespace hinge
