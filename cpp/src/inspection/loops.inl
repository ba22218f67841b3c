// loops.inl: the loops of loops.hpp, with vectors of four doubles.  n is a multiple of kShapleyBlock.
#include "inspection/loops.hpp"
#include "simd/exp.hpp"
#include "simd/vectors.hpp"

namespace hinge {
namespace {

void exp_nonpositive(double* x, size_t n) {
  for (size_t i = 0; i < n; i += 4) {
    Double4 v = load4(x + i);
    exp_negative<double>(v);
    store(x + i, v);
  }
}

double spread(const double* b, const double* delta, size_t n) {
  Double4 total[4] = {};
  for (size_t i = 0; i < n; i += 16) {
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; ++k) {
      const Double4 d = load4(delta + i + 4 * k), twice = load4(b + i + 4 * k) * 2.0 + d;
      total[k] += (d < 0.0 ? -d : d) / twice;
    }
  }
  return sum((total[0] + total[1]) + (total[2] + total[3]));
}

double blend(const double* b, const double* delta, double t, double* c, size_t n) {
  Double4 product[4];
  for (Double4& p : product) p = Double4{} + 1.0;
  for (size_t i = 0; i < n; i += 16) {
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; ++k) {
      const Double4 value = load4(b + i + 4 * k) + t * load4(delta + i + 4 * k);
      store(c + i + 4 * k, value);
      product[k] *= value;
    }
  }
  const Double4 p = (product[0] * product[1]) * (product[2] * product[3]);
  return (p[0] * p[1]) * (p[2] * p[3]);
}

void add_quotients(double scale, const double* c, double* out, size_t n) {
  for (size_t i = 0; i < n; i += 4) store(out + i, load4(out + i) + scale / load4(c + i));
}

void divide(const double* delta, const double* c, double* out, size_t n) {
  for (size_t i = 0; i < n; i += 4) store(out + i, load4(delta + i) / load4(c + i));
}

void axpy(double a, const double* x, double* y, size_t n) {
  for (size_t i = 0; i < n; i += 4) store(y + i, load4(y + i) + a * load4(x + i));
}

}  // namespace
}  // namespace hinge
