// row_prefetch.hpp: kernel rows for steps on all active samples.  A missing row is computed together with rows that will
// probably be needed next; a row of a stored matrix is copied alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/parallel.hpp"
#include "working_set/active_samples.hpp"
#include "working_set/row_access.hpp"
#include "working_set/violators.hpp"

namespace hinge {

template <class T>
class RowPrefetch {
 public:
  RowPrefetch(ActiveSamples<T>& active, Violators<T>& violators, RowAccess<T>& rows)
      : active_(active), violators_(violators), rows_(rows) {}

  // Called before the first row of a sequence: other rows may have been evicted since the last one.
  void begin() {
    last_ = -1;
    rows_.store.limit_rows(active_.size());
  }

  // The row of the k-th active sample; the previous row stays valid.
  const T* row(std::size_t k, const Parallel& parallel) {
    const std::size_t i = active_.sample(k);
    if (!rows_.store.holds(i)) fetch(k, parallel);
    rows_.store.mark_used(i);
    last_ = static_cast<std::int32_t>(i);
    return rows_.store.row(i);
  }

 private:
  static constexpr std::size_t kMaxFetched = 96;  // rows of one fetch

  void fetch(std::size_t k, const Parallel& parallel) {
    const std::size_t max_rows = rows_.computed() ? std::min(rows_.store.capacity() / 2, kMaxFetched) : 1;
    std::vector<std::int32_t> list{active_.samples()[k]};
    if (last_ >= 0 && last_ != list.front()) list.push_back(last_);
    if (max_rows == 1) return rows_.fetch(list, parallel);
    const auto missing = [this](std::size_t l) { return !rows_.store.holds(active_.sample(l)); };
    const auto& families = active_.steps.families;
    for (const Family& family : families)
      for (const bool rising : {true, false})
        for (std::int32_t l : violators_.worst(family, rising, max_rows / (2 * families.size()), missing)) {
          const std::int32_t i = active_.samples()[static_cast<std::size_t>(l)];
          if (list.size() < max_rows && std::find(list.begin(), list.end(), i) == list.end()) list.push_back(i);
        }
    rows_.fetch(list, parallel);
  }

  ActiveSamples<T>& active_;
  Violators<T>& violators_;
  RowAccess<T>& rows_;
  std::int32_t last_ = -1;
};

}  // namespace hinge
