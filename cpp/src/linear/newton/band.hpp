// band.hpp: kinked losses of few features.  Far from their kinks losses are straight: those samples stand at a
// bound and add a constant vector to w; Newton's method sees only the band of samples near a kink.   (124)–(126)
// A round costs three passes and some steps on a copy of the band.
#pragma once

#include <vector>

#include "control/run_tracker.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/linear.hpp"
#include "linear/data/passes.hpp"
#include "linear/loss/loss_passes.hpp"

namespace hinge {

constexpr double kBandShare = 0.2;  // of the samples, near a kink at the beginning

struct BandPoint {
  std::vector<double> w, f, beta, g;  // f = ⟨w, x_i⟩, of all samples; g = w − Xᵀβ
  double b = 0;
  double slack() const;  // ½‖g‖²
};

class LinearBand {
 public:
  LinearBand(const Samples& samples, const LinearProblem& problem, LinearPasses& passes, const Parallel& parallel,
             RunTracker& tracker)
      : samples_(samples), problem_(problem), passes_(passes), loss_passes_(parallel), parallel_(parallel),
        tracker_(tracker) {}

  // The width of a band that holds this share of the samples.
  double width_of(const BandPoint& point, double share) const;
  // Newton's method on the losses of all samples, rounded off over `width` at their kinks, until what it can still gain is a
  // small part (`slack`) of what rounding off costs.
  void smooth_out(BandPoint& point, double width, double slack, int most_steps);
  // A better point: as good as a gap of `wanted` where no sample out of the band changes sides.  point.f is left behind.
  void round(BandPoint& point, double width, double wanted);

  std::int64_t steps = 0;  // of Newton's method
  std::int64_t most = -1;  // of them; −1: no limit

 private:
  bool spent() const { return most >= 0 && steps >= most; }

  const Samples& samples_;
  const LinearProblem& problem_;
  LinearPasses& passes_;
  LossPasses loss_passes_;
  const Parallel& parallel_;
  RunTracker& tracker_;
};

}  // namespace hinge
