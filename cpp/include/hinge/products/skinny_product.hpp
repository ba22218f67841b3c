// skinny_product.hpp: products of a tall matrix K (m × n, float32 or float16) with k columns, in one pass over K.
// K may be restricted to a list of rows.  Views its arguments; temporary memory: 4 n k bytes for each of at most
// kSkinnyTasks tasks.
//
// Within a row, 32 or 64 products are summed in float and these sums in double.  Columns of Kᵀ R are summed in float
// over the rows of a task and in double over the tasks.  Tasks depend on m only, so results do not depend on the
// threads. float16 values are converted to float32 when they are read; they take half the memory and have 11
// significant bits. Cost of each function: 2 m n k operations and one pass over the memory of K.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

// K, or the listed rows of K.
template <class T>
struct TallMatrix {
  const T* values;                // float, or the bits of float16
  std::size_t rows, columns;      // of K
  Span<const std::int64_t> list;  // selected rows; empty: all
  std::size_t count() const { return list.size() ? list.size() : rows; }
};

inline constexpr std::size_t kSkinnyTasks = 64;  // at most; more rows make larger tasks

// Whether this processor converts float16; otherwise products with float16 throw std::logic_error.
bool has_float16_loops();

// out = K W, W n × k, out count × k.
template <class T>
void skinny_product(const TallMatrix<T>& K, std::size_t k, const float* W, float* out, const Parallel& parallel);

// out = Kᵀ R, R count × k, out n × k.
template <class T>
void skinny_transposed_product(const TallMatrix<T>& K, std::size_t k, const float* R, double* out,
                               const Parallel& parallel);

// product = K W and out = Kᵀ (D ∘ product), D count × k: the product with a Hessian, in one pass over K.
template <class T>
void skinny_weighted_product(const TallMatrix<T>& K, std::size_t k, const float* W, const float* D, float* product,
                             double* out, const Parallel& parallel);

}  // namespace hinge
