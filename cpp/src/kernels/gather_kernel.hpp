// gather_kernel.hpp: K(x_i, Z) where X or Z is too sparse for GEMM: nonzeros of one side gathered from the
// other. Z sparse: row i of X is spread over a dense vector of d doubles (owned, one per thread). Z dense, X
// sparse: the nonzeros of row i are looked up in the rows of Z.
#pragma once

#include <cstddef>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "kernels/block_kernel.hpp"

namespace hinge {

// Whether gathering beats packing and multiplying.
bool gather_is_cheaper(const Samples& x, const Samples& z);

// The norms of all samples that distances are made of; empty where not needed.
struct SideNorms {
  SideNorms(const Samples& samples, Needs needs);
  std::vector<double> squared, l1;
};

class RowKernel {
 public:
  static constexpr std::size_t kColumns = 256;

  RowKernel(const Samples& x, const Samples& z, RowList list_z, const KernelFunction& function,
            const SideNorms& norms_z);

  void open(std::size_t i);  // row i of X until close()
  void close();

  // K(x_i, z_j), j in the list of Z, for first <= j < first + count <= first + kColumns, then zeros up to a
  // multiple of kPad.
  const double* evaluate(std::size_t first, std::size_t count);

 private:
  const Samples& x_;
  const Samples& z_;
  const RowList list_z_;
  const KernelFunction& function_;
  const SideNorms& norms_z_;
  std::size_t row_ = 0;
  double squared_x_ = 0, l1_x_ = 0;
  std::vector<double> scattered_;  // all zero while no row is open
  AlignedArray<double> dot_, squared_, l1_, stack_;
};

}  // namespace hinge
