// descent.cpp: see descent.hpp.
#include "linear/l1/descent.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "control/run_tracker.hpp"
#include "linear/descent/extrapolation.hpp"

namespace hinge {
namespace {

constexpr std::size_t kRound = 5;          // epochs between two extrapolations
constexpr double kFlat = 1e-6;             // share of the curvature of all samples that counts as none
constexpr double kSufficientDecrease = 0.01;
constexpr int kMaxHalvings = 20;           // a step that still increases the objective is a rounding error
constexpr double kLossRounding = 1e-14;    // rounding error of a change of the losses, relative to the losses
constexpr double kPollValues = 2e5;        // values read between two checks of the limits
constexpr std::size_t kEpochsAfterNewton = 2;  // they find weights that leave or enter the support
constexpr double kFastReduction = 0.25;    // of the gap by a round of descent; Newton steps follow slower rounds
constexpr double kRounding = 2e-16;        // relative decrease of the objective that is a rounding error
constexpr int kMaxOffsetSteps = 100;       // bisection alone needs fewer steps for 52 bits

// The minimizer over d of g d + ½ h d² + |w + d|.
double minimizer(double w, double g, double h) {
  if (g + 1 <= h * w) return -(g + 1) / h;
  if (g - 1 >= h * w) return -(g - 1) / h;
  return -w;
}

double violation_of(double w, double g) {
  if (w > 0) return std::fabs(g + 1);
  if (w < 0) return std::fabs(g - 1);
  return std::max(0.0, std::fabs(g) - 1);
}

}  // namespace

// ---- state ----

L1State::L1State(const LinearProblem& problem, std::size_t features)
    : bias(problem.bias), bias_scale(problem.bias_scale), scale(problem.ridge.size()), cap(scale.size()),
      target(scale.size()), weights(features, 0.0), slack(scale.size()) {
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const double root = std::sqrt(problem.ridge[i]), low = problem.lower[i], high = problem.upper[i];
    if (!(root > 0) || (low != 0 && high != 0) || problem.tube != 0 || problem.total != 0)
      throw std::invalid_argument("an ℓ1 penalty needs losses of a margin with a curvature");
    const double side = low != 0 ? -1.0 : 1.0;
    scale[i] = side / root;
    cap[i] = std::max(high, -low) * root;
    target[i] = scale[i] * problem.target[i];
    capped = capped || std::isfinite(cap[i]);
  }
}

double L1State::losses() const {
  double sum = 0;
  for (std::size_t i = 0; i < slack.size(); ++i) {
    const double a = activation(i);
    sum += a * (slack[i] - 0.5 * a);
  }
  return sum;
}

double L1State::penalty() const {
  double sum = bias == Bias::penalized ? std::fabs(offset) / bias_scale : 0.0;
  for (double w : weights) sum += std::fabs(w);
  return sum;
}

L1State::Dual L1State::best_dual(double largest) const {
  double linear = 0, squares = 0;
  for (std::size_t i = 0; i < slack.size(); ++i) {
    const double a = activation(i);
    linear += target[i] * a, squares += a * a;
  }
  double factor = largest > 1 ? 1 / largest : 1.0;
  if (squares > 0) factor = largest > 0 ? std::min(1 / largest, linear / squares) : linear / squares;
  if (capped) factor = std::min(factor, 1.0);  // larger multiples may leave a box
  factor = std::max(0.0, factor);
  return {factor * linear - 0.5 * factor * factor * squares, factor};
}

double L1State::sum_of_beta() const {
  double sum = 0;
  for (std::size_t i = 0; i < slack.size(); ++i) sum += scale[i] * activation(i);
  return sum;
}

// ---- steps ----

template <bool capped>
L1Descent::Slope L1Descent::slope(const Column& column) const {
  const double *slack = state_.slack.data(), *cap = state_.cap.data();
  double g[2] = {0, 0}, h[2] = {0, 0};
  const auto add = [&](std::size_t k, std::size_t lane) {
    const std::size_t i = column.index[k];
    const double v = column.value[k], s = slack[i];
    double a = s > 0 ? s : 0.0, u = s > 0 ? v : 0.0;
    if constexpr (capped) {
      if (s > cap[i]) a = cap[i], u = 0;
    }
    g[lane] -= v * a, h[lane] += v * u;
  };
  std::size_t k = 0;
  for (; k + 1 < column.size; k += 2) add(k, 0), add(k + 1, 1);
  if (k < column.size) add(k, 0);
  return {g[0] + g[1], h[0] + h[1]};
}

template <bool capped>
double L1Descent::moved(const Column& column, double step) {
  double *slack = state_.slack.data(), change = 0;
  const double* cap = state_.cap.data();
  const auto loss = [&](double s, std::size_t i) {
    double a = s > 0 ? s : 0.0;
    if constexpr (capped) a = std::min(a, cap[i]);
    return a * (s - 0.5 * a);
  };
  for (std::size_t k = 0; k < column.size; ++k) {
    const std::size_t i = column.index[k];
    const double before = slack[i], after = before - step * column.value[k];
    change += loss(after, i) - loss(before, i);
    slack[i] = after;
  }
  return change;
}

template <bool capped>
double L1Descent::step(std::uint32_t feature) {
  const std::uint32_t slot = columns_.slot(feature);
  const Column column = columns_.column(slot);
  const Slope at = slope<capped>(column);
  count(static_cast<double>(column.size));
  double& w = state_.weights[feature];
  const double violation = violation_of(w, at.gradient), square = columns_.squared_norm(slot);
  if (violation == 0) return 0;
  // where almost no loss is curved, the curvature of all samples gives a step that decreases the objective
  const double curvature = at.curvature > kFlat * square ? at.curvature : square;
  const double full = curvature > 0 ? minimizer(w, at.gradient, curvature) : -w;
  if (full == 0 || !std::isfinite(full)) return violation;
  const double predicted = at.gradient * full + std::fabs(w + full) - std::fabs(w);  // negative
  const double penalty = std::fabs(w + full) - std::fabs(w);
  count(static_cast<double>(column.size));
  if (at.gradient * full + 0.5 * square * full * full + penalty <= kSufficientDecrease * predicted) {
    double* slack = state_.slack.data();
    for (std::size_t k = 0; k < column.size; ++k) slack[column.index[k]] -= full * column.value[k];
    w += full;
    return violation;
  }
  double share = 1, change = moved<capped>(column, full);
  const double rounding = kLossRounding * std::fabs(at.gradient * full);
  for (int halvings = 0;; ++halvings) {
    const double d = share * full;
    if (change + std::fabs(w + d) - std::fabs(w) <= kSufficientDecrease * share * predicted + rounding) {
      w += d;
      return violation;
    }
    if (halvings == kMaxHalvings) break;
    change += moved<capped>(column, -0.5 * d);
    share *= 0.5;
  }
  moved<capped>(column, -share * full);
  return violation;
}

double L1Descent::step(std::uint32_t feature) {
  return state_.capped ? step<true>(feature) : step<false>(feature);
}

// A monotone piecewise linear equation for the offset b, Σβ = 0: Newton's method within a bracket.
void L1Descent::minimize_offset() {
  L1State& s = state_;
  if (s.bias == Bias::none) return;
  if (s.bias == Bias::penalized) return penalized_offset_step();
  double low = -INFINITY, high = INFINITY, reach = 1;
  for (int k = 0; k < kMaxOffsetSteps; ++k) {
    double sum = 0, size = 0, curvature = 0;
    for (std::size_t i = 0; i < s.slack.size(); ++i) {
      const double beta = s.scale[i] * s.activation(i);
      sum += beta, size += std::fabs(beta);
      if (s.slack[i] > 0 && s.slack[i] < s.cap[i]) curvature += s.scale[i] * s.scale[i];
    }
    count(static_cast<double>(s.slack.size()));
    if (std::fabs(sum) <= 1e-15 * size) return;
    (sum > 0 ? low : high) = s.offset;  // the objective decreases towards larger b if Σβ > 0
    double next = curvature > 0 ? s.offset + sum / curvature : s.offset + (sum > 0 ? reach : -reach);
    reach *= 2;
    if (!(next > low && next < high)) next = std::isfinite(low) && std::isfinite(high) ? 0.5 * (low + high) : next;
    const double change = next - s.offset;
    if (change == 0 || !std::isfinite(next)) return;
    for (std::size_t i = 0; i < s.slack.size(); ++i) s.slack[i] -= change * s.scale[i];
    s.offset = next;
  }
}

// The offset as the weight b/B of a constant feature B: a step with the curvature of all samples never increases the
// objective.
void L1Descent::penalized_offset_step() {
  L1State& s = state_;
  const double B = s.bias_scale, g = -B * s.sum_of_beta();
  double curvature = 0, square = 0;
  for (std::size_t i = 0; i < s.slack.size(); ++i) {
    const double v = B * s.scale[i];
    square += v * v;
    if (s.slack[i] > 0 && s.slack[i] < s.cap[i]) curvature += v * v;
  }
  count(static_cast<double>(s.slack.size()));
  const double w = s.offset / B, before = s.losses() + std::fabs(w);
  if (!(square > 0)) return;
  const std::vector<double> slack = s.slack;
  for (const double h : {std::max(curvature, 1e-12 * square), square}) {
    const double d = minimizer(w, g, h);
    if (d == 0) return;
    for (std::size_t i = 0; i < slack.size(); ++i) s.slack[i] = slack[i] - d * B * s.scale[i];
    if (h == square || s.losses() + std::fabs(w + d) <= before) {
      s.offset = B * (w + d);
      return;
    }
  }
}

// ---- epochs ----

void L1Descent::count(double values) {
  visited += values, unpolled_ += values;
  if (unpolled_ < kPollValues) return;
  unpolled_ = 0;
  tracker_.poll();
}

// Features with w_j = 0 and a gradient below 1 − threshold are left out until the next gap is computed.
void L1Descent::epoch(double threshold) {
  ++epochs;
  largest_violation_ = 0;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < active_.size(); ++k) {
    const std::uint32_t j = active_[k];
    if (state_.weights[j] == 0) {
      const Column column = columns_.column(columns_.slot(j));
      const double g = state_.capped ? slope<true>(column).gradient : slope<false>(column).gradient;
      count(static_cast<double>(column.size));
      if (std::fabs(g) <= 1) {
        if (std::fabs(g) >= 1 - threshold) active_[kept++] = j;
        continue;
      }
    }
    active_[kept++] = j;
    largest_violation_ = std::max(largest_violation_, step(j));
  }
  active_.resize(kept);
  minimize_offset();
}

// Extrapolates the last epochs; keeps the point if it has a lower objective.   (866)
void L1Descent::extrapolate() {
  std::vector<double> found;
  if (!extrapolated(points_, found)) return;
  const double before = state_.primal(), offset = state_.offset;
  const std::vector<double> slack = state_.slack;
  std::vector<double> weights(features_.size());
  for (std::size_t k = 0; k < features_.size(); ++k) {
    double& w = state_.weights[features_[k]];
    weights[k] = w;
    const double change = found[k] - w;
    if (change == 0) continue;
    const Column column = columns_.column(columns_.slot(features_[k]));
    for (std::size_t e = 0; e < column.size; ++e) state_.slack[column.index[e]] -= change * column.value[e];
    visited += static_cast<double>(column.size);
    w = found[k];
  }
  if (state_.bias != Bias::none) {
    for (std::size_t i = 0; i < slack.size(); ++i) state_.slack[i] -= (found.back() - offset) * state_.scale[i];
    state_.offset = found.back();
  }
  if (state_.primal() < before) return;
  for (std::size_t k = 0; k < features_.size(); ++k) state_.weights[features_[k]] = weights[k];
  state_.slack = slack, state_.offset = offset;
}

// The duality gap of the problem with the features of the working set only.
double L1Descent::subproblem_gap() {
  minimize_offset();
  double largest = state_.bias == Bias::penalized ? state_.bias_scale * std::fabs(state_.sum_of_beta()) : 0.0;
  for (std::uint32_t j : features_) {
    const Column column = columns_.column(columns_.slot(j));
    const double g = state_.capped ? slope<true>(column).gradient : slope<false>(column).gradient;
    count(static_cast<double>(column.size));
    largest = std::max(largest, std::fabs(g));
  }
  return state_.primal() - state_.best_dual(largest).value;
}

// Epochs in one order, and an extrapolation.
void L1Descent::round() {
  active_ = features_;
  shuffle(active_.data(), active_.size(), random_);
  double threshold = 1;
  points_.clear();
  for (std::size_t k = 0; k <= kRound; ++k) {
    epoch(threshold);
    threshold = std::min(1.0, largest_violation_);
    std::vector<double> point(features_.size() + 1);
    for (std::size_t f = 0; f < features_.size(); ++f) point[f] = state_.weights[features_[f]];
    point.back() = state_.offset;
    points_.push_back(std::move(point));
  }
  extrapolate();
}

void L1Descent::run(const std::vector<std::uint32_t>& features, double gap, const std::function<bool()>& out_of_steps) {
  features_ = features;
  double objective = state_.primal(), previous = INFINITY, least = INFINITY;
  second_order_ = second_order_ && long_step_;  // far from the solution Newton steps are short
  for (;;) {
    if (second_order_) {
      second_order_ = newton();
      active_ = features_;
      for (std::size_t k = 0; k < kEpochsAfterNewton; ++k) epoch(1);
    } else {
      round();
    }
    const double found = subproblem_gap(), value = state_.primal();
    if (found <= gap || out_of_steps()) return;
    if (!(value < (1 - kRounding) * objective) && !(found < 0.9 * least)) return;
    objective = value, least = std::min(least, found);
    second_order_ = second_order_ || found > kFastReduction * previous;
    previous = found;
  }
}

}  // namespace hinge
