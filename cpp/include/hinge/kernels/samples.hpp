// samples.hpp: n samples of d features, as they lie in memory: dense rows or compressed sparse rows (CSR).
// Views only: nothing is owned, nothing is copied; whoever makes one keeps the arrays alive.
// CSR must be canonical: within a row, indices ascend without repetition.  check_csr looks once, O(nonzeros).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

namespace hinge {

// Row-major, float or double.
template <class T>
struct Dense {
  using Value = T;
  const T* values;
  std::size_t rows, features;
  const T* row(std::size_t i) const { return values + i * features; }
};

// Row i holds values[start[i] .. start[i + 1]) in the columns of the same range of index.
template <class T, class I>
struct Csr {
  using Value = T;
  const T* values;
  const I* index;
  const I* start;
  std::size_t rows, features;
};

template <class Storage>
struct IsCsr : std::false_type {};
template <class T, class I>
struct IsCsr<Csr<T, I>> : std::true_type {};

using Samples = std::variant<Dense<float>, Dense<double>, Csr<float, std::int32_t>, Csr<float, std::int64_t>,
                             Csr<double, std::int32_t>, Csr<double, std::int64_t>>;

std::size_t rows(const Samples& samples);
std::size_t features(const Samples& samples);
bool is_sparse(const Samples& samples);
bool is_float32(const Samples& samples);
double density(const Samples& samples);  // stored values / (n d); 1 for dense, 0 for an empty matrix

// Throws std::invalid_argument where an index leaves the matrix or a row is not strictly ascending.
template <class T, class I>
void check_csr(const Csr<T, I>& csr, std::size_t stored, bool release = false, int threads = 1);

// Whether every stored value is a number; on `threads` threads where there are many of them.
bool all_finite(const Samples& samples, int threads);

// Give whole pages back to the system, and the neighbours that came with them within [begin, end): only ever for
// read-only maps of files, as `release` above.
void release_pages(const void* first, const void* last, const void* begin, const void* end);

}  // namespace hinge
