// loops.hpp: the loops in which the parametric engine spends its time, compiled once for any x86-64 and once for
// AVX2.
#pragma once

#include <cstddef>

#include "simd/dispatch.hpp"

namespace hinge {

struct PathLoops {
  double (*dot)(const double* a, const double* b, std::size_t n);
  void (*axpy)(double a, const double* x, double* y, std::size_t n);  // y += a x
  // out += Σ_k a[k] rows[k]
  void (*combine)(const double* a, const double* const* rows, std::size_t count, double* out, std::size_t n);
  // The same into out + low, where low has what is lost by adding (four rows at a time); out is that sum, rounded.
  // (252)
  void (*combine_exactly)(const double* a, const double* const* rows, std::size_t count, double* out, double* low,
                          std::size_t n);
  // out = a + b + shift; the largest of these in size.
  double (*rates)(const double* a, const double* b, double shift, double* out, std::size_t n);
};

extern const PathLoops path_loops_base, path_loops_avx2;

inline const PathLoops& path_loops() { return for_processor(path_loops_base, path_loops_avx2); }

}  // namespace hinge
