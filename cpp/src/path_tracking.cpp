// path_tracking.cpp: when only the end of a path counts, events are looked for among the samples near the margin alone.
// What happens to the others is found out at the end, in one product; whoever is on the wrong side then is repaired
// (path.cpp), so the end is exact whatever was overlooked on the way.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "path_engine.hpp"

namespace hinge {
namespace {

constexpr std::size_t kWorthwhile = 150000;  // n |M| below which a product is too cheap to be made shorter
constexpr std::size_t kShare = 5;            // one in so many samples is near

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

// The margin moved by `share` times `moves`; samples that are not looked at will hear of it later.
void ActiveSet::Engine::remember(double share, const std::vector<double>& moves) {
  if (!tracking_) return;
  for (std::size_t i = 0; i < margin.size(); ++i) owed_[sample(static_cast<std::size_t>(margin[i]))] += share * moves[i];
}

void ActiveSet::Engine::begin_tracking(const Frame& frame) {
  if (n * margin.size() < kWorthwhile || frame.moves_linear || on_pairs()) return;
  std::vector<double> distance(n, std::numeric_limits<double>::infinity());
  for (std::size_t v = 0; v < N; ++v) {
    const bool moving = frame.rate.lower[v] != 0 || frame.rate.upper[v] != 0;
    double& d = distance[sample(v)];
    if (place[v] == Place::margin || moving) {
      d = 0;
    } else if (now.lower[v] < now.upper[v]) {
      d = std::min(d, std::abs(residual(v)));
    }
  }
  const std::size_t wanted = n / kShare;
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end(),
                   [&](std::int32_t a, std::int32_t b) {
                     const double x = distance[static_cast<std::size_t>(a)], y = distance[static_cast<std::size_t>(b)];
                     return x != y ? x < y : a < b;
                   });
  is_near_.assign(n, 0);
  for (std::size_t k = 0; k < wanted; ++k) is_near_[static_cast<std::size_t>(order[k])] = 1;
  near_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    if (distance[i] == 0) is_near_[i] = 1;
    if (is_near_[i]) near_.push_back(static_cast<std::int32_t>(i));
  }
  if (2 * near_.size() > n) return;
  near_rows_.clear();
  near_pointers_.clear();
  for (const double* row : rows_) {
    near_rows_.emplace_back(near_.size());
    for (std::size_t k = 0; k < near_.size(); ++k) near_rows_.back()[k] = row[near_[k]];
    near_pointers_.push_back(near_rows_.back().data());
  }
  buffer_.assign(near_.size(), 0.0);
  owed_.assign(n, 0.0);
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
  std::vector<double> missed(n, 0.0);
  path_loops().combine(coefficients.data(), rows.data(), rows.size(), missed.data(), n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_near_[i]) f[i] += missed[i];
    if (owed_[i] != 0) store_.unpin(i);
  }
  near_rows_.clear();
  near_pointers_.clear();
}

}  // namespace hinge
