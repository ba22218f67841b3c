// rows.hpp: samples as lists of the features in which they differ from a shift, for products with panels.
//
// For CSR samples the shift is 0.  In dense samples most features often have one frequent value (zeros of an image, 0/1
// columns).  Distances do not change if that value is subtracted, and a product then costs only the remaining values.
// Owns its lists: nonzeros · (4 + sizeof T) bytes.  Two passes over the samples to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "kernels/block_kernel.hpp"

namespace hinge {

// The most frequent value of each feature in a subset of the rows, if subtracting it makes the samples sparse enough
// for panels to be faster than strips; otherwise empty.  All zero if dot products are needed, which a shift would
// change. density, if not nullptr: the fraction of features that differ from the shift.
std::vector<double> sparsifying_shift(const Samples& samples, Needs needs, double* density = nullptr);

template <class T>
class SparseRows {
 public:
  // Of all samples, or of the marked ones; the lists of other samples are empty.
  SparseRows(const Samples& samples, const std::vector<double>& shift, const std::vector<char>& marked = {});

  const std::int32_t* index() const { return index_.data(); }
  const T* values() const { return values_.data(); }
  const std::size_t* start() const { return start_.data(); }
  const T* norms() const { return norms_.data(); }  // squared norms of the shifted rows
  double spread() const { return spread_; }         // the largest squared norm

 private:
  std::vector<std::int32_t> index_;
  std::vector<T> values_;
  std::vector<std::size_t> start_;
  AlignedArray<T> norms_;
  double spread_ = 0;
};

}  // namespace hinge
