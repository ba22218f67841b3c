// sparse_rows.hpp: samples as lists of the features in which they differ from a shift, for products with panels.
//
// CSR rows are their own lists (shift 0).  Dense rows often repeat one value in most places (zeros of an image, 0/1
// columns): distances do not mind if that value is taken off, and then a product costs the rest only.  Owns its lists:
// nonzeros · (4 + sizeof T) bytes.  One pass over the samples to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "kernels/block_kernel.hpp"

namespace hinge {

// The value that each feature has most often (among some rows), if taking it off makes the samples sparse enough for
// panels to beat strips; else empty.  Only distances allow a shift: where dot products are needed it is all zero.
// density, if asked for: the share of features that differ from it.
std::vector<double> sparsifying_shift(const Samples& samples, Needs needs, double* density = nullptr);

template <class T>
class SparseRows {
 public:
  // Of all samples, or of those marked: the others are empty.
  SparseRows(const Samples& samples, const std::vector<double>& shift, const std::vector<char>& marked = {});

  const std::int32_t* index() const { return index_.data(); }
  const T* values() const { return values_.data(); }
  const std::size_t* start() const { return start_.data(); }
  const T* norms() const { return norms_.data(); }  // squared, of the shifted rows
  double spread() const { return spread_; }         // the largest of them

 private:
  std::vector<std::int32_t> index_;
  std::vector<T> values_;
  std::vector<std::size_t> start_;
  AlignedArray<T> norms_;
  double spread_ = 0;
};

}  // namespace hinge
