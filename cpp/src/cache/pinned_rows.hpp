// pinned_rows.hpp: kernel rows in double, of which some are pinned.
// Pinned rows stay in memory; when the budget is used up, the row that was unpinned first is evicted.  Rows that the
// source has in memory are not copied.  Views the source; owns its rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "hinge/kernels/kernel_source.hpp"

namespace hinge {

class PinnedRows {
 public:
  // Rows of samples; if pairs are given, differences of two rows, one for each pair.
  PinnedRows(const KernelSource& kernel, std::size_t budget_bytes, Span<const std::int32_t> first = {},
             Span<const std::int32_t> second = {})
      : kernel_(&kernel), n_(kernel.size()), width_(padded(n_)), budget_(budget_bytes), first_(first),
        second_(second), slots_(first.empty() ? n_ : first.size()) {
    set_capacity();
  }

  // Replaces the source by one with the same samples followed by new ones.  Stored rows get their new entries when they
  // are pinned next.
  void extend_source(const KernelSource& kernel) {
    const std::size_t old = n_;
    kernel_ = &kernel;
    n_ = kernel.size();
    slots_.resize(n_);
    if (n_ <= width_) return;
    width_ = padded(n_);
    set_capacity();
    for (std::size_t i = 0; i < old; ++i) {
      if (!slots_[i].row) continue;
      std::unique_ptr<double[]> longer(new double[width_]);
      std::copy(slots_[i].row.get(), slots_[i].row.get() + slots_[i].filled, longer.get());
      slots_[i].row = std::move(longer);
    }
  }

  bool has(std::size_t i) const { return resident(i) || slots_[i].row; }
  bool has_room(std::size_t rows) const { return stored_ + rows <= capacity_; }

  // The row of sample i.  It stays in memory until unpin was called as often as pin.
  const double* pin(std::size_t i) {
    if (const double* row = resident(i)) return row;
    Slot& slot = slots_[i];
    if (!slot.row) fill(i);
    if (slot.filled < n_) extend(i, n_);
    if (slot.pins++ == 0 && slot.evictable) {
      evictable_.erase(slot.position);
      slot.evictable = false;
    }
    return slot.row.get();
  }

  // Sets the last entries of row i if it is stored.
  void complete(std::size_t i, Span<const double> last) {
    Slot& slot = slots_[i];
    const std::size_t known = n_ - last.size();
    if (!slot.row || slot.filled == n_) return;
    if (slot.filled < known) extend(i, known);
    std::copy(last.begin(), last.end(), slot.row.get() + known);
    slot.filled = n_;
  }

  void unpin(std::size_t i) {
    if (resident(i)) return;
    Slot& slot = slots_[i];
    if (--slot.pins > 0) return;
    slot.position = evictable_.insert(evictable_.end(), i);
    slot.evictable = true;
  }

 private:
  struct Slot {
    std::unique_ptr<double[]> row;
    std::size_t filled = 0;  // valid entries
    int pins = 0;
    bool evictable = false;
    std::list<std::size_t>::iterator position;  // in evictable_
  };

  static constexpr std::size_t kMinRows = 16;  // stored even if the budget is smaller

  static std::size_t padded(std::size_t n) { return n + n / 8 + 16; }  // leaves space for new samples
  void set_capacity() { capacity_ = std::max(kMinRows, budget_ / (sizeof(double) * width_)); }

  const double* resident(std::size_t i) const { return first_.empty() ? kernel_->resident(i) : nullptr; }

  void fill(std::size_t i) {
    std::unique_ptr<double[]> row;
    if (stored_ >= capacity_ && !evictable_.empty()) {
      Slot& oldest = slots_[evictable_.front()];
      evictable_.pop_front();
      oldest.evictable = false;
      row = std::move(oldest.row);
    } else {
      row.reset(new double[width_]);
      ++stored_;
    }
    if (first_.empty()) {
      kernel_->row(i, {}, Span<double>(row.get(), n_));
    } else {
      scratch_.resize(n_);
      kernel_->row(static_cast<std::size_t>(first_[i]), {}, Span<double>(row.get(), n_));
      kernel_->row(static_cast<std::size_t>(second_[i]), {}, Span<double>(scratch_));
      for (std::size_t k = 0; k < n_; ++k) row[k] -= scratch_[k];
    }
    slots_[i].row = std::move(row);
    slots_[i].filled = n_;
  }

  // Computes missing entries of row i, or copies them from stored rows: K is symmetric.
  void extend(std::size_t i, std::size_t end) {
    Slot& slot = slots_[i];
    columns_.clear();
    for (std::size_t j = slot.filled; j < end; ++j) {
      if (slots_[j].row) {
        slot.row[j] = slots_[j].row[i];
      } else {
        columns_.push_back(static_cast<std::int32_t>(j));
      }
    }
    if (!columns_.empty()) {
      scratch_.resize(columns_.size());
      kernel_->row(i, columns_, Span<double>(scratch_));
      for (std::size_t k = 0; k < columns_.size(); ++k) slot.row[static_cast<std::size_t>(columns_[k])] = scratch_[k];
    }
    slot.filled = end;
  }

  const KernelSource* kernel_;
  std::size_t n_, width_, budget_;  // rows have memory for width_ values
  Span<const std::int32_t> first_, second_;
  std::vector<double> scratch_;
  std::vector<std::int32_t> columns_;
  std::vector<Slot> slots_;
  std::size_t capacity_ = 0, stored_ = 0;
  std::list<std::size_t> evictable_;  // rows without a pin, the first to be unpinned first
};

}  // namespace hinge
