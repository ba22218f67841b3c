// loops.hpp: the inner loops of the parametric method, compiled for several instruction sets (simd/dispatch.hpp).
#pragma once

#include <cstddef>

#include "simd/dispatch.hpp"

namespace hinge {

struct PathLoops {
  double (*dot)(const double* a, const double* b, std::size_t n);
  void (*axpy)(double a, const double* x, double* y, std::size_t n);  // y += a x
  // out += Σ_k a[k] rows[k]
  void (*combine)(const double* a, const double* const* rows, std::size_t count, double* out, std::size_t n);
  // The same with compensated summation, four rows at a time: low holds the rounding errors of out.  On return out is
  // the rounded sum out + low.  (252)
  void (*combine_compensated)(const double* a, const double* const* rows, std::size_t count, double* out, double* low,
                          std::size_t n);
  // out = a + b + shift; returns the largest absolute value.
  double (*rates)(const double* a, const double* b, double shift, double* out, std::size_t n);
};

extern const PathLoops path_loops_base, path_loops_avx2;

inline const PathLoops& path_loops() { return for_processor(path_loops_base, path_loops_avx2); }

}  // namespace hinge
