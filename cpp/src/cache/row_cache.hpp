// row_cache.hpp: least-recently-used cache of kernel rows within a memory budget.  LwK 10.1.3.
// Owns its rows.  A hit costs O(1), a miss one evaluation of the row.  At least two rows are stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hinge/span.hpp"

namespace hinge {

template <class T>
class RowCache {
 public:
  RowCache(std::size_t budget_bytes, std::size_t samples)
      : budget_(budget_bytes), length_(samples), rows_(samples), newer_(samples), older_(samples) {}

  std::size_t length() const { return length_; }
  std::size_t stored() const { return stored_; }
  std::int64_t hits() const { return hits_; }
  std::int64_t misses() const { return misses_; }

  // The row of sample `key`; on a miss, fill(Span<T>) computes it.  Valid until two other rows have been fetched.
  template <class Fill>
  const T* fetch(std::size_t key, Fill&& fill) {
    if (rows_[key]) {
      ++hits_;
      if (newest_ != index(key)) {
        unlink(key);
        push_newest(key);
      }
      return rows_[key].get();
    }
    ++misses_;
    std::unique_ptr<T[]> row = stored_ >= capacity() ? evict() : std::unique_ptr<T[]>(new T[length_]);
    fill(Span<T>(row.get(), length_));  // if it throws, the cache remains valid with one row less
    rows_[key] = std::move(row);
    push_newest(key);
    ++stored_;
    return rows_[key].get();
  }

  bool holds(std::size_t key) const { return rows_[key] != nullptr; }

  // Restricts all rows to the columns at these positions (ascending).
  void keep_columns(Span<const std::int32_t> positions) {
    for (auto& row : rows_) {
      if (!row) continue;
      std::unique_ptr<T[]> shorter(new T[positions.size()]);
      for (std::size_t k = 0; k < positions.size(); ++k) shorter[k] = row[static_cast<std::size_t>(positions[k])];
      row = std::move(shorter);
    }
    length_ = positions.size();
  }

  // Discards all rows and sets the length of new ones.
  void clear(std::size_t length) {
    for (auto& row : rows_) row.reset();
    newest_ = oldest_ = -1;
    stored_ = 0;
    length_ = length;
  }

 private:
  static std::int32_t index(std::size_t key) { return static_cast<std::int32_t>(key); }

  std::size_t capacity() const {
    return std::max<std::size_t>(2, budget_ / (sizeof(T) * std::max<std::size_t>(1, length_)));
  }

  std::unique_ptr<T[]> evict() {
    const std::size_t key = static_cast<std::size_t>(oldest_);
    unlink(key);
    --stored_;
    return std::move(rows_[key]);
  }

  void unlink(std::size_t key) {
    const std::int32_t newer = newer_[key], older = older_[key];
    (newer >= 0 ? older_[static_cast<std::size_t>(newer)] : newest_) = older;
    (older >= 0 ? newer_[static_cast<std::size_t>(older)] : oldest_) = newer;
  }

  void push_newest(std::size_t key) {
    newer_[key] = -1;
    older_[key] = newest_;
    if (newest_ >= 0) newer_[static_cast<std::size_t>(newest_)] = index(key);
    newest_ = index(key);
    if (oldest_ < 0) oldest_ = index(key);
  }

  std::size_t budget_, length_, stored_ = 0;
  std::vector<std::unique_ptr<T[]>> rows_;
  std::vector<std::int32_t> newer_, older_;
  std::int32_t newest_ = -1, oldest_ = -1;
  std::int64_t hits_ = 0, misses_ = 0;
};

}  // namespace hinge
