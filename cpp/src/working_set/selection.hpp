// selection.hpp: which samples are the next working set; docs/decisions/working-sets.md
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
class SetChoice {
 public:
  // given: a size asked for, or 0; memory: bytes, of which two blocks of the set take a quarter at most.
  SetChoice(const ActiveSamples<T>& active, Violators<T>& violators, std::size_t given, std::size_t memory)
      : active_(active), violators_(violators), given_(given),
        fits_(static_cast<std::size_t>(std::sqrt(double(memory) / (8.0 * sizeof(T))))) {}

  // Positions, ascending.  Up to half of the last set stays, free variables first, and of these the last to come; the
  // rest are the worst violators of either side, beginning with the worst family: the pair that violates most is always
  // among them.
  const std::vector<std::int32_t>& next() {
    const std::size_t q = size();
    set_.clear();
    std::vector<char> chosen(active_.size(), 0);
    const auto take = [&](std::int32_t k) { chosen[static_cast<std::size_t>(k)] = 1, set_.push_back(k); };
    for (const bool free : {true, false})
      for (std::int32_t i : last_)
        if (const std::int32_t k = active_.position(i); k >= 0 && set_.size() < std::min(q / 2, q - 2))
          if (active_.is_free(static_cast<std::size_t>(k)) == free) take(k);
    const std::size_t stay = set_.size();
    std::vector<const Family*> order;
    for (const Family& family : active_.steps.families)
      if (family.violation() > 0) order.push_back(&family);
    std::stable_sort(order.begin(), order.end(),
                     [](const Family* a, const Family* b) { return a->violation() > b->violation(); });
    const auto wanted = [&](std::size_t k) { return !chosen[k]; };
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::size_t room = q - set_.size(), before = set_.size();
      const std::size_t share = std::min(room, std::max<std::size_t>(2, room / (order.size() - k)));
      for (std::int32_t l : violators_.worst(*order[k], true, (share + 1) / 2, wanted)) take(l);
      for (std::int32_t l : violators_.worst(*order[k], false, share - (set_.size() - before), wanted)) take(l);
    }
    std::rotate(set_.begin(), set_.begin() + static_cast<std::ptrdiff_t>(stay), set_.end());
    last_.clear();
    for (std::int32_t k : set_) last_.push_back(active_.samples()[static_cast<std::size_t>(k)]);
    std::sort(set_.begin(), set_.end());
    return set_;
  }

  void saw_move(std::size_t count) { moved_ = std::max(moved_, count); }  // so many samples of the set

  std::size_t free() const { return free_; }  // active samples with a free variable, when next() was called

 private:
  static constexpr std::size_t kSmallest = 256;  // a sixteenth of the active samples,
  static constexpr std::size_t kSize = 2048;     // from the one to the other,
  static constexpr std::size_t kLargest = 4096;  // and more where many variables are free,
  static constexpr std::size_t kWorth = 4;       // but, after the first set, not many times those that move

  // All free variables should find room: those that do not would be moved by turns only.
  std::size_t size() {
    free_ = 0;
    for (std::size_t k = 0; k < active_.size(); ++k) free_ += active_.is_free(k);
    if (given_) return std::max<std::size_t>(2, std::min({given_, fits_, active_.size()}));
    const std::size_t worth = moved_ > 0 ? kWorth * moved_ : kSize;
    const std::size_t usual = std::clamp(std::min(active_.size() / 16, worth), kSmallest, kSize);
    const std::size_t size = std::max(size_, std::clamp(3 * free_ / 2, usual, kLargest));
    if (moved_ > 0) size_ = size;
    return std::max<std::size_t>(2, std::min({size, fits_, active_.size()}));
  }

  const ActiveSamples<T>& active_;
  Violators<T>& violators_;
  const std::size_t given_, fits_;
  std::size_t size_ = 0, free_ = 0, moved_ = 0;  // moved_: of a set, at most
  std::vector<std::int32_t> set_, last_;  // positions; samples, the last to come first
};

}  // namespace hinge
