// skinny_product.hpp: products of a tall matrix K (m × n), float32 or float16, with a few columns, for all in one visit
// of K. Rows of K may be chosen by a list.  Owns nothing but sums: n · k · 4 bytes for each of at most kSkinnyTasks
// parts. Within a row 32 or 64 products are summed in float, these sums in double; columns of Kᵀ R are summed in float
// over one part of the rows and in double over the parts.  Parts depend on m only: so do the bits of the results. A
// float16 is widened when it is read, and all else is float32: it costs half the memory and eleven bits of a value.
// Cost: 2 m n k multiplications and additions and one pass over the memory of K, for each function below.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

// K, or those of its rows that are listed.
template <class T>
struct TallMatrix {
  const T* values;  // float, or the bits of a float16
  std::size_t rows, columns;       // of K itself
  Span<const std::int64_t> list;   // chosen rows; empty for all
  std::size_t count() const { return list.size() ? list.size() : rows; }
};

inline constexpr std::size_t kSkinnyTasks = 64;

// Whether this processor widens float16; where it does not, there are no products with them.
bool has_float16_loops();

// out = K W, W n × k, out count × k.
template <class T>
void skinny_product(const TallMatrix<T>& K, std::size_t k, const float* W, float* out, const Parallel& parallel);

// out = Kᵀ R, R count × k, out n × k.
template <class T>
void skinny_transposed_product(const TallMatrix<T>& K, std::size_t k, const float* R, double* out,
                               const Parallel& parallel);

// product = K W and out = Kᵀ (D ∘ product), D count × k: a product with a Hessian, in one visit of K.
template <class T>
void skinny_weighted_product(const TallMatrix<T>& K, std::size_t k, const float* W, const float* D, float* product,
                             double* out,
                   const Parallel& parallel);

}  // namespace hinge
