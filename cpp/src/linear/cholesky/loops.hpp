// loops.hpp: the loops of cholesky.cpp and gram.cpp; AVX2 by run-time dispatch.
#pragma once

#include <cstddef>

#include "simd/dispatch.hpp"

namespace hinge {

constexpr std::size_t kStrip = 12;  // rows of a strip: three vectors

struct FactorLoops {
  // A = LLᵀ in place (the lower triangle of a row-major matrix); false if A is not positive definite.
  bool (*factorize_block)(double* a, std::size_t size, std::size_t stride);
  // The panel below a diagonal block is stored in strips of kStrip rows, each strip by columns.  Multiplies its rows
  // [first, last), multiples of four, by the inverse of Lᵀ.
  void (*solve_panel)(const double* block, std::size_t width, std::size_t stride, double* panel, std::size_t first,
                 std::size_t last);
  // Subtracts the products of these rows from the rest, up to the diagonal (and up to three columns beyond it).
  void (*subtract_panel)(const double* panel, std::size_t width, std::size_t first, std::size_t last, double* rest,
               std::size_t stride);
  // out[r · out_stride + c] −= ⟨row r, column c⟩ of `count` values; rows and columns have the given stride
  void (*subtract_products)(const double* rows, std::size_t height, const double* columns, std::size_t width,
                            std::size_t stride, std::size_t count, double* out, std::size_t out_stride);
};

extern const FactorLoops factor_loops_base, factor_loops_avx2;

inline const FactorLoops& factor_loops() { return for_processor(factor_loops_base, factor_loops_avx2); }

}  // namespace hinge
