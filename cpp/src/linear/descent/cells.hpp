// cells.hpp: what dual coordinate descent keeps of a sample, and of the steps of a lane; when there are lanes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hinge/span.hpp"

namespace hinge {

struct Tally {  // what steps have come to
  double offset = 0, sum = 0, dual = 0, gap = 0, bend = 0, work = 0, loss = 0;  // bend: Σ ridge Δ²
  double strayed = 0;  // in single precision: what rounding has moved w by, at most
};

// What steps move.  Epochs of many samples have two lanes: each steps from the same point, with its own copy of w.  No
// two lanes are in one line of the cache.
template <class Weight>
struct alignas(128) Lane : Tally {
  std::vector<Weight> copy;
  Weight* w = nullptr;
  double stretch = 1;  // what a step moves w by, over what it will move it by: room for the other lane
  std::vector<std::pair<std::uint32_t, double>> moved;  // samples, and where they were
  std::vector<std::uint32_t> awake;                     // visited, and to be visited again
  void restart(double at, double by) {
    static_cast<Tally&>(*this) = Tally{};
    offset = at, stretch = by;
    moved.clear();
  }
};

// The points that an epoch has passed: their mean over its second half, and what the primal value was on the average.
class Passed {
 public:
  explicit Passed(std::size_t features) : sum_(features, 0.0) {}
  void add(Span<const double> w, double losses, bool late) {
    losses_ += losses, points_ += 1, late_ += late;
    const double factor = late ? 1.0 : 0.0;
    for (std::size_t j = 0; j < sum_.size(); ++j) squares_ += w[j] * w[j], sum_[j] += factor * w[j];
  }
  std::vector<double> mean() const {
    std::vector<double> out = sum_;
    for (double& v : out) v /= late_;
    return out;
  }
  double primal() const { return points_ > 0 ? losses_ + 0.5 * squares_ / points_ : 0.0; }

 private:
  std::vector<double> sum_;
  double losses_ = 0, squares_ = 0, points_ = 0, late_ = 0;
};

struct alignas(64) Sample {  // all that a step needs, in one cache line
  double beta, target, lower, upper, ridge, gap;
  double inverse;              // of the curvature; 0: a row of zeros without bias
  std::uint32_t still, spare;  // visits without a move since the last one
};

class Cells {  // as a vector, but every sample is written once
 public:
  explicit Cells(std::size_t size = 0) : cells_(new Sample[size]), size_(size) {}
  Sample& operator[](std::size_t i) { return cells_[i]; }
  const Sample& operator[](std::size_t i) const { return cells_[i]; }
  Sample* begin() { return cells_.get(); }
  Sample* end() { return cells_.get() + size_; }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<Sample[]> cells_;
  std::size_t size_;
};

inline double added_up(Span<const double> values) {  // four sums: one would wait for itself at every step
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4)
    for (std::size_t k = 0; k < 4; ++k) sums[k] += values[i + k];
  for (; i < values.size(); ++i) sums[0] += values[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// A quarter of the mean, or one.
inline double quarter_mean(Span<const double> norms) {
  const double mean = added_up(norms) / std::max<double>(1, static_cast<double>(norms.size()));
  return mean > 0 ? 0.25 * mean : 1.0;
}

constexpr std::size_t kShortest = 512;  // steps of a lane between two merges
constexpr double kMergeShare = 8;       // a lane's steps cost at least so many times as much as its merging
constexpr std::size_t kMerges = 8;      // in an epoch, or lanes are too far apart
constexpr std::size_t kFarFeatures = 1 << 14;  // their weights leave little room for rows in the cache next to the processor

// Steps of a lane between two merges.
inline std::size_t lane_length(double stored, std::size_t rows, std::size_t features) {
  const double per_row = std::max(1.0, stored / std::max(1.0, static_cast<double>(rows)));
  return std::max(kShortest, static_cast<std::size_t>(kMergeShare * static_cast<double>(features) / per_row));
}

// w does not fit into the cache of a processor, and there are no lanes, which need many rows for each feature.
template <class Storage>
bool out_of_cache(const Storage& data) {
  const std::size_t length = lane_length(static_cast<double>(data.start[data.rows]), data.rows, data.features);
  return data.features >= kFarFeatures && data.rows < 2 * kMerges * length;
}

}  // namespace hinge
