// cells.hpp: data of dual coordinate descent: one cell per sample, the totals of a lane, and the length of lanes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hinge/span.hpp"

namespace hinge {

struct StepTotals {  // sums over the steps of a lane
  double offset = 0, sum = 0, dual = 0, gap = 0, curvature = 0, work = 0, loss = 0;  // curvature: Σ ridge Δ²
  double drift = 0;  // single precision: bound on the distance that rounding has moved w
};

// State of a sequence of steps.  Epochs over many samples use two lanes in parallel, each with its own copy of w.  The
// alignment keeps lanes in separate cache lines.
template <class Weight>
struct alignas(128) Lane : StepTotals {
  std::vector<Weight> copy;
  Weight* w = nullptr;
  double scaling = 1;  // factor on the change of w in the copy, which anticipates the steps of the other lane   (129)
  std::vector<std::pair<std::uint32_t, double>> moved;  // changed samples and their previous values
  std::vector<std::uint32_t> active_rows;                     // visited samples that remain active
  void restart(double at, double by) {
    static_cast<StepTotals&>(*this) = StepTotals{};
    offset = at, scaling = by;
    moved.clear();
  }
};

// Mean of w over the second half of an epoch, and the mean primal value over the whole epoch.   (138)
class IterateAverage {
 public:
  explicit IterateAverage(std::size_t features) : sum_(features, 0.0) {}
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

struct alignas(64) Sample {  // the data of a step, in one cache line
  double beta, target, lower, upper, ridge, gap;
  double inverse;              // 1 / curvature; 0 for a row of zeros without bias
  std::uint32_t unchanged, spare;  // consecutive visits without a change
};

class Cells {  // a vector without initialization: every cell is written once by the caller
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

inline double sum_of(Span<const double> values) {  // four independent sums hide the latency of the additions
  double sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4)
    for (std::size_t k = 0; k < 4; ++k) sums[k] += values[i + k];
  for (; i < values.size(); ++i) sums[0] += values[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// A quarter of the mean; 1 if the mean is 0.  Default for sigma of a free bias.
inline double quarter_of_mean(Span<const double> norms) {
  const double mean = sum_of(norms) / std::max<double>(1, static_cast<double>(norms.size()));
  return mean > 0 ? 0.25 * mean : 1.0;
}

constexpr std::size_t kMinLaneSteps = 512;  // smallest number of steps of a lane between two merges
constexpr double kMinStepsPerMerge = 8;       // the steps of a lane cost at least this many times as much as the merge
constexpr std::size_t kMinMergesPerEpoch = 8;      // lanes are used if an epoch has at least this many merges
constexpr std::size_t kCacheFeatures = 1 << 14;  // from this many features on, w displaces the rows from the cache

// Number of steps of a lane between two merges.
inline std::size_t lane_length(double stored, std::size_t rows, std::size_t features) {
  const double per_row = std::max(1.0, stored / std::max(1.0, static_cast<double>(rows)));
  return std::max(kMinLaneSteps, static_cast<std::size_t>(kMinStepsPerMerge * static_cast<double>(features) / per_row));
}

// Whether w does not fit into the cache and lanes are not used (they need many rows per feature).
template <class Storage>
bool exceeds_cache(const Storage& data) {
  const std::size_t length = lane_length(static_cast<double>(data.start[data.rows]), data.rows, data.features);
  return data.features >= kCacheFeatures && data.rows < 2 * kMinMergesPerEpoch * length;
}

}  // namespace hinge
