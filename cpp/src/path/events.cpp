// events.cpp: the next event of a path and its effect on the active set.  docs/math (208)–(212)
#include <algorithm>
#include <cmath>
#include <limits>

#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr std::int64_t kMaxIdleEvents = 40;   // events without progress before ties are broken at random
constexpr double kRateRoundings = 64;         // rates below this many roundings of the largest count as zero
constexpr double kIdleRate = 1e-12;           // relative rate below which a margin variable moves with its bound
constexpr double kMinTotalRate = 1e-13;       // smaller differences of rates of a total and its bounds count as zero
constexpr double kMinIntervalRate = 1e-10;    // relative rate at which an empty interval of a multiplier opens
constexpr double kMinIntervalRoundings = 64;  // width of an interval of a multiplier, in rounding errors of residuals
constexpr double kPerturbation = 1e-11;       // of residuals, relative to the scale, if ties cannot be resolved
constexpr double kPerturbedRoundings = 100;   // only residuals below this many rounding errors are perturbed
constexpr double kPastEnd = 1 + 1e-9;         // events beyond this multiple of the remaining span are ignored

}  // namespace

void ActiveSet::Engine::add_candidate(double& limit, double step, double relaxed, double pivot, const Event& event) {
  if (step > limit) return;
  limit = std::min(limit, relaxed);
  candidates_.push_back({std::max(step, 0.0), relaxed, pivot, event});
}

// Ratio test of Harris: of all candidates within the tolerance of the first, the one with the largest pivot; a random
// one after kMaxIdleEvents events without progress.
ActiveSet::Engine::Event ActiveSet::Engine::choose_event(double limit) {
  Event best;
  double best_pivot = -1;
  std::size_t count = 0;
  for (const Candidate& c : candidates_) {
    if (c.step > limit) continue;
    ++count;
    const bool better = idle_events_ > kMaxIdleEvents ? random() % count == 0 : c.pivot > best_pivot;
    if (!better) continue;
    best = c.event;
    best.step = c.step;
    best_pivot = c.pivot;
  }
  if (count == 0) best.step = kInfinity;
  return best;
}

void ActiveSet::Engine::primal_candidates(const Frame& frame, double& limit) {
  double top = dbeta_scale_;
  for (std::int32_t u : margin) {
    const std::size_t v = static_cast<std::size_t>(u);
    top = std::max({top, std::abs(frame.rate.lower[v]), std::abs(frame.rate.upper[v])});
  }
  const double zero_rate = kRateRoundings * kEps * top;
  for (std::size_t i = 0; i < margin.size(); ++i) {
    const std::size_t v = static_cast<std::size_t>(margin[i]);
    const double down = dbeta_[i] - frame.rate.lower[v], up = dbeta_[i] - frame.rate.upper[v];
    Event event;
    event.kind = Kind::leave;
    event.variable = v;
    event.other = i;
    if (down < -zero_rate) {
      const double slack = beta[v] - now.lower[v];
      event.to = Place::lower;
      add_candidate(limit, slack / -down, (std::max(slack, 0.0) + value_error_) / -down, -down / top, event);
    }
    if (up > zero_rate) {
      const double slack = now.upper[v] - beta[v];
      event.to = Place::upper;
      add_candidate(limit, slack / up, (std::max(slack, 0.0) + value_error_) / up, up / top, event);
    }
  }
}

// Variables that are pairs, of which there are many more than samples: one pass, which also computes the violation.
void ActiveSet::Engine::pair_candidates(const Frame& frame, double& limit) {
  const auto [least, most] = std::minmax_element(df_.begin(), df_.end());
  const double top = std::max(rate_error_, *most - *least + frame.linear_top);
  const std::int32_t *i = first.data(), *j = second.data();
  const double *x = f.data(), *dx = df_.data(), *c = now.linear.data(), *dc = frame.rate.linear.data();
  double worst = 0;
  limit = std::min(limit, (frame.span - frame.t) * kPastEnd);
  for (std::size_t v = 0; v < N; ++v) {
    const double sign = 1.0 - 2.0 * static_cast<double>(place[v]);  // arbitrary for the margin
    const double slack = sign * (x[i[v]] - x[j[v]] + c[v]), rate = sign * (dx[i[v]] - dx[j[v]] + dc[v]);
    if (-slack > worst && place[v] != Place::margin && now.lower[v] < now.upper[v]) worst = -slack;
    // One rarely taken branch.
    if (!((rate < -rate_error_) & (slack + limit * rate <= 0)) || place[v] == Place::margin ||
        fixed(frame, v)) continue;
    Event event;
    event.kind = Kind::enter;
    event.variable = v;
    add_candidate(limit, slack / -rate, (std::max(slack, 0.0) + residual_error_) / -rate, -rate / top, event);
  }
  last_bound_violation_ = worst;
}

// Variables of all samples: two passes, each with one rarely taken branch.
void ActiveSet::Engine::sample_candidates(const Frame& frame, double& limit) {
  double offset[3] = {0, 0, 0}, offset_rate[3] = {0, 0, 0};  // variables without a group, then by group
  bool no_margin[3] = {false, false, false};
  for (std::size_t g = 0; g < G; ++g) offset[g + 1] = mu[g], offset_rate[g + 1] = dmu_[g],
      no_margin[g + 1] = count_[g] == 0;
  rates_.resize(N);
  const double *x = f.data(), *dx = df_.data(), *c = now.linear.data(), *dc = frame.rate.linear.data();
  double top = rate_error_;
  if (one_group_) {  // the rates of the margin are rounding errors
    for (std::size_t slot = 0; slot < N; slot += n)
      top = std::max(top, path_loops().rates(dx, dc + slot, offset_rate[1], rates_.data() + slot, n));
  } else {
    for (std::size_t v = 0; v < N; ++v) {
      rates_[v] = dx[sample(v)] + dc[v] + offset_rate[group[v] + 1];
      if (place[v] != Place::margin) top = std::max(top, std::abs(rates_[v]));
    }
  }
  for (std::size_t slot = 0; slot < N; slot += n)
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t v = slot + i;
      const double sign = 1.0 - 2.0 * static_cast<double>(place[v]);  // arbitrary for the margin
      const double rate = sign * rates_[v], slack = sign * (x[i] + c[v] + offset[group[v] + 1]);
      if (!((rate < -rate_error_) & (slack + limit * rate <= 0))) continue;
      if (place[v] == Place::margin || no_margin[group[v] + 1] || fixed(frame, v)) continue;  // see center_multiplier
      Event event;
      event.kind = Kind::enter;
      event.variable = v;
      add_candidate(limit, slack / -rate, (std::max(slack, 0.0) + residual_error_) / -rate, -rate / top, event);
    }
}

void ActiveSet::Engine::dual_candidates(const Frame& frame, double& limit) {
  if (on_pairs()) {
    pair_candidates(frame, limit);
    return;
  }
  if (!tracking_) {
    sample_candidates(frame, limit);
    return;
  }
  double top = rate_error_;
  for_each_tracked([&](std::size_t v) {
    if (place[v] != Place::margin) top = std::max(top, std::abs(residual_rate(frame, v)));
  });
  for_each_tracked([&](std::size_t v) {
    if (place[v] == Place::margin) return;
    if (group[v] >= 0 && count_[static_cast<std::size_t>(group[v])] == 0) return;  // see center_multiplier
    const double sign = place[v] == Place::lower ? 1.0 : -1.0;
    const double rate = sign * residual_rate(frame, v);
    if (rate >= -rate_error_) return;
    const double slack = sign * residual(v);
    if (slack > limit * -rate || fixed(frame, v)) return;
    Event event;
    event.kind = Kind::enter;
    event.variable = v;
    add_candidate(limit, slack / -rate, (std::max(slack, 0.0) + residual_error_) / -rate, -rate / top, event);
  });
}

// A group without margin: its multiplier may be anything in an interval.  It is kept in the middle, and its rate
// changes when that of an end does.  (212)
void ActiveSet::Engine::center_multiplier(Frame& frame, std::size_t g, double& limit) {
  double low = -kInfinity, up = kInfinity, low_rate = 0, up_rate = 0;
  std::size_t at_low = N, at_up = N;
  const auto rate_of = [&](std::size_t v) { return -(at(df_, v) + frame.rate.linear[v]); };
  for (std::size_t v = 0; v < N; ++v) {
    if (group[v] != static_cast<int>(g) || fixed(frame, v)) continue;
    const double a = -(at(f, v) + now.linear[v]), rate = rate_of(v);
    if (place[v] == Place::lower) {
      if (at_low == N || a > low + residual_error_ || (a > low - residual_error_ && rate > low_rate))
        low = a, low_rate = rate, at_low = v;
    } else {
      if (at_up == N || a < up - residual_error_ || (a < up + residual_error_ && rate < up_rate))
        up = a, up_rate = rate, at_up = v;
    }
  }
  if (at_low == N && at_up == N) {
    dmu_[g] = 0;
    return;
  }
  if (at_low == N || at_up == N) {
    mu[g] = at_low == N ? up : low;
    dmu_[g] = at_low == N ? up_rate : low_rate;
  } else {
    mu[g] = 0.5 * (low + up);
    dmu_[g] = 0.5 * (low_rate + up_rate);
  }
  const double noise = std::max(rate_error_, kEps * (std::abs(low_rate) + std::abs(up_rate)));
  Event event;
  if (at_low < N && at_up < N && low_rate - up_rate > noise) {
    event.kind = Kind::meet;
    event.variable = at_low;
    event.other = at_up;
    const double slack = up - low, speed = low_rate - up_rate;
    add_candidate(limit, slack / speed, (std::max(slack, 0.0) + residual_error_) / speed, 2.0, event);
  }
  event.kind = Kind::kink;
  for (std::size_t v = 0; v < N; ++v) {
    if (group[v] != static_cast<int>(g) || fixed(frame, v)) continue;
    const double a = -(at(f, v) + now.linear[v]), rate = rate_of(v);
    const bool is_low = place[v] == Place::lower;
    const double speed = is_low ? rate - low_rate : up_rate - rate, slack = is_low ? low - a : a - up;
    if (speed <= noise || v == at_low || v == at_up) continue;
    event.variable = v;
    add_candidate(limit, slack / speed, (std::max(slack, 0.0) + residual_error_) / speed, 1.0, event);
  }
}

ActiveSet::Engine::Event ActiveSet::Engine::next_event(Frame& frame) {
  candidates_.clear();
  double limit = kInfinity;
  for (std::size_t g = 0; g < G; ++g)
    if (count_[g] == 0) center_multiplier(frame, g, limit);
  primal_candidates(frame, limit);
  dual_candidates(frame, limit);
  return choose_event(limit);
}

// If the total of a group without margin has another rate than its bounds, a variable must enter the margin.  (211)
bool ActiveSet::Engine::fill_empty_margins(Frame& frame, PathResult& result) {
  for (std::size_t g = 0; g < G; ++g) {
    if (count_[g] > 0) continue;
    end_tracking();  // the residuals of all samples are needed
    double moved = 0, size = std::abs(frame.rate.total[g]);
    for (std::size_t v = 0; v < N; ++v) {
      if (group[v] != static_cast<int>(g)) continue;
      const double rate = bound_rate(frame, v);
      moved += rate;
      size += std::abs(rate);
    }
    frame.moved[g] = moved;
    const double rate = frame.rate.total[g] - moved;
    if (std::abs(rate) <= kMinTotalRate * size || std::abs(rate) * (frame.span - frame.t) <= total_error_) continue;
    const Place from = rate > 0 ? Place::lower : Place::upper;
    const double sign = rate > 0 ? 1.0 : -1.0;
    double nearest = kInfinity, largest_width = 0;
    std::size_t first = N;
    for (std::size_t v = 0; v < N; ++v) {
      if (group[v] != static_cast<int>(g) || place[v] != from || fixed(frame, v)) continue;
      const double slack = sign * residual(v);
      const double width_rate = frame.rate.upper[v] - frame.rate.lower[v] + (now.upper[v] - now.lower[v]);
      if (slack < nearest - residual_error_ || (slack < nearest + residual_error_ && width_rate > largest_width))
        nearest = slack, first = v, largest_width = width_rate;
    }
    if (first == N) {
      result.infeasible = true;
      return false;
    }
    mu[g] -= sign * nearest;
    if (!enter(first, result)) return false;
  }
  return true;
}

// The bound of a margin variable that is at a bound and moves with it; Place::margin if it is not.
Place ActiveSet::Engine::bound_of_idle_variable(const Frame& frame, std::size_t i) const {
  const std::size_t v = static_cast<std::size_t>(margin[i]), g = static_cast<std::size_t>(group[v]);
  const double lower = frame.rate.lower[v], upper = frame.rate.upper[v];
  const double size = std::max({std::abs(frame.rate.total[g]), std::abs(frame.moved[g]), std::abs(lower),
                               std::abs(upper)});
  const double distance = value_error_ + total_error_, remaining = frame.span - frame.t;
  // Along a path of the linear term no bound moves: rates whose effect until the end is a rounding error count as zero.
  const double zero_rate = std::max(kIdleRate * size, remaining > 0 ? value_error_ / remaining : 0.0);
  if (std::abs(beta[v] - now.lower[v]) <= distance && std::abs(dbeta_[i] - lower) <= zero_rate) return Place::lower;
  if (std::abs(beta[v] - now.upper[v]) <= distance && std::abs(dbeta_[i] - upper) <= zero_rate) return Place::upper;
  return Place::margin;
}

// Whether the multiplier of a group would have an interval, now or immediately after, if its variables were at the
// bounds `to`.
bool ActiveSet::Engine::has_multiplier_interval(const Frame& frame, std::size_t g, const std::vector<Place>& to) const {
  double low = -kInfinity, up = kInfinity, low_rate = 0, up_rate = 0, top = 0;
  for (std::size_t v = 0; v < N; ++v) {
    if (group[v] != static_cast<int>(g) || fixed(frame, v)) continue;
    const double a = -(at(f, v) + now.linear[v]), rate = -(at(df_, v) + frame.rate.linear[v]);
    top = std::max(top, std::abs(rate));
    if (to[v] == Place::lower) {
      if (a > low + residual_error_ || (a > low - residual_error_ && rate > low_rate)) low_rate = rate;
      low = std::max(low, a);
    } else {
      if (a < up - residual_error_ || (a < up + residual_error_ && rate < up_rate)) up_rate = rate;
      up = std::min(up, a);
    }
  }
  const double width = up - low, opening = up_rate - low_rate;
  // An interval that stays a rounding error until the end would close at once, and the path would not end.
  const bool opens = opening > kMinIntervalRate * top && opening * (frame.span - frame.t) > residual_error_;
  return width > kMinIntervalRoundings * residual_error_ || (width > -residual_error_ && opens);
}

// If all margin variables of a group are at bounds and move with them, moves them to the bounds; the multiplier then
// has an interval, (212).
bool ActiveSet::Engine::drop_idle_margin(const Frame& frame, std::size_t g) {
  std::vector<Place> to;
  for (std::size_t i = 0; i < margin.size(); ++i) {
    if (group[static_cast<std::size_t>(margin[i])] != static_cast<int>(g)) continue;
    const Place side = bound_of_idle_variable(frame, i);
    if (side == Place::margin) return false;
    if (to.empty()) to = place;
    to[static_cast<std::size_t>(margin[i])] = side;
  }
  if (to.empty() || !has_multiplier_interval(frame, g, to)) return false;
  for (std::size_t i = margin.size(); i-- > 0;) {
    const std::size_t v = static_cast<std::size_t>(margin[i]);
    if (group[v] == static_cast<int>(g)) move_to_bound(i, to[v]);
  }
  direction_fresh_ = false;
  return true;
}

bool ActiveSet::Engine::handle(const Event& event, PathResult& result) {
  switch (event.kind) {
    case Kind::leave:
      move_to_bound(event.other, event.to);
      return true;
    case Kind::enter:
      return enter(event.variable, result);
    case Kind::meet: {
      const std::size_t g = static_cast<std::size_t>(group[event.variable]);
      mu[g] = -(at(f, event.variable) + now.linear[event.variable]);
      return enter(event.variable, result) && (place[event.other] == Place::margin || enter(event.other, result));
    }
    case Kind::kink:
    case Kind::none:
      return true;
  }
  return true;
}

// Separates the residuals of variables at bounds by about 1e-11 of the scale, if ties cannot be resolved.
void ActiveSet::Engine::perturb(Frame& frame) {
  end_tracking();
  if (unperturbed_.empty() && frames_.front() == &frame) unperturbed_ = frame.base.linear;
  std::uniform_real_distribution<double> share(1.0, 2.0);
  for (std::size_t v = 0; v < N; ++v) {
    if (place[v] == Place::margin) continue;
    if (std::abs(residual(v)) > kPerturbedRoundings * residual_error_ + kPerturbation * scale_) continue;
    const double shift = (place[v] == Place::lower ? 1.0 : -1.0) * share(random) * kPerturbation * scale_;
    frame.base.linear[v] += shift;
    now.linear[v] += shift;
  }
}

}  // namespace hinge
