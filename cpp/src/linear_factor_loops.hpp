// linear_factor_loops.hpp: the loops of linear_factor.cpp and linear_gram.cpp; AVX2 by run-time dispatch.
#pragma once

#include <cstddef>

namespace hinge {

struct FactorLoops {
  bool (*cholesky)(double* a, std::size_t size, std::size_t stride);  // A = LLᵀ in place; false: A is not positive
  // `height` rows times the inverse of Lᵀ, in place; rows and those of L are `stride` apart
  void (*solve_rows)(const double* l, std::size_t size, std::size_t stride, double* rows, std::size_t height);
  // out[r · apart + c] −= ⟨row r, column c⟩ of `count` values; rows and columns are lines that are `stride` apart
  void (*subtract_products)(const double* rows, std::size_t height, const double* columns, std::size_t width,
                            std::size_t stride, std::size_t count, double* out, std::size_t apart);
};

const FactorLoops& factor_loops();

}  // namespace hinge
