// kernel_rows.hpp: several rows of the kernel matrix of n samples, computed as one product.
// Every block of columns is packed once and multiplied with all rows.  For more than a few rows this is several times
// faster than single rows, which are limited by memory bandwidth.  Memory: a few megabytes per thread during a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/kernel_source.hpp"
#include "hinge/kernels/samples.hpp"
#include "hinge/parallel.hpp"
#include "hinge/span.hpp"
#include "kernels/block_kernel.hpp"
#include "kernels/sparse/feature_lists.hpp"
#include "kernels/sparse/gather_kernel.hpp"
#include "kernels/sparse/rows.hpp"

namespace hinge {

// Columns whose samples are packed for products if they fit into `bytes`.
class PackedColumns final : public Columns {
 public:
  PackedColumns(std::size_t all, Span<const std::int32_t> list, std::size_t bytes)
      : Columns(all, list), rows_(list.begin(), list.end()), bytes_(bytes) {}

  RowList rows() const { return rows_.empty() ? RowList(size()) : RowList(rows_); }
  // Packs the samples at the first call; nullptr if that needs too much memory.
  template <class T>
  const PackedRows<T>* packed(const Samples& samples, Needs needs, const std::vector<double>& center) const;

 private:
  template <class T>
  std::unique_ptr<const PackedRows<T>> pack(const Samples& samples, Needs needs,
                                            const std::vector<double>& center) const;

  std::vector<std::size_t> rows_;
  std::size_t bytes_;
  mutable std::once_flag made_float_, made_double_;
  mutable std::unique_ptr<const PackedRows<float>> float_;
  mutable std::unique_ptr<const PackedRows<double>> double_;
};

class KernelRows {
 public:
  // One pass over the samples, which must outlive this object.
  KernelRows(const Samples& samples, const KernelFunction& function);

  // Multiplications per kernel value: the number of features or of nonzeros, and a constant.
  double cost() const { return 8 + static_cast<double>(features(samples_)) * (shift_.empty() ? 1.0 : density_); }

  // Bound on the error of a kernel value in double precision; docs/math (611).
  double value_error() const;

  // Approximate memory of the lists of nonzeros of all samples.
  std::size_t bytes() const {
    if (feature_lists_) return feature_lists_->bytes();
    const double values = density_ * static_cast<double>(features(samples_)) * static_cast<double>(rows(samples_));
    return float_panels_ ? static_cast<std::size_t>(values * (sizeof(float) + sizeof(std::int32_t))) : 0;
  }

  // out[k] = row which[k] in the given columns.  Float rows are computed in float if that keeps six digits of the
  // distances, and in double otherwise.
  template <class Out>
  void compute(Span<const std::int32_t> which, const PackedColumns& columns, Span<Out* const> out,
               const Parallel& parallel, Part part) const;

  // out += Σ_k coef[k] · row which[k], with kernel values in precision T.
  template <class T>
  void add(Span<const std::int32_t> which, Span<const double> coef, const PackedColumns& columns, Span<double> out,
           const Parallel& parallel) const;

  // out[k] += Σ_l coef[l] K(which[k], which[l]) in double.  Uses the symmetry of K if the partial sums fit into
  // `bytes`.
  void add_square(Span<const std::int32_t> which, Span<const double> coef, Span<double> out, std::size_t bytes,
                  const Parallel& parallel) const;

 private:
  // Calls take(k, first, count, values, height, stride) for every tile: rows which[k .. k + height), columns
  // [first, first + count).  Tiles of the same columns are processed in order on one thread.  With Part::upper, tiles
  // below the diagonal are skipped.
  template <class T, class Take>
  void multiply_tiles(Span<const std::int32_t> which, const PackedColumns& columns, const Parallel& parallel,
                      const SparseRows<T>* lists, Take take, Part part = Part::all) const;

  // Lists of nonzeros in double for the samples of one product; nullptr if the lists of all samples are used.
  std::unique_ptr<const SparseRows<double>> sparse_rows_for(Span<const std::int32_t> which,
                                                            const PackedColumns& columns) const;
  template <class T>
  bool uses_panels(std::size_t columns) const;
  template <class Out>
  void gather_rows(Span<const std::int32_t> which, RowList columns, Span<Out* const> out, const Parallel& parallel,
                   Part part = Part::all) const;
  template <class T>
  const SparseRows<T>& sparse() const;

  const Samples& samples_;
  const KernelFunction& function_;
  double density_ = 1;               // of the shifted samples
  const std::vector<double> shift_;  // if not empty: products of panels with sparse rows
  const bool gather_;                // rows by GatherKernel
  std::vector<double> center_;        // of squared distances of strips
  bool float_panels_ = false;         // whether float suffices for panels
  bool float_suffices_ = false;       // whether float suffices for panels or strips
  Distances distances_ = Distances::from_norms;  // of strips in float
  const SampleNorms norms_;           // for GatherKernel
  const std::unique_ptr<const FeatureLists> feature_lists_;

  // Created at the first use.
  mutable std::once_flag made_float_, made_double_, bounded_;
  mutable double value_error_ = 0;
  mutable std::unique_ptr<const SparseRows<float>> sparse_float_;
  mutable std::unique_ptr<const SparseRows<double>> sparse_double_;
};

}  // namespace hinge
