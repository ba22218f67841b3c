// libsvm_text.cpp: Python bindings of the reader and writer of LIBSVM's text format.
#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/io/libsvm_text.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

template <class T>
struct LibsvmBlock {
  explicit LibsvmBlock(LibsvmRows<T>&& rows)
      : lines(rows.lines), label(to_numpy(std::move(rows.label))), query(to_numpy(std::move(rows.query))),
        length(to_numpy(std::move(rows.length))), index(to_numpy(std::move(rows.index))),
        value(to_numpy(std::move(rows.value))) {}

  std::int64_t lines;
  NumpyVector<double> label;
  NumpyVector<std::int64_t> query, length;
  NumpyVector<std::int32_t> index;
  NumpyVector<T> value;
};

template <class T>
LibsvmBlock<T> read_text(const Vector<const std::uint8_t>& text, bool zero_based, bool strict, std::int64_t features,
                         std::int64_t first_line, int threads) {
  const LibsvmOptions options{zero_based, strict, features, first_line};
  LibsvmRows<T> rows;
  {
    const nb::gil_scoped_release nogil;
    rows = read_libsvm<T>({reinterpret_cast<const char*>(text.data()), text.size()}, options, {threads, check_signals});
  }
  return LibsvmBlock<T>(std::move(rows));
}

// The values of a block as a matrix, with zeros at all other places.
template <class T>
NumpyMatrix<T> dense_rows(const LibsvmBlock<T>& block, std::size_t features) {
  NumpyMatrix<T> matrix = new_matrix<T>(block.length.size(), features);
  const nb::gil_scoped_release nogil;
  const T* value = block.value.data();
  const std::int32_t* index = block.index.data();
  T* row = matrix.data();
  for (std::size_t i = 0; i < block.length.size(); ++i, row += features) {
    for (const T* end = value + block.length.data()[i]; value < end; ++value, ++index) {
      if (static_cast<std::size_t>(*index) >= features)
        throw std::invalid_argument("the block has an index of at least features=" + std::to_string(features));
      row[*index] = *value;
    }
  }
  return matrix;
}

nb::bytes write_text(const Samples& samples, const Vector<const double>& label, const Vector<const std::int64_t>& query,
                     std::size_t first, std::size_t last, bool zero_based) {
  const std::size_t n = rows(samples.view);
  if (label.size() != n || (query.size() != 0 && query.size() != n) || first > last || last > n)
    throw std::invalid_argument("label needs one entry per sample, and query as many or none");
  std::string text;
  {
    const nb::gil_scoped_release nogil;
    text = write_libsvm(samples.view, span(label), span(query), first, last, zero_based);
  }
  return nb::bytes(text.data(), text.size());
}

template <class T>
void def_reader(nb::module_& m, const char* block_name, const char* function_name) {
  nb::class_<LibsvmBlock<T>> block(m, block_name, "Samples read from text.  See LibsvmRows in libsvm_text.hpp.");
  block.def_ro("lines", &LibsvmBlock<T>::lines);
  def_array(block, "label", &LibsvmBlock<T>::label);
  def_array(block, "query", &LibsvmBlock<T>::query);
  def_array(block, "length", &LibsvmBlock<T>::length);
  def_array(block, "index", &LibsvmBlock<T>::index);
  def_array(block, "value", &LibsvmBlock<T>::value);
  block.def("dense", &dense_rows<T>, "features"_a, "The values as a matrix, with zeros at all other places.");
  m.def(function_name, &read_text<T>, "text"_a, "zero_based"_a, "strict"_a, "features"_a, "first_line"_a, "threads"_a,
        "Read samples from text.  See libsvm_text.hpp.");
}

}  // namespace

void libsvm_text(nb::module_& m) {
  def_reader<float>(m, "LibsvmBlock32", "read_libsvm32");
  def_reader<double>(m, "LibsvmBlock64", "read_libsvm64");
  m.def("write_libsvm", &write_text, "samples"_a, "label"_a.noconvert(), "query"_a.noconvert(), "first"_a, "last"_a,
        "zero_based"_a, "Write samples as text.");
}

}  // namespace hinge::bind
