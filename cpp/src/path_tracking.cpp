// path_tracking.cpp: when only the end of a path counts, events are looked for among the samples near the margin alone.
// Those on the margin keep their residuals by construction and are not looked at either.  What happened to everybody is
// found out at the end, in one product; whoever is on the wrong side then is repaired (path_run.cpp), so the end is exact
// whatever was overlooked on the way.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "path_engine.hpp"

namespace hinge {
namespace {

constexpr std::size_t kWorthwhile = 150000;  // n |M| below which a product is too cheap to be made shorter
constexpr std::size_t kShare = 8;            // one in so many samples is near

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

// The margin moved by `share` times `moves`, and bounds by `share` times their rates if h is given; f will hear of it at
// the end.
void ActiveSet::Engine::remember(double share, const std::vector<double>& moves, const std::vector<double>* h) {
  if (!tracking_) return;
  if (h) path_loops().axpy(share, h->data(), begun_.data(), n);
  for (std::size_t i = 0; i < margin.size(); ++i) owed_[sample(static_cast<std::size_t>(margin[i]))] += share * moves[i];
}

// A sample that left the margin is looked at from now on.
void ActiveSet::Engine::watch(std::size_t i) {
  if (!tracking_ || is_near_[i]) return;
  is_near_[i] = 1;
  near_.push_back(static_cast<std::int32_t>(i));
  buffer_.push_back(0.0);
  for (std::size_t k = 0; k < near_rows_.size(); ++k) {
    near_rows_[k].push_back(rows_[k][i]);
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

void ActiveSet::Engine::begin_tracking(const Frame& frame) {
  if (n * margin.size() < kWorthwhile || frame.moves_linear || on_pairs()) return;
  std::vector<double> distance(n, std::numeric_limits<double>::infinity());
  std::vector<char> on_margin(n, 0);
  for (std::size_t v = 0; v < N; ++v) {
    const bool moving = frame.rate.lower[v] != 0 || frame.rate.upper[v] != 0;
    double& d = distance[sample(v)];
    if (moving) {
      d = 0;
    } else if (place[v] == Place::margin) {
      on_margin[sample(v)] = 1;
    } else if (now.lower[v] < now.upper[v]) {
      d = std::min(d, std::abs(residual(v)));
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    if (on_margin[i] && distance[i] > 0) distance[i] = std::numeric_limits<double>::infinity();
  const std::size_t wanted = n / kShare;
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end(),
                   [&](std::int32_t a, std::int32_t b) {
                     const double x = distance[static_cast<std::size_t>(a)], y = distance[static_cast<std::size_t>(b)];
                     return x != y ? x < y : a < b;
                   });
  is_near_.assign(n, 0);
  for (std::size_t k = 0; k < wanted; ++k)
    if (std::isfinite(distance[static_cast<std::size_t>(order[k])])) is_near_[static_cast<std::size_t>(order[k])] = 1;
  near_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    if (distance[i] == 0) is_near_[i] = 1;
    if (is_near_[i]) near_.push_back(static_cast<std::int32_t>(i));
  }
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
  owed_.assign(n, 0.0);
  begun_ = f;
  tracking_ = true;
}

void ActiveSet::Engine::end_tracking() {
  if (!tracking_) return;
  tracking_ = false;
  std::vector<double> coefficients;
  std::vector<const double*> rows;
  for (std::size_t i = 0; i < n; ++i) {
    if (owed_[i] == 0) continue;
    coefficients.push_back(owed_[i]);
    rows.push_back(store_.pin(i));
  }
  f = begun_;
  path_loops().combine(coefficients.data(), rows.data(), rows.size(), f.data(), n);
  for (std::size_t i = 0; i < n; ++i)
    if (owed_[i] != 0) store_.unpin(i);
  near_rows_.clear();
  near_pointers_.clear();
}

}  // namespace hinge
