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

constexpr int kRequestsBeforeCounting = 20;  // requests before free samples are counted
constexpr std::size_t kShortRows = 64, kSampledRows = 256;  // features of a short row; rows sampled for an estimate
// Memory that the C library keeps after it was freed: per sample, and at most.
constexpr std::size_t kMaxKeptBytes = std::size_t(16) << 20, kKeptBytesPerSample = 400;

// The C library returns memory to the system beyond twice the largest block that was ever freed, and new pages are
// expensive.  Freeing one untouched block of the size of all vectors of a run raises this threshold.
void keep_memory(std::size_t samples) {
  void* volatile block = std::malloc(std::min<std::size_t>(kMaxKeptBytes, samples * kKeptBytesPerSample));
  std::free(block);
}

// Whether coordinate descent is likely on rows so short that dense steps are faster than compressed ones: compressed
// steps wait, value by value, for the stores of the previous step.
bool descends_on_short_rows(const Samples& samples, const LinearProblem& problem, LinearMethod method) {
  if (features(samples) > kShortRows || method == LinearMethod::newton) return false;
  return std::visit(
      [&](const auto& data) {
        const Rows<std::decay_t<decltype(data)>> rows(data);
        const std::size_t step = std::max<std::size_t>(1, data.rows / kSampledRows);
        double width = 0, sampled = 0;
        for (std::size_t i = 0; i < data.rows; i += step, sampled += 1) {
          if (problem.ridge[i] > 0) return method == LinearMethod::descent;
          width += (problem.upper[i] - problem.lower[i]) * rows.squared_norm(i);
        }
        return method == LinearMethod::descent || width <= kNarrowBoxes * sampled;
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

void LinearState::certify_combination() {
  passes->margins(w, f);
  adopt(w, beta, 0.0, evaluate(f, beta), computed(w, f));
}

LinearState::Products LinearState::computed(const std::vector<double>& w, const std::vector<double>& f,
                                            double distance) {
  return {&f, std::sqrt(squared(w)), distance};
}

LinearState::Evaluation LinearState::evaluate(const std::vector<double>& values, const std::vector<double>& dual) {
  const LossArrays arrays = losses.arrays();
  const double b = best_offset(problem, arrays, loss_passes, smooth, values, offset);
  return {b, loss_passes.bounds(arrays, values.data(), b, dual.data(), parts.data())};
}

LinearBounds LinearState::bounds_at(const std::vector<double>& at, double slack, const Evaluation& evaluation) const {
  const LossBounds& found = evaluation.bounds;
  const double b = evaluation.b, sum = found.sum;
  double gap = slack + found.gap;
  double primal = 0.5 * squared(at) + found.loss + problem.total * b;
  if (problem.bias == Bias::penalized) {
    const double part = b / problem.bias_scale, other = problem.bias_scale * sum;
    primal += 0.5 * part * part;
    gap += 0.5 * (part - other) * (part - other);
  } else if (problem.bias == Bias::free) {
    gap += std::fabs(b * (problem.total - sum));
  }
  return {primal, primal - gap, gap, found.violation};
}

void LinearState::adopt(const std::vector<double>& at, const std::vector<double>& dual, double slack,
                        const Evaluation& evaluation, const Products& products, bool incremental) {
  offset = evaluation.b;
  last = bounds_at(at, slack, evaluation);
  tracker.snapshot.iteration = best.epochs + best.newton_steps;
  tracker.snapshot.violation = last.violation, tracker.snapshot.primal = last.primal;
  tracker.snapshot.dual = last.dual, tracker.snapshot.gap = last.gap;
  tracker.record();
  if (!(last.relative() <= best.bounds.relative())) return;
  best.bounds = last;
  best.beta = dual, best.offset = evaluation.b;
  best_incremental_ = incremental;
  const bool is_zero = std::all_of(at.begin(), at.end(), [](double v) { return v == 0; });
  best.weights.clear();
  if (!is_zero) best.weights = at;  // a zero vector is allocated at the end, if needed
  best.known = {{}, products.reach, products.distance};
  if (products.f != nullptr) best.known.f = *products.f;
}

bool LinearState::likely_proven(const std::vector<double>& at, const Evaluation& evaluation, double slack) const {
  const LinearBounds bounds = bounds_at(at, slack, evaluation);
  return bounds.gap <= 1.01 * goal * bounds.primal + floor;
}

void LinearState::recertify_best() {
  if (!best_incremental_ || best.weights.empty()) return;
  best_incremental_ = false;
  std::vector<double> values(n), away(d);
  passes->margins(best.weights, values);
  passes->combine(best.beta, away);
  for (std::size_t j = 0; j < d; ++j) away[j] -= best.weights[j];
  const Evaluation evaluation = evaluate(values, best.beta);
  best.bounds = bounds_at(best.weights, 0.5 * squared(away), evaluation);
  best.offset = evaluation.b;
  best.known = {std::move(values), std::sqrt(squared(best.weights)), (1 + 1e-12) * std::sqrt(squared(away))};
}

void LinearState::weights_from_beta() {
  restore_sum(problem, beta);
  passes->combine(beta, w);
}

void LinearState::restore_best() {
  beta = best.beta;
  weights_from_beta();
  passes->margins(w, f);
  offset = best.offset;
  evaluate(f, beta);  // updates `parts`
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

double LinearState::target_gap() const { return goal * 0.5 * std::max(std::fabs(last.primal + last.dual), 1e-300); }

MethodChoice LinearState::choice() {
  const FreeSamples free = many_features() ? free_samples() : FreeSamples{};
  return {static_cast<double>(n), static_cast<double>(d), passes->stored(), smooth, is_sparse(samples), free};
}

// At the null model all samples are free for Newton's method.  Otherwise epochs determine the free samples first,
// because estimating the work of all products takes as long as half an epoch.
FreeSamples LinearState::free_samples() {
  const bool newton = options.method == LinearMethod::newton;
  if (!newton && ++requests_ <= kRequestsBeforeCounting) return {};
  const LossArrays arrays = losses.arrays();
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += is_free(arrays, i, beta[i]);
  if (newton && at_null_model) count = n;
  if (count == 0 || count > kMaxFreeSamples) return {};
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
    if (!std::isfinite(sum_of(norms_))) throw std::invalid_argument(kOverflow);  // steps would have no length
  }
  return norms_;
}

double LinearState::null_loss() {
  const std::vector<double> zeros(n, 0.0);
  return loss_passes.bounds(losses.arrays(), zeros.data(), 0.0, zeros.data(), parts.data()).loss;
}

// If the optimum is zero (perfect fit, or the origin inside the samples) a relative gap is not meaningful.  The offset
// removes a part of the targets; their rounding error remains and enters a squared loss quadratically.   (133)
void LinearState::set_floor(double loss, double loss_of_offset) {
  floor = 1e-14 * (smooth ? loss_of_offset + 1e-14 * loss : loss);
  if (problem.total == 0) return;
  double mean = 0;
  for (double v : squared_norms()) mean += v / static_cast<double>(n);
  floor += 1e-12 * problem.total * problem.total * mean;
}

}  // namespace hinge
