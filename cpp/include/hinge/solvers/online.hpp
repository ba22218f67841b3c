// online.hpp: stochastic gradient descent in feature space, one sample at a time.  LwK 10.6.3, docs/math (401)-(411).
//
//   f <- (1 - λΛ) f - Λ c'(g(x)) k(x, ·),   b <- b - Λ c'(g(x)),   g = f + b
//
// The expansion is f = s Σ_j a_j k(z_j, ·); the decay changes the scale s only.  Several outputs (one-vs-rest) share
// the terms z_j and their kernel values and have their own coefficients.  A learner owns its terms: at most `budget`,
// after which a new term replaces the oldest one.  Cost of a sample: one row of kernel values.  The result does not
// depend on the division of the samples into calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "hinge/span.hpp"

namespace hinge {

// The last two are losses of the margin and of the residual whose conjugate is quadratic on an interval, docs/math
// (303).
enum class OnlineLoss {
  hinge, perceptron, nu_margin, novelty, squared, insensitive, huber, logistic, exponential, quadratic_margin,
  quadratic_residual
};

OnlineLoss online_loss_named(std::string_view name);  // throws std::invalid_argument

struct OnlineOptions {
  OnlineLoss loss = OnlineLoss::hinge;
  double rate = 1, power = 0.5;  // Λ_t = rate / t^power
  double regularization = 0;     // λ, with λ · rate <= 1
  double nu = -1;                // the level adapts to a fraction ν of samples beyond it; < 0: fixed level
  bool offset = true;
  std::size_t budget = 0;  // largest number of terms; 0: no limit
  double threshold = 0, curvature = 0, bound = 1;  // ρ or ε, δ and h of quadratic_margin and quadratic_residual

  void check() const;  // throws std::invalid_argument
  double step(std::int64_t t) const;
};

// The complete state of a learner, term by term in the order of slots.
struct OnlineState {
  std::vector<double> vectors, coefficients, norms;  // terms × features, outputs × terms (a_j), terms (‖k(z_j, ·)‖)
  std::vector<double> offset, level, dropped;        // per output: b; ρ, ε or σ; the bound (409)
  std::vector<std::int64_t> beyond;                  // per output: samples that were beyond the level
  double scale = 1, largest = 0;                     // s; the largest ‖k(z, ·)‖ of all terms so far
  std::int64_t seen = 0;  // samples learned
  std::size_t head = 0;   // the oldest slot once the budget is used up; 0 before
};

class OnlineLearner {
 public:
  OnlineLearner(KernelFunction function, OnlineOptions options, std::size_t features, std::size_t outputs,
                double level);
  ~OnlineLearner();

  // Learns one sample; writes its outputs before the step to `before`.  Returns false and leaves the learner unchanged
  // if a value would not be finite.  target: ±1, a real number, or with several outputs the number of the class.
  bool learn(const double* x, double target, double* before);
  void decide(const double* x, double* values);

  // Learns the samples in order; the values of sample i before its step go to row i of `before`.  Returns the number of
  // samples learned: fewer than all if the next one overflows.  Calls poll() about every 50 ms.
  std::size_t learn(const Samples& samples, Span<const double> target, Span<double> before,
                    const std::function<void()>& poll);

  // Row i as a dense vector; valid until the next call.
  const double* row(const Samples& samples, std::size_t i);

  std::size_t features() const { return features_; }
  std::size_t outputs() const { return outputs_; }
  std::size_t terms() const { return state_.norms.size(); }
  std::int64_t seen() const { return state_.seen; }

  const OnlineState& stored_state() const { return state_; }  // vectors and coefficients in the internal layout
  OnlineState state() const;
  void restore(const OnlineState& state);  // throws std::invalid_argument if the parts are inconsistent

 private:
  struct Scratch;

  std::size_t offset_of(std::size_t slot, std::size_t feature) const;  // in the strips of state_.vectors
  const double* kernel_values(const double* x);
  double self_norm(const double* x);
  double negative_derivative(double g, double target, double level, bool& beyond) const;
  double slope(double excess) const;
  void decay(double factor);
  void reserve();
  bool stays_finite(double rate, double scale, double norm) const;
  double weight(std::size_t output, std::size_t slot) const;
  void append(const double* x, double rate, double norm);
  std::size_t next_slot();

  KernelFunction function_;
  OnlineOptions options_;
  std::size_t features_, outputs_, capacity_ = 0;
  OnlineState state_;  // vectors in strips (online/loops.hpp), coefficients in rows of length capacity_
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace hinge
