// ops.hpp: vector loops of the linear solver: rows of float or double with vectors of double, and losses; AVX2 by
// run-time dispatch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/dispatch.hpp"

namespace hinge {

constexpr double kHugeInverse = 1e300;  // stands for 1/D with D = 0

// The losses (101) of n samples.  `target` includes the shift D β^k of a proximal step; `inverse` is 1/D or
// kHugeInverse; nullptr if it is kHugeInverse for all samples.
struct LossArrays {
  const double *target, *lower, *upper, *ridge, *inverse;
  double tube;
  std::size_t n;
};

struct LossBounds {
  double gap = 0, loss = 0, violation = 0, sum = 0;  // Σ (106), Σ ℓ, the largest violation, Σ β
};
struct LossLine {
  double slope = 0, curvature = 0;  // Σ β* q and its derivative, along f + b + τ q: the parts of (114)
};
struct LossRoot {
  double sum = 0, mass = 0, rise = 0;  // Σ β*, Σ |β*| and −dΣβ*/db: the parts of (107)
};

struct LinearOps {
  double (*dot_float)(const float* x, const double* w, std::size_t d);
  double (*dot_double)(const double* x, const double* w, std::size_t d);
  void (*add_float)(const float* x, double factor, double* w, std::size_t d);
  void (*add_double)(const double* x, double factor, double* w, std::size_t d);
  // For `rows` contiguous rows: inner products with w, and w += Σ factor x
  void (*dots_float)(const float* x, std::size_t rows, std::size_t d, const double* w, double* out);
  void (*dots_double)(const double* x, std::size_t rows, std::size_t d, const double* w, double* out);
  void (*adds_float)(const float* x, const double* factor, std::size_t rows, std::size_t d, double* w);
  void (*adds_double)(const double* x, const double* factor, std::size_t rows, std::size_t d, double* w);
  // number of nonzero values of a row and their positions as bits, 64 per word, the first in the lowest bit
  std::size_t (*bits_float)(const float* x, std::size_t d, std::uint64_t* words);
  std::size_t (*bits_double)(const double* x, std::size_t d, std::uint64_t* words);
  // packs these values and their columns; writes up to seven places beyond the last one
  void (*pack_float)(const float* x, std::size_t d, const std::uint64_t* words, float* values, std::int32_t* index);
  void (*pack_double)(const double* x, std::size_t d, const std::uint64_t* words, double* values, std::int32_t* index);
  // for a − w and b − w: cross += inner product, curvature += ‖sum‖²
  void (*lanes)(const double* w, const double* a, const double* b, std::size_t d, double* cross, double* curvature);
  // w += step (a − w + b − w); a = b = w
  void (*merge)(double* w, double* a, double* b, std::size_t d, double step);
  // upper triangle of H += Σ_r scale[r] x_r x_rᵀ for eight rows of `stride` (a multiple of 4) doubles
  void (*rank8)(const double* rows, const double* scale, std::size_t stride, double* h);
  void (*best)(const LossArrays& loss, const double* f, double b, double* beta);  // (102)
  LossBounds (*bounds)(const LossArrays& loss, const double* f, double b, const double* beta, double* parts);
  LossLine (*line)(const LossArrays& loss, const double* f, double b, const double* q, double q_bias, double tau);
  LossRoot (*root)(const LossArrays& loss, const double* f, double b);
};

extern const LinearOps linear_ops_base, linear_ops_avx2;

inline const LinearOps& linear_ops() { return for_processor(linear_ops_base, linear_ops_avx2); }

inline double dot(const LinearOps& ops, const float* x, const double* w, std::size_t d) {
  return ops.dot_float(x, w, d);
}
inline double dot(const LinearOps& ops, const double* x, const double* w, std::size_t d) {
  return ops.dot_double(x, w, d);
}
inline std::size_t bits(const LinearOps& ops, const float* x, std::size_t d, std::uint64_t* words) {
  return ops.bits_float(x, d, words);
}
inline std::size_t bits(const LinearOps& ops, const double* x, std::size_t d, std::uint64_t* words) {
  return ops.bits_double(x, d, words);
}
inline void pack(const LinearOps& ops, const float* x, std::size_t d, const std::uint64_t* words, float* values,
                 std::int32_t* index) {
  ops.pack_float(x, d, words, values, index);
}
inline void pack(const LinearOps& ops, const double* x, std::size_t d, const std::uint64_t* words, double* values,
                 std::int32_t* index) {
  ops.pack_double(x, d, words, values, index);
}
inline void add(const LinearOps& ops, const float* x, double factor, double* w, std::size_t d) {
  ops.add_float(x, factor, w, d);
}
inline void add(const LinearOps& ops, const double* x, double factor, double* w, std::size_t d) {
  ops.add_double(x, factor, w, d);
}

}  // namespace hinge
