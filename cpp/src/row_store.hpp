// row_store.hpp: whole kernel rows within a memory budget, fetched in blocks; the least recently used make room.
// Owns its rows.  A fetch costs the missing rows, computed as one block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hinge/kernel_source.hpp"
#include "hinge/parallel.hpp"

namespace hinge {

template <class T>
class RowStore {
 public:
  RowStore(const KernelSource& kernel, std::size_t budget_bytes)
      : kernel_(kernel), n_(kernel.size()), place_(n_, -1), stamp_(n_, 0),
        capacity_(std::min(std::max<std::size_t>(n_, 2), std::max<std::size_t>(4, budget_bytes / (sizeof(T) * std::max<std::size_t>(1, n_))))) {}

  std::size_t capacity() const { return capacity_; }
  std::int64_t hits() const { return hits_; }
  std::int64_t misses() const { return misses_; }
  bool holds(std::size_t i) const { return place_[i] >= 0; }
  const T* row(std::size_t i) const { return rows_[static_cast<std::size_t>(place_[i])].get(); }

  // Afterwards row(i) is there for every i of the list, which is no longer than capacity().
  void fetch(Span<const std::int32_t> list, const Parallel& parallel) {
    ++now_;
    std::vector<std::int32_t> missing;
    for (std::int32_t i : list) {
      stamp_[static_cast<std::size_t>(i)] = now_;
      if (!holds(static_cast<std::size_t>(i))) missing.push_back(i);
    }
    hits_ += static_cast<std::int64_t>(list.size() - missing.size());
    misses_ += static_cast<std::int64_t>(missing.size());
    if (missing.empty()) return;
    make_room(missing.size());
    std::vector<T*> out;
    for (std::size_t k = 0; k < missing.size(); ++k) out.push_back(rows_[free_[free_.size() - 1 - k]].get());
    kernel_.block_rows(missing, Span<T* const>(out.data(), out.size()), parallel);  // may throw: nothing is stored then
    for (std::int32_t i : missing) {
      place_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(free_.back());
      stored_.push_back(i);
      free_.pop_back();
    }
  }

 private:
  void make_room(std::size_t wanted) {
    while (free_.size() < wanted && rows_.size() < capacity_) {
      free_.push_back(rows_.size());
      rows_.emplace_back(new T[n_]);
    }
    if (free_.size() >= wanted) return;
    // Drop the oldest; a few more than needed, so that not every fetch has to look for them.
    const std::size_t spare = stored_.size() > wanted - free_.size() ? stored_.size() / 16 : 0;
    const std::size_t drop = std::min(stored_.size(), wanted - free_.size() + spare);
    std::nth_element(stored_.begin(), stored_.begin() + static_cast<std::ptrdiff_t>(drop - 1), stored_.end(),
                     [this](std::int32_t a, std::int32_t b) {
                       const auto x = stamp_[static_cast<std::size_t>(a)], y = stamp_[static_cast<std::size_t>(b)];
                       return x != y ? x < y : a < b;
                     });
    std::size_t kept = 0;
    for (std::size_t k = 0; k < stored_.size(); ++k) {
      const std::size_t i = static_cast<std::size_t>(stored_[k]);
      if (k < drop && stamp_[i] != now_) {
        free_.push_back(static_cast<std::size_t>(place_[i]));
        place_[i] = -1;
      } else {
        stored_[kept++] = stored_[k];
      }
    }
    stored_.resize(kept);
  }

  const KernelSource& kernel_;
  std::size_t n_;
  std::vector<std::int32_t> place_;
  std::vector<std::int64_t> stamp_;
  std::size_t capacity_;
  std::vector<std::unique_ptr<T[]>> rows_;
  std::vector<std::size_t> free_;
  std::vector<std::int32_t> stored_;
  std::int64_t now_ = 0, hits_ = 0, misses_ = 0;
};

}  // namespace hinge
