// bind/libsvm_text.cpp: LIBSVM's text format as Python sees it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "bind.hpp"
#include "gram.hpp"
#include "hinge/io/libsvm_text.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::dict read(const Bytes& text, const LibsvmOptions& options, int threads) {
  LibsvmRows<T> rows;
  {
    const nb::gil_scoped_release nogil;
    rows = read_libsvm<T>({reinterpret_cast<const char*>(text.data()), text.size()}, options, {threads, check_signals});
  }
  nb::dict out;
  out["lines"] = rows.lines;
  out["label"] = to_numpy(std::move(rows.label));
  out["query"] = to_numpy(std::move(rows.query));
  out["length"] = to_numpy(std::move(rows.length));
  out["index"] = to_numpy(std::move(rows.index));
  out["value"] = to_numpy(std::move(rows.value));
  return out;
}

nb::dict read_text(Bytes text, bool single, bool zero_based, bool strict, std::int64_t features,
                   std::int64_t first_line, int threads) {
  const LibsvmOptions options{zero_based, strict, features, first_line};
  return single ? read<float>(text, options, threads) : read<double>(text, options, threads);
}

nb::bytes write_text(const Samples& samples, Vector<double> label, Vector<std::int64_t> query, std::size_t first,
                     std::size_t last, bool zero_based) {
  const std::size_t n = rows(samples.view);
  if (label.size() != n || (query.size() != 0 && query.size() != n) || first > last || last > n)
    throw std::invalid_argument("one label (and qid) per sample is needed");
  std::string text;
  {
    const nb::gil_scoped_release nogil;
    text = write_libsvm(samples.view, {label.data(), n}, {query.data(), query.size()}, first, last, zero_based);
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void libsvm_text(nb::module_& m) {
  m.def("read_libsvm", &read_text, "text"_a, "single"_a, "zero_based"_a, "strict"_a, "features"_a, "first_line"_a,
        "threads"_a, "Samples from text.  See libsvm_text.hpp.");
  m.def("write_libsvm", &write_text, "samples"_a, "label"_a.noconvert(), "query"_a.noconvert(), "first"_a, "last"_a,
        "zero_based"_a, "Samples as text.");
}

}  // namespace hinge::bind
