// newton.cpp: Newton steps of L1Descent in the nonzero weights and the offset, docs/math (868).
#include <algorithm>
#include <cmath>

#include "control/run_tracker.hpp"
#include "linear/cholesky/cholesky.hpp"
#include "linear/l1/descent.hpp"

namespace hinge {
namespace {

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

}  // namespace

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
    long_step_ = attempt == 0 && share >= kLongStep;
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
