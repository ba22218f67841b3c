// block_kernel.cpp: base quantities of one tile by products or row by row, then the kernel function.
#include "block_kernel.hpp"

#include <algorithm>

namespace hinge {
template <class T>
BlockKernel<T>::BlockKernel(const Samples& x, RowList list_x, const Samples& z, RowList list_z,
                            const KernelFunction& function, const std::vector<double>& centre,
                            const Blocking& blocking)
    : function_(function),
      needs_(function.needs()),
      features_(features(x)),
      stride_(blocking.columns),
      x_(x, list_x, needs_, centre, kStripX, blocking.task),
      z_(z, list_z, needs_, centre, kStripZ<T>, blocking.columns) {
  const std::size_t tile = Blocking::kTile * stride_;
  if (needs_.dot) dot_ = AlignedArray<T>(tile);
  if (needs_.squared) squared_ = AlignedArray<T>(tile);
  if (needs_.l1) l1_ = AlignedArray<T>(tile);
  stack_ = AlignedArray<T>(function.depth() * stride_);
}

template <class T>
void BlockKernel<T>::load_x(Range rows) {
  few_rows_ = rows.size() <= kFewRows;
  x_.load(rows, !few_rows_);
}

template <class T>
void BlockKernel<T>::load_z(Range rows) {
  loaded_z_ = rows.size();
  z_.load(rows, !few_rows_);
}

// One strip of Z against all strips of X, panel after panel of features.
template <class T>
void BlockKernel<T>::products(const T* (PackedRows<T>::*part)(std::size_t) const, std::size_t first,
                              std::size_t count, T* out) const {
  constexpr std::size_t width = kStripZ<T>;
  const std::size_t strips = (count + kStripX - 1) / kStripX;
  const T* const x = (x_.*part)(first / kStripX);
  for (std::size_t f = 0; f < features_; f += kPanel) {
    const std::size_t d = std::min(kPanel, features_ - f);
    for (std::size_t s = 0; s * width < loaded_z_; ++s) {
      vector_ops().strips<T>().product(strips, d, x + f * kStripX, x_.strip_stride(),
                                       (z_.*part)(s) + f * width, f > 0, out + s * width, stride_);
    }
  }
}

template <class T>
void BlockKernel<T>::by_rows(RowOperation<T, T>* operation, std::size_t first, std::size_t count,
                             T* out) const {
  for (std::size_t i = 0; i < count; ++i) {
    operation(x_.row(first + i), z_.row(0), z_.row_stride(), z_.row_width(), nullptr, loaded_z_,
              out + i * stride_);
  }
}

template <class T>
void BlockKernel<T>::squared_distances(std::size_t first, std::size_t count) const {
  products(&PackedRows<T>::centred, first, count, squared_.data());
  for (std::size_t i = 0; i < count; ++i) {
    T* const row = squared_.data() + i * stride_;
    vector_ops().array<T>().squared_from_dot(padded(loaded_z_), x_.norms()[first + i], z_.norms(), row, row);
  }
}

// Row by row; a program of one leaf works in place.
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
  if (few_rows_) {
    if (needs_.dot) by_rows(rows.dot, first, count, dot_.data());
    if (needs_.squared) by_rows(rows.squared, first, count, squared_.data());
  } else {
    if (needs_.dot) products(&PackedRows<T>::plain, first, count, dot_.data());
    if (needs_.squared) squared_distances(first, count);
  }
  if (needs_.l1) by_rows(rows.l1, first, count, l1_.data());
  T* const result = needs_.dot ? dot_.data() : needs_.squared ? squared_.data() : l1_.data();
  apply_function(result, count);
  return result;
}

template class BlockKernel<float>;
template class BlockKernel<double>;

}  // namespace hinge
