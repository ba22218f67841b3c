// sample_space.cpp: see the header.
#include "linear/newton/sample_space.hpp"

#include <algorithm>
#include <cmath>

#include "linear/data/ops.hpp"
#include "linear/loss/line_search.hpp"
#include "linear/loss/offset.hpp"
#include "parallel/tasks.hpp"

namespace hinge {
namespace {

constexpr int kMaxInnerSteps = 50;  // Newton steps per proximal step
constexpr int kMaxIdleSteps = 8;         // proximal steps without progress before the method ends

double squared_distance(Span<const double> a, Span<const double> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

double squared(Span<const double> v) { return linear_ops().dot_double(v.data(), v.data(), v.size()); }

}  // namespace

double SampleSpaceNewton::work() const { return s_.passes->visited + own_work_; }

bool SampleSpaceNewton::finished(double budget) const {
  return s_.proven() || s_.out_of_steps() || work() - began_ > budget;
}

// Smallest absolute gap.  Far from the optimum the point with the best relative gap may have a larger one.
double SampleSpaceNewton::gap() const { return std::min(s_.best.bounds.gap, std::max(0.0, primal_ - dual_)); }

// Proximal steps (115) for piecewise linear losses; a smooth loss needs only one.
Outcome SampleSpaceNewton::run(double budget) {
  began_ = work();
  at_.w = s_.w, at_.f = s_.f, at_.b = s_.offset;
  beta_ = s_.beta, g_.resize(s_.d);
  primal_ = INFINITY, dual_ = -INFINITY;
  Losses smoothed(s_.problem);
  double width = 0, before = s_.last.gap;
  for (std::size_t i = 0; i < s_.n; ++i)
    width += std::fabs(std::fabs(s_.problem.target[i] - s_.f[i] - s_.offset) - s_.problem.tube);
  width = width > 0 ? width / static_cast<double>(s_.n) : 1.0;
  bool first = std::any_of(beta_.begin(), beta_.end(), [](double b) { return b != 0; }), on = true;
  for (int idle = 0; idle < kMaxIdleSteps && on; first = false) {
    if (!s_.smooth) smoothed.anchor(width, beta_);
    on = proximal(s_.smooth ? s_.losses.arrays() : smoothed.arrays(), first, budget);
    if (finished(budget) || s_.smooth) break;
    if (gap() > 0.2 * before) width *= 0.3;
    idle = gap() < 0.9 * before ? 0 : idle + 1;
    before = std::min(before, gap());
  }
  s_.passes->visited += own_work_;
  own_work_ = 0;
  if (s_.proven()) return Outcome::solved;
  return s_.out_of_steps() ? Outcome::out_of_steps : Outcome::undecided;
}

// Newton steps on a smooth problem until it is solved approximately; false if no further progress is possible.
bool SampleSpaceNewton::proximal(const LossArrays& losses, bool first, double budget) {
  evaluate(losses);
  if (first) evaluate_dual(losses);
  for (int inner = 0; inner < kMaxInnerSteps; ++inner) {
    const double fine = s_.options.expansion ? 1e-5 : 1.0, before = value_;
    const double max_slack = s_.smooth ? 0.0 : fine * std::max(0.25 * s_.target_gap(), 0.02 * gap());
    if (finished(budget) || slack_ <= max_slack) return true;
    s_.tracker.poll();
    const bool from_dual = first && inner == 0;
    if (!step(losses, from_dual)) return false;
    if (!(value_ < before) && !from_dual) return !s_.smooth;
  }
  return true;
}

// Computes β, the free samples, the gradient and the value at the point.  The offset of the last step is kept: the
// optimal offset would undo changes of samples that have just become free and have almost no loss.
void SampleSpaceNewton::evaluate(const LossArrays& losses) {
  const LossBounds found = s_.loss_passes.bounds(losses, at_.f.data(), at_.b, beta_.data(), s_.parts.data());
  s_.loss_passes.best(losses, at_.f.data(), at_.b, beta_.data());
  full_beta_ = beta_;
  s_.loss_passes.choose(s_.n, list_, [&](std::size_t i) { return is_free(losses, i, beta_[i]); });
  take_gradient();
  value_ = 0.5 * squared(at_.w) + found.loss + 0.5 * bias_ridge(s_.problem) * at_.b * at_.b + s_.problem.total * at_.b;
}

// The same with the free samples and their sides from the dual point of the state.
void SampleSpaceNewton::evaluate_dual(const LossArrays& losses) {
  list_.clear();
  full_beta_ = beta_ = s_.beta;
  for (std::size_t i = 0; i < s_.n; ++i) {
    if (!is_free(losses, i, beta_[i])) continue;
    list_.push_back(static_cast<std::uint32_t>(i));
    const double side = beta_[i] > 0 ? losses.tube : -losses.tube;
    beta_[i] = losses.inverse[i] * (losses.target[i] - side - at_.f[i] - at_.b);
  }
  take_gradient();
}

void SampleSpaceNewton::take_gradient() {
  s_.passes->combine(beta_, g_);
  for (std::size_t j = 0; j < g_.size(); ++j) g_[j] = at_.w[j] - g_[j];
  slack_ = 0.5 * squared(g_);
}

// (K + D) η = X g − δ_b, and w + δ = Xᵀ(β + η).   (142)–(143)
bool SampleSpaceNewton::solve(const LossArrays& losses) {
  const bool bias = s_.problem.bias != Bias::none;
  if (list_.size() > kMaxFreeSamples) return false;
  s_.gram().require(list_);
  own_work_ += s_.gram().work + factor_work(static_cast<double>(list_.size()));
  s_.gram().work = 0;
  const std::size_t m = list_.size(), parts = (m + 63) / 64;
  factor_.resize(m);
  run_tasks(parts, s_.parallel, [&] {
    return [&](std::size_t c, Poller&) {
      for (std::size_t k = 64 * c; k < std::min(m, 64 * (c + 1)); ++k) {
        s_.gram().read(list_, k, factor_.row(k));
        factor_.row(k)[k] += losses.ridge[list_[k]];
      }
    };
  });
  if (!factor_.make()) return false;  // rounding: D is too small relative to K
  full_.f.resize(s_.n);
  s_.passes->margins(g_, full_.f);
  std::vector<double> z(m), v(bias ? m : 0, 1.0);
  for (std::size_t k = 0; k < m; ++k) z[k] = full_.f[list_[k]];
  factor_.solve(z);
  double move = 0;
  if (bias && m > 0) {
    factor_.solve(v);
    double above = -s_.problem.total - bias_ridge(s_.problem) * at_.b, below = bias_ridge(s_.problem);
    for (double b : beta_) above += b;
    for (std::size_t k = 0; k < m; ++k) above += z[k], below += v[k];
    move = above / below;
    for (std::size_t k = 0; k < m; ++k) z[k] -= move * v[k];
  }
  full_.w.resize(s_.d);
  s_.passes->combine_list(list_, z, full_.w);
  for (std::size_t j = 0; j < s_.d; ++j) full_.w[j] += at_.w[j] - g_[j];
  s_.passes->margins(full_.w, full_.f);
  full_.b = m > 0 ? at_.b + move : best_offset(s_.problem, losses, s_.loss_passes, true, full_.f, at_.b);
  for (std::size_t k = 0; k < m; ++k) {
    const std::size_t i = list_[k];
    const double is = beta_[i] + z[k];
    full_beta_[i] =
        std::min(losses.upper[i], std::max(losses.lower[i], losses.tube > 0 && is * full_beta_[i] < 0 ? 0.0 : is));
  }
  return true;
}

// Takes the full step if it decreases the value, otherwise the best part of it.   (144)
bool SampleSpaceNewton::step(const LossArrays& losses, bool from_dual) {
  if (!solve(losses)) return false;
  ++s_.best.newton_steps, ++s_.best.sample_steps;
  const double before = value_;
  Point was = std::move(at_);
  adopt_pair(full_, full_beta_);
  at_ = full_;
  evaluate(losses);
  if (!(value_ < before)) {
    if (from_dual) {  // such a step need not be a descent direction
      at_ = std::move(was);
    } else {
      line_search_step(losses, was);
    }
    evaluate(losses);
  }
  std::vector<double> dual = beta_;
  adopt_pair(at_, dual);
  adopt_best_pair();
  return true;
}

void SampleSpaceNewton::line_search_step(const LossArrays& losses, const Point& from) {
  std::vector<double> q(s_.n);
  double along = 0;
  for (std::size_t j = 0; j < s_.d; ++j) along += from.w[j] * (full_.w[j] - from.w[j]);
  for (std::size_t i = 0; i < s_.n; ++i) q[i] = full_.f[i] - from.f[i];
  const Line line{from.f.data(), q.data(), from.b, full_.b - from.b, along, squared_distance(full_.w, from.w)};
  const double t = line_minimum(s_.problem, losses, s_.loss_passes, line);
  at_ = from;
  for (std::size_t j = 0; j < s_.d; ++j) at_.w[j] += t * (full_.w[j] - from.w[j]);
  for (std::size_t i = 0; i < s_.n; ++i) at_.f[i] += t * q[i];
  at_.b += t * (full_.b - from.b);
}

// Adopts a primal and a dual point after making it feasible, and keeps the best of each.
void SampleSpaceNewton::adopt_pair(const Point& point, std::vector<double>& beta) {
  std::vector<double> w(s_.d);
  restore_sum(s_.problem, beta);
  s_.passes->combine(beta, w);
  if (s_.options.expansion) {
    s_.w = std::move(w), s_.beta = beta;
    return s_.certify_combination();
  }
  s_.adopt(point.w, point.f, beta, 0.5 * squared_distance(point.w, w));
  if (s_.last.primal < primal_) primal_ = s_.last.primal, primal_w_ = point.w, primal_f_ = point.f;
  if (s_.last.dual > dual_) dual_ = s_.last.dual, dual_beta_ = beta, dual_w_ = std::move(w);
}

void SampleSpaceNewton::adopt_best_pair() {
  if (!s_.options.expansion) s_.adopt(primal_w_, primal_f_, dual_beta_, 0.5 * squared_distance(primal_w_, dual_w_));
}

}  // namespace hinge
