// sticky_samples.hpp: samples that stay fixed for some steps after a variable of theirs has reached a bound.  LwK 10.1.4
//
// Holding a sample costs O(1), and so does its release.  Does not own the variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace hinge {

class StickySamples {
 public:
  // Forgets all samples; each is held for `steps` steps, 0: for none.
  void restart(std::size_t samples, std::int64_t steps) {
    steps_ = steps, now_ = 0;
    order_.clear();
    until_.assign(steps > 0 ? samples : 0, 0);
  }

  bool held(std::size_t k) const { return steps_ > 0 && until_[k] > now_; }

  void hold(std::size_t k) {
    if (steps_ <= 0) return;
    until_[k] = now_ + steps_;
    order_.emplace_back(until_[k], k);
  }

  // Counts a step; calls release(k) for the samples that are not held any more.
  template <class Release>
  void advance(Release&& release) {
    if (steps_ <= 0) return;
    ++now_;
    while (!order_.empty() && order_.front().first <= now_) {
      const std::size_t k = order_.front().second;
      order_.pop_front();
      if (!held(k)) release(k);  // it may have been held again
    }
  }

  // Calls release(k) for all samples; returns whether there were any.
  template <class Release>
  bool release_all(Release&& release) {
    if (order_.empty()) return false;
    const auto held_samples = std::move(order_);
    order_.clear();
    for (const auto& [until, k] : held_samples) until_[k] = 0;
    for (const auto& [until, k] : held_samples) release(k);
    return true;
  }

 private:
  std::int64_t steps_ = 0, now_ = 0;
  std::vector<std::int64_t> until_;                          // per sample, the step from which it may move again
  std::deque<std::pair<std::int64_t, std::size_t>> order_;  // of these steps, ascending
};

}  // namespace hinge
