// kernel_block.hpp: the kernel values among the samples of a working set, in one piece that stays in the cache.
// Those among samples that were in the last set as well are copied, the others computed, each once for both its places.
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
class WorkingBlock {
 public:
  explicit WorkingBlock(const KernelSource& kernel) : kernel_(kernel), row_of_(kernel.size(), -1) {}

  // For a set of positions, the sample at each of which is given; no sample twice.  Puts the newcomers first.
  void fill(std::vector<std::int32_t>& set, const std::vector<std::int32_t>& sample_at, const Parallel& parallel) {
    const auto sample = [&](std::int32_t at) { return sample_at[static_cast<std::size_t>(at)]; };
    for (std::size_t k = 0; k < samples_.size(); ++k) row_of(samples_[k]) = static_cast<std::int32_t>(k);
    const auto fresh_first = [&](std::int32_t at) { return row_of(sample(at)) < 0; };
    const auto kept = std::stable_partition(set.begin(), set.end(), fresh_first);
    const std::size_t m = set.size(), fresh = static_cast<std::size_t>(kept - set.begin());
    std::vector<std::int32_t> samples;
    std::vector<std::size_t> from;  // rows of the last block
    for (std::int32_t at : set) samples.push_back(sample(at));
    for (std::size_t k = fresh; k < m; ++k) from.push_back(static_cast<std::size_t>(row_of(samples[k])));
    for (std::int32_t i : samples_) row_of(i) = -1;

    next_.open(m);
    std::vector<T*> rows;
    for (std::size_t k = 0; k < fresh; ++k) rows.push_back(next_.row(k));
    kernel_.block_rows(Span<const std::int32_t>(samples).subspan(0, fresh), *kernel_.columns(samples, kPackedBytes),
                       Span<T* const>(rows.data(), rows.size()), parallel, Part::upper);
    run_tasks((m + kRun - 1) / kRun, Parallel{parallel.threads, {}}, [&] {
      return [&](std::size_t task, Poller&) { complete(task * kRun, std::min(m, (task + 1) * kRun), fresh, from); };
    });
    std::swap(block_, next_);
    samples_.swap(samples);
  }

  const T* row(std::size_t k) const { return block_.row(k); }

 private:
  static constexpr std::size_t kPackedBytes = std::size_t(8) << 20;
  static constexpr std::size_t kRun = 64;  // rows: a page of another row, once opened, is read for many

  // Rows an odd number of cache lines apart: a column of them does not crowd into a few sets of the cache.
  struct Square {
    Pages<T> values;
    std::size_t stride = 0;

    void open(std::size_t m) {
      constexpr std::size_t line = 64 / sizeof(T);
      stride = ((m + line - 1) / line | 1) * line;
      if (m * stride <= values.size()) return;
      values = {};  // before there is another
      values = Pages<T>(m * stride);
    }
    T* row(std::size_t k) const { return values.data() + k * stride; }
  };

  // Rows [first, last) of the next block: what is left of the newcomers' diagonal, and what the last block had.
  void complete(std::size_t first, std::size_t last, std::size_t fresh, const std::vector<std::size_t>& from) const {
    for (std::size_t b = 0; b < std::min(fresh, last); ++b)
      for (std::size_t a = std::max(first, b + 1); a < last; ++a) next_.row(a)[b] = next_.row(b)[a];
    for (std::size_t a = std::max(first, fresh); a < last; ++a) {
      const T* const old = block_.row(from[a - fresh]);
      T* const out = next_.row(a) + fresh;
      for (std::size_t k = 0; k < from.size(); ++k) out[k] = old[from[k]];
    }
  }

  std::int32_t& row_of(std::int32_t sample) { return row_of_[static_cast<std::size_t>(sample)]; }

  const KernelSource& kernel_;
  std::vector<std::int32_t> samples_, row_of_;  // row_of_: -1 but while a block is made
  Square block_, next_;
};

}  // namespace hinge
