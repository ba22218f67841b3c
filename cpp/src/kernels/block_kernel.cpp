// block_kernel.cpp: dot products and distances of one tile, then the kernel function.
#include "kernels/block_kernel.hpp"

#include <algorithm>

#include "kernels/sparse/rows.hpp"

namespace hinge {

template <class T>
BlockKernel<T>::BlockKernel(const Samples& x, RowList list_x, const Samples& z, RowList list_z,
                            const KernelFunction& function, const std::vector<double>& center,
                            const Blocking& blocking, const SparseRows<T>* sparse_z, const PackedRows<T>* packed_z,
                            Distances distances)
    : function_(function),
      needs_(function.needs()),
      features_(features(x)),
      stride_(blocking.columns),
      same_samples_(&x == &z),
      sparse_z_(sparse_z),
      list_z_(list_z),
      packed_z_(packed_z),
      distances_(distances),
      x_(x, list_x, needs_, center, sparse_z ? kPanelWidth<T> : kStripX, blocking.task),
      z_(z, list_z, needs_, center, kStripZ<T>, blocking.columns) {
  const std::size_t tile = Blocking::kTile * stride_;
  if (needs_.dot) dot_ = AlignedArray<T>(tile);
  if (needs_.squared) squared_ = AlignedArray<T>(tile);
  if (needs_.l1) l1_ = AlignedArray<T>(tile);
  stack_ = AlignedArray<T>(function.depth() * stride_);
}

template <class T>
void BlockKernel<T>::load_x(Range rows) {
  unpacked_ = rows.size() <= kMaxUnpackedRows && !sparse_z_ && !packed_z_;
  if (sparse_z_ && same_samples_) {
    x_.load(*sparse_z_, rows);
  } else {
    x_.load(rows, !unpacked_);
  }
}

template <class T>
void BlockKernel<T>::load_z(Range rows) {
  first_z_ = packed_z_ ? rows.first : 0;
  loaded_z_ = rows.size();
  if (sparse_z_) {
    load_sparse_z(rows);
  } else if (!packed_z_) {
    z_.load(rows, !unpacked_);
  }
}

template <class T>
void BlockKernel<T>::load_sparse_z(Range rows) {
  begin_z_.resize(stride_), end_z_.resize(stride_);
  if (!norms_z_.data()) norms_z_ = AlignedArray<T>(stride_);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::size_t j = list_z_[rows.first + k];
    begin_z_[k] = sparse_z_->start()[j], end_z_[k] = sparse_z_->start()[j + 1];
    norms_z_.data()[k] = sparse_z_->norms()[j];
  }
}

// Each strip of Z against all strips of X, one block of features at a time.
template <class T>
void BlockKernel<T>::products(Product product, const T* (PackedRows<T>::*part)(std::size_t) const, std::size_t first,
                              std::size_t count, T* out) const {
  constexpr std::size_t width = kStripZ<T>;
  const std::size_t strips = (count + kStripX - 1) / kStripX;
  const T* const x = (x_.*part)(first / kStripX);
  for (std::size_t f = 0; f < features_; f += kFeatureBlock) {
    const std::size_t d = std::min(kFeatureBlock, features_ - f);
    for (std::size_t s = 0; s * width < loaded_z_; ++s) {
      product(strips, d, x + f * kStripX, x_.strip_stride(),
              (packed_z().*part)(first_z_ / width + s) + f * width, f > 0, out + s * width, stride_);
    }
  }
}

template <class T>
void BlockKernel<T>::sparse_products(std::size_t first, std::size_t count, T* out) const {
  constexpr std::size_t width = kPanelWidth<T>;
  for (std::size_t r = 0; r < count; r += width) {
    vector_ops().panels<T>().product(std::min(width, count - r), x_.panel((first + r) / width), begin_z_.data(),
                                     end_z_.data(), sparse_z_->index(), sparse_z_->values(), loaded_z_,
                                     out + r * stride_, stride_);
  }
}

template <class T>
void BlockKernel<T>::row_operation(RowOperation<T, T>* operation, std::size_t first, std::size_t count,
                                   T* out) const {
  for (std::size_t i = 0; i < count; ++i) {
    operation(x_.row(first + i), packed_z().row(first_z_), packed_z().row_stride(), packed_z().row_width(), nullptr,
              loaded_z_, out + i * stride_);
  }
}

template <class T>
const T* BlockKernel<T>::norms_z() const {
  return sparse_z_ ? norms_z_.data() : packed_z().norms() + first_z_;
}

template <class T>
void BlockKernel<T>::centered_products(std::size_t first, std::size_t count) const {
  if (sparse_z_) {
    sparse_products(first, count, squared_.data());
  } else {
    products(vector_ops().strips<T>().product, &PackedRows<T>::centered, first, count, squared_.data());
  }
}

template <class T>
void BlockKernel<T>::squared_distances(std::size_t first, std::size_t count) const {
  if (distances_ == Distances::from_differences)
    return products(vector_ops().strips<T>().squared, &PackedRows<T>::centered, first, count, squared_.data());
  centered_products(first, count);
  for (std::size_t i = 0; i < count; ++i) {
    T* const row = squared_.data() + i * stride_;
    vector_ops().array<T>().squared_from_dot(padded(loaded_z_), x_.norms()[first + i], norms_z(), row, row);
  }
}

// The Gaussian kernel, in fewer passes over the tile.
template <class T>
const T* BlockKernel<T>::gaussian(std::size_t first, std::size_t count) const {
  const std::size_t m = padded(loaded_z_);
  const T scale = -static_cast<T>(function_.sharpness());
  const bool from_norms = distances_ == Distances::from_norms;
  if (from_norms) {
    centered_products(first, count);
  } else {
    squared_distances(first, count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    T* const row = squared_.data() + i * stride_;
    std::fill(row + loaded_z_, row + m, T(0));
    if (from_norms) {
      vector_ops().array<T>().gaussian_from_dot(m, scale, x_.norms()[first + i], norms_z(), row, row);
    } else {
      vector_ops().array<T>().gaussian(m, scale, row, row);
    }
    std::fill(row + loaded_z_, row + m, T(0));
  }
  return squared_.data();
}

// Applies the kernel function row by row; a program with one leaf is evaluated in place.
template <class T>
void BlockKernel<T>::apply_function(T* result, std::size_t count) const {
  const std::size_t m = padded(loaded_z_);
  for (std::size_t i = 0; i < count; ++i) {
    const Base<T> base{needs_.dot ? dot_.data() + i * stride_ : nullptr,
                       needs_.squared ? squared_.data() + i * stride_ : nullptr,
                       needs_.l1 ? l1_.data() + i * stride_ : nullptr};
    for (const AlignedArray<T>* array : {&dot_, &squared_, &l1_}) {
      if (T* const values = array->data())
        std::fill(values + i * stride_ + loaded_z_, values + i * stride_ + m, T(0));
    }
    T* const row = result + i * stride_;
    T* const values = function_.depth() == 1 ? row : stack_.data();
    function_.evaluate(base, m, values);
    if (values != row) std::copy(values, values + loaded_z_, row);
    std::fill(row + loaded_z_, row + m, T(0));
  }
}

template <class T>
const T* BlockKernel<T>::evaluate(std::size_t first, std::size_t count) {
  const RowOps<T, T>& rows = vector_ops().rows<T, T>();
  if (function_.is_gaussian() && !unpacked_) return gaussian(first, count);
  if (unpacked_) {
    if (needs_.dot) row_operation(rows.dot, first, count, dot_.data());
    if (needs_.squared) row_operation(rows.squared, first, count, squared_.data());
  } else {
    if (needs_.dot && sparse_z_) {
      sparse_products(first, count, dot_.data());
    } else if (needs_.dot) {
      products(vector_ops().strips<T>().product, &PackedRows<T>::plain, first, count, dot_.data());
    }
    if (needs_.squared) squared_distances(first, count);
  }
  if (needs_.l1) row_operation(rows.l1, first, count, l1_.data());
  T* const result = needs_.dot ? dot_.data() : needs_.squared ? squared_.data() : l1_.data();
  apply_function(result, count);
  return result;
}

template class BlockKernel<float>;
template class BlockKernel<double>;

}  // namespace hinge
