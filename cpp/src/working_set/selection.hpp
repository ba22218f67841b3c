// selection.hpp: selection of the working set; docs/decisions/working-sets.md
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "working_set/active_samples.hpp"
#include "working_set/violators.hpp"

namespace hinge {

template <class T>
class WorkingSetSelection {
 public:
  // given: the requested size, or 0; memory: in bytes, of which two kernel blocks of the set take at most a quarter.
  WorkingSetSelection(const ActiveSamples<T>& active, Violators<T>& violators, std::size_t given, std::size_t memory)
      : active_(active), violators_(violators), given_(given),
        max_size_(static_cast<std::size_t>(std::sqrt(double(memory) / (8.0 * sizeof(T))))) {}

  // The positions of the next working set, ascending.  Up to half of the last set is kept, samples with free variables
  // and recent samples first.  The rest are the worst violators of both directions, beginning with the family of the
  // largest violation, so that the most violating pair is always included.
  const std::vector<std::int32_t>& next() {
    const std::size_t q = size();
    set_.clear();
    std::vector<char> chosen(active_.size(), 0);
    const auto take = [&](std::int32_t k) { chosen[static_cast<std::size_t>(k)] = 1, set_.push_back(k); };
    for (const bool free : {true, false})
      for (std::int32_t i : last_)
        if (const std::int32_t k = active_.position(i); k >= 0 && set_.size() < std::min(q / 2, q - 2))
          if (active_.is_free(static_cast<std::size_t>(k)) == free) take(k);
    const std::size_t kept = set_.size();
    std::vector<const Family*> order;
    for (const Family& family : active_.steps.families)
      if (family.violation() > 0) order.push_back(&family);
    std::stable_sort(order.begin(), order.end(),
                     [](const Family* a, const Family* b) { return a->violation() > b->violation(); });
    const auto is_candidate = [&](std::size_t k) { return !chosen[k]; };
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::size_t remaining = q - set_.size(), before = set_.size();
      const std::size_t share = std::min(remaining, std::max<std::size_t>(2, remaining / (order.size() - k)));
      for (std::int32_t l : violators_.worst(*order[k], true, (share + 1) / 2, is_candidate)) take(l);
      for (std::int32_t l : violators_.worst(*order[k], false, share - (set_.size() - before), is_candidate)) take(l);
    }
    std::rotate(set_.begin(), set_.begin() + static_cast<std::ptrdiff_t>(kept), set_.end());
    last_.clear();
    for (std::int32_t k : set_) last_.push_back(active_.samples()[static_cast<std::size_t>(k)]);
    std::sort(set_.begin(), set_.end());
    return set_;
  }

  // Limits the number of samples of the following sets.
  void limit_size(std::size_t limit) { limit_ = std::max(kMinLimit, limit); }

  // Records the number of samples of a set that changed.
  void record_moved(std::size_t count) { moved_ = std::max(moved_, count); }

  std::size_t free() const { return free_; }  // active samples with a free variable, when next() was called

 private:
  static constexpr std::size_t kActiveShare = 16;    // size of a set: 1/16 of the active samples
  static constexpr std::size_t kMinSize = 256;       // smallest default size
  static constexpr std::size_t kMaxSize = 2048;      // largest default size
  static constexpr std::size_t kMaxFreeSize = 4096;  // largest size if many variables are free
  // after the first set, a set has at most this many times the samples that changed in an earlier set
  static constexpr std::size_t kMovedFactor = 4;
  static constexpr std::size_t kMinLimit = 16;  // smallest size to which a time limit reduces a set

  // The set should contain all free variables; otherwise they are optimized alternately, which converges slowly.
  std::size_t size() {
    free_ = 0;
    for (std::size_t k = 0; k < active_.size(); ++k) free_ += active_.is_free(k);
    if (given_) return std::max<std::size_t>(2, std::min({given_, max_size_, active_.size(), limit_}));
    const std::size_t useful = moved_ > 0 ? kMovedFactor * moved_ : kMaxSize;
    const std::size_t usual = std::clamp(std::min(active_.size() / kActiveShare, useful), kMinSize, kMaxSize);
    const std::size_t size = std::max(size_, std::clamp(3 * free_ / 2, usual, kMaxFreeSize));
    if (moved_ > 0) size_ = size;
    return std::max<std::size_t>(2, std::min({size, max_size_, active_.size(), limit_}));
  }

  const ActiveSamples<T>& active_;
  Violators<T>& violators_;
  const std::size_t given_, max_size_;
  std::size_t limit_ = static_cast<std::size_t>(-1);
  std::size_t size_ = 0, free_ = 0, moved_ = 0;  // moved_: the largest number of samples of a set that changed
  std::vector<std::int32_t> set_, last_;  // positions; samples of the last set, the most recent first
};

}  // namespace hinge
