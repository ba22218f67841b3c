// loops.hpp: the inner loops of Shapley values, compiled for several instruction sets (simd/dispatch.hpp).
//
// Arrays have a multiple of kShapleyBlock entries.  Padding has b = 1 and delta = 0, which changes no product and no sum.
#pragma once

#include <cstddef>

#include "simd/dispatch.hpp"

namespace hinge {

constexpr std::size_t kShapleyBlock = 16;

struct ShapleyLoops {
  void (*exp_nonpositive)(double* x, std::size_t n);  // x = exp(x) for x ≤ 0; 0 below the smallest normal number
  double (*spread)(const double* b, const double* delta, std::size_t n);  // Σ |delta| / (2b + delta)
  // c = b + t delta; returns the product of c.
  double (*blend)(const double* b, const double* delta, double t, double* c, std::size_t n);
  void (*add_quotients)(double scale, const double* c, double* sum, std::size_t n);  // sum += scale / c
  void (*divide)(const double* delta, const double* c, double* out, std::size_t n);  // out = delta / c
  void (*axpy)(double a, const double* x, double* y, std::size_t n);                 // y += a x
};

extern const ShapleyLoops shapley_loops_base, shapley_loops_avx2;

inline const ShapleyLoops& shapley_loops() { return for_processor(shapley_loops_base, shapley_loops_avx2); }

}  // namespace hinge
