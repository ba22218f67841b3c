// pinned_rows.hpp: kernel rows in double: those of the margin stay, the others make room when the budget is spent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "hinge/kernel_source.hpp"

namespace hinge {

class PinnedRows {
 public:
  PinnedRows(const KernelSource& kernel, std::size_t budget_bytes)
      : kernel_(kernel), n_(kernel.size()), slots_(n_),
        capacity_(std::max<std::size_t>(16, budget_bytes / (sizeof(double) * std::max<std::size_t>(1, n_)))) {}

  // The row of a sample; it stays until as many calls of unpin.
  const double* pin(std::size_t i) {
    Slot& slot = slots_[i];
    if (!slot.row) fill(i);
    if (slot.pins++ == 0 && slot.waiting) {
      waiting_.erase(slot.place);
      slot.waiting = false;
    }
    return slot.row.get();
  }

  void unpin(std::size_t i) {
    Slot& slot = slots_[i];
    if (--slot.pins > 0) return;
    slot.place = waiting_.insert(waiting_.end(), i);
    slot.waiting = true;
  }

 private:
  struct Slot {
    std::unique_ptr<double[]> row;
    int pins = 0;
    bool waiting = false;
    std::list<std::size_t>::iterator place;
  };

  void fill(std::size_t i) {
    std::unique_ptr<double[]> row;
    if (stored_ >= capacity_ && !waiting_.empty()) {
      Slot& oldest = slots_[waiting_.front()];
      waiting_.pop_front();
      oldest.waiting = false;
      row = std::move(oldest.row);
    } else {
      row.reset(new double[n_]);
      ++stored_;
    }
    kernel_.row(i, {}, Span<double>(row.get(), n_));
    slots_[i].row = std::move(row);
  }

  const KernelSource& kernel_;
  std::size_t n_;
  std::vector<Slot> slots_;
  std::size_t capacity_, stored_ = 0;
  std::list<std::size_t> waiting_;
};

}  // namespace hinge
