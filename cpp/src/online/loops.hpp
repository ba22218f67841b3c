// loops.hpp: kernel values of one sample with all terms of an expansion; compiled for several instruction sets
// (simd/dispatch.hpp).
// Terms are stored in strips of kPad: strip[f * kPad + lane] is feature f of a term.  Sums are in the order of the
// features, so a value depends on its own term only.  Arrays are aligned; x has d features, out has strips * kPad
// elements.
#pragma once

#include <cstddef>

#include "simd/dispatch.hpp"

namespace hinge {

struct OnlineLoops {
  using StripOperation = void(std::size_t strips, std::size_t d, const double* x, const double* z, double* out);
  StripOperation* dot;      // Σ x z
  StripOperation* squared;  // Σ (x - z)²
  StripOperation* l1;       // Σ |x - z|
  // exp(scale Σ (x - z)²), scale <= 0
  void (*gaussian)(std::size_t strips, std::size_t d, double scale, const double* x, const double* z, double* out);
  double (*sum)(std::size_t strips, const double* a, const double* b);  // Σ a b
};

extern const OnlineLoops online_loops_base, online_loops_avx2;

inline const OnlineLoops& online_loops() { return for_processor(online_loops_base, online_loops_avx2); }

}  // namespace hinge
