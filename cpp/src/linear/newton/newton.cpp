// newton.cpp: see the header.
#include "linear/newton/newton.hpp"

#include <algorithm>
#include <cmath>

#include "linear/data/ops.hpp"
#include "linear/loss/line_search.hpp"
#include "linear/loss/offset.hpp"

namespace hinge {
namespace {

// A Hessian of a subsample is used while the slack is at most kReuseBefore (before the first step) or kReuseAfter
// (after it) times the target, and while a step reduces the slack to at most kReusedGain of its value.   (148)
constexpr double kReuseBefore = 1e4, kReuseAfter = 100, kReusedGain = 0.3;
constexpr double kRoughPrecision = 1e-3, kExactPrecision = 1e-10;  // relative precision of the line search

double dot(Span<const double> a, Span<const double> b) {
  return linear_ops().dot_double(a.data(), b.data(), a.size());
}

// Transposes the upper triangle of a into the lower triangle of the factor, in tiles that fit into the cache.
void transpose_upper(const std::vector<double>& a, std::size_t size, std::size_t stride, SymmetricFactor& to) {
  constexpr std::size_t kSquare = 16;
  for (std::size_t top = 0; top < size; top += kSquare)
    for (std::size_t left = 0; left <= top; left += kSquare)
      for (std::size_t i = top; i < std::min(size, top + kSquare); ++i)
        for (std::size_t j = left; j < std::min(i + 1, left + kSquare); ++j) to.row(i)[j] = a[j * stride + i];
}

}  // namespace

double Newton::bias_ridge() const { return hinge::bias_ridge(problem_); }

void Newton::list_free_samples(const LossArrays& losses, const NewtonPoint& point) {
  loss_passes_.choose(point.f.size(), list_, [&](std::size_t i) { return is_free(losses, i, point.beta[i]); });
}

void Newton::update_scale(const LossArrays& losses) {
  scale_.resize(list_.size());
  for (std::size_t k = 0; k < list_.size(); ++k) scale_[k] = losses.inverse[list_[k]];
}

void Newton::update_slack(NewtonPoint& point) {
  passes_.combine(point.beta, point.g);
  for (std::size_t j = 0; j < point.g.size(); ++j) point.g[j] = point.w[j] - point.g[j];
  for (std::size_t j = 0; j < shift_.size(); ++j) point.g[j] -= shift_[j];
  point.slack = 0.5 * dot(point.g, point.g);
  incremental_ = false;
}

void Newton::evaluate(const LossArrays& losses, NewtonPoint& point) {
  point.b = best_offset(problem_, losses, loss_passes_, true, point.f, point.b);
  loss_passes_.best(losses, point.f.data(), point.b, point.beta.data());
  if (!reused_) list_free_samples(losses, point);
  summed_ = false;
  update_slack(point);
}

void Newton::use_hessian(std::vector<double> curvature) {
  sum_ = std::move(curvature);
  reused_ = !sum_.empty();
  factored_ = false;
}

void Newton::drop_reused_hessian(const LossArrays& losses, const NewtonPoint& point) {
  reused_ = summed_ = false;
  list_free_samples(losses, point);
}

// Updates β, the list, A and g after a step of length t without a pass over all samples.   (128)
// Returns false if a full update is faster because many samples changed.
bool Newton::update_incrementally(const LossArrays& losses, double t, double b_before, NewtonPoint& point) {
  const std::size_t n = point.f.size(), d = point.w.size(), stride = (d + 4) / 4 * 4;
  next_.resize(n);
  loss_passes_.best(losses, point.f.data(), point.b, next_.data());
  const double move = point.b - b_before;
  loss_passes_.choose(n, list_, [&](std::size_t i) { return is_free(losses, i, next_[i]); });
  const double *from = point.beta.data(), *to = next_.data();
  const int tubed = losses.tube > 0;
  loss_passes_.choose(n, change_.rows, [&losses, from, to, tubed](std::size_t i) {
    const double was = from[i], is = to[i];
    const int before = is_free(losses, i, was), now = is_free(losses, i, is);
    const int across = (was * is < 0) & tubed;  // from one side of the tube to the other
    return ((before & now & (across ^ 1)) ^ 1) & (was != is);
  });
  point.beta.swap(next_);  // next_ now holds the previous values
  const std::size_t changed = change_.rows.size();
  if (5 * changed > n) return false;
  change_.curvature.resize(changed), change_.dual_change.resize(changed);
  for (std::size_t k = 0; k < changed; ++k) {
    const std::size_t i = change_.rows[k];
    const double was = next_[i], is = point.beta[i], s = losses.inverse[i];
    const bool before = is_free(losses, i, was), now = is_free(losses, i, is);
    change_.curvature[k] = now == before ? 0.0 : now ? s : -s;
    change_.dual_change[k] = is - was + (before ? s * (t * q_[i] + move) : 0.0);
  }
  // g changes by Δw and, while the free set is unchanged, by −XᵀΔβ = t A δ + Δb A 1
  work_.assign(d, 0.0);
  for (std::size_t j = 0; j < d; ++j) {
    const double* row = sum_.data() + j * stride;
    work_[j] += linear_ops().dot_double(row + j, delta_.data() + j, d - j);
    linear_ops().add_double(row + j + 1, delta_[j], work_.data() + j + 1, d - j - 1);
  }
  for (std::size_t j = 0; j < d; ++j) point.g[j] += t * (delta_[j] + work_[j]) + move * sum_[j * stride + d];
  summed_ = 2 * change_.rows.size() <= list_.size();
  if (summed_) passes_.hessian(change_.rows, change_.curvature, stride, sum_, true);
  passes_.combine_list(change_.rows, change_.dual_change, work_);
  for (std::size_t j = 0; j < d; ++j) point.g[j] -= work_[j];
  point.slack = 0.5 * dot(point.g, point.g);
  incremental_ = true;
  return true;
}

void Newton::direction(const LossArrays& losses, Span<const double> g, double target_gap, RunTracker& tracker) {
  const double d = static_cast<double>(passes_.features()), m = static_cast<double>(list_.size());
  const double per_row = passes_.stored() / std::max(1.0, static_cast<double>(passes_.rows()));
  const double direct = 0.5 * m * per_row * per_row + d * d * d / 30, products = 50 * (4 * m * per_row + 10 * d);
  direct_ = reused_ || (passes_.features() <= kDirectFeatures && direct <= products + 1e6);
  if (direct_) {
    solve_by_cholesky(losses, g);
  } else {
    update_scale(losses);
    solve_by_conjugate_gradients(g, target_gap, tracker);
  }
}

void Newton::solve_by_cholesky(const LossArrays& losses, Span<const double> g) {
  const std::size_t d = passes_.features(), stride = (d + 4) / 4 * 4;
  if (!summed_ && !reused_) {
    update_scale(losses);
    passes_.hessian(list_, scale_, stride, sum_, false);
  }
  summed_ = true;
  const bool bias = problem_.bias != Bias::none && sum_[stride * d + d] > 0;
  const std::size_t size = bias ? d + 1 : d;
  delta_.assign(size, 0.0);
  for (std::size_t j = 0; j < d; ++j) delta_[j] = -g[j];
  bool factored = reused_ && factored_;
  if (!factored) {
    factor_.resize(size);
    transpose_upper(sum_, size, stride, factor_);
    for (std::size_t i = 0; i < d; ++i) factor_.row(i)[i] += 1;
    if (bias) factor_.row(d)[d] = (factor_.row(d)[d] + bias_ridge()) * (1 + 1e-14);
    factored_ = factored = factor_.make();
  }
  if (factored) factor_.solve(delta_);  // a factor fails only by rounding; the negative gradient is a descent direction
  delta_bias_ = factored && bias ? delta_[d] : 0.0;
  delta_.resize(d);
}

// The bias is eliminated: (I + Xᵀ S X − m mᵀ/μ) δ = −g with m = Xᵀ S 1, μ = 1ᵀ S 1 + 1/B², then δ_b = −mᵀδ/μ.  (113)
void Newton::solve_by_conjugate_gradients(Span<const double> g, double target_gap, RunTracker& tracker) {
  const std::size_t d = passes_.features();
  first_.resize(d), second_.resize(d), work_.resize(d);
  passes_.moments(list_, scale_, first_, second_);
  const bool bias = problem_.bias != Bias::none && !list_.empty();
  double mass = bias_ridge();
  for (double s : scale_) mass += s;
  std::vector<double> diagonal(d), r(d), z(d), p(d);
  for (std::size_t j = 0; j < d; ++j) {
    diagonal[j] = 1 + second_[j] - (bias ? first_[j] * first_[j] / mass : 0.0);
    diagonal[j] = 1 / std::max(diagonal[j], 1.0);
    r[j] = -g[j];
    p[j] = z[j] = diagonal[j] * r[j];
  }
  delta_.assign(d, 0.0);
  double rz = dot(r, z);
  const double list_values =
      passes_.stored() * static_cast<double>(list_.size()) / std::max(1.0, static_cast<double>(passes_.rows()));
  const double squared = dot(g, g), max_squared_residual = std::max(0.5 * target_gap, 0.01 * squared);
  for (std::size_t round = 0; round < 2 * d + 10 && round < 1000; ++round) {
    if (dot(r, r) <= max_squared_residual || rz <= 0) break;
    tracker.poll();
    const double bias_product = passes_.curvature(list_, scale_, p, work_);
    // the pass has counted the stored values already
    passes_.visited += product_work(list_values, static_cast<double>(d)) - list_values;
    for (std::size_t j = 0; j < d; ++j) work_[j] += p[j] - (bias ? bias_product / mass * first_[j] : 0.0);
    const double curvature = dot(p, work_);
    if (!(curvature > 0)) break;
    const double t = rz / curvature;
    for (std::size_t j = 0; j < d; ++j) delta_[j] += t * p[j], r[j] -= t * work_[j], z[j] = diagonal[j] * r[j];
    const double next = dot(r, z);
    for (std::size_t j = 0; j < d; ++j) p[j] = z[j] + next / rz * p[j];
    rz = next;
  }
  delta_bias_ = bias ? -dot(first_, delta_) / mass : 0.0;
}

double Newton::search(const LossArrays& losses, const NewtonPoint& point, Span<const double> q) const {
  const double along = dot(point.w, delta_) - (shift_.empty() ? 0.0 : dot(shift_, delta_));
  const Line line{point.f.data(), q.data(), point.b, delta_bias_, along, dot(delta_, delta_)};
  return line_minimum(problem_, losses, loss_passes_, line, reused_ ? kRoughPrecision : kExactPrecision);
}

bool Newton::step(const LossArrays& losses, double target_gap, NewtonPoint& point, RunTracker& tracker) {
  tracker.poll();  // passes over the samples that take less than the polling interval do not poll
  if (reused_ && point.slack > kReuseBefore * target_gap) drop_reused_hessian(losses, point);
  direction(losses, point.g, target_gap, tracker);
  q_.resize(point.f.size());
  passes_.margins(delta_, q_);
  if (problem_.bias == Bias::free && list_.empty() && !reused_) {
    // No sample has a loss, so that the Hessian does not determine the change of b.  With a fixed b, w could shrink
    // only a little for samples far from the origin; b is changed such that the margins of both sides decrease at the
    // same rate.   docs/math (151)
    const LossFree part = loss_free(losses, point.f);
    if (part.found) delta_bias_ = -0.5 * (q_[part.first] + q_[part.last]);
  }
  const double t = search(losses, point, q_);
  if (!(t > 0)) return false;
  for (std::size_t j = 0; j < point.w.size(); ++j) point.w[j] += t * delta_[j];
  point.reach += t * std::sqrt(dot(delta_, delta_)) + std::sqrt(dot(point.w, point.w));
  loss_passes_.each(q_.size(), [&](std::size_t, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) point.f[i] += t * q_[i];
  });
  const double before = point.slack, b_before = point.b;
  point.b = best_offset(problem_, losses, loss_passes_, true, point.f, point.b + t * delta_bias_);
  if (!direct_ || reused_) {
    evaluate(losses, point);
    if (reused_ && point.slack > std::min(kReusedGain * before, kReuseAfter * target_gap))
      drop_reused_hessian(losses, point);
  } else if (!update_incrementally(losses, t, b_before, point)) {
    summed_ = false;
    update_slack(point);
  } else if (point.slack <= target_gap ||
             point.slack >= before) {  // recompute before the point is accepted or when the slack grows
    summed_ = summed_ && point.slack < before;
    update_slack(point);
  }
  return point.slack < before || point.slack > 1e-20 * (1 + dot(point.w, point.w));
}

}  // namespace hinge
