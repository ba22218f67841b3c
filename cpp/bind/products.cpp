// products.cpp: Python bindings of skinny products, kernel columns in float32 or float16, and slack sums.
#include <nanobind/nanobind.h>

#include <stdexcept>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/kernels/expansion.hpp"
#include "hinge/products/skinny_product.hpp"
#include "hinge/products/slack_sums.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

using Rows = Vector<const std::int64_t>;

template <class T>
TallMatrix<T> tall_matrix(const Matrix<const T>& K, const Rows& list) {
  for (std::int64_t i : span(list))
    if (i < 0 || static_cast<std::size_t>(i) >= K.shape(0)) throw nb::index_error("rows must be rows of K");
  return {K.data(), K.shape(0), K.shape(1), span(list)};
}

template <class Array>
void check_shape(const Array& matrix, std::size_t rows, std::size_t columns) {
  if (matrix.shape(0) != rows || matrix.shape(1) != columns)
    throw std::invalid_argument("the shapes of the matrices do not match");
}

template <class T>
void product(const Matrix<const T>& K, const Rows& list, const Matrix<const float>& W, const Matrix<float>& out,
             int threads) {
  const TallMatrix<T> matrix = tall_matrix<T>(K, list);
  const std::size_t k = W.shape(1);
  check_shape(W, matrix.columns, k), check_shape(out, matrix.count(), k);
  const nb::gil_scoped_release nogil;
  skinny_product(matrix, k, W.data(), out.data(), {threads, check_signals});
}

template <class T>
void transposed_product(const Matrix<const T>& K, const Rows& list, const Matrix<const float>& R,
                        const Matrix<double>& out, int threads) {
  const TallMatrix<T> matrix = tall_matrix<T>(K, list);
  const std::size_t k = R.shape(1);
  check_shape(R, matrix.count(), k), check_shape(out, matrix.columns, k);
  const nb::gil_scoped_release nogil;
  skinny_transposed_product(matrix, k, R.data(), out.data(), {threads, check_signals});
}

template <class T>
void weighted_product(const Matrix<const T>& K, const Rows& list, const Matrix<const float>& W,
                      const Matrix<const float>& D, const Matrix<float>& product, const Matrix<double>& out,
                      int threads) {
  const TallMatrix<T> matrix = tall_matrix<T>(K, list);
  const std::size_t k = W.shape(1);
  check_shape(W, matrix.columns, k), check_shape(D, matrix.count(), k);
  check_shape(product, matrix.count(), k), check_shape(out, matrix.columns, k);
  const nb::gil_scoped_release nogil;
  skinny_weighted_product(matrix, k, W.data(), D.data(), product.data(), out.data(), {threads, check_signals});
}

template <class T>
void kernel_columns(const Samples& x, const Samples& z, const KernelFunction& kernel, const Matrix<T>& out,
                    int threads) {
  check_shape(out, rows(x.view), rows(z.view));
  const nb::gil_scoped_release nogil;
  columns(x.view, z.view, kernel, Span<T>(out.data(), out.size()), {threads, check_signals});
}

void slacks(const Matrix<const float>& f, const Matrix<const float>& sign, const Matrix<const float>& cost,
            const Vector<const double>& b, const Matrix<float>& slack, const Matrix<double>& sums, int threads) {
  const std::size_t m = f.shape(0), k = f.shape(1);
  check_shape(sign, m, k), check_shape(cost, m, k), check_shape(slack, m, k), check_shape(sums, 3, k);
  if (b.size() != k) throw std::invalid_argument("b needs one entry per column of f");
  double* const out = sums.data();
  const nb::gil_scoped_release nogil;
  slack_sums(m, k, f.data(), sign.data(), cost.data(), b.data(), slack.data(), {out, out + k, out + 2 * k},
             {threads, check_signals});
}

// T: how K is stored, float32 or the bits of float16 as uint16.
template <class T>
void def_products(nb::module_& m) {
  m.def("skinny_product", &product<T>, "K"_a.noconvert(), "rows"_a.noconvert(), "W"_a.noconvert(),
        "out"_a.noconvert(), "threads"_a = 1, "out = K[rows] W; an empty list of rows means all.");
  m.def("skinny_transposed_product", &transposed_product<T>, "K"_a.noconvert(), "rows"_a.noconvert(),
        "R"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1, "out = K[rows]ᵀ R.");
  m.def("skinny_weighted_product", &weighted_product<T>, "K"_a.noconvert(), "rows"_a.noconvert(), "W"_a.noconvert(),
        "D"_a.noconvert(), "product"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
        "product = K[rows] W and out = K[rows]ᵀ (D ∘ product).");
  m.def("kernel_columns", &kernel_columns<T>, "X"_a, "Z"_a, "kernel"_a, "out"_a.noconvert(), "threads"_a = 1,
        "out = K(X, Z), computed in float32 where the data permit.");
}

}  // namespace

void products(nb::module_& m) {
  def_products<float>(m);
  def_products<std::uint16_t>(m);
  m.def("slack_sums", &slacks, "f"_a.noconvert(), "sign"_a.noconvert(), "cost"_a.noconvert(), "b"_a.noconvert(),
        "slack"_a.noconvert(), "sums"_a.noconvert(), "threads"_a = 1,
        "slack = max(0, 1 - sign (f + b)); rows of sums: Σ cost over positive slacks, Σ cost · sign · slack, "
        "Σ cost · slack².");
  m.def("has_float16_loops", &has_float16_loops,
        "Whether this processor converts float16; otherwise K must be stored as float32.");
}

}  // namespace hinge::bind
