// block_kernel.hpp: K(X, Z) block by block, by matrix products on packed samples.
// A BlockKernel owns its buffers, one per thread: the packed rows of one task of X and of one block of Z (a
// few megabytes, whatever the number of samples) and the values of one tile.
//
// Squared distances are |x|² + |z|² - 2 x·z on data moved to a common centre.  The three are summed alike, so
// the distance of equal rows is exactly 0, and a value depends on its own two rows only, not on the block.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "kernels/loops/vector_ops.hpp"

namespace hinge {

// Memory on a vector boundary, not initialised.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t size)
      : data_(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{kAlignment}))) {}
  T* data() const { return data_.get(); }

 private:
  struct Delete {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<T, Delete> data_;
};

struct Range {
  std::size_t first, last;
  std::size_t size() const { return last - first; }
};

// Which rows of a side take part, in which order: all of them, or those listed.
class RowList {
 public:
  explicit RowList(std::size_t all) : size_(all) {}
  explicit RowList(const std::vector<std::size_t>& list) : list_(list.data()), size_(list.size()) {}
  std::size_t size() const { return size_; }
  bool all() const { return list_ == nullptr; }
  std::size_t operator[](std::size_t k) const { return list_ ? list_[k] : k; }

 private:
  const std::size_t* list_ = nullptr;
  std::size_t size_;
};

std::vector<double> column_means(const Samples& samples);

// The largest squared distance of a sample from the centre.
double spread(const Samples& samples, const std::vector<double>& centre);

// How squared distances are made: |x|² + |z|² - 2 x·z, or term by term.
enum class Distances { by_norms, by_differences };

// Float keeps gamma |x - z|² of centred data to about 1e-7 times gamma times their spread if it comes from norms, and
// to 1e-7 times the square root of that, weighted with the kernel's value, if it comes from differences of rounded
// features.  Is that enough?  The same 2e-6 of error in both cases.
inline bool float_keeps(double gamma_times_spread, Distances distances = Distances::by_norms) {
  return gamma_times_spread <= (distances == Distances::by_norms ? 16 : 1600);
}

// So few rows of X do not pay for packing Z into strips: their distances are summed from differences.
inline constexpr std::size_t kFewRows = 4;
inline constexpr std::size_t kPanel = 256;  // features of a product at a time: a strip of them stays in L1

// How K(X, Z) is cut up; depends on the shapes only.
struct Blocking {
  Blocking(std::size_t rows_x, std::size_t features, std::size_t value_size);
  static constexpr std::size_t kTile = 96;  // rows of X evaluated at a time: a multiple of kStripX
  static constexpr std::size_t kMaxColumns = 256;
  std::size_t task;     // rows of X packed at a time
  std::size_t columns;  // rows of Z packed at a time, a power of two from kPad to kMaxColumns
};

template <class T>
class SparseRows;

// Consecutive rows of one side (of its list) in the forms the kernel needs; what it does not need stays
// empty.
template <class T>
class PackedRows {
 public:
  PackedRows(const Samples& samples, RowList list, Needs needs, const std::vector<double>& centre,
             std::size_t strip, std::size_t capacity);

  void load(const SparseRows<T>& sparse, Range rows);  // in panels, from the same samples shifted by the centre
  void load(Range rows, bool in_strips);  // row by row instead if not in_strips; also, where l1 is needed
  static std::size_t bytes(std::size_t rows, std::size_t features, Needs needs);  // of so many of them, about

  std::size_t strip_stride() const { return strip_ * features_; }
  const T* plain(std::size_t strip) const { return plain_.data() + strip * strip_stride(); }
  const T* centred(std::size_t strip) const { return centred_.data() + strip * strip_stride(); }
  const T* panel(std::size_t k) const { return needs_.squared ? centred(k) : plain(k); }
  const T* norms() const { return norms_.data(); }
  const T* row(std::size_t i) const { return rows_ + i * row_stride_; }
  std::size_t row_stride() const { return row_stride_; }
  std::size_t row_width() const { return row_width_; }

 private:
  void load_strips(Range rows);
  bool in_panels() const { return strip_ == kPanelWidth<T>; }  // then the centre is a shift that dot products allow
  void load_rows(Range rows);

  const Samples& samples_;
  const RowList list_;
  const Needs needs_;
  const std::vector<double>& centre_;
  const std::size_t strip_, capacity_, features_, row_width_;
  AlignedArray<T> plain_, centred_, norms_;
  std::vector<T> row_copy_;
  const T* rows_ = nullptr;
  std::size_t row_stride_ = 0;
};

template <class T>
class BlockKernel {
 public:
  // The kernel function, the samples, the centre and the sparse rows must outlive this.  With sparse rows, which are
  // those of Z shifted by the centre, products are panels of X against them; without, strips against strips.  (If X and
  // Z are the same samples, panels are made from them, too.)  Packed rows, if given, are all of list_z; without, every
  // block of them is packed when it is loaded.
  BlockKernel(const Samples& x, RowList list_x, const Samples& z, RowList list_z, const KernelFunction& function,
              const std::vector<double>& centre, const Blocking& blocking, const SparseRows<T>* sparse_z = nullptr,
              const PackedRows<T>* packed_z = nullptr, Distances distances = Distances::by_norms);

  void load_x(Range rows);
  void load_z(Range rows);  // the first a multiple of Blocking::columns

  // K for rows [first, first + count) of what load_x loaded, first a multiple of Blocking::kTile and count at
  // most that, and all that load_z loaded.  Rows are stride() apart; zeros fill the last vector of each.
  const T* evaluate(std::size_t first, std::size_t count);
  std::size_t stride() const { return stride_; }

 private:
  using Product = decltype(StripOps<T>::product);
  void products(Product product, const T* (PackedRows<T>::*part)(std::size_t) const, std::size_t first,
                std::size_t count, T* out) const;
  const PackedRows<T>& packed_z() const { return packed_z_ ? *packed_z_ : z_; }
  void load_sparse_z(Range rows);
  void sparse_products(std::size_t first, std::size_t count, T* out) const;
  void by_rows(RowOperation<T, T>* operation, std::size_t first, std::size_t count, T* out) const;
  const T* norms_z() const;
  void centred_products(std::size_t first, std::size_t count) const;
  void squared_distances(std::size_t first, std::size_t count) const;
  const T* gaussian(std::size_t first, std::size_t count) const;
  void apply_function(T* result, std::size_t count) const;

  const KernelFunction& function_;
  const Needs needs_;
  const std::size_t features_, stride_;
  const bool same_samples_;
  const SparseRows<T>* const sparse_z_;
  const RowList list_z_;
  std::vector<std::size_t> begin_z_, end_z_;  // nonzeros of the loaded sparse rows
  AlignedArray<T> norms_z_;
  const PackedRows<T>* const packed_z_;
  const Distances distances_;
  PackedRows<T> x_, z_;
  std::size_t first_z_ = 0, loaded_z_ = 0;  // among the packed rows, and how many
  bool few_rows_ = false;
  AlignedArray<T> dot_, squared_, l1_, stack_;
};

}  // namespace hinge
