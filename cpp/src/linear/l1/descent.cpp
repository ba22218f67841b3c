// descent.cpp: see descent.hpp.
#include "linear/l1/descent.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "control/run_tracker.hpp"
#include "linear/cholesky/cholesky.hpp"
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
constexpr double kLeastCurvature = 1e-12;  // added to the Hessian, relative to its largest diagonal entry
constexpr int kMaxConjugateSteps = 100;
constexpr std::size_t kMaxDirect = 2500;   // unknowns of a Cholesky factor, which takes 50 MB
constexpr double kFactorWork = 0.05;       // of a Cholesky factor per size³, in values of a column
constexpr double kSmallWork = 1e5;         // a factor that costs less than this is used in any case
constexpr double kConjugateTolerance = 1e-6;  // squared, relative to the first residual
constexpr int kMaxAttempts = 16;           // Newton steps with smaller and smaller supports
constexpr double kLongStep = 0.5;
constexpr double kShortestStep = 1e-3;     // of a Newton step; descent continues after a failure
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
  for (bool second_order = false;;) {
    if (second_order) {
      second_order = newton();
      active_ = features_;
      for (std::size_t k = 0; k < kEpochsAfterNewton; ++k) epoch(1);
    } else {
      round();
    }
    const double found = subproblem_gap(), value = state_.primal();
    if (found <= gap || out_of_steps()) return;
    if (!(value < (1 - kRounding) * objective) && !(found < 0.9 * least)) return;
    objective = value, least = std::min(least, found);
    second_order = second_order || found > kFastReduction * previous;
    previous = found;
  }
}

// ---- Newton steps ----

// Newton steps in the nonzero weights and the offset.  If weights would change their sign and the objective does not
// decrease with a long step, these weights are left out of the next step.  Returns false if the objective did not
// decrease.
bool L1Descent::newton() {
  support_.clear();
  for (std::uint32_t j : features_)
    if (state_.weights[j] != 0) support_.push_back(j);
  bool decreased = false;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const std::size_t size = support_.size();
    const double share = newton_step();
    decreased = decreased || share > 0;
    if (share >= kLongStep || support_.size() == size) break;
  }
  return decreased;
}

// A step within the orthant of the weights.  Returns its share of the full step; after a step that is not long, weights
// that would change their sign are removed from the support.                                                  (868)
double L1Descent::newton_step() {
  L1State& s = state_;
  const bool offset = s.bias == Bias::free || (s.bias == Bias::penalized && s.offset != 0);
  const std::size_t size = support_.size() + (offset ? 1 : 0);
  if (size == 0) return 0;
  ++newton_steps;
  const double visited_before = visited;
  std::vector<double> activation(s.slack.size()), direction(size);
  for (std::size_t i = 0; i < activation.size(); ++i) activation[i] = s.activation(i);
  multiply(activation, direction);
  for (std::size_t k = 0; k < support_.size(); ++k) direction[k] -= s.weights[support_[k]] > 0 ? 1.0 : -1.0;
  if (offset && s.bias == Bias::penalized) direction.back() -= (s.offset > 0 ? 1 : -1) / s.bias_scale;
  if (!solve_directly(direction)) solve_by_conjugate_gradients(direction);

  visited = visited_before;
  const double before = s.primal(), old_offset = s.offset;
  const std::vector<double> slack = s.slack;
  std::vector<double> weights(support_.size());
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = s.weights[support_[k]];
  double best = before, chosen = 0;
  for (double share = 1; share > kShortestStep; share *= 0.5) {  // until the objective increases again
    move_within_orthant(weights, slack, old_offset, direction, share);
    const double value = s.primal();
    if (chosen > 0 && value >= best) break;
    if (value < best || (share == 1 && value <= (1 + kRounding) * before)) best = value, chosen = share;
  }
  bool at_crossing = false;  // with a singular matrix the step is long, and only its first part is useful
  if (chosen < kLongStep) {
    double first = 1;
    for (std::size_t k = 0; k < weights.size(); ++k)
      if (weights[k] * (weights[k] + direction[k]) < 0) first = std::min(first, -weights[k] / direction[k]);
    move_within_orthant(weights, slack, old_offset, direction, first * (1 + 1e-15));
    if (s.primal() < best) chosen = first * (1 + 1e-15), at_crossing = true;
  }
  move_within_orthant(weights, slack, old_offset, direction, chosen);
  if (chosen == 0) s.slack = slack;
  if (chosen < kLongStep) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < weights.size(); ++k)
      if (at_crossing ? s.weights[support_[k]] != 0 : weights[k] * (weights[k] + direction[k]) > 0)
        support_[kept++] = support_[k];
    support_.resize(kept);
  }
  return chosen;
}

// q = the columns of the support (and of the offset) times p.
void L1Descent::combine(const std::vector<double>& p, std::vector<double>& q) {
  std::fill(q.begin(), q.end(), 0.0);
  for (std::size_t k = 0; k < support_.size(); ++k) {
    const Column c = columns_.column(columns_.slot(support_[k]));
    for (std::size_t e = 0; e < c.size; ++e) q[c.index[e]] += p[k] * c.value[e];
    count(static_cast<double>(c.size));
  }
  if (p.size() > support_.size())
    for (std::size_t i = 0; i < q.size(); ++i) q[i] += p.back() * state_.scale[i];
}

// p = the transposed columns times q.
void L1Descent::multiply(const std::vector<double>& q, std::vector<double>& p) {
  for (std::size_t k = 0; k < support_.size(); ++k) {
    const Column c = columns_.column(columns_.slot(support_[k]));
    p[k] = 0;
    for (std::size_t e = 0; e < c.size; ++e) p[k] += c.value[e] * q[c.index[e]];
    count(static_cast<double>(c.size));
  }
  if (p.size() == support_.size()) return;
  p.back() = 0;
  for (std::size_t i = 0; i < q.size(); ++i) p.back() += state_.scale[i] * q[i];
}

// Solves H x = r by a Cholesky factor, H = Σ over active samples z_i z_iᵀ, if that is cheaper than conjugate gradients.
bool L1Descent::solve_directly(std::vector<double>& x) {
  const L1State& s = state_;
  const std::size_t n = s.slack.size(), size = x.size();
  if (size > kMaxDirect) return false;
  struct Entry {
    std::uint32_t column;
    double value;
  };
  std::vector<std::size_t> start(n + 1, 0);
  const bool offset = size > support_.size();
  double stored = 0, pairs = 0;
  for (std::uint32_t j : support_) {
    const Column c = columns_.column(columns_.slot(j));
    for (std::size_t e = 0; e < c.size; ++e) ++start[c.index[e] + 1];
    stored += static_cast<double>(c.size);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double row = s.active(i) ? static_cast<double>(start[i + 1]) + (offset ? 1 : 0) : 0;
    pairs += 0.5 * row * row;
    start[i + 1] = start[i] + (s.active(i) ? start[i + 1] + (offset ? 1 : 0) : 0);
  }
  const double cube = static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
  const double work = pairs + cube * kFactorWork;
  if (work > 2 * kMaxConjugateSteps * stored + kSmallWork) return false;
  std::vector<Entry> entries(start[n]);
  std::vector<std::size_t> next(start.begin(), start.end() - 1);
  for (std::size_t k = 0; k < support_.size(); ++k) {
    const Column c = columns_.column(columns_.slot(support_[k]));
    for (std::size_t e = 0; e < c.size; ++e)
      if (s.active(c.index[e])) entries[next[c.index[e]]++] = {static_cast<std::uint32_t>(k), c.value[e]};
  }
  if (offset)
    for (std::size_t i = 0; i < n; ++i)
      if (s.active(i)) entries[next[i]++] = {static_cast<std::uint32_t>(size - 1), s.scale[i]};
  SymmetricFactor factor(Parallel{1, [this] { tracker_.poll(); }, nullptr});
  factor.resize(size);
  for (std::size_t k = 0; k < size; ++k) std::fill(factor.row(k), factor.row(k) + k + 1, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t a = start[i]; a < start[i + 1]; ++a) {
      double* row = factor.row(entries[a].column);
      for (std::size_t b = start[i]; b <= a; ++b) row[entries[b].column] += entries[a].value * entries[b].value;
    }
    count(0.5 * static_cast<double>((start[i + 1] - start[i]) * (start[i + 1] - start[i])));
  }
  double largest = 0;
  for (std::size_t k = 0; k < size; ++k) largest = std::max(largest, factor.row(k)[k]);
  for (std::size_t k = 0; k < size; ++k) factor.row(k)[k] += kLeastCurvature * largest;
  count(kFactorWork * cube);
  if (!factor.make()) return false;
  factor.solve(x);
  return true;
}

// Solves the same equations approximately, preconditioned with the diagonal.
void L1Descent::solve_by_conjugate_gradients(std::vector<double>& x) {
  const L1State& s = state_;
  const std::size_t size = x.size();
  std::vector<double> residual = x, diagonal(size, 0.0), p(size), product(size), z(size), q(s.slack.size());
  for (std::size_t k = 0; k < support_.size(); ++k) {
    const Column c = columns_.column(columns_.slot(support_[k]));
    for (std::size_t e = 0; e < c.size; ++e)
      if (s.active(c.index[e])) diagonal[k] += c.value[e] * c.value[e];
  }
  if (size > support_.size())
    for (std::size_t i = 0; i < q.size(); ++i)
      if (s.active(i)) diagonal.back() += s.scale[i] * s.scale[i];
  const double least = *std::max_element(diagonal.begin(), diagonal.end()) * kLeastCurvature;
  double rz = 0;
  for (std::size_t k = 0; k < size; ++k) {
    diagonal[k] += least;
    p[k] = z[k] = diagonal[k] > 0 ? residual[k] / diagonal[k] : 0.0;
    rz += residual[k] * z[k];
  }
  const double first = rz;
  std::fill(x.begin(), x.end(), 0.0);
  for (int step = 0; step < kMaxConjugateSteps && rz > kConjugateTolerance * first; ++step) {
    combine(p, q);
    for (std::size_t i = 0; i < q.size(); ++i)
      if (!s.active(i)) q[i] = 0;
    multiply(q, product);
    double curvature = 0, next = 0;
    for (std::size_t k = 0; k < size; ++k) product[k] += least * p[k], curvature += p[k] * product[k];
    if (!(curvature > 0)) return;
    for (std::size_t k = 0; k < size; ++k) {
      x[k] += rz / curvature * p[k], residual[k] -= rz / curvature * product[k];
      z[k] = diagonal[k] > 0 ? residual[k] / diagonal[k] : 0.0;
      next += residual[k] * z[k];
    }
    for (std::size_t k = 0; k < size; ++k) p[k] = z[k] + next / rz * p[k];
    rz = next;
  }
}

// Sets w = old + share · direction; weights that would change their sign become zero.
void L1Descent::move_within_orthant(const std::vector<double>& weights, const std::vector<double>& slack, double offset,
                                    const std::vector<double>& direction, double share) {
  L1State& s = state_;
  s.slack = slack;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    double w = weights[k] + share * direction[k];
    if (w * weights[k] < 0) w = 0;
    s.weights[support_[k]] = w;
    const Column c = columns_.column(columns_.slot(support_[k]));
    for (std::size_t e = 0; e < c.size; ++e) s.slack[c.index[e]] -= (w - weights[k]) * c.value[e];
    visited += static_cast<double>(c.size);
  }
  if (direction.size() == weights.size()) return;
  s.offset = offset + share * direction.back();
  if (s.bias == Bias::penalized && s.offset * offset < 0) s.offset = 0;
  for (std::size_t i = 0; i < slack.size(); ++i) s.slack[i] -= (s.offset - offset) * s.scale[i];
}

}  // namespace hinge
