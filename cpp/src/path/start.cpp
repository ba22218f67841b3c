// start.cpp: start of a path from a nearly optimal point, and snapshots.  docs/math (209), (214)
#include <algorithm>
#include <cmath>
#include <limits>

#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr double kBoundRounding = 1e-10;  // distance, relative to the width, up to which a variable is at its bound
constexpr double kValueRounding = 1e-14;  // the same relative to the variable if the width is infinite
constexpr int kMaxRepairs = 3;   // repairs of the initial point; the violation that remains is reported
constexpr int kMaxPolishes = 3;  // further repairs of violations below the worst-case rounding error

}  // namespace

// Sets multipliers from the residuals of the margin or the thresholds.
void ActiveSet::Engine::set_initial_multipliers() {
  for (std::size_t g = 0; g < G; ++g) {
    double low = -std::numeric_limits<double>::infinity(), up = -low, sum = 0;
    std::size_t count = 0;
    for (std::size_t v = 0; v < N; ++v) {
      if (group[v] != static_cast<int>(g)) continue;
      const double a = -(at(f, v) + now.linear[v]);
      if (place[v] == Place::margin) sum += a, ++count;
      if (now.lower[v] == now.upper[v]) continue;
      if (place[v] == Place::lower) low = std::max(low, a);
      if (place[v] == Place::upper) up = std::min(up, a);
    }
    if (count > 0) {
      mu[g] = sum / static_cast<double>(count);
    } else if (std::isfinite(low) && std::isfinite(up)) {
      mu[g] = 0.5 * (low + up);
    } else {
      mu[g] = std::isfinite(low) ? low : std::isfinite(up) ? up : 0.0;
    }
  }
}

// Crossover to a point whose margin is linearly independent: dependent variables move along null vectors to a bound.
void ActiveSet::Engine::crossover(Span<const double> point, PathResult& result) {
  for (std::int32_t v : margin) store_.unpin(key(static_cast<std::size_t>(v)));
  margin.clear();
  rows_.clear();
  factor.clear();
  std::fill(count_.begin(), count_.end(), 0);
  border_fresh_ = direction_fresh_ = false;
  std::vector<std::pair<double, std::size_t>> inside;
  std::vector<double> coefficients(N);
  for (std::size_t v = 0; v < N; ++v) {
    const double lo = now.lower[v], hi = now.upper[v];
    const double b = std::min(std::max(point[v], lo), hi), width = hi - lo;
    const double rounding = std::isfinite(width) ? kBoundRounding * width : kValueRounding * std::abs(b);
    place[v] = b - lo <= rounding ? Place::lower : hi - b <= rounding ? Place::upper : Place::lower;
    beta[v] = b - lo <= rounding ? lo : hi - b <= rounding ? hi : b;
    coefficients[v] = beta[v];
    if (beta[v] > lo && beta[v] < hi) inside.emplace_back(-std::min(beta[v] - lo, hi - beta[v]), v);
  }
  product(coefficients, f);
  since_refresh = 0;
  std::fill(mu.begin(), mu.end(), 0.0);
  std::sort(inside.begin(), inside.end());
  for (const auto& [distance, v] : inside) {
    (void)distance;
    if (place[v] == Place::margin) continue;
    if (try_enter(v)) {
      append_to_margin(v, entering_row_, column_, schur_);
    } else {
      exchange(v, now.upper[v] - beta[v] < beta[v] - now.lower[v], result);
    }
  }
}

PathResult ActiveSet::Engine::start(Span<const double> point, PathData data, const PathOptions& options,
                                    RunControl& control) {
  PathResult result;
  Stopwatch stopwatch;
  double last_poll = -1;
  now = std::move(data);
  frames_.clear();
  update_scales();
  crossover(point, result);
  refresh_f();
  update_scales();
  set_initial_multipliers();
  const Run run{nullptr, 0, &options, &control, &result, &stopwatch, &last_poll};
  Frame idle;  // the outer path, which does not move; the repair is an inner path
  idle = make_frame(now, difference(now, now), 0.0);
  frames_.assign(1, &idle);
  for (int round = 0; round < kMaxRepairs; ++round) {
    ++result.repairs;
    if (!repair(run)) {
      result.status = repair_status_;
      break;
    }
    refresh_f();
    newton_correction();
    if (!needs_repair()) break;
  }
  if (result.status == Status::solved) polish(run);
  center_multipliers();
  changes_.clear();
  result.violation = violation();
  return result;
}

// Repairs violations that are smaller than the worst-case rounding error but larger than typical errors.  Undone if it
// brings no improvement.  (253)
void ActiveSet::Engine::polish(const Run& run) {
  for (int round = 0; round < kMaxPolishes; ++round) {
    const double before = violation();
    if (on_pairs() || residual_violation() * scale_ <= fine_residual_error_) break;
    const Snapshot before_repair = snapshot();
    polishing_ = true;
    const bool done = repair(run);
    polishing_ = false;
    refresh_f();
    update_scales();
    newton_correction();
    if (done && violation() < before) continue;
    restore(before_repair);
    update_scales();
    break;
  }
}

ActiveSet::Snapshot ActiveSet::Engine::snapshot() const {
  return {place, margin, beta, mu, f, now, factor, since_refresh, random};
}

void ActiveSet::Engine::restore(const ActiveSet::Snapshot& s) {
  for (std::int32_t v : margin) store_.unpin(key(static_cast<std::size_t>(v)));
  place = s.place;
  margin = s.margin;
  beta = s.beta;
  mu = s.mu;
  f = s.f;
  now = s.now;
  factor = s.factor;
  since_refresh = s.since_refresh;
  random = s.random;
  rows_.clear();
  std::fill(count_.begin(), count_.end(), 0);
  for (std::int32_t u : margin) {
    const std::size_t v = static_cast<std::size_t>(u);
    rows_.push_back(store_.pin(key(v)));
    if (group[v] >= 0) ++count_[static_cast<std::size_t>(group[v])];
  }
  border_fresh_ = direction_fresh_ = false;
}

}  // namespace hinge
