// descent.hpp: dual coordinate descent, docs/math (108)–(110) [Hsieh et al. 2008].
// Minimizes over one variable at a time, by default in a new random order per epoch, and updates w and b after every
// step.  A step costs the stored values of one row.  Samples that did not change in two visits are shrunk until a check
// of all samples reactivates them; if only few would be shrunk, all are visited.  The bias is a constant feature: of
// size B if it is penalized; a free bias uses an augmented Lagrangian whose multiplier is updated between epochs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "control/run_tracker.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/linear.hpp"

namespace hinge {

constexpr double kMaxActiveShare = 0.8;  // if a larger fraction of the samples is active, all samples are visited

class Descent {
 public:
  virtual ~Descent() = default;
  virtual void epoch(RunTracker& tracker) = 0;
  // Between begin_round and end_round all epochs use one random order, alternately forwards and backwards.
  virtual void begin_round() = 0;
  virtual void end_round() = 0;

  // Whether an epoch is so short that lanes would be slower.
  virtual bool short_epochs() const = 0;

  // The point after the last epoch.  `gap` is the sum of the parts of the gap, each as of the last visit of its sample.
  virtual void read(Span<double> beta) const = 0;
  virtual void read_weights(Span<double> w) const = 0;
  virtual void write(Span<const double> beta, Span<const double> w, double multiplier) = 0;
  // Like write, for a point with known f = ⟨w, x_i⟩ and `parts` of the gap (106) at its optimal offset.  Samples with a
  // positive part at the offset of the epochs become active.
  virtual void enter(Span<const double> beta, Span<const double> w, double multiplier, Span<const double> f,
                     Span<const double> parts) = 0;
  // Like enter, if the point is the one after the last epoch and there is no bias.
  virtual void resume(Span<const double> f, Span<const double> parts) = 0;

  // Estimate of Σ (106) at the current point from this many samples.
  virtual double sampled_gap(std::size_t count) const = 0;

  // Work of an epoch.  Steps access w in random order, hence the measured factors.
  static double epoch_work(double stored, double rows) { return 2 * stored + 70 * rows; }

  bool single_precision = false;                            // w is stored in single precision
  double drift = 0;                              // bound on ‖w − Xᵀβ‖ since the last write, in single precision   (149)
  bool damped = false;                             // a merge took only a part of the steps of the lanes, which rounds β
  double offset = 0, multiplier = 0, sigma = 0;  // offset = multiplier + sigma (sum − total); √sigma: constant feature
  double sum = 0, gap = 0, dual = 0;             // Σβ; the gap as described above; the dual value, updated by each step
  // After an epoch over all samples in lanes with narrow boxes: the mean of w over its second half, and the mean primal
  // value.   (138)
  std::vector<double> mean;
  double primal = 0;
  double work = 0;  // since the start; the unit is the time of a pass per stored value
  std::size_t active = 0;
  std::int64_t epochs = 0;
};

// block_bytes > 0: samples are visited in blocks.  allow_single_precision: w may be stored in single precision, which
// is faster if w does not fit into the cache; rounding then moves w away from Xᵀβ.   (139)
std::unique_ptr<Descent> make_descent(const Samples& samples, const LinearProblem& problem,
                                      Span<const double> squared_norms, const LinearOptions& options,
                                      bool allow_single_precision, const Parallel& parallel);

}  // namespace hinge
