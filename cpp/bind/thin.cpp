// bind/thin.cpp: thin products, and kernel columns in float32, as Python sees them.
#include "hinge/thin.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "bind.hpp"
#include "gram.hpp"
#include "hinge/expand.hpp"
#include "vectors.hpp"

namespace hinge::bind {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = Vector<const std::int64_t>;

TallMatrix tall(const Matrix<const float>& K, const Rows& list) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list.data()[i] < 0 || static_cast<std::size_t>(list.data()[i]) >= K.shape(0))
      throw nb::index_error("the list names a row that is not there");
  return {K.data(), K.shape(0), K.shape(1), span(list)};
}

template <class Array>
void check(const Array& matrix, std::size_t rows, std::size_t columns) {
  if (matrix.shape(0) != rows || matrix.shape(1) != columns)
    throw std::invalid_argument("thin products: shapes do not fit");
}

void times(const Matrix<const float>& K, const Rows& list, const Matrix<const float>& W, const Matrix<float>& out,
           int threads) {
  const TallMatrix matrix = tall(K, list);
  const std::size_t k = W.shape(1);
  check(W, matrix.columns, k), check(out, matrix.count(), k);
  const nb::gil_scoped_release nogil;
  thin_times(matrix, k, W.data(), out.data(), {threads, check_signals});
}

void transposed(const Matrix<const float>& K, const Rows& list, const Matrix<const float>& R,
                const Matrix<double>& out, int threads) {
  const TallMatrix matrix = tall(K, list);
  const std::size_t k = R.shape(1);
  check(R, matrix.count(), k), check(out, matrix.columns, k);
  const nb::gil_scoped_release nogil;
  thin_transposed(matrix, k, R.data(), out.data(), {threads, check_signals});
}

void weighted(const Matrix<const float>& K, const Rows& list, const Matrix<const float>& W,
              const Matrix<const float>& D, const Matrix<float>& product, const Matrix<double>& out, int threads) {
  const TallMatrix matrix = tall(K, list);
  const std::size_t k = W.shape(1);
  check(W, matrix.columns, k), check(D, matrix.count(), k);
  check(product, matrix.count(), k), check(out, matrix.columns, k);
  const nb::gil_scoped_release nogil;
  thin_weighted(matrix, k, W.data(), D.data(), product.data(), out.data(), {threads, check_signals});
}

void kernel_columns(const Samples& x, const Samples& z, const KernelFunction& kernel, const Matrix<float>& out,
                    int threads) {
  check(out, rows(x.view), rows(z.view));
  const nb::gil_scoped_release nogil;
  columns(x.view, z.view, kernel, Span<float>(out.data(), out.size()), {threads, check_signals});
}

}  // namespace

void thin(nb::module_& m) {
  m.def("thin_times", &times, "K"_a.noconvert(), "rows"_a.noconvert(), "W"_a.noconvert(), "out"_a.noconvert(),
        "threads"_a = 1, "out = K[rows] W; no rows stand for all.");
  m.def("thin_transposed", &transposed, "K"_a.noconvert(), "rows"_a.noconvert(), "R"_a.noconvert(),
        "out"_a.noconvert(), "threads"_a = 1, "out = K[rows]ᵀ R.");
  m.def("thin_weighted", &weighted, "K"_a.noconvert(), "rows"_a.noconvert(), "W"_a.noconvert(), "D"_a.noconvert(),
        "product"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
        "product = K[rows] W and out = K[rows]ᵀ (D ∘ product).");
  m.def("columns", &kernel_columns, "X"_a, "Z"_a, "kernel"_a, "out"_a.noconvert(), "threads"_a = 1,
        "out = K(X, Z) in float32.");
}

}  // namespace hinge::bind
