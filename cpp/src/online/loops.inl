// loops.inl: the loops of loops.hpp; compiled for each instruction set (simd/dispatch.hpp).
#include "kernels/loops/terms.hpp"
#include "kernels/loops/vector_ops.hpp"
#include "online/loops.hpp"
#include "simd/exp.hpp"
#include "simd/vectors.hpp"

namespace hinge {
namespace {

constexpr size_t kVectors = kPad / kLanes<double>;  // of one strip

// Four vectors of sums stay in registers during the loop over the features.
template <class Term>
HINGE_INLINE void strip_sums(size_t d, const double* x, const double* z, Double4* sum) {
  for (size_t f = 0; f < d; ++f, z += kPad) {
    const Double4 xv = Double4{} + x[f];
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      Double4 zv;
      load(z + v * kLanes<double>, zv);
      Term::template add<Double4, Long4>(sum[v], xv, zv);
    }
  }
}

template <class Term>
void against_strips(size_t strips, size_t d, const double* x, const double* z, double* out) {
  for (size_t s = 0; s < strips; ++s, z += d * kPad, out += kPad) {
    Double4 sum[kVectors] = {};
    strip_sums<Term>(d, x, z, sum);
    __builtin_memcpy(out, sum, sizeof sum);
  }
}

// S strips at a time, for enough independent sums.
template <size_t S>
HINGE_INLINE void gaussian_strips(size_t d, double scale, const double* x, const double* z,
                                  double* out) {
  Double4 sum[S * kVectors] = {};
  for (size_t f = 0; f < d; ++f) {
    const Double4 xv = {x[f], x[f], x[f], x[f]};
#pragma GCC unroll 8
    for (size_t v = 0; v < S * kVectors; ++v) {
      Double4 zv;
      load(z + (v / kVectors * d + f) * kPad + v % kVectors * kLanes<double>, zv);
      Squared::add<Double4, Long4>(sum[v], xv, zv);
    }
  }
#pragma GCC unroll 8
  for (size_t v = 0; v < S * kVectors; ++v) {
    sum[v] = sum[v] * scale;
    exp_negative<double>(sum[v]);
  }
  __builtin_memcpy(out, sum, sizeof sum);
}

void gaussian_against_strips(size_t strips, size_t d, double scale, const double* x, const double* z, double* out) {
  size_t s = 0;
  for (; s + 2 <= strips; s += 2) gaussian_strips<2>(d, scale, x, z + s * d * kPad, out + s * kPad);
  if (s < strips) gaussian_strips<1>(d, scale, x, z + s * d * kPad, out + s * kPad);
}

double sum_of_products(size_t strips, const double* a, const double* b) {
  Double4 sum[kVectors] = {};
  for (size_t s = 0; s < strips; ++s, a += kPad, b += kPad) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      Double4 av, bv;
      load(a + v * kLanes<double>, av);
      load(b + v * kLanes<double>, bv);
      sum[v] += av * bv;
    }
  }
  const Double4 all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  return hinge::sum(all);
}

}  // namespace
}  // namespace hinge
