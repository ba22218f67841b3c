// vectors.hpp: one-dimensional arrays of NumPy, as they are, and as the core reads them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "hinge/span.hpp"

namespace hinge::bind {

template <class T>
using Vector = nanobind::ndarray<T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <class T>
Span<T> span(const Vector<T>& v) {
  return {v.data(), v.size()};
}

}  // namespace hinge::bind
