// feature_lists.hpp: sparse samples stored by feature, for products with sparse rows.
// The list of a feature holds the samples in which it is not zero.  A row is multiplied with all samples by adding the
// products in the lists of its own features, so the cost is the number of common nonzeros.  Gathering reads all
// nonzeros of all samples.  Terms of a product are added in the order of the features, as in operations.hpp: the
// results of both methods are bit-identical.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/kernels/samples.hpp"
#include "hinge/span.hpp"
#include "kernels/block_kernel.hpp"

namespace hinge {

class FeatureLists {
 public:
  // Lists of the samples `list` of Z, which is sparse.
  FeatureLists(const Samples& z, RowList list);

  // Terms of the products of row i of X with all listed samples.
  std::size_t terms(const Samples& x, std::size_t i) const;

  // out[j] = x_i·z_j (dots) and Σ overlap(x_i, z_j) (overlaps; see operations.hpp) for the listed samples j, 0 for all
  // others.  An output of size 0 is not computed.
  void multiply(const Samples& x, std::size_t i, Span<double> dots, Span<double> overlaps) const;

  std::size_t nonzeros() const { return entries_.size(); }
  std::size_t samples() const { return samples_; }
  std::size_t bytes() const { return entries_.size() * sizeof(Entry) + start_.size() * sizeof(std::size_t); }

 private:
  struct Entry {
    double value;
    std::size_t sample;
  };
  std::size_t samples_;
  std::vector<std::size_t> start_;  // the list of feature f is entries_[start_[f] .. start_[f + 1])
  std::vector<Entry> entries_;
};

// Whether the lists are faster than gathering for a row with `terms` terms, if `pairs` of its products are needed.
bool lists_are_cheaper(const FeatureLists& lists, std::size_t terms, std::size_t pairs);

}  // namespace hinge
