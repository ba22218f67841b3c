// pinned_rows.hpp: kernel rows in double: those of the margin stay, the others make room when the budget is spent.
// A source whose rows lie in memory is read where it is.
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
  // Rows of samples; or, where pairs are given, differences of two rows, one for each pair.
  PinnedRows(const KernelSource& kernel, std::size_t budget_bytes, Span<const std::int32_t> first = {},
             Span<const std::int32_t> second = {})
      : kernel_(&kernel), n_(kernel.size()), width_(n_ + n_ / 8 + 16), budget_(budget_bytes), first_(first),
        second_(second), slots_(first.empty() ? n_ : first.size()) {
    capacity_ = std::max<std::size_t>(16, budget_ / (sizeof(double) * width_));
  }

  // A source with the same samples first, and more after them; rows get their new entries when they are pinned next.
  void widen(const KernelSource& kernel) {
    const std::size_t old = n_;
    kernel_ = &kernel;
    n_ = kernel.size();
    slots_.resize(n_);
    const bool tight = n_ > width_;
    if (tight) {
      width_ = n_ + n_ / 8 + 16;
      capacity_ = std::max<std::size_t>(16, budget_ / (sizeof(double) * width_));
    }
    if (tight)
      for (std::size_t i = 0; i < old; ++i) {
        if (!slots_[i].row) continue;
        std::unique_ptr<double[]> wider(new double[width_]);
        std::copy(slots_[i].row.get(), slots_[i].row.get() + slots_[i].filled, wider.get());
        slots_[i].row = std::move(wider);
      }
  }

  bool has(std::size_t i) const { return resident(i) || slots_[i].row; }
  bool has_room(std::size_t rows) const { return stored_ + rows <= capacity_; }

  // The row of a sample; it stays until as many calls of unpin.
  const double* pin(std::size_t i) {
    if (const double* row = resident(i)) return row;
    Slot& slot = slots_[i];
    if (!slot.row) fill(i);
    if (slot.filled < n_) extend(i, n_);
    if (slot.pins++ == 0 && slot.waiting) {
      waiting_.erase(slot.place);
      slot.waiting = false;
    }
    return slot.row.get();
  }

  // The last entries of a row, where it is stored.
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
    slot.place = waiting_.insert(waiting_.end(), i);
    slot.waiting = true;
  }

 private:
  struct Slot {
    std::unique_ptr<double[]> row;
    std::size_t filled = 0;  // entries that are there
    int pins = 0;
    bool waiting = false;
    std::list<std::size_t>::iterator place;
  };

  const double* resident(std::size_t i) const { return first_.empty() ? kernel_->resident(i) : nullptr; }

  void fill(std::size_t i) {
    std::unique_ptr<double[]> row;
    if (stored_ >= capacity_ && !waiting_.empty()) {
      Slot& oldest = slots_[waiting_.front()];
      waiting_.pop_front();
      oldest.waiting = false;
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

  // K is symmetric: the new entries of a row stand in the rows of the new samples, where these are there.
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
  std::size_t n_, width_, budget_;  // rows have room for width_ values
  Span<const std::int32_t> first_, second_;
  std::vector<double> scratch_;
  std::vector<std::int32_t> columns_;
  std::vector<Slot> slots_;
  std::size_t capacity_ = 0, stored_ = 0;
  std::list<std::size_t> waiting_;
};

}  // namespace hinge
