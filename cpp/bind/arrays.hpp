// arrays.hpp: NumPy arrays as arguments and as results.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "hinge/span.hpp"

namespace hinge::bind {

namespace nb = nanobind;

// Arguments: C-contiguous, not converted.  T is const for arrays that are only read.
template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
Span<T> span(const Vector<T>& v) {
  return {v.data(), v.size()};
}

template <class T>
std::vector<std::remove_const_t<T>> copied(const Vector<T>& v) {
  return {v.data(), v.data() + v.size()};
}

// Results.
template <class T>
using NumpyVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using NumpyMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

// The array takes over the memory of `values`.
template <class T>
NumpyVector<T> to_numpy(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  const nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::vector<T>* const data = owned.release();
  return NumpyVector<T>(const_cast<T*>(data->data()), {data->size()}, owner);
}

// Zero-initialized.
template <class T>
NumpyVector<T> new_vector(std::size_t n) {
  auto values = std::make_unique<T[]>(n);
  const nb::capsule owner(values.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return NumpyVector<T>(values.release(), {n}, owner);
}
template <class T>
NumpyMatrix<T> new_matrix(std::size_t rows, std::size_t columns) {
  auto values = std::make_unique<T[]>(rows * columns);
  const nb::capsule owner(values.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return NumpyMatrix<T>(values.release(), {rows, columns}, owner);
}

// Not initialized.
template <class T>
NumpyMatrix<T> empty_matrix(std::size_t rows, std::size_t columns) {
  std::unique_ptr<T[]> values(new T[rows * columns]);
  const nb::capsule owner(values.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return NumpyMatrix<T>(values.release(), {rows, columns}, owner);
}

// A read-only attribute that is an array.  The array owns its memory: it does not keep the record alive.
template <class Record, class T>
void def_array(nb::class_<Record>& record, const char* name, NumpyVector<T> Record::* field) {
  record.def_prop_ro(
      name, [field](const Record& self) { return self.*field; }, nb::rv_policy::automatic);
}

}  // namespace hinge::bind
