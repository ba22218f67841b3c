// skinny_loops.hpp: the inner loops of skinny products, compiled for several instruction sets (simd/dispatch.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/dispatch.hpp"

namespace hinge {

using Half = std::uint16_t;  // the bits of a float16

inline constexpr std::size_t kSkinnyRows = 16, kSkinnyWidth = 16;  // rows of K and columns of W of one call
inline constexpr std::size_t kSkinnyPad = 16;  // columns of W and G are padded with zeros to a multiple of this

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
  SkinnyLoopsOf<Half> half;  // null pointers without float16 conversions
  void (*to_half)(std::size_t n, const float* x, Half* out);  // rounds to nearest; nullptr without float16 conversions
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

inline const SkinnyLoops& skinny_loops() {
  return for_processor(skinny_loops_base, skinny_loops_avx2, skinny_loops_avx512);
}

}  // namespace hinge
