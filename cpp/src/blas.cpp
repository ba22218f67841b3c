// blas.cpp: the call through Fortran's conventions.
#include "hinge/blas.hpp"

#include <cstdint>
#include <type_traits>
#include <vector>

#include "hinge/vector_ops.hpp"

namespace hinge {
namespace {

Blas g_blas;  // see blas.hpp

// Fortran is column-major: our C = A Bᵀ is its Cᵀ = B Aᵀ, with B and A stored as their transposes.
template <class Integer, class T>
void call(void* function, std::size_t m, std::size_t n, std::size_t k, const T* a, std::size_t a_stride, const T* b,
          std::size_t b_stride, bool accumulate, T* c, std::size_t c_stride) {
  using Gemm = void(const char*, const char*, const Integer*, const Integer*, const Integer*, const T*, const T*,
                    const Integer*, const T*, const Integer*, const T*, T*, const Integer*);
  const auto rows = static_cast<Integer>(n), columns = static_cast<Integer>(m), inner = static_cast<Integer>(k);
  const auto lda = static_cast<Integer>(b_stride), ldb = static_cast<Integer>(a_stride);
  const auto ldc = static_cast<Integer>(c_stride);
  const T one = 1, beta = accumulate ? T(1) : T(0);
  reinterpret_cast<Gemm*>(function)("T", "N", &rows, &columns, &inner, &one, b, &lda, a, &ldb, &beta, c, &ldc);
}

}  // namespace

bool has_blas() { return g_blas.dgemm != nullptr; }

void set_blas(const Blas& blas) {
  if (!has_blas()) g_blas = blas;
}

template <class T>
void multiply_transposed(std::size_t m, std::size_t n, std::size_t k, const T* a, std::size_t a_stride, const T* b,
                         std::size_t b_stride, bool accumulate, T* c, std::size_t c_stride) {
  void* const gemm = std::is_same_v<T, float> ? g_blas.sgemm : g_blas.dgemm;
  if (gemm && g_blas.wide_integers) {
    call<std::int64_t>(gemm, m, n, k, a, a_stride, b, b_stride, accumulate, c, c_stride);
  } else if (gemm) {
    call<std::int32_t>(gemm, m, n, k, a, a_stride, b, b_stride, accumulate, c, c_stride);
  } else {
    std::vector<T> row(n);
    for (std::size_t i = 0; i < m; ++i) {
      vector_ops().rows<T, T>().dot(a + i * a_stride, b, b_stride, k, nullptr, n, row.data());
      for (std::size_t j = 0; j < n; ++j) c[i * c_stride + j] = (accumulate ? c[i * c_stride + j] : T(0)) + row[j];
    }
  }
}

template void multiply_transposed(std::size_t, std::size_t, std::size_t, const float*, std::size_t, const float*,
                                  std::size_t, bool, float*, std::size_t);
template void multiply_transposed(std::size_t, std::size_t, std::size_t, const double*, std::size_t, const double*,
                                  std::size_t, bool, double*, std::size_t);

}  // namespace hinge
