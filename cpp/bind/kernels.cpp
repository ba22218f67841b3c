// kernels.cpp: Python bindings of samples, kernel functions, kernel matrices and expansions.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <string>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/kernels/expansion.hpp"
#include "hinge/parallel.hpp"
#include "hinge/simd.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

template <class Array>
std::shared_ptr<const void> keep(const Array& array) {
  return std::make_shared<Array>(array);
}

Parallel parallel(int threads) { return {threads, check_signals}; }

// ---- samples ----

template <class T>
Samples dense(Matrix<const T> values) {
  return {Dense<T>{values.data(), values.shape(0), values.shape(1)}, {keep(values)}};
}

template <class T, class I>
Samples csr(Vector<const T> data, Vector<const I> indices, Vector<const I> indptr, std::size_t n_features, bool release,
            int threads) {
  if (indptr.shape(0) == 0) throw nb::value_error("csr: indptr must have n + 1 entries");
  if (indices.shape(0) != data.shape(0)) throw nb::value_error("csr: data and indices must have the same length");
  const Csr<T, I> view{data.data(), indices.data(), indptr.data(), indptr.shape(0) - 1, n_features};
  check_csr(view, data.shape(0), release, threads);
  return {view, {keep(data), keep(indices), keep(indptr)}};
}

std::uintptr_t address(const Samples& samples) {
  return std::visit([](const auto& s) { return reinterpret_cast<std::uintptr_t>(s.values); }, samples.view);
}

// ---- kernel functions ----

Node make_node(const std::string& name, double gamma, double coef0, double degree) {
  return {op_named(name), gamma, coef0, degree};
}

bool same_node(const Node& a, const Node& b) {
  return a.op == b.op && a.gamma == b.gamma && a.coef0 == b.coef0 && a.degree == b.degree;
}

// ---- kernel matrices ----

template <class T>
Gram gram_matrix(Matrix<const T> matrix, double value_error) {
  if (matrix.shape(0) != matrix.shape(1)) throw nb::value_error("Gram.matrix: the matrix must be square");
  return Gram(make_gram(matrix.data(), matrix.shape(0), value_error), {keep(matrix)});
}

std::string text(const nb::object& value) { return nb::cast<std::string>(nb::str(value)); }

std::string description(nb::handle value) {
  if (nb::hasattr(value, "shape") && nb::hasattr(value, "dtype")) {
    return "an array of shape " + text(value.attr("shape")) + " and dtype " + text(value.attr("dtype"));
  }
  return "a " + text(value.type().attr("__name__"));
}

Gram gram_callback(std::size_t n, Vector<const double> diagonal, nb::callable row_function) {
  if (diagonal.shape(0) != n) throw nb::value_error("Gram.callback: the diagonal must have n entries");
  auto call = [row_function = std::move(row_function)](std::size_t i, Span<double> out) {
    const nb::gil_scoped_acquire gil;
    const nb::object result = row_function(i);
    nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> row;
    if (!nb::try_cast(result, row, true) || row.shape(0) != out.size()) {
      throw nb::value_error(("the kernel's row " + std::to_string(i) + " must be a float64 array of shape (" +
                             std::to_string(out.size()) + ",), but the function returned " +
                             description(result))
                                .c_str());
    }
    for (std::size_t j = 0; j < out.size(); ++j) {
      out[j] = row.data()[static_cast<std::int64_t>(j) * row.stride(0)];
      if (!std::isfinite(out[j])) {
        throw nb::value_error(("the kernel's row " + std::to_string(i) +
                               " must be finite, but its value at column " + std::to_string(j) + " is " +
                               std::to_string(out[j]))
                                  .c_str());
      }
    }
  };
  return Gram(make_gram(std::vector<double>(diagonal.data(), diagonal.data() + n), std::move(call)), {});
}

Gram gram_ridged(const Gram& inner, const Vector<const double>& ridge) {
  if (ridge.shape(0) != inner.size()) throw nb::value_error("Gram.ridged: the ridge must have n entries");
  return Gram(make_gram(inner.gram(), std::vector<double>(ridge.data(), ridge.data() + ridge.shape(0))), {});
}

// Converts indices and raises IndexError if one is out of range.
std::vector<std::int32_t> checked(const Vector<const std::int64_t>& index, std::size_t n) {
  std::vector<std::int32_t> list(index.shape(0));
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (index.data()[k] < 0 || static_cast<std::size_t>(index.data()[k]) >= n) {
      throw nb::index_error(("index " + std::to_string(index.data()[k]) + " is outside a kernel matrix of " +
                             std::to_string(n) + " samples")
                                .c_str());
    }
    list[k] = static_cast<std::int32_t>(index.data()[k]);
  }
  return list;
}

void fill_rows(const Gram& gram, const std::vector<std::int32_t>& rows, Span<const std::int32_t> columns,
               std::size_t width, double* out) {
  if (width == 0) return;
  const nb::gil_scoped_release nogil;
  copy_rows(gram.source(), rows, columns, Span<double>(out, rows.size() * width), parallel(1));
}

NumpyMatrix<double> gram_rows(const Gram& gram, const Vector<const std::int64_t>& index) {
  const auto rows = checked(index, gram.size());
  NumpyMatrix<double> out = new_matrix<double>(rows.size(), gram.size());
  fill_rows(gram, rows, {}, gram.size(), out.data());
  return out;
}

NumpyMatrix<double> gram_block(const Gram& gram, const Vector<const std::int64_t>& row_index,
                               const Vector<const std::int64_t>& col_index) {
  const auto rows = checked(row_index, gram.size()), columns = checked(col_index, gram.size());
  NumpyMatrix<double> out = new_matrix<double>(rows.size(), columns.size());
  fill_rows(gram, rows, columns, columns.size(), out.data());
  return out;
}

template <class T>
NumpyMatrix<T> gram_block_rows(const Gram& gram, const Vector<const std::int64_t>& index, int threads) {
  const auto which = checked(index, gram.size());
  NumpyMatrix<T> out = empty_matrix<T>(which.size(), gram.size());
  std::vector<T*> rows;
  for (std::size_t k = 0; k < which.size(); ++k) rows.push_back(out.data() + k * gram.size());
  const nb::gil_scoped_release nogil;
  gram.source().block_rows(which, *gram.source().columns({}, 0), Span<T* const>(rows.data(), rows.size()),
                           parallel(threads));
  return out;
}

template <class T>
void gram_fill(const Gram& gram, const Matrix<T>& out, int threads) {
  if (out.shape(0) != gram.size() || out.shape(1) != gram.size())
    throw nb::value_error("Gram.fill: K must be an n × n array");
  const nb::gil_scoped_release nogil;
  fill(gram.source(), out.data(), parallel(threads));
}

NumpyVector<float> gram_row32(const Gram& gram, std::int64_t i) {
  if (i < 0 || static_cast<std::size_t>(i) >= gram.size())
    throw nb::index_error("row outside the kernel matrix");
  NumpyVector<float> out = new_vector<float>(gram.size());
  const nb::gil_scoped_release nogil;
  gram.source().row(static_cast<std::size_t>(i), {}, Span<float>(out.data(), gram.size()));
  return out;
}

NumpyVector<double> gram_diagonal(const Gram& gram) {
  NumpyVector<double> out = new_vector<double>(gram.size());
  const nb::gil_scoped_release nogil;
  gram.source().diagonal(Span<double>(out.data(), gram.size()));
  return out;
}

NumpyVector<double> gram_matvec(const Gram& gram, const Vector<const double>& v, int threads) {
  if (v.shape(0) != gram.size()) throw nb::value_error("matvec: v must have one entry per sample");
  NumpyVector<double> out = new_vector<double>(gram.size());
  const nb::gil_scoped_release nogil;
  gram.gram().multiply(Span<const double>(v.data(), v.shape(0)), Span<double>(out.data(), gram.size()),
                       parallel(threads));
  return out;
}

// ---- expansions ----

NumpyMatrix<double> expand_samples(const Samples& x, const Samples& z, const KernelFunction& kernel,
                                   const Matrix<const double>& coef, int threads) {
  if (coef.shape(0) != rows(z.view)) throw nb::value_error("expand: coef must have one row per sample of Z");
  const std::size_t n = rows(x.view), outputs = coef.shape(1);
  NumpyMatrix<double> out = new_matrix<double>(n, outputs);
  const nb::gil_scoped_release nogil;
  expand(x.view, z.view, kernel, Span<const double>(coef.data(), coef.size()), outputs,
         Span<double>(out.data(), n * outputs), Precision::samples, parallel(threads));
  return out;
}

NumpyMatrix<double> cross_samples(const Samples& x, const Samples& z, const KernelFunction& kernel, int threads) {
  const std::size_t n = rows(x.view), m = rows(z.view);
  NumpyMatrix<double> out = new_matrix<double>(n, m);
  const nb::gil_scoped_release nogil;
  cross(x.view, z.view, kernel, Span<double>(out.data(), n * m), parallel(threads));
  return out;
}

}  // namespace

void kernels(nb::module_& m) {
  nb::class_<Node>(m, "KernelNode", "A kernel, or a sum, product or multiple of the preceding kernels of a program.")
      .def(nb::new_(&make_node), "name"_a, "gamma"_a = 1.0, "coef0"_a = 0.0, "degree"_a = 0.0)
      .def_prop_ro("name", [](const Node& node) { return name_of(node.op); })
      .def_ro("gamma", &Node::gamma)
      .def_ro("coef0", &Node::coef0)
      .def_ro("degree", &Node::degree)
      .def("__eq__", &same_node, nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  nb::class_<KernelFunction>(m, "Kernel", "A kernel function as a postfix program.  See kernel_function.hpp.")
      .def(nb::init<std::vector<Node>>(), "nodes"_a);

  nb::class_<Samples>(m, "Samples", "A view of a dense or CSR matrix; keeps the arrays alive.")
      .def_static("dense", &dense<float>, "X"_a.noconvert())
      .def_static("dense", &dense<double>, "X"_a.noconvert())
      .def_static("csr", &csr<float, std::int32_t>, "data"_a.noconvert(), "indices"_a.noconvert(),
                  "indptr"_a.noconvert(), "n_features"_a, "release"_a = false, "threads"_a = 1)
      .def_static("csr", &csr<float, std::int64_t>, "data"_a.noconvert(), "indices"_a.noconvert(),
                  "indptr"_a.noconvert(), "n_features"_a, "release"_a = false, "threads"_a = 1)
      .def_static("csr", &csr<double, std::int32_t>, "data"_a.noconvert(), "indices"_a.noconvert(),
                  "indptr"_a.noconvert(), "n_features"_a, "release"_a = false, "threads"_a = 1)
      .def_static("csr", &csr<double, std::int64_t>, "data"_a.noconvert(), "indices"_a.noconvert(),
                  "indptr"_a.noconvert(), "n_features"_a, "release"_a = false, "threads"_a = 1)
      .def_prop_ro("n", [](const Samples& s) { return rows(s.view); })
      .def_prop_ro("n_features", [](const Samples& s) { return features(s.view); })
      .def_prop_ro("sparse", [](const Samples& s) { return is_sparse(s.view); })
      .def(
          "finite",
          [](const Samples& s, int threads) {
            const nb::gil_scoped_release nogil;
            return all_finite(s.view, threads);
          },
          "threads"_a = 1, "Whether all stored values are finite.")
      .def_prop_ro("address", &address, "Address of the first value.");

  nb::class_<Gram>(m, "Gram",
                   "A kernel matrix: computed from samples, stored, or computed by a Python function row by row.")
      .def_static(
          "of",
          [](const Samples& samples, const KernelFunction& kernel) {
            const nb::gil_scoped_release nogil;
            return Gram(make_gram(samples.view, kernel), samples.owners);
          },
          "samples"_a, "kernel"_a)
      .def_static("matrix", &gram_matrix<float>, "K"_a.noconvert(), "value_error"_a = 0.0)
      .def_static("matrix", &gram_matrix<double>, "K"_a.noconvert(), "value_error"_a = 0.0)
      .def_static("callback", &gram_callback, "n"_a, "diagonal"_a.noconvert(), "row_function"_a)
      .def_static("ridged", &gram_ridged, "inner"_a, "ridge"_a.noconvert(), nb::keep_alive<0, 1>(),
                  "K + diag(ridge) of another kernel matrix.")
      .def_prop_ro("n", &Gram::size)
      .def("diagonal", &gram_diagonal)
      .def("value_error", [](const Gram& gram) { return gram.source().value_error(); },
           "Bound on the error of every kernel value in double precision.")
      .def("rows", &gram_rows, "index"_a.noconvert(), "K[index, :] in float64.")
      .def("row32", &gram_row32, "i"_a, "K[i, :] in float32.")
      .def("block_rows", &gram_block_rows<double>, "index"_a.noconvert(), "threads"_a = 1,
           "K[index, :] in float64, computed as one block if that is faster.")
      .def("block_rows32", &gram_block_rows<float>, "index"_a.noconvert(), "threads"_a = 1,
           "K[index, :] in float32, computed as one block if that is faster.")
      .def("fill", &gram_fill<float>, "K"_a.noconvert(), "threads"_a = 1, "Write K to an n × n array.")
      .def("fill", &gram_fill<double>, "K"_a.noconvert(), "threads"_a = 1, "Write K to an n × n array.")
      .def("block", &gram_block, "rows"_a.noconvert(), "cols"_a.noconvert(), "K[rows][:, cols] in float64.")
      .def("matvec", &gram_matvec, "v"_a.noconvert(), "threads"_a = 1, "K v.");

  m.def("expand", &expand_samples, "X"_a, "Z"_a, "kernel"_a, "coef"_a.noconvert(), "threads"_a = 1,
        "K(X, Z) coef, coef of shape (m, k).");
  m.def("cross", &cross_samples, "X"_a, "Z"_a, "kernel"_a, "threads"_a = 1, "K(X, Z).");
  m.attr("instruction_set") = instruction_set();
}

}  // namespace hinge::bind
