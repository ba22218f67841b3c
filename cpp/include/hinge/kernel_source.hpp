// kernel_source.hpp: the one door through which every solver sees the kernel matrix.
// A source owns no cache; a row costs what its kernel costs.  One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

class KernelSource {
 public:
  KernelSource() = default;
  KernelSource(const KernelSource&) = delete;
  KernelSource& operator=(const KernelSource&) = delete;
  virtual ~KernelSource() = default;

  virtual std::size_t size() const = 0;  // number of samples n

  virtual void diagonal(Span<double> out) const = 0;  // K_ii for all i

  // K[i, columns]; an empty list of columns means all n.  out.size() is the number of columns.
  virtual void row(std::size_t i, Span<const std::int32_t> columns, Span<double> out) const = 0;
  virtual void row(std::size_t i, Span<const std::int32_t> columns, Span<float> out) const = 0;

  // Whole rows, out[k] receiving row which[k].  Sources that gain from it make them as one block, on all threads.
  virtual void block_rows(Span<const std::int32_t> which, Span<double* const> out, const Parallel& parallel) const {
    one_by_one(which, out, parallel);
  }
  virtual void block_rows(Span<const std::int32_t> which, Span<float* const> out, const Parallel& parallel) const {
    one_by_one(which, out, parallel);
  }

 private:
  template <class T>
  void one_by_one(Span<const std::int32_t> which, Span<T* const> out, const Parallel& parallel) const {
    const Parallel alone{1, parallel.poll};  // a source may not be safe for several threads
    run_tasks(which.size(), alone, [&] {
      return [&](std::size_t k, Pulse&) { row(static_cast<std::size_t>(which[k]), {}, Span<T>(out[k], size())); };
    });
  }
};

}  // namespace hinge
