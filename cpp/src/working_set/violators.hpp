// violators.hpp: the samples with the largest violations, by one of the rules of LwK Table 10.1.
// Cost: one pass over the active samples and a partial sort of the violators.
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

  // Positions of the `count` worst violators that can increase (or decrease) in this family and satisfy the predicate,
  // in no order.  The extreme sample is always included: without the extreme pair no step might be possible.
  template <class Predicate>
  const std::vector<std::int32_t>& worst(const Family& family, bool rising, std::size_t count, Predicate predicate) {
    const PairSteps<T>& steps = active_.steps;
    const bool by_gradient = rule_ == Selection::gradient;
    const double other = !by_gradient ? family.offset() : family.single ? 0.0 : rising ? family.low : family.up;
    candidates_.clear();
    for (std::size_t k = 0; k < steps.samples(); ++k) {
      const double x = rising ? -steps.f[k] - family.rise[k] : -steps.f[k] - family.fall[k];
      const double violation = rising ? x - other : other - x;
      if (!(violation > 0) || !predicate(k)) continue;
      const bool extreme = x == (rising ? family.up : family.low);
      const double score = by_gradient ? violation : extreme ? Family::kInf : this->score(family, rising, k, violation);
      candidates_.push_back({score, tie_breaker(k), position(k)});
    }
    if (candidates_.size() > count) {
      std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count),
                       candidates_.end());
      candidates_.resize(count);
    }
    positions_.clear();
    for (const Candidate& candidate : candidates_) positions_.push_back(candidate.position);
    return positions_;
  }

 private:
  struct Candidate {
    double score;
    std::uint32_t tie_breaker;  // pseudo-random, so that the order of the samples has no influence
    std::int32_t position;
    bool operator<(const Candidate& b) const {
      if (score != b.score) return score > b.score;
      return tie_breaker != b.tie_breaker ? tie_breaker < b.tie_breaker : position < b.position;
    }
  };

  static std::int32_t position(std::size_t k) { return static_cast<std::int32_t>(k); }
  std::uint32_t tie_breaker(std::size_t k) const { return static_cast<std::uint32_t>(active_.sample(k)) * 2654435761u; }

  // LwK Table 10.1: the contribution to the gap, or the distance from the bound towards which the variable moves.
  double score(const Family& family, bool rising, std::size_t k, double violation) const {
    const PairSteps<T>& steps = active_.steps;
    double distance = 0;
    for (std::size_t v = k; v < steps.size(); v += steps.samples())
      if (steps.group[v] == family.group)
        distance = std::max(distance, rising ? steps.upper[v] - steps.beta[v] : steps.beta[v] - steps.lower[v]);
    if (!std::isfinite(distance)) return violation;  // the rules need a finite bound
    return rule_ == Selection::gap ? violation * distance : distance;
  }

  const ActiveSamples<T>& active_;
  const Selection rule_;
  std::vector<Candidate> candidates_;
  std::vector<std::int32_t> positions_;
};

}  // namespace hinge
