// loops.hpp: one sample against the terms of an expansion, compiled once for any processor and once for AVX2.
// Terms lie in strips of kPad, side by side, feature by feature: strip[f * kPad + lane].  Every sum is made feature by
// feature, so a value depends on its own term only.  Arrays are aligned; x has d features, out has strips * kPad
// places.
#pragma once

#include <cstddef>

#include "simd/dispatch.hpp"

namespace hinge {

struct OnlineLoops {
  using Against = void(std::size_t strips, std::size_t d, const double* x, const double* z, double* out);
  Against* dot;      // Σ x z
  Against* squared;  // Σ (x - z)²
  Against* l1;       // Σ |x - z|
  // exp(scale Σ (x - z)²), scale <= 0
  void (*gaussian)(std::size_t strips, std::size_t d, double scale, const double* x, const double* z, double* out);
  double (*sum)(std::size_t strips, const double* a, const double* b);  // Σ a b
};

extern const OnlineLoops online_loops_base, online_loops_avx2;

inline const OnlineLoops& online_loops() { return for_processor(online_loops_base, online_loops_avx2); }

}  // namespace hinge
