// gather_kernel.hpp: K(x_i, Z) if X or Z is too sparse for matrix products.
// If Z is sparse, row i of X is scattered to a dense vector of d doubles (owned, one per thread), and the entries at
// the nonzeros of each row of Z are gathered.  If Z is dense and X is sparse, the entries of each row of Z at the
// nonzeros of row i are gathered.
#pragma once

#include <cstddef>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "kernels/block_kernel.hpp"

namespace hinge {

// Whether gathering is faster than packing and multiplying.
bool gather_is_cheaper(const Samples& x, const Samples& z);

// The norms of all samples from which distances are computed; empty if not needed.
struct SampleNorms {
  SampleNorms(const Samples& samples, Needs needs);
  std::vector<double> squared, l1;
};

class GatherKernel {
 public:
  static constexpr std::size_t kColumns = 256;

  GatherKernel(const Samples& x, const Samples& z, RowList list_z, const KernelFunction& function,
            const SampleNorms& norms_z);

  void open(std::size_t i);  // selects row i of X, until close()
  void close();

  // K(x_i, z_j) for the entries [first, first + count) of the list of Z, padded with zeros to a multiple of kPad.
  // count is at most kColumns.
  const double* evaluate(std::size_t first, std::size_t count);

 private:
  const Samples& x_;
  const Samples& z_;
  const RowList list_z_;
  const KernelFunction& function_;
  const SampleNorms& norms_z_;
  std::size_t row_ = 0;
  double squared_x_ = 0, l1_x_ = 0;
  std::vector<double> scattered_;  // all zero while no row is open
  AlignedArray<double> dot_, squared_, l1_, stack_;
};

}  // namespace hinge
