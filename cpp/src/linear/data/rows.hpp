// rows.hpp: operations of one row of samples, dense or CSR, with a vector of double: dot, add, prefetch.
#pragma once

#include <cstddef>

#include "hinge/kernels/samples.hpp"
#include "linear/data/ops.hpp"

namespace hinge {

constexpr std::size_t kShortRow = 16;  // up to this many features the loops are inlined: a call would cost more

typedef double Pair __attribute__((vector_size(16)));  // available on every 64-bit processor

inline Pair pair(const double* p) {
  Pair both;
  __builtin_memcpy(&both, p, sizeof both);
  return both;
}
inline Pair pair(const float* p) { return Pair{static_cast<double>(p[0]), static_cast<double>(p[1])}; }

template <class Storage>
class Rows;

template <class T>
class Rows<Dense<T>> {
 public:
  explicit Rows(const Dense<T>& data) : data_(data), ops_(linear_ops()) {}

  double dot(std::size_t i, const double* w) const {
    if (data_.features > kShortRow) return hinge::dot(ops_, data_.row(i), w, data_.features);
    const T* x = data_.row(i);
    Pair a = {}, b = {};
    std::size_t k = 0;
    for (; k + 4 <= data_.features; k += 4) a += pair(x + k) * pair(w + k), b += pair(x + k + 2) * pair(w + k + 2);
    a += b;
    double rest = 0;
    for (; k < data_.features; ++k) rest += static_cast<double>(x[k]) * w[k];
    return (a[0] + a[1]) + rest;
  }
  void add(std::size_t i, double factor, double* w) const {
    if (data_.features > kShortRow) return hinge::add(ops_, data_.row(i), factor, w, data_.features);
    const T* x = data_.row(i);
    std::size_t k = 0;
    for (; k + 2 <= data_.features; k += 2) {
      const Pair moved = pair(w + k) + factor * pair(x + k);
      __builtin_memcpy(w + k, &moved, sizeof moved);
    }
    if (k < data_.features) w[k] += factor * static_cast<double>(x[k]);
  }
  // for rows [first, last): inner products with w; sum += Σ factor x
  void dots(std::size_t first, std::size_t last, const double* w, double* out) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      ops_.dots_float(data_.row(first), last - first, data_.features, w, out);
    } else {
      ops_.dots_double(data_.row(first), last - first, data_.features, w, out);
    }
  }
  void adds(std::size_t first, std::size_t last, const double* factor, double* sum) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      ops_.adds_float(data_.row(first), factor, last - first, data_.features, sum);
    } else {
      ops_.adds_double(data_.row(first), factor, last - first, data_.features, sum);
    }
  }
  double squared_norm(std::size_t i) const {
    const T* x = data_.row(i);
    double a = 0, b = 0;
    std::size_t k = 0;
    for (; k + 2 <= data_.features; k += 2) {
      a += static_cast<double>(x[k]) * static_cast<double>(x[k]);
      b += static_cast<double>(x[k + 1]) * static_cast<double>(x[k + 1]);
    }
    if (k < data_.features) a += static_cast<double>(x[k]) * static_cast<double>(x[k]);
    return a + b;
  }
  template <class Visit>  // calls visit(feature, value) for the nonzero values
  void each(std::size_t i, Visit visit) const {
    const T* x = data_.row(i);
    for (std::size_t k = 0; k < data_.features; ++k)
      if (x[k] != 0) visit(k, static_cast<double>(x[k]));
  }
  void prefetch_start(std::size_t) const {}
  void prefetch(std::size_t i) const {
    const char* p = reinterpret_cast<const char*>(data_.row(i));
    const std::size_t bytes = data_.features * sizeof(T) < 512 ? data_.features * sizeof(T) : 512;
    for (std::size_t k = 0; k < bytes; k += 64) __builtin_prefetch(p + k);
  }
  std::size_t stored(std::size_t) const { return data_.features; }
  std::size_t stored() const { return data_.rows * data_.features; }
  const Dense<T>& data() const { return data_; }

 private:
  Dense<T> data_;
  const LinearOps& ops_;
};

template <class T, class I>
class Rows<Csr<T, I>> {
 public:
  explicit Rows(const Csr<T, I>& data) : data_(data) {}

  template <class Weight>
  double dot(std::size_t i, const Weight* w) const {
    const I last = data_.start[i + 1];
    I k = data_.start[i];
    double a = 0, b = 0, c = 0, e = 0;
    for (; k + 4 <= last; k += 4) {
      a += static_cast<double>(static_cast<Weight>(data_.values[k]) * w[data_.index[k]]);
      b += static_cast<double>(static_cast<Weight>(data_.values[k + 1]) * w[data_.index[k + 1]]);
      c += static_cast<double>(static_cast<Weight>(data_.values[k + 2]) * w[data_.index[k + 2]]);
      e += static_cast<double>(static_cast<Weight>(data_.values[k + 3]) * w[data_.index[k + 3]]);
    }
    for (; k < last; ++k) a += static_cast<double>(static_cast<Weight>(data_.values[k]) * w[data_.index[k]]);
    return (a + b) + (c + e);
  }
  void add(std::size_t i, double factor, double* w) const {
    for (I k = data_.start[i]; k < data_.start[i + 1]; ++k)
      w[data_.index[k]] += factor * static_cast<double>(data_.values[k]);
  }
  // The same in single precision.  Returns the sum of squares of the changed weights, which bounds their rounding
  // error.
  double add(std::size_t i, double factor, float* w) const {
    const float by = static_cast<float>(factor);
    const I last = data_.start[i + 1];
    I k = data_.start[i];
    float squares[4] = {};
    const auto move = [&](I at, float& square) {
      const float moved = w[data_.index[at]] += by * static_cast<float>(data_.values[at]);
      square += moved * moved;
    };
    for (; k + 4 <= last; k += 4)
      move(k, squares[0]), move(k + 1, squares[1]), move(k + 2, squares[2]), move(k + 3, squares[3]);
    for (; k < last; ++k) move(k, squares[0]);
    return (squares[0] + squares[1]) + (squares[2] + squares[3]);
  }
  void dots(std::size_t first, std::size_t last, const double* w, double* out) const {
    for (std::size_t i = first; i < last; ++i) out[i - first] = dot(i, w);
  }
  void adds(std::size_t first, std::size_t last, const double* factor, double* sum) const {
    for (std::size_t i = first; i < last; ++i)
      if (factor[i - first] != 0) add(i, factor[i - first], sum);
  }
  double squared_norm(std::size_t i) const {
    double a = 0;
    for (I k = data_.start[i]; k < data_.start[i + 1]; ++k)
      a += static_cast<double>(data_.values[k]) * static_cast<double>(data_.values[k]);
    return a;
  }
  template <class Visit>
  void each(std::size_t i, Visit visit) const {
    for (I k = data_.start[i]; k < data_.start[i + 1]; ++k)
      visit(static_cast<std::size_t>(data_.index[k]), static_cast<double>(data_.values[k]));
  }
  void prefetch_start(std::size_t i) const { __builtin_prefetch(data_.start + i); }
  void prefetch(std::size_t i) const {
    const I first = data_.start[i];
    const std::size_t count = static_cast<std::size_t>(data_.start[i + 1] - first);
    fetch(data_.values + first, count * sizeof(T));
    fetch(data_.index + first, count * sizeof(I));
  }
  std::size_t stored(std::size_t i) const { return static_cast<std::size_t>(data_.start[i + 1] - data_.start[i]); }
  std::size_t stored() const { return static_cast<std::size_t>(data_.start[data_.rows] - data_.start[0]); }
  const Csr<T, I>& data() const { return data_; }

 private:
  static void fetch(const void* from, std::size_t bytes) {
    const char* p = static_cast<const char*>(from);
    if (bytes > 1024) bytes = 1024;  // the hardware prefetches the rest of a long row
    for (std::size_t k = 0; k < bytes; k += 64) __builtin_prefetch(p + k);
    __builtin_prefetch(p + bytes - 1);
  }
  Csr<T, I> data_;
};

}  // namespace hinge
