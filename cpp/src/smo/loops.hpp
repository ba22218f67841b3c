// loops.hpp: the inner loops of SMO, compiled for several instruction sets (simd/dispatch.hpp).
//
// rise[k] is the linear term of the variable of sample k that can increase, +inf if none can; fall[k] that of the
// variable that can decrease, -inf if none can.  With these values the loops need no branches.
#pragma once

#include <cstddef>

#include "simd/dispatch.hpp"

namespace hinge {

struct Thresholds {
  double up, low;  // max of -(f + rise), min of -(f + fall)
  std::size_t at;  // the first sample that attains up; n if none can increase
};

struct Partner {
  double gain;     // 0 if there is no partner
  std::size_t at;  // the first sample that attains it
};

struct SmoLoops {
  Thresholds (*select)(const double* f, const double* rise, const double* fall, std::size_t n);
  // f += a·x + b·y, then select.
  Thresholds (*step_f32)(double* f, const float* x, double a, const float* y, double b, const double* rise,
                         const double* fall, std::size_t n);
  Thresholds (*step_f64)(double* f, const double* x, double a, const double* y, double b, const double* rise,
                         const double* fall, std::size_t n);
  // The largest (up + f_k + fall_k)²₊ / max(d_i + d_k − 2 K_ik, tau), in the precision of the row.
  Partner (*partner_f32)(const double* f, const double* fall, const float* diagonal, const float* row, double up,
                         double diagonal_i, double tau, std::size_t n);
  Partner (*partner_f64)(const double* f, const double* fall, const double* diagonal, const double* row, double up,
                         double diagonal_i, double tau, std::size_t n);
  // f += Σ_r a_r x_r for `rows` rows, beginning at their column `first`.
  void (*add_f32)(double* f, const float* const* x, const double* a, std::size_t rows, std::size_t first,
                  std::size_t n);
  void (*add_f64)(double* f, const double* const* x, const double* a, std::size_t rows, std::size_t first,
                  std::size_t n);
};

extern const SmoLoops smo_loops_base, smo_loops_avx2;

inline const SmoLoops& smo_loops() { return for_processor(smo_loops_base, smo_loops_avx2); }

}  // namespace hinge
