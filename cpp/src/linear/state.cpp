// state.cpp: see the header.
#include "linear/state.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "linear/data/ops.hpp"
#include "linear/data/rows.hpp"
#include "linear/descent/cells.hpp"
#include "linear/loss/line_search.hpp"
#include "linear/loss/offset.hpp"

namespace hinge {
namespace {

constexpr int kEpochsBefore = 20;  // it is asked who is free
constexpr std::size_t kShortRows = 64, kLooks = 256;
constexpr std::size_t kKeptBytes = std::size_t(16) << 20, kKeptPerSample = 400;

// The C library gives memory back to the system beyond twice the largest block that was ever freed, and a page that
// comes back costs more than the numbers written there.  A run of many vectors shows it one block as large as all of
// them, which is never touched.
void keep_memory(std::size_t samples) {
  void* volatile block = std::malloc(std::min<std::size_t>(kKeptBytes, samples * kKeptPerSample));
  std::free(block);
}

// Whether a machine is likely to descend, on rows so short that a step on all of their values takes less time than one on
// those that are not zero: for these wait, one by one, for what the step before has written.
bool descends_on_short_rows(const Samples& samples, const LinearProblem& problem, LinearMethod method) {
  if (features(samples) > kShortRows || method == LinearMethod::newton) return false;
  return std::visit(
      [&](const auto& data) {
        const Rows<std::decay_t<decltype(data)>> rows(data);
        const std::size_t step = std::max<std::size_t>(1, data.rows / kLooks);
        double width = 0, looked = 0;
        for (std::size_t i = 0; i < data.rows; i += step, looked += 1) {
          if (problem.ridge[i] > 0) return method == LinearMethod::descent;
          width += (problem.upper[i] - problem.lower[i]) * rows.squared_norm(i);
        }
        return method == LinearMethod::descent || width <= kEasy * looked;
      },
      samples);
}

double squared(Span<const double> v) { return linear_ops().dot_double(v.data(), v.data(), v.size()); }

}  // namespace

double LinearBounds::relative() const {
  if (!std::isfinite(gap) || !std::isfinite(primal)) return std::numeric_limits<double>::infinity();
  if (gap == 0) return 0;
  const double size = 0.5 * (std::fabs(primal) + std::fabs(dual));
  return size > 0 ? gap / size : std::numeric_limits<double>::infinity();
}

LinearState::LinearState(const Samples& given, const LinearProblem& task, const LinearOptions& how, RunControl& control)
    : problem(task), options(how), tracker(control, how.max_seconds),
      pool(how.threads - 1), parallel{how.threads, [this] { tracker.poll(); }, &pool},
      samples(how.block_bytes > 0 || descends_on_short_rows(given, task, how.method)
                  ? given
                  : compact.of(given, {how.threads, [this] { tracker.poll_interrupts(); }, &pool})),
      passes(make_passes(samples, parallel, how.block_bytes)), n(passes->rows()), d(passes->features()), losses(task),
      loss_passes(parallel), w(d, 0.0), f(n, 0.0), parts(n), goal(how.tolerance), limit(how.max_iterations) {
  keep_memory(n);
  best.bounds.gap = best.bounds.primal = std::numeric_limits<double>::infinity();
  best.bounds.violation = best.bounds.gap;
  best.bounds.dual = -best.bounds.gap;
  best.beta.assign(n, 0.0);
  for (double r : task.ridge) smooth = smooth && r > 0;
}

void LinearState::look(double slack) {
  passes->margins(w, f);
  adopt(w, f, beta, slack);
}

LinearState::Sight LinearState::see(const std::vector<double>& values, const std::vector<double>& dual) {
  const LossArrays arrays = losses.arrays();
  const double b = best_offset(problem, arrays, loss_passes, smooth, values, offset);
  return {b, loss_passes.bounds(arrays, values.data(), b, dual.data(), parts.data())};
}

LinearBounds LinearState::bounds_at(const std::vector<double>& at, double slack, const Sight& sight) const {
  const LossBounds& found = sight.bounds;
  const double b = sight.b, sum = found.sum;
  double gap = slack + found.gap;
  double primal = 0.5 * squared(at) + found.loss + problem.total * b;
  if (problem.bias == Bias::penalised) {
    const double part = b / problem.bias_scale, other = problem.bias_scale * sum;
    primal += 0.5 * part * part;
    gap += 0.5 * (part - other) * (part - other);
  } else if (problem.bias == Bias::free) {
    gap += std::fabs(b * (problem.total - sum));
  }
  return {primal, primal - gap, gap, found.violation};
}

void LinearState::adopt(const std::vector<double>& at, const std::vector<double>& dual, double slack,
                        const Sight& sight, bool carried) {
  offset = sight.b;
  last = bounds_at(at, slack, sight);
  tracker.snapshot.iteration = best.epochs + best.newton_steps;
  tracker.snapshot.violation = last.violation, tracker.snapshot.primal = last.primal;
  tracker.snapshot.dual = last.dual, tracker.snapshot.gap = last.gap;
  tracker.record();
  if (!(last.relative() <= best.bounds.relative())) return;
  best.bounds = last;
  best.beta = dual, best.offset = sight.b;
  best_carried_ = carried;
  const bool nothing = std::all_of(at.begin(), at.end(), [](double v) { return v == 0; });
  best.weights.clear();
  if (!nothing) best.weights = at;  // millions of zeros need no memory yet
}

bool LinearState::likely_proven(const std::vector<double>& at, const Sight& sight, double slack) const {
  const LinearBounds bounds = bounds_at(at, slack, sight);
  return bounds.gap <= 1.01 * goal * bounds.primal + floor;
}

void LinearState::settle_best() {
  if (!best_carried_ || best.weights.empty()) return;
  best_carried_ = false;
  std::vector<double> values(n), away(d);
  passes->margins(best.weights, values);
  passes->combine(best.beta, away);
  for (std::size_t j = 0; j < d; ++j) away[j] -= best.weights[j];
  const Sight sight = see(values, best.beta);
  best.bounds = bounds_at(best.weights, 0.5 * squared(away), sight);
  best.offset = sight.b;
}

void LinearState::from_beta() {
  restore_sum(problem, beta);
  passes->combine(beta, w);
}

void LinearState::back_to_best() {
  beta = best.beta;
  from_beta();
  passes->margins(w, f);
  offset = best.offset;
  see(f, beta);  // `parts` are those of this point
}

void LinearState::scale(double times) {
  for (std::size_t i = 0; i < n; ++i)
    beta[i] = std::min(problem.upper[i], std::max(problem.lower[i], times * beta[i]));  // rounding
  scale_weights(times);
}

void LinearState::scale_weights(double times) {
  for (double& v : w) v *= times;
  for (double& v : f) v *= times;
}

double LinearState::wanted() const { return goal * 0.5 * std::max(std::fabs(last.primal + last.dual), 1e-300); }

LinearChoice LinearState::choice() {
  const FreeSamples free = many_features() ? free_samples() : FreeSamples{};
  return {static_cast<double>(n), static_cast<double>(d), passes->stored(), smooth, is_sparse(samples), free};
}

// From nothing Newton's method begins with everybody; epochs have yet to tell, and the work of all products takes as
// long to find out as half an epoch.
FreeSamples LinearState::free_samples() {
  const bool newton = options.method == LinearMethod::newton;
  if (!newton && ++asked_ <= kEpochsBefore) return {};
  const LossArrays arrays = losses.arrays();
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += is_free(arrays, i, beta[i]);
  if (newton && at_nothing) count = n;
  if (count == 0 || count > kMostFree) return {};
  if (all_products_ < 0) all_products_ = gram().work_of_all();
  return {static_cast<double>(count), all_products_};
}

LinearGram& LinearState::gram() {
  if (!gram_) gram_ = make_gram(samples, parallel);
  return *gram_;
}

const std::vector<double>& LinearState::squared_norms() {
  if (norms_.empty()) {
    norms_.resize(n);
    passes->squared_norms(norms_);
    if (!std::isfinite(added_up(norms_))) throw std::invalid_argument(kOverflow);  // no step has a length
  }
  return norms_;
}

double LinearState::loss_of_nothing() {
  const std::vector<double> zeros(n, 0.0);
  return loss_passes.bounds(losses.arrays(), zeros.data(), 0.0, zeros.data(), parts.data()).loss;
}

// Where the optimum is zero (a perfect fit, an origin among the samples) a relative gap has no meaning.
// An offset takes its part of the targets away; their rounding is left, and enters a squared loss squared.
void LinearState::set_floor(double loss, double loss_of_offset) {
  floor = 1e-14 * (smooth ? loss_of_offset + 1e-14 * loss : loss);
  if (problem.total == 0) return;
  double mean = 0;
  for (double v : squared_norms()) mean += v / static_cast<double>(n);
  floor += 1e-12 * problem.total * problem.total * mean;
}

}  // namespace hinge
