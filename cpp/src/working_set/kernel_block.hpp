// kernel_block.hpp: the kernel matrix of the samples of a working set, contiguous so that it stays in the processor's
// cache. Values of pairs of samples that were in the last set are copied; the others are computed, using symmetry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cache/huge_pages.hpp"
#include "hinge/kernels/kernel_source.hpp"
#include "parallel/tasks.hpp"

namespace hinge {

template <class T>
class KernelBlock {
 public:
  explicit KernelBlock(const KernelSource& kernel) : kernel_(kernel), row_of_(kernel.size(), -1) {}

  // set: positions of different samples, whose numbers are in sample_at.  Reorders the set: new samples first.
  void fill(std::vector<std::int32_t>& set, const std::vector<std::int32_t>& sample_at, const Parallel& parallel) {
    const auto sample = [&](std::int32_t position) { return sample_at[static_cast<std::size_t>(position)]; };
    for (std::size_t k = 0; k < samples_.size(); ++k) row_of(samples_[k]) = static_cast<std::int32_t>(k);
    const auto is_new = [&](std::int32_t position) { return row_of(sample(position)) < 0; };
    const auto kept = std::stable_partition(set.begin(), set.end(), is_new);
    const std::size_t m = set.size(), added = static_cast<std::size_t>(kept - set.begin());
    std::vector<std::int32_t> samples;
    std::vector<std::size_t> from;  // rows of the last block
    for (std::int32_t position : set) samples.push_back(sample(position));
    for (std::size_t k = added; k < m; ++k) from.push_back(static_cast<std::size_t>(row_of(samples[k])));
    for (std::int32_t i : samples_) row_of(i) = -1;

    next_.resize(m);
    std::vector<T*> rows;
    for (std::size_t k = 0; k < added; ++k) rows.push_back(next_.row(k));
    kernel_.block_rows(Span<const std::int32_t>(samples).subspan(0, added), *kernel_.columns(samples, kPackedBytes),
                       Span<T* const>(rows.data(), rows.size()), parallel, Part::upper);
    run_tasks((m + kTaskRows - 1) / kTaskRows, Parallel{parallel.threads, {}}, [&] {
      return [&](std::size_t task, Poller&) {
        complete(task * kTaskRows, std::min(m, (task + 1) * kTaskRows), added, from);
      };
    });
    std::swap(block_, next_);
    samples_.swap(samples);
  }

  const T* row(std::size_t k) const { return block_.row(k); }

 private:
  static constexpr std::size_t kPackedBytes = std::size_t(8) << 20;  // memory for packed columns
  static constexpr std::size_t kTaskRows = 64;  // enough rows to use whole cache lines of the rows they are copied from

  // Rows are an odd number of cache lines apart, so that a column is spread over all sets of the cache.
  struct Square {
    Pages<T> values;
    std::size_t stride = 0;

    void resize(std::size_t m) {
      constexpr std::size_t line = 64 / sizeof(T);
      stride = ((m + line - 1) / line | 1) * line;
      if (m * stride <= values.size()) return;
      values = {};  // releases the memory first
      values = Pages<T>(m * stride);
    }
    T* row(std::size_t k) const { return values.data() + k * stride; }
  };

  // Completes the rows [first, last) of the next block: the lower triangle of the new samples, and values of the last
  // block.
  void complete(std::size_t first, std::size_t last, std::size_t added, const std::vector<std::size_t>& from) const {
    for (std::size_t b = 0; b < std::min(added, last); ++b)
      for (std::size_t a = std::max(first, b + 1); a < last; ++a) next_.row(a)[b] = next_.row(b)[a];
    for (std::size_t a = std::max(first, added); a < last; ++a) {
      const T* const old = block_.row(from[a - added]);
      T* const out = next_.row(a) + added;
      for (std::size_t k = 0; k < from.size(); ++k) out[k] = old[from[k]];
    }
  }

  std::int32_t& row_of(std::int32_t sample) { return row_of_[static_cast<std::size_t>(sample)]; }

  const KernelSource& kernel_;
  std::vector<std::int32_t> samples_, row_of_;  // row_of_: -1 except during fill
  Square block_, next_;
};

}  // namespace hinge
