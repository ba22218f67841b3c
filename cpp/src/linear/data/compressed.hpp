// compressed.hpp: compressed copy of dense samples that are mostly zero, for the duration of a run.
// The cost of a step is proportional to the length of a row.  The copy of the nonzero values is made if it takes at
// most half of the memory of the samples (plus one number per row).  docs/decisions/linear-methods.md
#pragma once

#include <cstdint>

#include "cache/huge_pages.hpp"
#include "hinge/kernels/samples.hpp"
#include "hinge/parallel.hpp"

namespace hinge {

class CompactRows {
 public:
  CompactRows() = default;
  CompactRows(const CompactRows&) = delete;
  CompactRows& operator=(const CompactRows&) = delete;

  // Returns the samples or a view of their copy, which this object owns.
  Samples of(const Samples& samples, const Parallel& parallel);

 private:
  template <class T>
  bool make(const Dense<T>& from, const Parallel& parallel, Samples& view);

  Pages<char> values_;
  Pages<std::int32_t> index_, start_;
};

}  // namespace hinge
