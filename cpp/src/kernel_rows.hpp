// kernel_rows.hpp: several whole rows of the kernel matrix of n samples at once, as one product.
// Every block of columns is packed once and met by all rows: for a handful of rows and more this is several
// times faster than row after row, which is bound by memory.  Some megabytes per thread while it works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/kernel_function.hpp"
#include "hinge/parallel.hpp"
#include "hinge/samples.hpp"
#include "hinge/span.hpp"
#include "row_kernel.hpp"

namespace hinge {

class KernelRows {
 public:
  // One pass over the samples, which must outlive this.
  KernelRows(const Samples& samples, const KernelFunction& function);

  // out[k] receives the n values of row which[k].  Arithmetic as for single rows: float only for float
  // samples and float rows, and then only where it keeps six digits of the distances.
  template <class Out>
  void compute(Span<const std::int32_t> which, Span<Out* const> out, const Parallel& parallel) const;

 private:
  template <class T, class Out>
  void by_products(Span<const std::int32_t> which, Out* const* out, const Parallel& parallel) const;
  template <class Out>
  void by_gathering(Span<const std::int32_t> which, Span<Out* const> out, const Parallel& parallel) const;

  const Samples& samples_;
  const KernelFunction& function_;
  const bool gather_;
  const std::vector<double> centre_;  // of squared distances, in products
  const bool float_keeps_;
  const SideNorms norms_;  // in gathering
};

}  // namespace hinge
