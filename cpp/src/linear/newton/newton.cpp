// newton.cpp: see the header.
#include "linear/newton/newton.hpp"

#include <algorithm>
#include <cmath>

#include "linear/data/ops.hpp"
#include "linear/loss/line_search.hpp"
#include "linear/loss/offset.hpp"

namespace hinge {
namespace {

// Times the slack that is wanted: from further away steps by the own curvature are fewer, before and after the first one
// by a borrowed one; and what that leaves of the slack, at most, where it is near enough.   (148)
constexpr double kNearby = 1e4, kNear = 100, kBorrowedGain = 0.3;
constexpr double kRoughLine = 1e-3, kExactLine = 1e-10;  // of the length of a step

double dot(Span<const double> a, Span<const double> b) {
  return linear_ops().dot_double(a.data(), b.data(), a.size());
}

// The lower triangle of the factor from the upper one of a, in squares that fit into the cache both ways.
void mirror(const std::vector<double>& a, std::size_t size, std::size_t stride, SymmetricFactor& to) {
  constexpr std::size_t kSquare = 16;
  for (std::size_t top = 0; top < size; top += kSquare)
    for (std::size_t left = 0; left <= top; left += kSquare)
      for (std::size_t i = top; i < std::min(size, top + kSquare); ++i)
        for (std::size_t j = left; j < std::min(i + 1, left + kSquare); ++j) to.row(i)[j] = a[j * stride + i];
}

}  // namespace

double Newton::own_ridge() const { return hinge::own_ridge(problem_); }

void Newton::list_free(const LossArrays& losses, const NewtonPoint& point) {
  loss_passes_.choose(point.f.size(), list_, [&](std::size_t i) { return is_free(losses, i, point.beta[i]); });
}

void Newton::take_scale(const LossArrays& losses) {
  scale_.resize(list_.size());
  for (std::size_t k = 0; k < list_.size(); ++k) scale_[k] = losses.inverse[list_[k]];
}

void Newton::take_slack(NewtonPoint& point) {
  passes_.combine(point.beta, point.g);
  for (std::size_t j = 0; j < point.g.size(); ++j) point.g[j] = point.w[j] - point.g[j];
  for (std::size_t j = 0; j < shift_.size(); ++j) point.g[j] -= shift_[j];
  point.slack = 0.5 * dot(point.g, point.g);
  carried_ = false;
}

void Newton::look(const LossArrays& losses, NewtonPoint& point) {
  point.b = best_offset(problem_, losses, loss_passes_, true, point.f, point.b);
  loss_passes_.best(losses, point.f.data(), point.b, point.beta.data());
  if (!borrowed_) list_free(losses, point);
  summed_ = false;
  take_slack(point);
}

void Newton::borrow(std::vector<double> curvature) {
  sum_ = std::move(curvature);
  borrowed_ = !sum_.empty();
  factored_ = false;
}

void Newton::give_back(const LossArrays& losses, const NewtonPoint& point) {
  borrowed_ = summed_ = false;
  list_free(losses, point);
}

// After a step of length t: β, the list, A and g without a pass over all samples.   (128)
// False where too many samples have changed for it to pay.
bool Newton::follow(const LossArrays& losses, double t, double b_before, NewtonPoint& point) {
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
    const int across = (was * is < 0) & tubed;  // from one side of a tube to the other
    return ((before & now & (across ^ 1)) ^ 1) & (was != is);
  });
  point.beta.swap(next_);  // next_ is now where they were
  const std::size_t changed = change_.rows.size();
  if (5 * changed > n) return false;
  change_.curvature.resize(changed), change_.pull.resize(changed);
  for (std::size_t k = 0; k < changed; ++k) {
    const std::size_t i = change_.rows[k];
    const double was = next_[i], is = point.beta[i], s = losses.inverse[i];
    const bool before = is_free(losses, i, was), now = is_free(losses, i, is);
    change_.curvature[k] = now == before ? 0.0 : now ? s : -s;
    change_.pull[k] = is - was + (before ? s * (t * q_[i] + move) : 0.0);
  }
  // g moves by w, and by −XᵀΔβ = t A δ + Δb A 1 as long as nobody changes
  work_.assign(d, 0.0);
  for (std::size_t j = 0; j < d; ++j) {
    const double* row = sum_.data() + j * stride;
    work_[j] += linear_ops().dot_double(row + j, delta_.data() + j, d - j);
    linear_ops().add_double(row + j + 1, delta_[j], work_.data() + j + 1, d - j - 1);
  }
  for (std::size_t j = 0; j < d; ++j) point.g[j] += t * (delta_[j] + work_[j]) + move * sum_[j * stride + d];
  summed_ = 2 * change_.rows.size() <= list_.size();
  if (summed_) passes_.hessian(change_.rows, change_.curvature, stride, sum_, true);
  passes_.combine_list(change_.rows, change_.pull, work_);
  for (std::size_t j = 0; j < d; ++j) point.g[j] -= work_[j];
  point.slack = 0.5 * dot(point.g, point.g);
  carried_ = true;
  return true;
}

void Newton::direction(const LossArrays& losses, Span<const double> g, double wanted, RunTracker& tracker) {
  const double d = static_cast<double>(passes_.features()), m = static_cast<double>(list_.size());
  const double per_row = passes_.stored() / std::max(1.0, static_cast<double>(passes_.rows()));
  const double direct = 0.5 * m * per_row * per_row + d * d * d / 30, products = 50 * (4 * m * per_row + 10 * d);
  direct_ = borrowed_ || (passes_.features() <= kDirectFeatures && direct <= products + 1e6);
  if (direct_) {
    by_cholesky(losses, g);
  } else {
    take_scale(losses);
    by_conjugate_gradients(g, wanted, tracker);
  }
}

void Newton::by_cholesky(const LossArrays& losses, Span<const double> g) {
  const std::size_t d = passes_.features(), stride = (d + 4) / 4 * 4;
  if (!summed_ && !borrowed_) {
    take_scale(losses);
    passes_.hessian(list_, scale_, stride, sum_, false);
  }
  summed_ = true;
  const bool bias = problem_.bias != Bias::none && sum_[stride * d + d] > 0;
  const std::size_t size = bias ? d + 1 : d;
  delta_.assign(size, 0.0);
  for (std::size_t j = 0; j < d; ++j) delta_[j] = -g[j];
  bool made = borrowed_ && factored_;
  if (!made) {
    factor_.resize(size);
    mirror(sum_, size, stride, factor_);
    for (std::size_t i = 0; i < d; ++i) factor_.row(i)[i] += 1;
    if (bias) factor_.row(d)[d] = (factor_.row(d)[d] + own_ridge()) * (1 + 1e-14);
    factored_ = made = factor_.make();
  }
  if (made) factor_.solve(delta_);  // else only rounding can bring us here: the gradient is a descent direction
  delta_bias_ = made && bias ? delta_[d] : 0.0;
  delta_.resize(d);
}

// The bias is eliminated: (I + Xᵀ S X − m mᵀ/μ) δ = −g with m = Xᵀ S 1, μ = 1ᵀ S 1 + 1/B², then δ_b = −mᵀδ/μ.  (113)
void Newton::by_conjugate_gradients(Span<const double> g, double wanted, RunTracker& tracker) {
  const std::size_t d = passes_.features();
  first_.resize(d), second_.resize(d), work_.resize(d);
  passes_.moments(list_, scale_, first_, second_);
  const bool bias = problem_.bias != Bias::none && !list_.empty();
  double mass = own_ridge();
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
  const double held = passes_.stored() * static_cast<double>(list_.size()) / std::max(1.0, static_cast<double>(passes_.rows()));
  const double squared = dot(g, g), enough = std::max(0.5 * wanted, 0.01 * squared);
  for (std::size_t round = 0; round < 2 * d + 10 && round < 1000; ++round) {
    if (dot(r, r) <= enough || rz <= 0) break;
    tracker.poll();
    const double lean = passes_.curvature(list_, scale_, p, work_);
    passes_.visited += product_work(held, static_cast<double>(d)) - held;  // the pass has counted what it has looked at
    for (std::size_t j = 0; j < d; ++j) work_[j] += p[j] - (bias ? lean / mass * first_[j] : 0.0);
    const double bend = dot(p, work_);
    if (!(bend > 0)) break;
    const double t = rz / bend;
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
  return line_minimum(problem_, losses, loss_passes_, line, borrowed_ ? kRoughLine : kExactLine);
}

bool Newton::step(const LossArrays& losses, double wanted, NewtonPoint& point, RunTracker& tracker) {
  if (borrowed_ && point.slack > kNearby * wanted) give_back(losses, point);
  direction(losses, point.g, wanted, tracker);
  q_.resize(point.f.size());
  passes_.margins(delta_, q_);
  if (problem_.bias == Bias::free && list_.empty() && !borrowed_) {
    // No sample has a loss, and no curvature says where b goes.  Left behind, it lets w shrink by little only where the
    // samples are far from the origin: the nearest ones of both sides are to come closer at the same rate.
    // docs/math (151)
    const LossFree part = loss_free(losses, point.f);
    if (part.found) delta_bias_ = -0.5 * (q_[part.first] + q_[part.last]);
  }
  const double t = search(losses, point, q_);
  if (!(t > 0)) return false;
  for (std::size_t j = 0; j < point.w.size(); ++j) point.w[j] += t * delta_[j];
  loss_passes_.each(q_.size(), [&](std::size_t, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) point.f[i] += t * q_[i];
  });
  const double before = point.slack, b_before = point.b;
  point.b = best_offset(problem_, losses, loss_passes_, true, point.f, point.b + t * delta_bias_);
  if (!direct_ || borrowed_) {
    look(losses, point);
    if (borrowed_ && point.slack > std::min(kBorrowedGain * before, kNear * wanted)) give_back(losses, point);
  } else if (!follow(losses, t, b_before, point)) {
    summed_ = false;
    take_slack(point);
  } else if (point.slack <= wanted || point.slack >= before) {  // about to be taken for granted, or worth a doubt
    summed_ = summed_ && point.slack < before;
    take_slack(point);
  }
  return point.slack < before || point.slack > 1e-20 * (1 + dot(point.w, point.w));
}

}  // namespace hinge
