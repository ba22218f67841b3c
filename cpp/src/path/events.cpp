// events.cpp: which event comes next, and what it does to the active set.  docs/math (208)–(212)
#include <algorithm>
#include <cmath>
#include <limits>

#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr std::int64_t kPatience = 40;  // events without progress before ties are broken at random

}  // namespace

void ActiveSet::Engine::offer(double& limit, double step, double relaxed, double pivot, const Event& event) {
  if (step > limit) return;
  limit = std::min(limit, relaxed);
  candidates_.push_back({std::max(step, 0.0), relaxed, pivot, event});
}

// Harris: of all candidates within the tolerance of the first, the one with the largest pivot; at random when stuck.
ActiveSet::Engine::Event ActiveSet::Engine::choose(double limit) {
  Event best;
  double best_pivot = -1, best_step = kInfinity;
  std::size_t seen = 0;
  for (const Candidate& c : candidates_) {
    if (c.step > limit) continue;
    ++seen;
    const bool better = idle_ > kPatience ? random() % seen == 0 : c.pivot > best_pivot;
    if (!better) continue;
    best = c.event;
    best.step = c.step;
    best_pivot = c.pivot;
    best_step = c.step;
  }
  if (seen == 0) best.step = kInfinity;
  (void)best_step;
  return best;
}

void ActiveSet::Engine::primal_candidates(const Frame& frame, double& limit) {
  double top = dbeta_scale_;
  for (std::int32_t u : margin) {
    const std::size_t v = static_cast<std::size_t>(u);
    top = std::max({top, std::abs(frame.rate.lower[v]), std::abs(frame.rate.upper[v])});
  }
  const double still = 64 * kEps * top;
  for (std::size_t i = 0; i < margin.size(); ++i) {
    const std::size_t v = static_cast<std::size_t>(margin[i]);
    const double down = dbeta_[i] - frame.rate.lower[v], up = dbeta_[i] - frame.rate.upper[v];
    Event event;
    event.kind = Kind::leave;
    event.variable = v;
    event.other = i;
    if (down < -still) {
      const double room = beta[v] - now.lower[v];
      event.to = Place::lower;
      offer(limit, room / -down, (std::max(room, 0.0) + b_noise_) / -down, -down / top, event);
    }
    if (up > still) {
      const double room = now.upper[v] - beta[v];
      event.to = Place::upper;
      offer(limit, room / up, (std::max(room, 0.0) + b_noise_) / up, up / top, event);
    }
  }
}

// The same for pairs, of which there are many more than samples: one pass, which sees the violation as well.
void ActiveSet::Engine::pair_candidates(const Frame& frame, double& limit) {
  const auto [least, most] = std::minmax_element(df_.begin(), df_.end());
  const double top = std::max(rate_noise_, *most - *least + frame.linear_top);
  const std::int32_t *i = first.data(), *j = second.data();
  const double *x = f.data(), *dx = df_.data(), *c = now.linear.data(), *dc = frame.rate.linear.data();
  double worst = 0;
  limit = std::min(limit, (frame.span - frame.t) * (1 + 1e-9));  // nothing beyond the end counts
  for (std::size_t v = 0; v < N; ++v) {
    const double sign = 1.0 - 2.0 * static_cast<double>(place[v]);  // of the margin it does not matter
    const double room = sign * (x[i[v]] - x[j[v]] + c[v]), rate = sign * (dx[i[v]] - dx[j[v]] + dc[v]);
    if (-room > worst && place[v] != Place::margin && now.lower[v] < now.upper[v]) worst = -room;
    // One branch that is rarely taken.
    if (!((rate < -rate_noise_) & (room + limit * rate <= 0)) || place[v] == Place::margin || fixed(frame, v)) continue;
    Event event;
    event.kind = Kind::enter;
    event.variable = v;
    offer(limit, room / -rate, (std::max(room, 0.0) + r_noise_) / -rate, -rate / top, event);
  }
  seen_violation_ = worst;
}

// The same for all samples: two passes, each with one branch that is rarely taken.
void ActiveSet::Engine::everybody_candidates(const Frame& frame, double& limit) {
  double offset[3] = {0, 0, 0}, turn[3] = {0, 0, 0};  // by group, after those in none
  bool idle[3] = {false, false, false};
  for (std::size_t g = 0; g < G; ++g) offset[g + 1] = mu[g], turn[g + 1] = dmu_[g], idle[g + 1] = count_[g] == 0;
  rates_.resize(N);
  const double *x = f.data(), *dx = df_.data(), *c = now.linear.data(), *dc = frame.rate.linear.data();
  double top = rate_noise_;
  if (one_group_) {  // the margin's rates are rounding
    for (std::size_t slot = 0; slot < N; slot += n)
      top = std::max(top, path_loops().rates(dx, dc + slot, turn[1], rates_.data() + slot, n));
  } else {
    for (std::size_t v = 0; v < N; ++v) {
      rates_[v] = dx[sample(v)] + dc[v] + turn[group[v] + 1];
      if (place[v] != Place::margin) top = std::max(top, std::abs(rates_[v]));
    }
  }
  for (std::size_t slot = 0; slot < N; slot += n)
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t v = slot + i;
      const double sign = 1.0 - 2.0 * static_cast<double>(place[v]);  // of the margin it does not matter
      const double rate = sign * rates_[v], room = sign * (x[i] + c[v] + offset[group[v] + 1]);
      if (!((rate < -rate_noise_) & (room + limit * rate <= 0))) continue;
      if (place[v] == Place::margin || idle[group[v] + 1] || fixed(frame, v)) continue;  // centre looks after the idle
      Event event;
      event.kind = Kind::enter;
      event.variable = v;
      offer(limit, room / -rate, (std::max(room, 0.0) + r_noise_) / -rate, -rate / top, event);
    }
}

void ActiveSet::Engine::dual_candidates(const Frame& frame, double& limit) {
  if (on_pairs()) {
    pair_candidates(frame, limit);
    return;
  }
  if (!tracking_) {
    everybody_candidates(frame, limit);
    return;
  }
  double top = rate_noise_;
  each_watched([&](std::size_t v) {
    if (place[v] != Place::margin) top = std::max(top, std::abs(residual_rate(frame, v)));
  });
  each_watched([&](std::size_t v) {
    if (place[v] == Place::margin) return;
    if (group[v] >= 0 && count_[static_cast<std::size_t>(group[v])] == 0) return;  // centre looks after them
    const double sign = place[v] == Place::lower ? 1.0 : -1.0;
    const double rate = sign * residual_rate(frame, v);
    if (rate >= -rate_noise_) return;
    const double room = sign * residual(v);
    if (room > limit * -rate || fixed(frame, v)) return;
    Event event;
    event.kind = Kind::enter;
    event.variable = v;
    offer(limit, room / -rate, (std::max(room, 0.0) + r_noise_) / -rate, -rate / top, event);
  });
}

// A group without margin: its multiplier is an interval.  It stays in the middle, and turns where an end turns.  (212)
void ActiveSet::Engine::centre(Frame& frame, std::size_t g, double& limit) {
  double low = -kInfinity, up = kInfinity, low_rate = 0, up_rate = 0;
  std::size_t at_low = N, at_up = N;
  const auto rate_of = [&](std::size_t v) { return -(at(df_, v) + frame.rate.linear[v]); };
  for (std::size_t v = 0; v < N; ++v) {
    if (group[v] != static_cast<int>(g) || fixed(frame, v)) continue;
    const double a = -(at(f, v) + now.linear[v]), rate = rate_of(v);
    if (place[v] == Place::lower) {
      if (at_low == N || a > low + r_noise_ || (a > low - r_noise_ && rate > low_rate)) low = a, low_rate = rate,
          at_low = v;
    } else {
      if (at_up == N || a < up - r_noise_ || (a < up + r_noise_ && rate < up_rate)) up = a, up_rate = rate, at_up = v;
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
  const double noise = std::max(rate_noise_, kEps * (std::abs(low_rate) + std::abs(up_rate)));
  Event event;
  if (at_low < N && at_up < N && low_rate - up_rate > noise) {
    event.kind = Kind::meet;
    event.variable = at_low;
    event.other = at_up;
    const double room = up - low, speed = low_rate - up_rate;
    offer(limit, room / speed, (std::max(room, 0.0) + r_noise_) / speed, 2.0, event);
  }
  event.kind = Kind::kink;
  for (std::size_t v = 0; v < N; ++v) {
    if (group[v] != static_cast<int>(g) || fixed(frame, v)) continue;
    const double a = -(at(f, v) + now.linear[v]), rate = rate_of(v);
    const bool is_low = place[v] == Place::lower;
    const double speed = is_low ? rate - low_rate : up_rate - rate, room = is_low ? low - a : a - up;
    if (speed <= noise || v == at_low || v == at_up) continue;
    event.variable = v;
    offer(limit, room / speed, (std::max(room, 0.0) + r_noise_) / speed, 1.0, event);
  }
}

ActiveSet::Engine::Event ActiveSet::Engine::next_event(Frame& frame) {
  candidates_.clear();
  double limit = kInfinity;
  for (std::size_t g = 0; g < G; ++g)
    if (count_[g] == 0) centre(frame, g, limit);
  primal_candidates(frame, limit);
  dual_candidates(frame, limit);
  return choose(limit);
}

// Groups without margin whose total moves otherwise than their bounds: a variable must enter first.  (211)
bool ActiveSet::Engine::settle_groups(Frame& frame, PathResult& result) {
  for (std::size_t g = 0; g < G; ++g) {
    if (count_[g] > 0) continue;
    end_tracking();  // everybody's residual counts
    double moved = 0, size = std::abs(frame.rate.total[g]);
    for (std::size_t v = 0; v < N; ++v) {
      if (group[v] != static_cast<int>(g)) continue;
      const double rate = bound_rate(frame, v);
      moved += rate;
      size += std::abs(rate);
    }
    frame.moved[g] = moved;
    const double wanted = frame.rate.total[g] - moved;
    if (std::abs(wanted) <= 1e-13 * size || std::abs(wanted) * (frame.span - frame.t) <= sum_noise_) continue;
    const Place from = wanted > 0 ? Place::lower : Place::upper;
    const double sign = wanted > 0 ? 1.0 : -1.0;
    double nearest = kInfinity, most = 0;
    std::size_t first = N;
    for (std::size_t v = 0; v < N; ++v) {
      if (group[v] != static_cast<int>(g) || place[v] != from || fixed(frame, v)) continue;
      const double room = sign * residual(v);
      const double width_rate = frame.rate.upper[v] - frame.rate.lower[v] + (now.upper[v] - now.lower[v]);
      if (room < nearest - r_noise_ || (room < nearest + r_noise_ && width_rate > most))
        nearest = room, first = v, most = width_rate;
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

// Where a margin variable that stands on a bound and moves with it may go; the margin if there is none.
Place ActiveSet::Engine::resting_place(const Frame& frame, std::size_t i) const {
  const std::size_t v = static_cast<std::size_t>(margin[i]), g = static_cast<std::size_t>(group[v]);
  const double lower = frame.rate.lower[v], upper = frame.rate.upper[v];
  const double size = std::max({std::abs(frame.rate.total[g]), std::abs(frame.moved[g]), std::abs(lower),
                               std::abs(upper)});
  const double near = b_noise_ + sum_noise_, still = 1e-12 * size;
  if (std::abs(beta[v] - now.lower[v]) <= near && std::abs(dbeta_[i] - lower) <= still) return Place::lower;
  if (std::abs(beta[v] - now.upper[v]) <= near && std::abs(dbeta_[i] - upper) <= still) return Place::upper;
  return Place::margin;
}

// Whether a group's multiplier has room to move, now or at once, with all variables of the group where `to` says.
bool ActiveSet::Engine::leaves_interval(const Frame& frame, std::size_t g, const std::vector<Place>& to) const {
  double low = -kInfinity, up = kInfinity, low_rate = 0, up_rate = 0, top = 0;
  for (std::size_t v = 0; v < N; ++v) {
    if (group[v] != static_cast<int>(g) || fixed(frame, v)) continue;
    const double a = -(at(f, v) + now.linear[v]), rate = -(at(df_, v) + frame.rate.linear[v]);
    top = std::max(top, std::abs(rate));
    if (to[v] == Place::lower) {
      if (a > low + r_noise_ || (a > low - r_noise_ && rate > low_rate)) low_rate = rate;
      low = std::max(low, a);
    } else {
      if (a < up - r_noise_ || (a < up + r_noise_ && rate < up_rate)) up_rate = rate;
      up = std::min(up, a);
    }
  }
  const double width = up - low;
  return width > 64 * r_noise_ || (width > -r_noise_ && up_rate - low_rate > 1e-10 * top);
}

// Margin variables of a group that all stand on bounds and move with them hold nothing: to the bounds, and the
// multiplier is an interval, (212).
bool ActiveSet::Engine::drop_idle(const Frame& frame, std::size_t g) {
  std::vector<Place> to;
  for (std::size_t i = 0; i < margin.size(); ++i) {
    if (group[static_cast<std::size_t>(margin[i])] != static_cast<int>(g)) continue;
    const Place side = resting_place(frame, i);
    if (side == Place::margin) return false;
    if (to.empty()) to = place;
    to[static_cast<std::size_t>(margin[i])] = side;
  }
  if (to.empty() || !leaves_interval(frame, g, to)) return false;
  for (std::size_t i = margin.size(); i-- > 0;) {
    const std::size_t v = static_cast<std::size_t>(margin[i]);
    if (group[v] == static_cast<int>(g)) to_bound(i, to[v]);
  }
  direction_fresh_ = false;
  return true;
}

bool ActiveSet::Engine::handle(const Event& event, PathResult& result) {
  switch (event.kind) {
    case Kind::leave:
      to_bound(event.other, event.to);
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

// When ties cannot be resolved: the residuals of variables on bounds move apart by about 1e-11 of the scale.
void ActiveSet::Engine::perturb(Frame& frame) {
  end_tracking();
  if (unperturbed_.empty() && frames_.front() == &frame) unperturbed_ = frame.base.linear;
  std::uniform_real_distribution<double> share(1.0, 2.0);
  for (std::size_t v = 0; v < N; ++v) {
    if (place[v] == Place::margin || std::abs(residual(v)) > 100 * r_noise_ + 1e-11 * scale_) continue;
    const double shift = (place[v] == Place::lower ? 1.0 : -1.0) * share(random) * 1e-11 * scale_;
    frame.base.linear[v] += shift;
    now.linear[v] += shift;
  }
}

}  // namespace hinge
