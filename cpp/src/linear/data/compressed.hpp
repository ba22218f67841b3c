// compressed.hpp: dense samples that are mostly zeros, as compressed rows for the time of a run.
// A step of descent is as long as the row it reads; a copy of the values that are not zero is made where it takes at
// most half the memory of the samples themselves (and a number for each row).  docs/decisions/linear-methods.md
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

  // The samples as they are, or their copy, which lives as long as this does.
  Samples of(const Samples& samples, const Parallel& parallel);

 private:
  template <class T>
  bool make(const Dense<T>& from, const Parallel& parallel, Samples& view);

  Pages<char> values_;
  Pages<std::int32_t> index_, start_;
};

}  // namespace hinge
