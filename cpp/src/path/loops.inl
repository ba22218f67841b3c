// loops.inl: the loops of loops.hpp; compiled for each instruction set (simd/dispatch.hpp).
#include "path/loops.hpp"

namespace hinge {
namespace {

double dot(const double* a, const double* b, std::size_t n) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;  // four independent sums
  const std::size_t quarter = n / 16 * 4;
  const double *a1 = a + quarter, *b1 = b + quarter, *a2 = a1 + quarter, *b2 = b1 + quarter;
  const double *a3 = a2 + quarter, *b3 = b2 + quarter;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
  for (std::size_t i = 0; i < quarter; ++i) {
    s0 += a[i] * b[i];
    s1 += a1[i] * b1[i];
    s2 += a2[i] * b2[i];
    s3 += a3[i] * b3[i];
  }
  for (std::size_t i = 4 * quarter; i < n; ++i) s0 += a[i] * b[i];
  return (s0 + s1) + (s2 + s3);
}

void axpy(double a, const double* x, double* y, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

constexpr std::size_t kBlock = 1024;      // columns that stay in the L1 cache
constexpr std::size_t kLongBlock = 5120;  // columns of out that stay in the L2 cache while rows are read contiguously

void combine(const double* a, const double* const* rows, std::size_t count, double* out, std::size_t n) {
  for (std::size_t first = 0; first < n; first += kLongBlock) {
    const std::size_t last = first + kLongBlock < n ? first + kLongBlock : n;
    std::size_t k = 0;
    for (; k + 8 <= count; k += 8) {
      const double a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
      const double a4 = a[k + 4], a5 = a[k + 5], a6 = a[k + 6], a7 = a[k + 7];
      const double *r0 = rows[k], *r1 = rows[k + 1], *r2 = rows[k + 2], *r3 = rows[k + 3];
      const double *r4 = rows[k + 4], *r5 = rows[k + 5], *r6 = rows[k + 6], *r7 = rows[k + 7];
#pragma omp simd
      for (std::size_t i = first; i < last; ++i)
        out[i] += ((a0 * r0[i] + a1 * r1[i]) + (a2 * r2[i] + a3 * r3[i])) +
                  ((a4 * r4[i] + a5 * r5[i]) + (a6 * r6[i] + a7 * r7[i]));
    }
    for (; k + 4 <= count; k += 4) {
      const double a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
      const double *r0 = rows[k], *r1 = rows[k + 1], *r2 = rows[k + 2], *r3 = rows[k + 3];
#pragma omp simd
      for (std::size_t i = first; i < last; ++i) out[i] += (a0 * r0[i] + a1 * r1[i]) + (a2 * r2[i] + a3 * r3[i]);
    }
    for (; k < count; ++k) {
      const double a0 = a[k];
      const double* r0 = rows[k];
#pragma omp simd
      for (std::size_t i = first; i < last; ++i) out[i] += a0 * r0[i];
    }
  }
}

void combine_compensated(const double* a, const double* const* rows, std::size_t count, double* out, double* low,
                         std::size_t n) {
  double sum[kBlock];  // of four rows; in a separate loop, so that additions below are not fused with multiplications
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t size = first + kBlock < n ? kBlock : n - first;
    double *high = out + first, *rest = low + first;
    for (std::size_t k = 0; k < count; k += 4) {
      for (std::size_t i = 0; i < size; ++i) sum[i] = 0;
      const std::size_t some = count - k < 4 ? count - k : 4;
      const double* some_rows[4];
      for (std::size_t j = 0; j < some; ++j) some_rows[j] = rows[k + j] + first;
      combine(a + k, some_rows, some, sum, size);
#pragma omp simd
      for (std::size_t i = 0; i < size; ++i) {  // [Knuth]: high + sum = both + error, exactly
        const double both = high[i] + sum[i], part = both - high[i];
        rest[i] += (high[i] - (both - part)) + (sum[i] - part);
        high[i] = both;
      }
    }
#pragma omp simd
    for (std::size_t i = 0; i < size; ++i) {  // out is the rounded sum
      const double both = high[i] + rest[i];
      rest[i] -= both - high[i];
      high[i] = both;
    }
  }
}

double rates(const double* a, const double* b, double shift, double* out, std::size_t n) {
  double top = 0;
#pragma omp simd reduction(max : top)
  for (std::size_t i = 0; i < n; ++i) {
    const double rate = a[i] + b[i] + shift, size = rate < 0 ? -rate : rate;
    out[i] = rate;
    top = size > top ? size : top;
  }
  return top;
}

}  // namespace
}  // namespace hinge
