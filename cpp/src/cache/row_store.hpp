// row_store.hpp: kernel rows within a memory budget, fetched in blocks; the least recently used make room.
// Rows are over all samples, or over some columns only: a store for fewer columns holds more rows.  Owns its rows, in
// large pieces of memory (a page fault costs as much as computing what is on the page).  A fetch costs the missing
// rows, computed as one block.
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
      : kernel_(kernel), budget_(budget_bytes), n_(kernel.size()), place_(n_, -1), stamp_(n_, 0) {
    open({});
  }

  std::size_t capacity() const { return capacity_; }
  std::size_t stored() const { return stored_.size(); }
  std::int64_t hits() const { return hits_; }
  std::int64_t misses() const { return misses_; }
  bool holds(std::size_t i) const { return place_[i] >= 0; }
  const T* row(std::size_t i) const { return rows_[static_cast<std::size_t>(place_[i])]; }

  const Columns& columns() const { return *columns_; }

  // Forget all rows; from now on they are over these columns (all if empty).
  void open(Span<const std::int32_t> columns) {
    for (std::int32_t i : stored_) place_[static_cast<std::size_t>(i)] = -1;
    stored_.clear(), rows_.clear(), free_.clear();
    columns_ = kernel_.columns(columns, budget_ / 4);
    arena_.reshape(columns_->size());
    capacity_ = capacity_for(columns_->size());
  }

  // From now on only the columns at these positions (ascending) of the present ones, which are `columns`, and only
  // their samples have rows.  Those that are there are shortened and move together within the memory they have.
  void narrow(const std::vector<std::int32_t>& positions, const std::vector<std::int32_t>& columns) {
    std::vector<std::int32_t> kept;
    for (std::int32_t i : columns)
      if (holds(static_cast<std::size_t>(i))) kept.push_back(i);
    std::sort(kept.begin(), kept.end(), [this](std::int32_t a, std::int32_t b) {
      return place_[static_cast<std::size_t>(a)] < place_[static_cast<std::size_t>(b)];
    });
    std::vector<const T*> old;
    for (std::int32_t i : kept) old.push_back(row(static_cast<std::size_t>(i)));
    open(columns);
    for (std::size_t k = 0; k < kept.size(); ++k) {
      T* const out = arena_.row();  // never behind old[k]: rows before it were longer, too
      for (std::size_t c = 0; c < positions.size(); ++c) out[c] = old[k][static_cast<std::size_t>(positions[c])];
      rows_.push_back(out);
      place_[static_cast<std::size_t>(kept[k])] = static_cast<std::int32_t>(k);
      stored_.push_back(kept[k]);
    }
  }

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
    for (std::size_t k = 0; k < missing.size(); ++k) out.push_back(rows_[free_[free_.size() - 1 - k]]);
    kernel_.block_rows(missing, *columns_, Span<T* const>(out.data(), out.size()), parallel);  // may throw: none stored
    for (std::int32_t i : missing) put(i);
  }

  void use(std::size_t i) { stamp_[i] = now_; }

  // Rather than more rows than this, use the memory of old ones again: fresh memory is not cheaper than computing.
  void limit(std::size_t rows) { wanted_ = std::max<std::size_t>(rows, 4); }

 private:
  std::size_t capacity_for(std::size_t length) const {
    return std::clamp<std::size_t>(budget_ / (sizeof(T) * std::max<std::size_t>(1, length)), 4,
                                   std::max<std::size_t>(length, 4));
  }

  void put(std::int32_t i) {
    place_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(free_.back());
    stored_.push_back(i);
    free_.pop_back();
  }

  void make_room(std::size_t wanted) {
    while (free_.size() < wanted && rows_.size() < std::max(std::min(capacity_, wanted_), wanted)) {
      free_.push_back(rows_.size());
      rows_.push_back(arena_.row());
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
  const std::size_t budget_, n_;
  std::size_t capacity_ = 0, wanted_ = std::numeric_limits<std::size_t>::max();
  std::unique_ptr<const Columns> columns_;
  std::vector<std::int32_t> place_;
  std::vector<std::int64_t> stamp_;
  Arena<T> arena_{0};
  std::vector<T*> rows_;
  std::vector<std::size_t> free_;
  std::vector<std::int32_t> stored_;
  std::int64_t now_ = 0, hits_ = 0, misses_ = 0;
};

}  // namespace hinge
