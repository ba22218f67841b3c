// working_block.hpp: the kernel values among the samples of a working set, in one piece that stays in the cache.
// Those among samples that were in the last set as well are copied, the others computed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/kernel_source.hpp"
#include "hinge/parallel.hpp"

namespace hinge {

template <class T>
class WorkingBlock {
 public:
  explicit WorkingBlock(const KernelSource& kernel) : kernel_(kernel), row_of_(kernel.size(), -1) {}

  // samples: each at most once.
  void fill(std::vector<std::int32_t> samples, const Parallel& parallel) {
    const std::size_t m = samples.size(), before = samples_.size();
    std::vector<std::int32_t> fresh, from(m);  // from: row of the last block, or -1
    std::vector<std::size_t> fresh_at, kept_at;
    for (std::size_t k = 0; k < before; ++k) row_of(samples_[k]) = static_cast<std::int32_t>(k);
    for (std::size_t k = 0; k < m; ++k) {
      from[k] = row_of(samples[k]);
      (from[k] < 0 ? fresh_at : kept_at).push_back(k);
      if (from[k] < 0) fresh.push_back(samples[k]);
    }
    for (std::int32_t i : samples_) row_of(i) = -1;
    if (next_.size() < m * m) next_.resize(m * m);
    T* const block = next_.data();
    std::vector<T*> rows;
    for (std::size_t k : fresh_at) rows.push_back(block + k * m);
    const auto columns = kernel_.columns(samples, kPackedBytes);
    kernel_.block_rows(fresh, *columns, Span<T* const>(rows.data(), rows.size()), parallel);
    constexpr std::size_t run = 16;
    run_tasks((kept_at.size() + run - 1) / run, Parallel{parallel.threads, {}}, [&] {
      return [&](std::size_t task, Pulse&) {
        const std::size_t first = task * run, last = std::min(kept_at.size(), first + run);
        for (std::size_t k = first; k < last; ++k) {
          const std::size_t a = kept_at[k];
          const T* const old = block_.data() + static_cast<std::size_t>(from[a]) * before;
          for (std::size_t b : kept_at) block[a * m + b] = old[static_cast<std::size_t>(from[b])];
        }
        for (std::size_t b : fresh_at)  // K is symmetric
          for (std::size_t k = first; k < last; ++k) block[kept_at[k] * m + b] = block[b * m + kept_at[k]];
      };
    });
    block_.swap(next_);
    samples_.swap(samples);
  }

  const T* row(std::size_t k) const { return block_.data() + k * samples_.size(); }

 private:
  static constexpr std::size_t kPackedBytes = std::size_t(8) << 20;

  std::int32_t& row_of(std::int32_t sample) { return row_of_[static_cast<std::size_t>(sample)]; }

  const KernelSource& kernel_;
  std::vector<std::int32_t> samples_, row_of_;  // row_of_: -1 but while a block is made
  std::vector<T> block_, next_;
};

}  // namespace hinge
