// smo_loops.hpp: the four loops in which SMO spends its time, compiled once for any x86-64 and once for AVX2.
// `can_rise` and `can_fall` are 0 where the variable may move that way and +inf where it may not, so that the loops
// have no branches: a variable that cannot move never wins a comparison.
#pragma once

#include <cstddef>

namespace hinge {

struct Thresholds {
  double up, low;  // max of −g over variables that can rise, min of −g over those that can fall
};

struct SmoLoops {
  Thresholds (*thresholds)(const double* f, const double* c, const double* can_rise, const double* can_fall,
                           std::size_t n);
  // gain[v] = (up + g_v)²₊ / max(d_i + d_v − 2 K_iv, tau) over variables that can fall; returns the largest
  double (*gains_f32)(const double* f, const double* c, const double* can_fall, const double* diagonal,
                      const float* row, double up, double diagonal_i, double tau, double* gain, std::size_t n);
  double (*gains_f64)(const double* f, const double* c, const double* can_fall, const double* diagonal,
                      const double* row, double up, double diagonal_i, double tau, double* gain, std::size_t n);
  // f += a·x + b·y
  void (*update_f32)(double* f, const float* x, double a, const float* y, double b, std::size_t n);
  void (*update_f64)(double* f, const double* x, double a, const double* y, double b, std::size_t n);
};

extern const SmoLoops smo_loops_base;
extern const SmoLoops smo_loops_avx2;

inline const SmoLoops& smo_loops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return smo_loops_avx2;
#endif
  return smo_loops_base;
}

}  // namespace hinge
