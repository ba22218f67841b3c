// skinny_loops.inl: the loops of skinny_loops.hpp; compiled for each instruction set (simd/dispatch.hpp).
// Vectors run along the rows of K, so that all lanes are used for any number of columns of W.
#include "products/skinny_loops.hpp"
#include "simd/vectors.hpp"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace hinge {
namespace {

#ifdef __AVX512F__
constexpr size_t kLanes = 16, kTileRows = 4, kAddRows = 16;  // 32 registers
#else
constexpr size_t kLanes = 8, kTileRows = 2, kAddRows = 8;
#endif
constexpr size_t kTileColumns = 5;
constexpr size_t kChunk = 1024;  // columns of K: data that are read again within a chunk stay in the L1 cache
typedef float Floats __attribute__((vector_size(4 * kLanes)));

HINGE_INLINE Floats load(const float* p) {
  Floats v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
#ifdef __AVX512F__
HINGE_INLINE void store(float* p, const Floats& v) { __builtin_memcpy(p, &v, sizeof v); }
#endif

#if defined(__AVX512F__)
HINGE_INLINE Floats load(const Half* p) {
  constexpr __mmask16 all = 0xFFFF;  // without a mask GCC 12 warns about its own header
  return (Floats)_mm512_maskz_cvtph_ps(all, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
#elif defined(__F16C__)
HINGE_INLINE Floats load(const Half* p) {
  return (Floats)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
#endif

// The sum of all lanes: in float down to four partial sums, then in double.
HINGE_INLINE double lane_sum(const Floats& v) {
  Float4 part[kLanes / 4];
  __builtin_memcpy(part, &v, sizeof part);
  Float4 four = part[0] + part[1];
  for (size_t l = 2; l < kLanes / 4; l += 2) four += part[l] + part[l + 1];
  return (static_cast<double>(four[0]) + static_cast<double>(four[1])) +
         (static_cast<double>(four[2]) + static_cast<double>(four[3]));
}

// sums[r][c] += Σ_j rows[r][j] W[c][j] over whole vectors, summed in float lane by lane and then in double.
template <class T, size_t R, size_t C>
HINGE_INLINE void tile(size_t first, size_t last, const T* const* rows, const float* W, size_t stride, double* sums) {
  Floats s[R][C] = {};
  for (size_t j = first; j < last; j += kLanes) {
    Floats k[R];
#pragma GCC unroll 8
    for (size_t r = 0; r < R; ++r) k[r] = load(rows[r] + j);
#pragma GCC unroll 8
    for (size_t c = 0; c < C; ++c) {
      const Floats w = load(W + c * stride + j);
#pragma GCC unroll 8
      for (size_t r = 0; r < R; ++r) s[r][c] += k[r] * w;
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (size_t c = 0; c < C; ++c) sums[r * kSkinnyWidth + c] += lane_sum(s[r][c]);
  }
}

template <class T, size_t C>
void tiles(size_t first, size_t last, const T* const* rows, const float* W, size_t stride, double* sums) {
  for (size_t r = 0; r < kSkinnyRows; r += kTileRows)
    tile<T, kTileRows, C>(first, last, rows + r, W, stride, sums + r * kSkinnyWidth);
}

template <class T>
void chunk_times(size_t first, size_t last, const T* const* rows, const float* W, size_t stride, size_t k,
                 double* sums) {
  size_t c = 0;
  for (; c + kTileColumns <= k; c += kTileColumns)
    tiles<T, kTileColumns>(first, last, rows, W + c * stride, stride, sums + c);
  static_assert(kTileColumns == 5, "the cases below");
  const float* const rest = W + c * stride;
  switch (k - c) {
    case 4: return tiles<T, 4>(first, last, rows, rest, stride, sums + c);
    case 3: return tiles<T, 3>(first, last, rows, rest, stride, sums + c);
    case 2: return tiles<T, 2>(first, last, rows, rest, stride, sums + c);
    case 1: return tiles<T, 1>(first, last, rows, rest, stride, sums + c);
    default: return;
  }
}

// The last columns of the rows, fewer than a vector, padded with zeros.
template <class T>
struct Tail {
  Tail(size_t n, const T* const* rows) : whole(n / kLanes * kLanes) {
    for (size_t r = 0; r < kSkinnyRows; ++r) {
      for (size_t j = whole; j < n; ++j) values[r][j - whole] = rows[r][j];
      row[r] = values[r];
    }
  }
  const size_t whole;
  T values[kSkinnyRows][kLanes] = {};
  const T* row[kSkinnyRows];
};

template <class T>
void times(size_t n, const T* const* rows, const float* W, size_t stride, size_t k, float* out) {
  double sums[kSkinnyRows * kSkinnyWidth] = {};
  const Tail<T> tail(n, rows);
  for (size_t first = 0; first < tail.whole; first += kChunk) {
    const size_t last = first + kChunk < tail.whole ? first + kChunk : tail.whole;
    chunk_times(first, last, rows, W, stride, k, sums);
  }
  if (tail.whole < n) chunk_times(0, kLanes, tail.row, W + tail.whole, stride, k, sums);
  for (size_t r = 0; r < kSkinnyRows; ++r)
    for (size_t c = 0; c < k; ++c) out[r * kSkinnyWidth + c] = static_cast<float>(sums[r * kSkinnyWidth + c]);
}

template <class T>
HINGE_INLINE void add_at(const T* const* rows, size_t j, const float* R, size_t k, float* G, size_t stride) {
  Floats values[kAddRows];
#pragma GCC unroll 16
  for (size_t r = 0; r < kAddRows; ++r) values[r] = load(rows[r] + j);
  for (size_t c = 0; c < k; ++c) {
    float* const to = G + c * stride;
    Floats odd = load(to), even = values[0] * R[c];  // two independent chains of additions
#pragma GCC unroll 16
    for (size_t r = 1; r < kAddRows; ++r) {
      if (r % 2) {
        odd += values[r] * R[r * kSkinnyWidth + c];
      } else {
        even += values[r] * R[r * kSkinnyWidth + c];
      }
    }
    store(to, odd + even);
  }
}

template <class T>
void add(size_t n, const T* const* rows, const float* R, size_t k, float* G, size_t stride) {
  const Tail<T> tail(n, rows);
  for (size_t r = 0; r < kSkinnyRows; r += kAddRows) {
    const float* const factors = R + r * kSkinnyWidth;
    for (size_t j = 0; j < tail.whole; j += kLanes) add_at(rows + r, j, factors, k, G + j, stride);
    if (tail.whole < n) add_at(tail.row + r, 0, factors, k, G + tail.whole, stride);
  }
}

#ifdef __F16C__
void to_half(size_t n, const float* x, Half* out) {
  constexpr size_t eight = 8;
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT;
  size_t j = 0;
  for (; j + eight <= n; j += eight)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + j), _mm256_cvtps_ph(_mm256_loadu_ps(x + j), nearest));
  for (; j < n; ++j) out[j] = static_cast<Half>(_cvtss_sh(x[j], nearest));
}
constexpr SkinnyLoops kSkinnyLoops = {{times<float>, add<float>}, {times<Half>, add<Half>}, to_half};
#else
constexpr SkinnyLoops kSkinnyLoops = {{times<float>, add<float>}, {nullptr, nullptr}, nullptr};
#endif

}  // namespace
}  // namespace hinge
