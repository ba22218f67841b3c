// samples.hpp: n samples of d features in memory: dense rows or compressed sparse rows (CSR).
// Views: the caller keeps the arrays alive.
// CSR must be canonical: within a row, indices ascend without repetition.  check_csr verifies this in O(nonzeros).
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

// Throws std::invalid_argument if an index is out of range or a row is not strictly ascending.  With `release`, pages
// that have been checked are released (release_pages).
template <class T, class I>
void check_csr(const Csr<T, I>& csr, std::size_t stored, bool release = false, int threads = 1);

// Whether all stored values are finite.  Uses `threads` threads if there are many values.
bool all_finite(const Samples& samples, int threads);

// Releases the pages of [first, last) to the operating system, and the neighboring pages within [begin, end) that were
// mapped together with them.  Only for read-only maps of files, which can be read again.
void release_pages(const void* first, const void* last, const void* begin, const void* end);

}  // namespace hinge
