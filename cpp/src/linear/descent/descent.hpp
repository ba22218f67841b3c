// descent.hpp: dual coordinate descent, docs/math (108)–(110) [Hsieh et al. 2008].
// One variable at a time in a fresh random order; w and b follow every step.  A step costs the stored values of a row.
// A sample that has not moved twice in a row rests until a check of all samples finds that it should move; where few
// would, nobody does.  The bias is a constant feature: B for a penalised one; for a free one the term of an augmented
// Lagrangian, whose multiplier is moved between epochs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "control/run_tracker.hpp"
#include "hinge/parallel.hpp"
#include "hinge/solvers/linear.hpp"

namespace hinge {

constexpr double kFewRest = 0.8;  // more of the samples than this are awake: then all of them are visited

class Descent {
 public:
  virtual ~Descent() = default;
  virtual void epoch(RunTracker& tracker) = 0;
  // From now on epochs go through one order, there and back, until the next call; out of a round each has its own.
  virtual void begin_round() = 0;
  virtual void end_round() = 0;

  // Epochs are so short that looks at all samples are cheap beside them.
  virtual bool short_epochs() const = 0;

  // What an epoch has left; `gap` is the sum of the parts of the gap as each sample was last seen.
  virtual void read(Span<double> beta) const = 0;
  virtual void read_weights(Span<double> w) const = 0;
  virtual void write(Span<const double> beta, Span<const double> w, double multiplier) = 0;
  // As write, at a point that has been seen: f = ⟨w, x_i⟩, and `parts` of the gap (106) at the offset that is best for
  // it.  Who has a part of it at the offset of the epochs is visited again.
  virtual void enter(Span<const double> beta, Span<const double> w, double multiplier, Span<const double> f,
                     Span<const double> parts) = 0;
  // As enter, where the point is the one that the epochs have left and there is no bias.
  virtual void resume(Span<const double> f, Span<const double> parts) = 0;

  // Σ (106) where the epochs are, by that of so many samples.
  virtual double guessed_gap(std::size_t looks) const = 0;

  // A step reads and writes where w is, in an order that no prefetcher knows; measured.
  static double epoch_work(double stored, double rows) { return 2 * stored + 70 * rows; }

  bool rounded = false;                            // w is in single precision
  double strayed = 0;                              // then ‖w − Xᵀβ‖ since the last write, at most   (149)
  bool halved = false;                             // lanes have gone part of their way, and β was rounded
  double offset = 0, multiplier = 0, sigma = 0;    // offset = multiplier + sigma (sum − total); √sigma: constant feature
  double sum = 0, gap = 0, dual = 0;               // dual: its value, by what each step has gained
  // Where boxes are narrow and everybody was visited in lanes: the mean of w over the second half of the last epoch, and
  // the primal value as it was on the average.   (138)
  std::vector<double> mean;
  double primal = 0;
  double work = 0;  // since the start, in the time that a pass over all samples needs for one stored value
  std::size_t active = 0;
  std::int64_t epochs = 0;
};

// block_bytes > 0: samples are visited block by block.  rounded_weights: w may be kept in single precision, which is
// faster where it does not fit into the cache, and drifts from Xᵀβ by as much as that rounds.   (139)
std::unique_ptr<Descent> make_descent(const Samples& samples, const LinearProblem& problem,
                                      Span<const double> squared_norms, std::uint64_t seed,
                                      std::size_t block_bytes, bool rounded_weights, const Parallel& parallel);

}  // namespace hinge
