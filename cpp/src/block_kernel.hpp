// block_kernel.hpp: K(X, Z) for one block of rows of X and one of Z, through GEMM on panels of features.
// A BlockKernel owns its buffers (up to 4 arrays of kRowsX × kRowsZ and two panels), one per thread.
// Samples of any storage are packed panel by panel; dense ones of the right type are used where they lie.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "hinge/kernel_function.hpp"
#include "hinge/parallel.hpp"
#include "hinge/samples.hpp"
#include "hinge/vector_ops.hpp"

namespace hinge {

// Zeroed memory on a vector boundary.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t size)
      : data_(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{kAlignment}))) {
    for (std::size_t k = 0; k < size; ++k) data_.get()[k] = T(0);
  }
  T* data() const { return data_.get(); }

 private:
  struct Delete {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<T, Delete> data_;
};

std::vector<double> column_means(const Samples& samples);

// The largest squared distance of a sample from the centre.
double spread(const Samples& samples, const std::vector<double>& centre);

struct Range {
  std::size_t first, last;
  std::size_t size() const { return last - first; }
};

template <class T>
class BlockKernel {
 public:
  static constexpr std::size_t kRowsX = 256, kRowsZ = 512;  // the largest block
  static constexpr std::size_t kStride = kRowsZ;            // between rows of the result

  // centre: subtracted before squared distances are taken; its values do not matter, its nearness to Z does.
  BlockKernel(const Samples& x, const Samples& z, const KernelFunction& function, const std::vector<double>& centre);

  // Rows of kStride values, the first z.size() of which are K; zero from there to the next multiple of kPad.
  const T* evaluate(Range x, Range z, Pulse& pulse);

 private:
  struct Panel {
    const T* values;
    std::size_t stride;
  };

  void dot_products(Range x, Range z, Pulse& pulse);
  void squared_by_norms(Range x, Range z, Pulse& pulse);
  void by_rows(RowOperation<T, T>* operation, T* out, Range x, Range z, Pulse& pulse);
  Panel panel(const Samples& samples, Range rows, Range features, bool centred, const AlignedArray<T>& buffer) const;

  const Samples& x_;
  const Samples& z_;
  const KernelFunction& function_;
  const std::vector<double>& centre_;
  const std::size_t features_;
  AlignedArray<T> panel_x_, panel_z_, dot_, squared_, l1_, stack_;
};

}  // namespace hinge
