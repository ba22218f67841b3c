// row_store.hpp: least-recently-used store of kernel rows within a memory budget; rows are fetched in blocks.
// Rows cover all samples or a subset of columns; with fewer columns more rows fit.  Owns its rows, in large blocks of
// memory (a page fault costs as much as computing the values of a page).  A fetch computes the missing rows as one
// block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "cache/arena.hpp"
#include "hinge/kernels/kernel_source.hpp"
#include "hinge/parallel.hpp"

namespace hinge {

template <class T>
class RowStore {
 public:
  RowStore(const KernelSource& kernel, std::size_t budget_bytes)
      : kernel_(kernel), budget_(budget_bytes), n_(kernel.size()), slot_(n_, -1), last_use_(n_, 0) {
    open({});
  }

  std::size_t capacity() const { return capacity_; }
  std::size_t stored() const { return stored_.size(); }
  std::int64_t hits() const { return hits_; }
  std::int64_t misses() const { return misses_; }
  bool holds(std::size_t i) const { return slot_[i] >= 0; }
  const T* row(std::size_t i) const { return rows_[static_cast<std::size_t>(slot_[i])]; }

  const Columns& columns() const { return *columns_; }

  // Discards all rows; new rows have these columns (all if empty).
  void open(Span<const std::int32_t> columns) {
    for (std::int32_t i : stored_) slot_[static_cast<std::size_t>(i)] = -1;
    stored_.clear(), rows_.clear(), free_.clear();
    columns_ = kernel_.columns(columns, budget_ / 4);
    arena_.reshape(columns_->size());
    capacity_ = capacity_for(columns_->size());
  }

  // Restricts the rows to the columns at these positions (ascending); `columns` are the samples at these positions.
  // Keeps only rows of these samples, and compacts them within their memory.
  void narrow(const std::vector<std::int32_t>& positions, const std::vector<std::int32_t>& columns) {
    std::vector<std::int32_t> kept;
    for (std::int32_t i : columns)
      if (holds(static_cast<std::size_t>(i))) kept.push_back(i);
    std::sort(kept.begin(), kept.end(), [this](std::int32_t a, std::int32_t b) {
      return slot_[static_cast<std::size_t>(a)] < slot_[static_cast<std::size_t>(b)];
    });
    std::vector<const T*> old;
    for (std::int32_t i : kept) old.push_back(row(static_cast<std::size_t>(i)));
    open(columns);
    for (std::size_t k = 0; k < kept.size(); ++k) {
      T* const out = arena_.row();  // not after old[k] in memory, because the preceding rows were longer
      for (std::size_t c = 0; c < positions.size(); ++c) out[c] = old[k][static_cast<std::size_t>(positions[c])];
      rows_.push_back(out);
      slot_[static_cast<std::size_t>(kept[k])] = static_cast<std::int32_t>(k);
      stored_.push_back(kept[k]);
    }
  }

  // Makes row(i) available for every i of the list, which must not be longer than capacity().
  void fetch(Span<const std::int32_t> list, const Parallel& parallel) {
    ++clock_;
    std::vector<std::int32_t> missing;
    for (std::int32_t i : list) {
      last_use_[static_cast<std::size_t>(i)] = clock_;
      if (!holds(static_cast<std::size_t>(i))) missing.push_back(i);
    }
    hits_ += static_cast<std::int64_t>(list.size() - missing.size());
    misses_ += static_cast<std::int64_t>(missing.size());
    if (missing.empty()) return;
    provide_slots(missing.size());
    std::vector<T*> out;
    for (std::size_t k = 0; k < missing.size(); ++k) out.push_back(rows_[free_[free_.size() - 1 - k]]);
    // If this throws, no row has been stored.
    kernel_.block_rows(missing, *columns_, Span<T* const>(out.data(), out.size()), parallel);
    for (std::int32_t i : missing) put(i);
  }

  void mark_used(std::size_t i) { last_use_[i] = clock_; }

  // Sets a number of rows above which the memory of old rows is reused before more memory is allocated: page faults
  // cost as much as computing rows.
  void limit_rows(std::size_t rows) { row_limit_ = std::max(rows, kMinRows); }

 private:
  static constexpr std::size_t kMinRows = 4;      // stored even if the budget is smaller
  static constexpr std::size_t kSpareShare = 16;  // 1/16 of the rows is evicted in advance

  std::size_t capacity_for(std::size_t length) const {
    return std::clamp<std::size_t>(budget_ / (sizeof(T) * std::max<std::size_t>(1, length)), kMinRows,
                                   std::max(length, kMinRows));
  }

  void put(std::int32_t i) {
    slot_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(free_.back());
    stored_.push_back(i);
    free_.pop_back();
  }

  void provide_slots(std::size_t wanted) {
    while (free_.size() < wanted && rows_.size() < std::max(std::min(capacity_, row_limit_), wanted)) {
      free_.push_back(rows_.size());
      rows_.push_back(arena_.row());
    }
    if (free_.size() >= wanted) return;
    // Evicts the least recently used rows, and some more, so that not every fetch has to search for them.
    const std::size_t spare = stored_.size() > wanted - free_.size() ? stored_.size() / kSpareShare : 0;
    const std::size_t drop = std::min(stored_.size(), wanted - free_.size() + spare);
    std::nth_element(stored_.begin(), stored_.begin() + static_cast<std::ptrdiff_t>(drop - 1), stored_.end(),
                     [this](std::int32_t a, std::int32_t b) {
                       const auto x = last_use_[static_cast<std::size_t>(a)],
                           y = last_use_[static_cast<std::size_t>(b)];
                       return x != y ? x < y : a < b;
                     });
    std::size_t kept = 0;
    for (std::size_t k = 0; k < stored_.size(); ++k) {
      const std::size_t i = static_cast<std::size_t>(stored_[k]);
      if (k < drop && last_use_[i] != clock_) {
        free_.push_back(static_cast<std::size_t>(slot_[i]));
        slot_[i] = -1;
      } else {
        stored_[kept++] = stored_[k];
      }
    }
    stored_.resize(kept);
  }

  const KernelSource& kernel_;
  const std::size_t budget_, n_;
  std::size_t capacity_ = 0, row_limit_ = std::numeric_limits<std::size_t>::max();
  std::unique_ptr<const Columns> columns_;
  std::vector<std::int32_t> slot_;
  std::vector<std::int64_t> last_use_;
  Arena<T> arena_{0};
  std::vector<T*> rows_;
  std::vector<std::size_t> free_;
  std::vector<std::int32_t> stored_;
  std::int64_t clock_ = 0, hits_ = 0, misses_ = 0;
};

}  // namespace hinge
