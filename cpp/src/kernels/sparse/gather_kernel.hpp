// gather_kernel.hpp: K(x_i, Z) if X or Z is too sparse for matrix products.
// If Z is sparse, row i of X is scattered to a dense vector of d doubles (owned, one per thread), and the entries at
// the nonzeros of each row of Z are gathered.  If Z is dense and X is sparse, the entries of each row of Z at the
// nonzeros of row i are gathered.  If samples have few features in common, products of sparse rows are computed by
// feature instead (feature_lists.hpp), with identical results.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "kernels/block_kernel.hpp"
#include "kernels/sparse/feature_lists.hpp"

namespace hinge {

// Whether gathering is faster than packing and multiplying.
bool gather_is_cheaper(const Samples& x, const Samples& z);

// The norms of all samples from which distances are computed; empty if not needed.
struct SampleNorms {
  SampleNorms(const Samples& samples, Needs needs);
  std::vector<double> squared, l1;
};

// Lists of the listed samples of Z if they are faster than gathering for typical rows of X; otherwise nullptr.
std::unique_ptr<const FeatureLists> useful_feature_lists(const Samples& x, const Samples& z, RowList list_z);

class GatherKernel {
 public:
  static constexpr std::size_t kColumns = 256;

  // lists: of all samples in list_z, or nullptr.
  GatherKernel(const Samples& x, const Samples& z, RowList list_z, const KernelFunction& function,
               const SampleNorms& norms_z, const FeatureLists* lists);

  void open(std::size_t i, std::size_t pairs);  // selects row i of X, until close(); `pairs` values will be needed
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
  const FeatureLists* const lists_;
  bool use_lists_ = false;  // for the open row
  double squared_x_ = 0, l1_x_ = 0;
  std::vector<double> scattered_;  // all zero while no row is open
  std::vector<double> list_dots_, list_overlaps_;  // products with all samples of Z, if the open row uses the lists
  AlignedArray<double> dot_, squared_, l1_, stack_;
};

}  // namespace hinge
