// vectors.hpp: vectors of floats and doubles, with the vector extension of GCC and Clang.
//
// Included only by the .inl files that are compiled for several instruction sets (simd/dispatch.hpp).  Everything has
// internal linkage and is inlined, because a function with external linkage that was compiled for AVX2 could be linked
// into code for any processor.  For the same reason these files use no template of the standard library.
#pragma once

#include <cstddef>

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are only passed to inlined functions: their ABI does not matter

#define HINGE_INLINE static inline __attribute__((always_inline))      // for functions and static member functions
#define HINGE_INLINE_MEMBER inline __attribute__((always_inline))      // for other member functions

namespace hinge {
namespace {

using std::size_t;

typedef double Double4 __attribute__((vector_size(32)));
typedef long long Long4 __attribute__((vector_size(32)));
typedef float Float8 __attribute__((vector_size(32)));
typedef int Int8 __attribute__((vector_size(32)));
typedef float Float4 __attribute__((vector_size(16)));

// The vector of 32 bytes with elements of type T, and the vector of integers of the same size.
template <class T>
struct Lanes;
template <>
struct Lanes<double> {
  using Vector = Double4;
  using Bits = Long4;
  static constexpr Bits iota = {0, 1, 2, 3};
};
template <>
struct Lanes<float> {
  using Vector = Float8;
  using Bits = Int8;
  static constexpr Bits iota = {0, 1, 2, 3, 4, 5, 6, 7};
};

// ---- memory: addresses need no alignment ----

HINGE_INLINE void load(const double* p, Double4& v) { __builtin_memcpy(&v, p, sizeof v); }
HINGE_INLINE void load(const float* p, Float8& v) { __builtin_memcpy(&v, p, sizeof v); }
HINGE_INLINE void load(const float* p, Double4& v) {
  Float4 f;
  __builtin_memcpy(&f, p, sizeof f);
  v = __builtin_convertvector(f, Double4);
}
template <class T>
HINGE_INLINE Double4 load4(const T* p) {
  Double4 v;
  load(p, v);
  return v;
}
HINGE_INLINE void store(double* p, const Double4& v) { __builtin_memcpy(p, &v, sizeof v); }
HINGE_INLINE void store(float* p, const Float8& v) { __builtin_memcpy(p, &v, sizeof v); }

// The same for one value, so that the loop over vectors and the loop over the remaining values share a template.
HINGE_INLINE void load(const double* p, double& v) { v = *p; }
HINGE_INLINE void store(double* p, double v) { *p = v; }

// ---- reductions ----

HINGE_INLINE double sum(const Double4& v) { return (v[0] + v[1]) + (v[2] + v[3]); }
HINGE_INLINE double sum(double v) { return v; }
HINGE_INLINE double maximum(const Double4& v) {
  const double a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
  return a > b ? a : b;
}
HINGE_INLINE double maximum(double v) { return v; }

// The sums over the lanes of four vectors, all in the same order.
HINGE_INLINE void sum_lanes(const Double4* a, double* out) {
  const Double4 ab =
      __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6) + __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7);
  const Double4 cd =
      __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6) + __builtin_shufflevector(a[2], a[3], 1, 5, 3, 7);
  const Double4 sums =
      __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  __builtin_memcpy(out, &sums, sizeof sums);
}
HINGE_INLINE void sum_lanes(const Float8* a, float* out) {
  const Float8 ab = __builtin_shufflevector(a[0], a[1], 0, 8, 2, 10, 4, 12, 6, 14) +
                    __builtin_shufflevector(a[0], a[1], 1, 9, 3, 11, 5, 13, 7, 15);
  const Float8 cd = __builtin_shufflevector(a[2], a[3], 0, 8, 2, 10, 4, 12, 6, 14) +
                    __builtin_shufflevector(a[2], a[3], 1, 9, 3, 11, 5, 13, 7, 15);
  const Float8 abcd = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) +
                      __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
  Float4 low, high;
  __builtin_memcpy(&low, &abcd, sizeof low);
  __builtin_memcpy(&high, reinterpret_cast<const char*>(&abcd) + sizeof low, sizeof high);
  const Float4 sums = low + high;
  __builtin_memcpy(out, &sums, sizeof sums);
}

// ---- transposition of a square of lanes ----

HINGE_INLINE void transpose(Double4* a) {
  const Double4 t0 = __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6), t1 = __builtin_shufflevector(a[0], a[1], 1, 5, 3,
      7);
  const Double4 t2 = __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6), t3 = __builtin_shufflevector(a[2], a[3], 1, 5, 3,
      7);
  a[0] = __builtin_shufflevector(t0, t2, 0, 1, 4, 5);
  a[1] = __builtin_shufflevector(t1, t3, 0, 1, 4, 5);
  a[2] = __builtin_shufflevector(t0, t2, 2, 3, 6, 7);
  a[3] = __builtin_shufflevector(t1, t3, 2, 3, 6, 7);
}
HINGE_INLINE void transpose(Float8* a) {
  Float8 t[8], u[8];
#pragma GCC unroll 4
  for (int k = 0; k < 8; k += 2) {
    t[k] = __builtin_shufflevector(a[k], a[k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[k + 1] = __builtin_shufflevector(a[k], a[k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int k = 0; k < 8; k += 4) {
    u[k] = __builtin_shufflevector(t[k], t[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    u[k + 1] = __builtin_shufflevector(t[k], t[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    u[k + 2] = __builtin_shufflevector(t[k + 1], t[k + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    u[k + 3] = __builtin_shufflevector(t[k + 1], t[k + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    a[k] = __builtin_shufflevector(u[k], u[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    a[k + 4] = __builtin_shufflevector(u[k], u[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

}  // namespace
}  // namespace hinge
