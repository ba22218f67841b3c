// thin.hpp: products of a tall float32 matrix K (m × n) with a few columns, for all of them in one visit of K.
// Rows of K may be chosen by a list.  Owns nothing but sums: n · k · 4 bytes for each of at most kThinTasks parts.
// Within a row 256 products at a time are summed in float, these sums in double; columns of Kᵀ R are summed in float
// over one part of the rows and in double over the parts.  Parts depend on m only: so do the bits of the results.
// Cost: 2 m n k multiplications and additions and one pass over the memory of K, for each function below.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

// K, or those of its rows that are listed.
struct TallMatrix {
  const float* values;
  std::size_t rows, columns;       // of K itself
  Span<const std::int64_t> list;   // chosen rows; empty for all
  std::size_t count() const { return list.size() ? list.size() : rows; }
};

inline constexpr std::size_t kThinTasks = 64;

// out = K W, W n × k, out count × k.
void thin_times(const TallMatrix& K, std::size_t k, const float* W, float* out, const Parallel& parallel);

// out = Kᵀ R, R count × k, out n × k.
void thin_transposed(const TallMatrix& K, std::size_t k, const float* R, double* out, const Parallel& parallel);

// product = K W and out = Kᵀ (D ∘ product), D count × k: a product with a Hessian, in one visit of K.
void thin_weighted(const TallMatrix& K, std::size_t k, const float* W, const float* D, float* product, double* out,
                   const Parallel& parallel);

}  // namespace hinge
