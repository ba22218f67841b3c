// bind/products.cpp: thin products, kernel columns in float32 or float16 and margins, as Python sees them.
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/kernels/expansion.hpp"
#include "hinge/products/skinny_product.hpp"
#include "hinge/products/slack_sums.hpp"
#include "vectors.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

namespace hinge::bind {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = Vector<const std::int64_t>;

template <class T>
TallMatrix<T> tall(const Matrix<const T>& K, const Rows& list) {
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

template <class T>
void times(const Matrix<const T>& K, const Rows& list, const Matrix<const float>& W, const Matrix<float>& out,
           int threads) {
  const TallMatrix<T> matrix = tall<T>(K, list);
  const std::size_t k = W.shape(1);
  check(W, matrix.columns, k), check(out, matrix.count(), k);
  const nb::gil_scoped_release nogil;
  thin_times(matrix, k, W.data(), out.data(), {threads, check_signals});
}

template <class T>
void transposed(const Matrix<const T>& K, const Rows& list, const Matrix<const float>& R,
                const Matrix<double>& out, int threads) {
  const TallMatrix<T> matrix = tall<T>(K, list);
  const std::size_t k = R.shape(1);
  check(R, matrix.count(), k), check(out, matrix.columns, k);
  const nb::gil_scoped_release nogil;
  thin_transposed(matrix, k, R.data(), out.data(), {threads, check_signals});
}

template <class T>
void weighted(const Matrix<const T>& K, const Rows& list, const Matrix<const float>& W,
              const Matrix<const float>& D, const Matrix<float>& product, const Matrix<double>& out, int threads) {
  const TallMatrix<T> matrix = tall<T>(K, list);
  const std::size_t k = W.shape(1);
  check(W, matrix.columns, k), check(D, matrix.count(), k);
  check(product, matrix.count(), k), check(out, matrix.columns, k);
  const nb::gil_scoped_release nogil;
  thin_weighted(matrix, k, W.data(), D.data(), product.data(), out.data(), {threads, check_signals});
}

template <class T>
void kernel_columns(const Samples& x, const Samples& z, const KernelFunction& kernel, const Matrix<T>& out,
                    int threads) {
  check(out, rows(x.view), rows(z.view));
  const nb::gil_scoped_release nogil;
  columns(x.view, z.view, kernel, Span<T>(out.data(), out.size()), {threads, check_signals});
}

void sums_of_margins(const Matrix<const float>& f, const Matrix<const float>& sign, const Matrix<const float>& cost,
                     const Vector<const double>& b, const Matrix<float>& missing, const Matrix<double>& sums,
                     int threads) {
  const std::size_t m = f.shape(0), k = f.shape(1);
  check(sign, m, k), check(cost, m, k), check(missing, m, k), check(sums, 3, k);
  if (b.size() != k) throw std::invalid_argument("margins: one b for every machine");
  double* const to = sums.data();
  const nb::gil_scoped_release nogil;
  margins(m, k, f.data(), sign.data(), cost.data(), b.data(), missing.data(), {to, to + k, to + 2 * k},
          {threads, check_signals});
}

// For one way to store K: float32, or float16 of which NumPy's uint16 has the bits.
template <class T>
void products(nb::module_& m) {
  m.def("thin_times", &times<T>, "K"_a.noconvert(), "rows"_a.noconvert(), "W"_a.noconvert(), "out"_a.noconvert(),
        "threads"_a = 1, "out = K[rows] W; no rows stand for all.");
  m.def("thin_transposed", &transposed<T>, "K"_a.noconvert(), "rows"_a.noconvert(), "R"_a.noconvert(),
        "out"_a.noconvert(), "threads"_a = 1, "out = K[rows]ᵀ R.");
  m.def("thin_weighted", &weighted<T>, "K"_a.noconvert(), "rows"_a.noconvert(), "W"_a.noconvert(),
        "D"_a.noconvert(), "product"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
        "product = K[rows] W and out = K[rows]ᵀ (D ∘ product).");
  m.def("columns", &kernel_columns<T>, "X"_a, "Z"_a, "kernel"_a, "out"_a.noconvert(), "threads"_a = 1,
        "out = K(X, Z), computed in float32 where the data allow it.");
}

}  // namespace

void thin(nb::module_& m) {
  products<float>(m);
  products<std::uint16_t>(m);
  m.def("margins", &sums_of_margins, "f"_a.noconvert(), "sign"_a.noconvert(), "cost"_a.noconvert(),
        "b"_a.noconvert(), "missing"_a.noconvert(), "sums"_a.noconvert(), "threads"_a = 1,
        "missing = max(0, 1 - sign (f + b)); sums: of cost where that is positive, of cost sign missing, of cost missing².");
  m.def("half_is_fast", &half_is_fast, "Whether this processor widens float16: only then is uint16 allowed for K.");
}

}  // namespace hinge::bind
