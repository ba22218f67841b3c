// blas.hpp: C = A Bᵀ through somebody else's BLAS.
// The only global of the kernels room: the function pointers, set once before the first use and only read afterwards.
// Without them a plain loop does the same work, slower; the C++ tests run on it.
#pragma once

#include <cstddef>

namespace hinge {

struct Blas {
  void* sgemm = nullptr;  // Fortran calling convention, as in the reference BLAS
  void* dgemm = nullptr;
  bool wide_integers = false;  // integers of 64 bits (ILP64) rather than 32
};

bool has_blas();
void set_blas(const Blas& blas);  // the first call counts, later ones are ignored

// C (m × n) = A (m × k) Bᵀ + (accumulate ? C : 0), B is n × k; all row-major with the given strides.
// k >= kLanes<T> of vector_ops.hpp.
template <class T>
void multiply_transposed(std::size_t m, std::size_t n, std::size_t k, const T* a, std::size_t a_stride, const T* b,
                         std::size_t b_stride, bool accumulate, T* c, std::size_t c_stride);

}  // namespace hinge
