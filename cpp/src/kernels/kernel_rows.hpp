// kernel_rows.hpp: several rows of the kernel matrix of n samples at once, as one product.
// Every block of columns is packed once and met by all rows: for a handful of rows and more this is several
// times faster than row after row, which is bound by memory.  Some megabytes per thread while it works.
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
#include "kernels/gather_kernel.hpp"
#include "kernels/sparse_rows.hpp"

namespace hinge {

// Columns with their samples packed for products, if there is room for them.
class PackedColumns final : public Columns {
 public:
  PackedColumns(std::size_t all, Span<const std::int32_t> list, std::size_t bytes)
      : Columns(all, list), rows_(list.begin(), list.end()), bytes_(bytes) {}

  RowList rows() const { return rows_.empty() ? RowList(size()) : RowList(rows_); }
  // Packed when first asked for; null if that takes too much memory.
  template <class T>
  const PackedRows<T>* packed(const Samples& samples, Needs needs, const std::vector<double>& centre) const;

 private:
  template <class T>
  std::unique_ptr<const PackedRows<T>> pack(const Samples& samples, Needs needs,
                                            const std::vector<double>& centre) const;

  std::vector<std::size_t> rows_;
  std::size_t bytes_;
  mutable std::once_flag made_float_, made_double_;
  mutable std::unique_ptr<const PackedRows<float>> float_;
  mutable std::unique_ptr<const PackedRows<double>> double_;
};

class KernelRows {
 public:
  // One pass over the samples, which must outlive this.
  KernelRows(const Samples& samples, const KernelFunction& function);

  // Multiplications of a value: features, or nonzeros.
  double cost() const { return 8 + static_cast<double>(features(samples_)) * (shift_.empty() ? 1.0 : density_); }

  // Of the lists of all samples in single precision, about.
  std::size_t bytes() const {
    const double values = density_ * static_cast<double>(features(samples_)) * static_cast<double>(rows(samples_));
    return float_panels_ ? static_cast<std::size_t>(values * (sizeof(float) + sizeof(std::int32_t))) : 0;
  }

  // out[k] receives row which[k] over the given columns.  Float rows are computed in float where that keeps six
  // digits of the distances, and in double otherwise.
  template <class Out>
  void compute(Span<const std::int32_t> which, const PackedColumns& columns, Span<Out* const> out,
               const Parallel& parallel, Part part) const;

  // out += Σ_k coef[k] · row which[k], with rows as they would be in precision T.
  template <class T>
  void add(Span<const std::int32_t> which, Span<const double> coef, const PackedColumns& columns, Span<double> out,
           const Parallel& parallel) const;

  // out[k] += Σ_l coef[l] K(which[k], which[l]) in double, every value made once if the sums fit into the bytes.
  void add_square(Span<const std::int32_t> which, Span<const double> coef, Span<double> out, std::size_t bytes,
                  const Parallel& parallel) const;

 private:
  // Calls take(k, first, count, values, height, stride) for every tile: rows which[k .. k + height), columns
  // [first, first + count).  Tiles of the same columns come one after the other, in order, on one thread.  Of the upper
  // part those that are below the diagonal are left out.
  template <class T, class Take>
  void by_products(Span<const std::int32_t> which, const PackedColumns& columns, const Parallel& parallel,
                   const SparseRows<T>* lists, Take take, Part part = Part::all) const;

  // Lists of double for one product: of the samples it needs, unless these are most, or all are there already.
  std::unique_ptr<const SparseRows<double>> lists_for(Span<const std::int32_t> which,
                                                      const PackedColumns& columns) const;
  template <class T>
  bool by_panels(std::size_t columns) const;
  template <class Out>
  void by_gathering(Span<const std::int32_t> which, RowList columns, Span<Out* const> out, const Parallel& parallel,
                    Part part = Part::all) const;
  template <class T>
  const SparseRows<T>& sparse() const;

  const Samples& samples_;
  const KernelFunction& function_;
  double density_ = 1;               // of the samples, shifted
  const std::vector<double> shift_;  // not empty: panels against sparse rows
  const bool gather_;
  std::vector<double> centre_;        // of squared distances, in strips
  bool float_panels_ = false;         // whether panels in float keep enough digits
  bool float_keeps_ = false;          // whether panels or strips do
  Distances distances_ = Distances::by_norms;  // of float, in strips
  const SideNorms norms_;  // in gathering

  // Made when first asked for.
  mutable std::once_flag made_float_, made_double_;
  mutable std::unique_ptr<const SparseRows<float>> sparse_float_;
  mutable std::unique_ptr<const SparseRows<double>> sparse_double_;
};

}  // namespace hinge
