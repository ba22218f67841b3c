// block_kernel.hpp: K(X, Z) in blocks, by matrix products of packed samples.
// A BlockKernel, one per thread, owns its buffers: the packed rows of one task of X and of one block of Z (a few
// megabytes for any number of samples) and the values of one tile.
//
// Squared distances are |x|² + |z|² - 2 x·z of centered data.  The three terms are summed in the same order, so the
// distance of equal rows is exactly 0, and a value depends on its two rows only, not on the block.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "kernels/loops/vector_ops.hpp"

namespace hinge {

// Uninitialized memory, aligned for vectors.
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

// The rows of X or Z that take part, in order: all of them, or a list.
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

// The largest squared distance of a sample from the center.
double spread(const Samples& samples, const std::vector<double>& center);

// How squared distances are computed: |x|² + |z|² - 2 x·z, or as sums of squared differences.
enum class Distances { from_norms, from_differences };

// Whether float determines gamma |x - z|² with an error of at most about 2e-6.  The error is about 1e-7 times
// gamma · spread for distances from norms, and 1e-7 times its square root, weighted with the kernel value, for
// distances from differences of rounded features.
inline bool float_suffices(double gamma_times_spread, Distances distances = Distances::from_norms) {
  return gamma_times_spread <= (distances == Distances::from_norms ? 16 : 1600);
}

// Up to this many rows of X, Z is not packed into strips and distances are sums of squared differences.
inline constexpr std::size_t kMaxUnpackedRows = 4;
inline constexpr std::size_t kFeatureBlock = 256;  // features per pass: a strip of them stays in the L1 cache

// Division of K(X, Z) into tasks and blocks; depends on the shapes only.
struct Blocking {
  Blocking(std::size_t rows_x, std::size_t features, std::size_t value_size);
  static constexpr std::size_t kTile = 96;  // rows of X evaluated at a time; a multiple of kStripX
  static constexpr std::size_t kMaxColumns = 256;
  std::size_t task;     // rows of X packed at a time
  std::size_t columns;  // rows of Z packed at a time, a power of two from kPad to kMaxColumns
};

template <class T>
class SparseRows;

// Consecutive rows of X or Z (of its list) in the layouts that the kernel needs.
template <class T>
class PackedRows {
 public:
  PackedRows(const Samples& samples, RowList list, Needs needs, const std::vector<double>& center,
             std::size_t strip, std::size_t capacity);

  // Loads panels; `sparse` has the same samples, shifted by the center.
  void load(const SparseRows<T>& sparse, Range rows);
  void load(Range rows, bool in_strips);  // into strips; into rows if not in_strips, or additionally if l1 is needed
  static std::size_t bytes(std::size_t rows, std::size_t features, Needs needs);  // approximate memory

  std::size_t strip_stride() const { return strip_ * features_; }
  const T* plain(std::size_t strip) const { return plain_.data() + strip * strip_stride(); }
  const T* centered(std::size_t strip) const { return centered_.data() + strip * strip_stride(); }
  const T* panel(std::size_t k) const { return needs_.squared ? centered(k) : plain(k); }
  const T* norms() const { return norms_.data(); }
  const T* row(std::size_t i) const { return rows_ + i * row_stride_; }
  std::size_t row_stride() const { return row_stride_; }
  std::size_t row_width() const { return row_width_; }

 private:
  void load_strips(Range rows);
  bool in_panels() const { return strip_ == kPanelWidth<T>; }  // dot products are then unaffected by the center
  void load_rows(Range rows);

  const Samples& samples_;
  const RowList list_;
  const Needs needs_;
  const std::vector<double>& center_;
  const std::size_t strip_, capacity_, features_, row_width_;
  AlignedArray<T> plain_, centered_, norms_;
  std::vector<T> row_copy_;
  const T* rows_ = nullptr;
  std::size_t row_stride_ = 0;
};

template <class T>
class BlockKernel {
 public:
  // The kernel function, the samples, the center and the sparse rows must outlive this object.
  // sparse_z: the rows of Z shifted by the center; products are then panels of X against sparse rows, otherwise strips
  // of X against strips of Z.  If X and Z are the same samples, panels are made from sparse_z as well.
  // packed_z: all rows of list_z; if nullptr, every block is packed when it is loaded.
  BlockKernel(const Samples& x, RowList list_x, const Samples& z, RowList list_z, const KernelFunction& function,
              const std::vector<double>& center, const Blocking& blocking, const SparseRows<T>* sparse_z = nullptr,
              const PackedRows<T>* packed_z = nullptr, Distances distances = Distances::from_norms);

  void load_x(Range rows);
  void load_z(Range rows);  // rows.first must be a multiple of Blocking::columns

  // K for the rows [first, first + count) loaded by load_x and all rows loaded by load_z.  first must be a multiple of
  // Blocking::kTile and count at most kTile.  Rows are stride() apart; the last vector of each is padded with zeros.
  const T* evaluate(std::size_t first, std::size_t count);
  std::size_t stride() const { return stride_; }

 private:
  using Product = decltype(StripOps<T>::product);
  void products(Product product, const T* (PackedRows<T>::*part)(std::size_t) const, std::size_t first,
                std::size_t count, T* out) const;
  const PackedRows<T>& packed_z() const { return packed_z_ ? *packed_z_ : z_; }
  void load_sparse_z(Range rows);
  void sparse_products(std::size_t first, std::size_t count, T* out) const;
  void row_operation(RowOperation<T, T>* operation, std::size_t first, std::size_t count, T* out) const;
  const T* norms_z() const;
  void centered_products(std::size_t first, std::size_t count) const;
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
  std::size_t first_z_ = 0, loaded_z_ = 0;  // position among the packed rows, and number
  bool unpacked_ = false;  // Z is read row by row: X has few rows
  AlignedArray<T> dot_, squared_, l1_, stack_;
};

}  // namespace hinge
