// violators.hpp: the samples that violate optimality most, by one of the rules of LwK Table 10.1.
// Cost: one pass over the active samples and a partial sort of those that violate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/solvers/working_set.hpp"
#include "working_set/active_samples.hpp"

namespace hinge {

template <class T>
class Violators {
 public:
  Violators(const ActiveSamples<T>& active, Selection rule) : active_(active), rule_(rule) {}

  // Positions of the `count` worst that could rise (or fall) in this family and are wanted, in no order.  The extreme
  // one of the side is always among them: without the extreme pair a set might allow no step.
  template <class Wanted>
  const std::vector<std::int32_t>& worst(const Family& family, bool rising, std::size_t count, Wanted wanted) {
    const PairSteps<T>& steps = active_.steps;
    const bool by_gradient = rule_ == Selection::gradient;
    const double other = !by_gradient ? family.offset() : family.moves_alone ? 0.0 : rising ? family.low : family.up;
    candidates_.clear();
    for (std::size_t k = 0; k < steps.samples(); ++k) {
      const double x = rising ? -steps.f[k] - family.rise[k] : -steps.f[k] - family.fall[k];
      const double excess = rising ? x - other : other - x;
      if (!(excess > 0) || !wanted(k)) continue;
      const bool extreme = x == (rising ? family.up : family.low);
      const double score = by_gradient ? excess : extreme ? Family::kInf : this->score(family, rising, k, excess);
      candidates_.push_back({score, lot(k), position(k)});
    }
    if (candidates_.size() > count) {
      std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count),
                       candidates_.end());
      candidates_.resize(count);
    }
    found_.clear();
    for (const Candidate& candidate : candidates_) found_.push_back(candidate.position);
    return found_;
  }

 private:
  struct Candidate {
    double score;
    std::uint32_t lot;  // decides between equals: not the order of the samples
    std::int32_t position;
    bool operator<(const Candidate& b) const {
      return score != b.score ? score > b.score : lot != b.lot ? lot < b.lot : position < b.position;
    }
  };

  static std::int32_t position(std::size_t k) { return static_cast<std::int32_t>(k); }
  std::uint32_t lot(std::size_t k) const { return static_cast<std::uint32_t>(active_.sample(k)) * 2654435761u; }

  // LwK Table 10.1: the share of the gap, or how far the multiplier is from where the gradient pushes it.
  double score(const Family& family, bool rising, std::size_t k, double excess) const {
    const PairSteps<T>& steps = active_.steps;
    double room = 0;
    for (std::size_t v = k; v < steps.size(); v += steps.samples())
      if (steps.group[v] == family.group)
        room = std::max(room, rising ? steps.upper[v] - steps.beta[v] : steps.beta[v] - steps.lower[v]);
    if (!std::isfinite(room)) return excess;  // no bound, no such rule
    return rule_ == Selection::gap ? excess * room : room;
  }

  const ActiveSamples<T>& active_;
  const Selection rule_;
  std::vector<Candidate> candidates_;
  std::vector<std::int32_t> found_;
};

}  // namespace hinge
