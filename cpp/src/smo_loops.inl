// smo_loops.inl: see smo_loops.hpp.  Included by smo_loops_base.cpp and smo_loops_avx2.cpp; no std templates here.
#include "smo_loops.hpp"

namespace hinge {
namespace {

constexpr double kInfinity = __builtin_huge_val();

Thresholds thresholds(const double* f, const double* c, const double* can_rise, const double* can_fall,
                      std::size_t n) {
  double up = -kInfinity, low = kInfinity;
#pragma omp simd reduction(max : up) reduction(min : low)
  for (std::size_t v = 0; v < n; ++v) {
    const double descent = -(f[v] + c[v]);
    const double rising = descent - can_rise[v], falling = descent + can_fall[v];
    up = rising > up ? rising : up;
    low = falling < low ? falling : low;
  }
  return {up, low};
}

template <class T>
double gains(const double* f, const double* c, const double* can_fall, const double* diagonal, const T* row, double up,
             double diagonal_i, double tau, double* gain, std::size_t n) {
  double best = 0;
#pragma omp simd reduction(max : best)
  for (std::size_t v = 0; v < n; ++v) {
    double slope = up + f[v] + c[v] - can_fall[v];
    slope = slope > 0 ? slope : 0;
    double curvature = diagonal_i + diagonal[v] - 2 * static_cast<double>(row[v]);
    curvature = curvature > tau ? curvature : tau;
    const double value = slope * slope / curvature;
    gain[v] = value;
    best = value > best ? value : best;
  }
  return best;
}

template <class T>
void update(double* f, const T* x, double a, const T* y, double b, std::size_t n) {
#pragma omp simd
  for (std::size_t k = 0; k < n; ++k) f[k] += a * static_cast<double>(x[k]) + b * static_cast<double>(y[k]);
}

}  // namespace
}  // namespace hinge
