// tracking.cpp: if only the end of a path is needed, events are searched among the samples near the margin only.
// Samples of the margin have zero residuals by construction.  At the end, f of all samples is computed in one product,
// and samples with violated conditions are repaired (run.cpp), so that the end is exact even if events were missed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr std::size_t kMinTrackedWork = 40000;  // n |M|; smaller products are not worth tracking
constexpr std::size_t kMinTracked = 60;         // samples tracked by distance from the margin, and as many by time
constexpr std::size_t kTrackedShare = 64;       // 1/64 of all samples are tracked in addition, by either criterion

}  // namespace

// out += K_M coefficients, for the tracked samples.
void ActiveSet::Engine::add_margin(const std::vector<double>& coefficients, std::vector<double>& out) {
  if (!tracking_) {
    path_loops().combine(coefficients.data(), rows_.data(), margin.size(), out.data(), n);
    return;
  }
  std::fill(buffer_.begin(), buffer_.end(), 0.0);
  path_loops().combine(coefficients.data(), tracked_pointers_.data(), margin.size(), buffer_.data(), tracked_.size());
  for (std::size_t k = 0; k < tracked_.size(); ++k) out[static_cast<std::size_t>(tracked_[k])] += buffer_[k];
}

// Updates f of the tracked samples and of the margin.
void ActiveSet::Engine::step_tracked(double step) {
  for (std::int32_t i : tracked_) f[static_cast<std::size_t>(i)] += step * df_[static_cast<std::size_t>(i)];
  for (std::int32_t u : margin) {
    const std::size_t i = sample(static_cast<std::size_t>(u));
    if (!is_tracked_[i]) f[i] += step * df_[i];
  }
}

// Tracks a sample that left the margin.
void ActiveSet::Engine::track(std::size_t i, const double* row) {
  if (!tracking_ || is_tracked_[i]) return;
  is_tracked_[i] = 1;
  tracked_.push_back(static_cast<std::int32_t>(i));
  buffer_.push_back(0.0);
  for (std::size_t k = 0; k < tracked_rows_.size(); ++k) {  // K is symmetric: one row instead of all rows of the margin
    tracked_rows_[k].push_back(row[sample(static_cast<std::size_t>(margin[k]))]);
    tracked_pointers_[k] = tracked_rows_[k].data();
  }
}

// Sets f, or its rate, of the margin to the value at which residuals are zero.
void ActiveSet::Engine::set_margin_values(const std::vector<double>& linear, const std::vector<double>& offset,
                                          std::vector<double>& out) const {
  for (std::int32_t u : margin) {
    const std::size_t v = static_cast<std::size_t>(u);
    if (is_tracked_[sample(v)]) continue;
    out[sample(v)] = -(linear[v] + (group[v] >= 0 ? offset[static_cast<std::size_t>(group[v])] : 0.0));
  }
}

// Tracks the `count` samples with the smallest finite values.
void ActiveSet::Engine::add_tracked(const std::vector<double>& values, std::size_t count) {
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < n; ++i)
    if (std::isfinite(values[i])) order.push_back(static_cast<std::int32_t>(i));
  if (order.size() > count) {
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                     [&](std::int32_t a, std::int32_t b) {
                       const double x = values[static_cast<std::size_t>(a)], y = values[static_cast<std::size_t>(b)];
                       return x != y ? x < y : a < b;
                     });
    order.resize(count);
  }
  for (std::int32_t i : order) is_tracked_[static_cast<std::size_t>(i)] = 1;
}

// Selects the samples nearest to the margin, those that reach it first in the current direction, and those whose data
// move.
void ActiveSet::Engine::select_tracked(Frame& frame) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const bool has_direction = std::all_of(count_.begin(), count_.end(), [](std::size_t c) { return c > 0; });
  if (has_direction) direction(frame);
  std::vector<double> distance(n, kNever), time(n, kNever);
  std::vector<char> moving(n, 0);
  for (std::size_t v = 0; v < N; ++v) {
    const std::size_t i = sample(v);
    const bool on_margin = place[v] == Place::margin;
    const bool bounds_move = frame.rate.lower[v] != 0 || frame.rate.upper[v] != 0;
    if (bounds_move || (!on_margin && frame.rate.linear[v] != 0)) moving[i] = 1;
    if (on_margin || now.lower[v] == now.upper[v]) continue;
    const double slack = std::abs(residual(v));
    distance[i] = std::min(distance[i], slack);
    const double speed = (place[v] == Place::lower ? -1.0 : 1.0) * (has_direction ? residual_rate(frame, v) : 0.0);
    if (speed > 0) time[i] = std::min(time[i], slack / speed);
  }
  for (std::int32_t v : margin) {  // its residuals stay zero
    const std::size_t i = sample(static_cast<std::size_t>(v));
    distance[i] = time[i] = kNever;
  }
  is_tracked_ = std::move(moving);
  add_tracked(distance, kMinTracked + n / kTrackedShare);
  add_tracked(time, kMinTracked + n / kTrackedShare);
  tracked_.clear();
  for (std::size_t i = 0; i < n; ++i)
    if (is_tracked_[i]) tracked_.push_back(static_cast<std::int32_t>(i));
}

void ActiveSet::Engine::begin_tracking(Frame& frame) {
  if (n * margin.size() < kMinTrackedWork || on_pairs() || !frame.few_moving) return;
  select_tracked(frame);
  if (2 * tracked_.size() > n) return;
  tracked_rows_.clear();
  tracked_pointers_.clear();
  for (const double* row : rows_) {
    tracked_rows_.emplace_back();
    tracked_rows_.back().reserve(tracked_.size() + 64);
    tracked_rows_.back().resize(tracked_.size());
    for (std::size_t k = 0; k < tracked_.size(); ++k) tracked_rows_.back()[k] = row[tracked_[k]];
    tracked_pointers_.push_back(tracked_rows_.back().data());
  }
  buffer_.assign(tracked_.size(), 0.0);
  tracking_start_ = {&frame, frame.t, since_refresh, f, std::vector<double>(N), frame.h, place};
  for (std::size_t v = 0; v < N; ++v) tracking_start_.values[v] = value(v);
  tracking_ = true;
}

// Computes f of all samples: the value at the start, the contribution of bounds that moved all the time, and all other
// changes in one product.
void ActiveSet::Engine::end_tracking() {
  if (!tracking_) return;
  tracking_ = false;
  const double t = tracking_start_.frame->t - tracking_start_.t;
  std::vector<double> changes(n, 0.0), coefficients;
  for (std::size_t v = 0; v < N; ++v) {
    const Place was = tracking_start_.place[v];
    if (was == place[v] && was != Place::margin) continue;
    double known = 0;
    if (was != Place::margin)
      known = t * (was == Place::lower ? tracking_start_.frame->rate.lower[v] : tracking_start_.frame->rate.upper[v]);
    changes[sample(v)] += value(v) - tracking_start_.values[v] - known;
  }
  std::vector<const double*> rows;
  for (std::size_t i = 0; i < n; ++i) {
    if (changes[i] == 0) continue;
    coefficients.push_back(changes[i]);
    rows.push_back(store_.pin(i));
  }
  f = tracking_start_.f;
  path_loops().axpy(t, tracking_start_.h.data(), f.data(), n);
  path_loops().combine(coefficients.data(), rows.data(), rows.size(), f.data(), n);
  for (std::size_t i = 0; i < n; ++i)
    if (changes[i] != 0) store_.unpin(i);
  tracked_rows_.clear();
  tracked_pointers_.clear();
  since_refresh = tracking_start_.since_refresh + 1;
}

}  // namespace hinge
