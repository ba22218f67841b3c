// tracking.cpp: when only the end of a path counts, events are looked for among the samples near the margin alone.
// Those on the margin keep their residuals by construction and are not looked at either.  What happened to everybody is
// found out at the end, in one product; whoever is on the wrong side then is repaired (run.cpp), so the end is exact
// whatever was overlooked on the way.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr std::size_t kWorthwhile = 40000;  // n |M| below which a product is too cheap to be made shorter
constexpr std::size_t kNear = 60;            // so many samples are near,
constexpr std::size_t kShare = 64;           // and one in so many more; as many soon will be

}  // namespace

// out += K_M coefficients, for the samples that are looked at.
void ActiveSet::Engine::add_margin(const std::vector<double>& coefficients, std::vector<double>& out) {
  if (!tracking_) {
    path_loops().combine(coefficients.data(), rows_.data(), margin.size(), out.data(), n);
    return;
  }
  std::fill(buffer_.begin(), buffer_.end(), 0.0);
  path_loops().combine(coefficients.data(), near_pointers_.data(), margin.size(), buffer_.data(), near_.size());
  for (std::size_t k = 0; k < near_.size(); ++k) out[static_cast<std::size_t>(near_[k])] += buffer_[k];
}

// f where it is looked at, and on the margin.
void ActiveSet::Engine::step_near(double step) {
  for (std::int32_t i : near_) f[static_cast<std::size_t>(i)] += step * df_[static_cast<std::size_t>(i)];
  for (std::int32_t u : margin) {
    const std::size_t i = sample(static_cast<std::size_t>(u));
    if (!is_near_[i]) f[i] += step * df_[i];
  }
}

// A sample that left the margin is looked at from now on.
void ActiveSet::Engine::watch(std::size_t i, const double* row) {
  if (!tracking_ || is_near_[i]) return;
  is_near_[i] = 1;
  near_.push_back(static_cast<std::int32_t>(i));
  buffer_.push_back(0.0);
  for (std::size_t k = 0; k < near_rows_.size(); ++k) {  // K is symmetric, and one row is nearer than all of them
    near_rows_[k].push_back(row[sample(static_cast<std::size_t>(margin[k]))]);
    near_pointers_[k] = near_rows_[k].data();
  }
}

// What f, or its rate, is on the margin by construction: residuals stay zero.
void ActiveSet::Engine::keep_margin(const std::vector<double>& linear, const std::vector<double>& offset,
                                    std::vector<double>& out) const {
  for (std::int32_t u : margin) {
    const std::size_t v = static_cast<std::size_t>(u);
    if (is_near_[sample(v)]) continue;
    out[sample(v)] = -(linear[v] + (group[v] >= 0 ? offset[static_cast<std::size_t>(group[v])] : 0.0));
  }
}

// Of all samples, `wanted` with the smallest values, as far as these are finite, become near.
void ActiveSet::Engine::add_near(const std::vector<double>& values, std::size_t wanted) {
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < n; ++i)
    if (std::isfinite(values[i])) order.push_back(static_cast<std::int32_t>(i));
  if (order.size() > wanted) {
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end(),
                     [&](std::int32_t a, std::int32_t b) {
                       const double x = values[static_cast<std::size_t>(a)], y = values[static_cast<std::size_t>(b)];
                       return x != y ? x < y : a < b;
                     });
    order.resize(wanted);
  }
  for (std::int32_t i : order) is_near_[static_cast<std::size_t>(i)] = 1;
}

// The samples nearest to the margin, those that the direction leads there first, and those whose data move.
void ActiveSet::Engine::choose_near(Frame& frame) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const bool aimed = std::all_of(count_.begin(), count_.end(), [](std::size_t c) { return c > 0; });
  if (aimed) direction(frame);
  std::vector<double> distance(n, kNever), time(n, kNever);
  std::vector<char> moving(n, 0);
  for (std::size_t v = 0; v < N; ++v) {
    const std::size_t i = sample(v);
    const bool on_margin = place[v] == Place::margin;
    if (frame.rate.lower[v] != 0 || frame.rate.upper[v] != 0 || (!on_margin &&
                                                                 frame.rate.linear[v] != 0)) moving[i] = 1;
    if (on_margin || now.lower[v] == now.upper[v]) continue;
    const double room = std::abs(residual(v));
    distance[i] = std::min(distance[i], room);
    const double speed = (place[v] == Place::lower ? -1.0 : 1.0) * (aimed ? residual_rate(frame, v) : 0.0);
    if (speed > 0) time[i] = std::min(time[i], room / speed);
  }
  for (std::int32_t v : margin) {  // their residuals stay zero
    const std::size_t i = sample(static_cast<std::size_t>(v));
    distance[i] = time[i] = kNever;
  }
  is_near_ = std::move(moving);
  add_near(distance, kNear + n / kShare);
  add_near(time, kNear + n / kShare);
  near_.clear();
  for (std::size_t i = 0; i < n; ++i)
    if (is_near_[i]) near_.push_back(static_cast<std::int32_t>(i));
}

void ActiveSet::Engine::begin_tracking(Frame& frame) {
  if (n * margin.size() < kWorthwhile || on_pairs() || !frame.few) return;
  choose_near(frame);
  if (2 * near_.size() > n) return;
  near_rows_.clear();
  near_pointers_.clear();
  for (const double* row : rows_) {
    near_rows_.emplace_back();
    near_rows_.back().reserve(near_.size() + 64);
    near_rows_.back().resize(near_.size());
    for (std::size_t k = 0; k < near_.size(); ++k) near_rows_.back()[k] = row[near_[k]];
    near_pointers_.push_back(near_rows_.back().data());
  }
  buffer_.assign(near_.size(), 0.0);
  begun_ = {&frame, frame.t, since_refresh, f, std::vector<double>(N), frame.h, place};
  for (std::size_t v = 0; v < N; ++v) begun_.values[v] = value(v);
  tracking_ = true;
}

// f of everybody: what it was, what the bounds did that moved all the way, and all other changes in one product.
void ActiveSet::Engine::end_tracking() {
  if (!tracking_) return;
  tracking_ = false;
  const double t = begun_.frame->t - begun_.t;
  std::vector<double> changes(n, 0.0), coefficients;
  for (std::size_t v = 0; v < N; ++v) {
    const Place was = begun_.place[v];
    if (was == place[v] && was != Place::margin) continue;
    double known = 0;
    if (was != Place::margin)
      known = t * (was == Place::lower ? begun_.frame->rate.lower[v] : begun_.frame->rate.upper[v]);
    changes[sample(v)] += value(v) - begun_.values[v] - known;
  }
  std::vector<const double*> rows;
  for (std::size_t i = 0; i < n; ++i) {
    if (changes[i] == 0) continue;
    coefficients.push_back(changes[i]);
    rows.push_back(store_.pin(i));
  }
  f = begun_.f;
  path_loops().axpy(t, begun_.h.data(), f.data(), n);
  path_loops().combine(coefficients.data(), rows.data(), rows.size(), f.data(), n);
  for (std::size_t i = 0; i < n; ++i)
    if (changes[i] != 0) store_.unpin(i);
  near_rows_.clear();
  near_pointers_.clear();
  since_refresh = begun_.since_refresh + 1;
}

}  // namespace hinge
