// band.hpp: piecewise linear losses with few features.  Samples far from a kink are at a bound and contribute a
// constant vector to w; Newton's method is applied to the band of samples near a kink, (124)–(126).  A round costs three
// passes and some steps on a copy of the band.
#pragma once

#include <vector>

#include "control/run_tracker.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/linear.hpp"
#include "linear/data/passes.hpp"
#include "linear/loss/loss_passes.hpp"

namespace hinge {

constexpr double kBandShare = 0.2;  // fraction of the samples in the first band

struct BandPoint {
  std::vector<double> w, f, beta, g;  // f = ⟨w, x_i⟩ of all samples; g = w − Xᵀβ
  double b = 0;
  double slack() const;  // ½‖g‖²
};

class Band {
 public:
  Band(const Samples& samples, const LinearProblem& problem, LinearPasses& passes, const Parallel& parallel,
             RunTracker& tracker)
      : samples_(samples), problem_(problem), passes_(passes), loss_passes_(parallel), parallel_(parallel),
        tracker_(tracker) {}

  // Width of a band that holds this fraction of the samples.
  double width_of(const BandPoint& point, double share) const;
  // Newton's method on the losses of all samples, smoothed over `width` at their kinks, until its remaining gain is at
  // most `slack` times the error of smoothing.
  void minimize_smoothed(BandPoint& point, double width, double slack, int max_steps);
  // Improves the point to a gap of `target_gap`, provided that no sample outside the band changes sides.  Does not
  // update point.f.
  void improve(BandPoint& point, double width, double target_gap);

  std::int64_t steps = 0;  // Newton steps taken
  std::int64_t max_steps = -1;  // largest number of steps; −1: no limit

 private:
  bool out_of_steps() const { return max_steps >= 0 && steps >= max_steps; }

  const Samples& samples_;
  const LinearProblem& problem_;
  LinearPasses& passes_;
  LossPasses loss_passes_;
  const Parallel& parallel_;
  RunTracker& tracker_;
};

}  // namespace hinge
