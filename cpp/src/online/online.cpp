// online.cpp: see online.hpp.
#include "hinge/solvers/online.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "hinge/run_control.hpp"
#include "kernels/block_kernel.hpp"
#include "kernels/loops/vector_ops.hpp"
#include "kernels/sparse/operations.hpp"
#include "online/loops.hpp"

namespace hinge {
namespace {

constexpr double kMinScale = 1e-150;        // a smaller scale is multiplied into the coefficients
constexpr double kMinCoefficient = 1e-300;  // smaller coefficients become zero: subnormal numbers are slow
constexpr double kPollInterval = 0.05;      // seconds between two calls of poll
constexpr std::size_t kSamplesPerClock = 64;  // samples between two readings of the clock
constexpr std::size_t kFirstCapacity = 64;    // terms; a multiple of kPad

constexpr std::pair<std::string_view, OnlineLoss> kLosses[] = {
    {"hinge", OnlineLoss::hinge},     {"perceptron", OnlineLoss::perceptron},
    {"nu_margin", OnlineLoss::nu_margin}, {"novelty", OnlineLoss::novelty},
    {"squared", OnlineLoss::squared}, {"epsilon_insensitive", OnlineLoss::insensitive},
    {"logistic", OnlineLoss::logistic}, {"exponential", OnlineLoss::exponential},
    {"huber", OnlineLoss::huber}, {"quadratic_margin", OnlineLoss::quadratic_margin},
    {"quadratic_residual", OnlineLoss::quadratic_residual},
};

// Whether the level is the width of a tube, not a margin.
bool is_width(OnlineLoss loss) { return loss == OnlineLoss::insensitive || loss == OnlineLoss::huber; }

double sign(double v) { return v > 0 ? 1.0 : v < 0 ? -1.0 : 0.0; }

bool finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

template <class T>
void to_dense(const Dense<T>& dense, std::size_t i, double* out) {
  std::copy(dense.row(i), dense.row(i) + dense.features, out);
}
template <class T, class I>
void to_dense(const Csr<T, I>& csr, std::size_t i, double* out) {
  std::fill(out, out + csr.features, 0.0);
  scatter(csr, i, out);
}

}  // namespace

OnlineLoss online_loss_named(std::string_view name) {
  for (const auto& [known, loss] : kLosses) {
    if (known == name) return loss;
  }
  throw std::invalid_argument("online: unknown loss '" + std::string(name) + "'");
}

void OnlineOptions::check() const {
  if (!(rate > 0 && std::isfinite(rate)) || !(power >= 0 && std::isfinite(power))) {
    throw std::invalid_argument("online: the rate must be positive and its power at least 0");
  }
  if (!(regularization >= 0 && regularization * rate <= 1)) {
    throw std::invalid_argument("online: regularization times rate must lie in [0, 1]");
  }
  if (!(nu <= 1)) throw std::invalid_argument("online: nu must be at most 1");
  if (!(std::isfinite(threshold) && curvature >= 0 && std::isfinite(curvature) && bound > 0) ||
      (curvature == 0 && !std::isfinite(bound))) {
    throw std::invalid_argument(
        "online: the loss needs a curvature >= 0 and a bound > 0, one of them finite and positive");
  }
}

double OnlineOptions::step(std::int64_t t) const {
  if (power == 0) return rate;
  const double time = static_cast<double>(t);
  return power == 0.5 ? rate / std::sqrt(time) : rate * std::pow(time, -power);
}

// Work arrays: kernel values of a sample with the terms, and one dense row.
struct OnlineLearner::Scratch {
  Scratch(std::size_t outputs, const KernelFunction& function)
      : own(2 * kPad),
        own_stack(kPad * function.depth()),
        value(outputs),
        slope(outputs),
        level(outputs),
        beyond(outputs) {
    std::fill(own.data(), own.data() + 2 * kPad, 0.0);
  }
  void resize(std::size_t capacity, const KernelFunction& function) {
    dot = AlignedArray<double>(capacity), squared = AlignedArray<double>(capacity), l1 = AlignedArray<double>(capacity);
    stack = AlignedArray<double>(capacity * function.depth());
    for (double* array : {dot.data(), squared.data(), l1.data()}) std::fill(array, array + capacity, 0.0);
  }
  std::vector<double> row;  // allocated by the first sample: a file may state any number of features
  AlignedArray<double> own, own_stack, dot, squared, l1, stack;
  std::vector<double> value, slope, level;
  std::vector<char> beyond;
};

OnlineLearner::OnlineLearner(KernelFunction function, OnlineOptions options, std::size_t features, std::size_t outputs,
                             double level)
    : function_(std::move(function)), options_(options), features_(features), outputs_(outputs) {
  options_.check();
  if (features == 0 || outputs == 0)
    throw std::invalid_argument("online: a learner needs at least one feature and one output");
  state_.offset.assign(outputs, 0.0);
  state_.level.assign(outputs, level);
  state_.dropped.assign(outputs, 0.0);
  state_.beyond.assign(outputs, 0);
  scratch_ = std::make_unique<Scratch>(outputs, function_);
}

OnlineLearner::~OnlineLearner() = default;

std::size_t OnlineLearner::offset_of(std::size_t slot, std::size_t feature) const {
  return (slot / kPad * features_ + feature) * kPad + slot % kPad;
}

const double* OnlineLearner::row(const Samples& samples, std::size_t i) {
  scratch_->row.resize(features_);
  double* const out = scratch_->row.data();
  std::visit([&](const auto& s) { to_dense(s, i, out); }, samples);
  return out;
}

// k(x, z_j) for all terms, followed by arbitrary values for slots without a term, whose coefficients are zero.
const double* OnlineLearner::kernel_values(const double* x) {
  const OnlineLoops& loops = online_loops();
  const std::size_t strips = padded(terms()) / kPad;
  const double* const z = state_.vectors.data();
  Scratch& s = *scratch_;
  if (function_.is_gaussian()) {
    loops.gaussian(strips, features_, -function_.sharpness(), x, z, s.stack.data());
    return s.stack.data();
  }
  const Needs needs = function_.needs();
  if (needs.dot) loops.dot(strips, features_, x, z, s.dot.data());
  if (needs.squared) loops.squared(strips, features_, x, z, s.squared.data());
  if (needs.l1) loops.l1(strips, features_, x, z, s.l1.data());
  function_.evaluate(Base<double>{s.dot.data(), s.squared.data(), s.l1.data()}, strips * kPad, s.stack.data());
  return s.stack.data();
}

// ‖k(x, ·)‖ = k(x, x)^½.
double OnlineLearner::self_norm(const double* x) {
  if (function_.is_gaussian()) return 1;
  double* const dot = scratch_->own.data();
  const double* const zero = dot + kPad;
  dot[0] = 0;
  for (std::size_t f = 0; f < features_; ++f) dot[0] += x[f] * x[f];
  function_.evaluate(Base<double>{dot, zero, zero}, kPad, scratch_->own_stack.data());
  return std::sqrt(std::fabs(scratch_->own_stack.data()[0]));
}

void OnlineLearner::decide(const double* x, double* values) {
  if (terms() == 0) {
    std::copy(state_.offset.begin(), state_.offset.end(), values);
    return;
  }
  const double* const k = kernel_values(x);
  const OnlineLoops& loops = online_loops();
  for (std::size_t m = 0; m < outputs_; ++m) {
    const double f = loops.sum(padded(terms()) / kPad, k, state_.coefficients.data() + m * capacity_);
    values[m] = state_.scale * f + state_.offset[m];
  }
}

// The absolute slope of a loss with a quadratic conjugate at a positive distance from its threshold, docs/math (303).
double OnlineLearner::slope(double excess) const {
  return options_.curvature > 0 ? std::min(excess / options_.curvature, options_.bound) : options_.bound;
}

// -c'(g), and whether the sample is beyond the level.  At a kink there is no step for the hinge loss; for the
// perceptron there is, because it could not leave f = 0 otherwise.
double OnlineLearner::negative_derivative(double g, double target, double level, bool& beyond) const {
  switch (options_.loss) {
    case OnlineLoss::hinge: beyond = target * g < 1; return beyond ? target : 0;
    case OnlineLoss::perceptron: beyond = target * g <= 0; return beyond ? target : 0;
    case OnlineLoss::nu_margin: beyond = target * g < level; return beyond ? target : 0;
    case OnlineLoss::novelty: beyond = g < level; return beyond ? 1 : 0;
    case OnlineLoss::logistic: beyond = target * g < 0; return target / (1 + std::exp(target * g));
    case OnlineLoss::exponential: beyond = target * g < 0; return target * std::exp(-target * g);
    case OnlineLoss::quadratic_margin: {
      const double shortfall = options_.threshold - target * g;
      beyond = shortfall > 0;
      return beyond ? target * slope(shortfall) : 0;
    }
    default: break;
  }
  const double error = target - g;
  switch (options_.loss) {
    case OnlineLoss::insensitive: beyond = std::fabs(error) > level; return beyond ? sign(error) : 0;
    case OnlineLoss::huber:
      beyond = std::fabs(error) > level || !(level > 0);
      return beyond ? sign(error) : error / level;
    case OnlineLoss::quadratic_residual: {
      const double excess = std::fabs(error) - options_.threshold;
      beyond = excess > 0;
      return beyond ? sign(error) * slope(excess) : 0;
    }
    default: beyond = false; return error;
  }
}

bool OnlineLearner::learn(const double* x, double target, double* before) {
  Scratch& s = *scratch_;
  decide(x, s.value.data());
  const double rate = options_.step(state_.seen + 1);
  // A sample beyond the level widens a tube and reduces a margin.
  const double level_step = is_width(options_.loss) ? rate : -rate;
  bool grows = false;
  for (std::size_t m = 0; m < outputs_; ++m) {
    const double y = outputs_ == 1 ? target : target == static_cast<double>(m) ? 1.0 : -1.0;
    bool beyond = false;
    s.slope[m] = negative_derivative(s.value[m], y, state_.level[m], beyond);
    s.level[m] = options_.nu < 0 ? state_.level[m] : state_.level[m] +
        level_step * (beyond ? 1 - options_.nu : -options_.nu);
    s.beyond[m] = beyond;
    if (!std::isfinite(s.value[m])) return false;
    grows = grows || s.slope[m] != 0;
  }
  const double decayed = 1 - options_.regularization * rate, norm = self_norm(x);
  if (!stays_finite(rate, state_.scale * decayed, norm)) return false;
  if (grows) reserve();  // may throw, hence before any change
  std::copy(s.value.begin(), s.value.end(), before);
  decay(decayed);
  if (grows) append(x, rate, norm);
  for (std::size_t m = 0; m < outputs_; ++m) {
    if (options_.offset) state_.offset[m] += rate * s.slope[m];
    state_.level[m] = s.level[m];
    state_.beyond[m] += s.beyond[m];
  }
  ++state_.seen;
  return true;
}

std::size_t OnlineLearner::learn(const Samples& samples, Span<const double> target, Span<double> before,
                                 const std::function<void()>& poll) {
  const Stopwatch stopwatch;
  double next_poll = kPollInterval;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (!learn(row(samples, i), target[i], before.data() + i * outputs_)) return i;
    if (i % kSamplesPerClock == kSamplesPerClock - 1 && stopwatch.seconds() > next_poll) {
      poll();
      next_poll = stopwatch.seconds() + kPollInterval;
    }
  }
  return target.size();
}

// Whether all values that a step will write are finite.
bool OnlineLearner::stays_finite(double rate, double scale, double norm) const {
  if (!std::isfinite(norm)) return false;
  const bool full = options_.budget != 0 && terms() == options_.budget;
  for (std::size_t m = 0; m < outputs_; ++m) {
    const double step = rate * scratch_->slope[m];
    const double coefficient = step / (scale < kMinScale ? 1 : scale);
    if (!std::isfinite(coefficient) || !std::isfinite(state_.offset[m] + step)) return false;
    if (full && !std::isfinite(state_.dropped[m] + weight(m, state_.head))) return false;
  }
  return true;
}

void OnlineLearner::decay(double factor) {
  state_.scale *= factor;
  for (double& bound : state_.dropped) bound *= factor;
  if (state_.scale >= kMinScale) return;
  for (double& a : state_.coefficients) {
    a *= state_.scale;
    if (std::fabs(a) < kMinCoefficient) a = 0;
  }
  state_.scale = 1;
}

// ‖a k(z, ·)‖ of one term.
double OnlineLearner::weight(std::size_t output, std::size_t slot) const {
  return std::fabs(state_.scale * state_.coefficients[output * capacity_ + slot]) * state_.norms[slot];
}

// A free slot, or that of the oldest term, whose norm is added to the truncation bound.
std::size_t OnlineLearner::next_slot() {
  const std::size_t count = terms();
  if (options_.budget != 0 && count == options_.budget) {
    const std::size_t slot = state_.head;
    for (std::size_t m = 0; m < outputs_; ++m) {
      state_.dropped[m] += weight(m, slot);
    }
    state_.head = slot + 1 == count ? 0 : slot + 1;
    return slot;
  }
  state_.norms.push_back(0.0);
  return count;
}

// Allocates memory for one more term unless the budget is used up.
void OnlineLearner::reserve() {
  const std::size_t count = terms();
  if (count < capacity_ || (options_.budget != 0 && count == options_.budget)) return;
  std::size_t wanted = capacity_ == 0 ? kFirstCapacity : 2 * capacity_;
  if (options_.budget != 0) wanted = std::min(wanted, padded(options_.budget));
  std::vector<double> coefficients(outputs_ * wanted, 0.0);
  for (std::size_t m = 0; m < outputs_ && capacity_ != 0; ++m) {
    std::copy_n(state_.coefficients.data() + m * capacity_, capacity_, coefficients.data() + m * wanted);
  }
  state_.vectors.resize(wanted * features_, 0.0);
  state_.norms.reserve(wanted);
  scratch_->resize(wanted, function_);
  state_.coefficients = std::move(coefficients);
  capacity_ = wanted;
}

void OnlineLearner::append(const double* x, double rate, double norm) {
  const std::size_t slot = next_slot();
  for (std::size_t f = 0; f < features_; ++f) state_.vectors[offset_of(slot, f)] = x[f];
  state_.norms[slot] = norm;
  state_.largest = std::max(state_.largest, norm);
  for (std::size_t m = 0; m < outputs_; ++m) {
    state_.coefficients[m * capacity_ + slot] = rate * scratch_->slope[m] / state_.scale;
  }
}

OnlineState OnlineLearner::state() const {
  OnlineState out = state_;
  const std::size_t count = terms();
  out.vectors.resize(count * features_);
  out.coefficients.resize(outputs_ * count);
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t f = 0; f < features_; ++f) out.vectors[j * features_ + f] = state_.vectors[offset_of(j, f)];
  }
  for (std::size_t m = 0; m < outputs_; ++m) {
    std::copy_n(state_.coefficients.data() + m * capacity_, count, out.coefficients.data() + m * count);
  }
  return out;
}

void OnlineLearner::restore(const OnlineState& from) {
  const std::size_t count = from.norms.size();
  const bool consistent = from.vectors.size() == count * features_ && from.coefficients.size() == outputs_ * count &&
                    from.offset.size() == outputs_ && from.level.size() == outputs_ &&
                    from.dropped.size() == outputs_ && from.beyond.size() == outputs_ &&
                    (options_.budget == 0 || count <= options_.budget) && from.seen >= 0 && from.scale > 0 &&
                    (from.head == 0 || (from.head < count && count == options_.budget)) &&
                    std::isfinite(from.scale) && std::isfinite(from.largest) && finite(from.vectors) &&
                    finite(from.coefficients) && finite(from.norms) && finite(from.offset) && finite(from.level) &&
                    finite(from.dropped);
  if (!consistent) throw std::invalid_argument("online: the parts of the state are inconsistent");
  const std::size_t capacity = count == 0 ? 0 : padded(count);
  OnlineState layout = from;
  layout.vectors.assign(capacity * features_, 0.0);
  layout.coefficients.assign(outputs_ * capacity, 0.0);
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t f = 0; f < features_; ++f) layout.vectors[offset_of(j, f)] = from.vectors[j * features_ + f];
  }
  for (std::size_t m = 0; m < outputs_; ++m) {
    std::copy_n(from.coefficients.data() + m * count, count, layout.coefficients.data() + m * capacity);
  }
  scratch_->resize(capacity, function_);
  state_ = std::move(layout);
  capacity_ = capacity;
}

}  // namespace hinge
