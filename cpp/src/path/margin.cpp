// margin.cpp: variables enter and leave the margin and are exchanged; new samples.
// docs/math (208)–(210), (246), (247)
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kMinSchurRoundings = 32;  // Schur complements below this many roundings of their terms count as zero
constexpr double kMinNullEntry = 1e-11;    // smaller entries of a null vector, relative to its largest, count as zero
constexpr double kMinBlockingEntry = 1e-3;  // with smaller entries, the entering variable is the blocking one
constexpr std::int64_t kMaxBorderUpdates = 64;  // removals after which the borders are recomputed

}  // namespace

// Updates the borders for one more variable: [K̃⁻¹1 − zτ; τ], τ = (1_v − zᵀ1)/s.
void ActiveSet::Engine::append_to_border(std::size_t v, double schur) {
  const std::size_t m = margin.size();
  for (std::size_t g = 0; g < G; ++g) {
    double tau = group[v] == static_cast<int>(g) ? 1.0 : 0.0;
    for (std::size_t i = 0; i < m; ++i)
      if (group[static_cast<std::size_t>(margin[i])] == static_cast<int>(g)) tau -= z_[i];
    tau /= schur;
    for (std::size_t i = 0; i < m; ++i) border_[g][i] -= tau * z_[i];
    border_[g].push_back(tau);
  }
}

// Pins the row of v and computes its Schur complement in the margin.  Returns false if its column depends linearly on
// the columns of the margin.
bool ActiveSet::Engine::try_enter(std::size_t v) {
  const std::size_t m = margin.size();
  entering_row_ = store_.pin(key(v));
  const double* row = entering_row_;
  const auto entry = [&](std::size_t u) {
    return at(row, u) + (group[v] >= 0 && group[u] == group[v] ? kappa_ : 0.0);
  };
  column_.resize(m);
  for (std::size_t i = 0; i < m; ++i) column_[i] = entry(static_cast<std::size_t>(margin[i]));
  z_ = column_;
  factor.forward(z_.data());
  std::vector<double> w = z_;
  factor.backward(z_.data());
  const double own = entry(v);
  schur_ = own - path_loops().dot(w.data(), w.data(), m);
  double terms = own;
  for (std::size_t i = 0; i < m; ++i) terms += std::abs(column_[i] * z_[i]);
  column_.swap(w);
  return schur_ > kMinSchurRoundings * kEps * terms;
}

// Updates the direction when v enters the margin: v gets the additional rate τ = −ṙ_v / s'.  (246)
void ActiveSet::Engine::update_direction_for_entry(const Frame& frame, std::size_t v) {
  if (!direction_fresh_) return;
  direction_fresh_ = false;
  if (std::any_of(count_.begin(), count_.end(), [](std::size_t c) { return c == 0; })) return;
  border();
  const std::size_t m = margin.size();
  std::vector<double> gap(G, 0.0), nu;
  for (std::size_t i = 0; i < m; ++i) {
    const int g = group[static_cast<std::size_t>(margin[i])];
    if (g >= 0) gap[static_cast<std::size_t>(g)] += z_[i];
  }
  if (group[v] >= 0) gap[static_cast<std::size_t>(group[v])] -= 1;
  solve_border(gap, nu);
  double schur = schur_;
  for (std::size_t g = 0; g < G; ++g) schur += nu[g] * gap[g];
  if (!(schur > 0)) return;
  const double tau = -residual_rate(frame, v) / schur;
  path_loops().axpy(-tau, z_.data(), dbeta_.data(), m);
  for (std::size_t g = 0; g < G; ++g) {
    path_loops().axpy(tau * nu[g], border_[g].data(), dbeta_.data(), m);
    dmu_[g] -= tau * nu[g];
  }
  dbeta_.push_back(bound_rate(frame, v) + tau);
  direction_fresh_ = true;
}

// Updates direction and borders when the j-th variable of the margin leaves for a bound.  (247)
void ActiveSet::Engine::update_direction_for_exit(std::size_t j, Place to) {
  const std::size_t m = margin.size(), v = static_cast<std::size_t>(margin[j]);
  const bool last = group[v] >= 0 && count_[static_cast<std::size_t>(group[v])] == 1;
  if (frames_.empty() || last || !border_fresh_ || ++border_age_ > kMaxBorderUpdates) {
    direction_fresh_ = border_fresh_ = false;
    return;
  }
  std::vector<double> w(m, 0.0), gap(G), eta;
  w[j] = 1;
  factor.forward(w.data(), j);
  factor.backward(w.data());
  for (std::size_t g = 0; g < G; ++g) gap[g] = border_[g][j];
  if (direction_fresh_) {
    solve_border(gap, eta);
    double own = w[j];
    for (std::size_t g = 0; g < G; ++g) own -= eta[g] * gap[g];
    const Frame& frame = *frames_.back();
    const double share = ((to == Place::lower ? frame.rate.lower[v] : frame.rate.upper[v]) - dbeta_[j]) / own;
    direction_fresh_ = own > 0;
    path_loops().axpy(share, w.data(), dbeta_.data(), m);
    for (std::size_t g = 0; g < G; ++g) {
      path_loops().axpy(-share * eta[g], border_[g].data(), dbeta_.data(), m);
      dmu_[g] += share * eta[g];
    }
    dbeta_.erase(dbeta_.begin() + static_cast<std::ptrdiff_t>(j));
  }
  for (std::size_t g = 0; g < G; ++g) {
    path_loops().axpy(-gap[g] / w[j], w.data(), border_[g].data(), m);
    border_[g].erase(border_[g].begin() + static_cast<std::ptrdiff_t>(j));
  }
}

// w, schur and z_ are the results of try_enter(v).
void ActiveSet::Engine::append_to_margin(std::size_t v, const double* row, const std::vector<double>& w, double schur) {
  if (border_fresh_) append_to_border(v, schur);
  factor.append(w.data(), schur);
  margin.push_back(static_cast<std::int32_t>(v));
  if (border_fresh_) sum_borders();
  rows_.push_back(row);
  if (tracking_) {
    tracked_rows_.emplace_back();
    tracked_rows_.back().reserve(tracked_.size() + 64);
    tracked_rows_.back().resize(tracked_.size());
    for (std::size_t k = 0; k < tracked_.size(); ++k) tracked_rows_.back()[k] = row[tracked_[k]];
    tracked_pointers_.push_back(tracked_rows_.back().data());
  }
  place[v] = Place::margin;
  if (group[v] >= 0) ++count_[static_cast<std::size_t>(group[v])];
  changes_.emplace_back(static_cast<std::int32_t>(v), Place::margin);
}

// Moves the j-th variable of the margin to a bound.
void ActiveSet::Engine::move_to_bound(std::size_t j, Place to) {
  const std::size_t v = static_cast<std::size_t>(margin[j]);
  const double* row = rows_[j];
  update_direction_for_exit(j, to);
  factor.remove(j);
  margin.erase(margin.begin() + static_cast<std::ptrdiff_t>(j));
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(j));
  if (tracking_) {
    tracked_rows_.erase(tracked_rows_.begin() + static_cast<std::ptrdiff_t>(j));
    tracked_pointers_.erase(tracked_pointers_.begin() + static_cast<std::ptrdiff_t>(j));
  }
  if (group[v] >= 0) --count_[static_cast<std::size_t>(group[v])];
  if (border_fresh_) sum_borders();
  track(sample(v), row);
  place_on_bound(v, to, row);
}

void ActiveSet::Engine::place_on_bound(std::size_t v, Place to, const double* row) {
  place[v] = to;
  beta[v] = bound(v);
  for (Frame* frame : frames_) {
    const double rate = bound_rate(*frame, v);
    if (rate == 0) continue;
    frame->h_exact = false;
    path_loops().combine_compensated(&rate, &row, 1, frame->h.data(), frame->h_error.data(), n);
    if (group[v] >= 0) frame->moved[static_cast<std::size_t>(group[v])] += rate;
  }
  changes_.emplace_back(static_cast<std::int32_t>(v), to);
  store_.unpin(key(v));
}

// Removes the contribution of v, at a bound, to the rates of all frames.
void ActiveSet::Engine::remove_bound_motion(std::size_t v, const double* row) {
  beta[v] = bound(v);
  for (Frame* frame : frames_) {
    const double rate = -bound_rate(*frame, v);
    if (rate == 0) continue;
    frame->h_exact = false;
    path_loops().combine_compensated(&rate, &row, 1, frame->h.data(), frame->h_error.data(), n);
    if (group[v] >= 0) frame->moved[static_cast<std::size_t>(group[v])] += rate;
  }
}

bool ActiveSet::Engine::enter(std::size_t v, PathResult& result) {
  const bool upwards = place[v] == Place::lower;
  beta[v] = bound(v);
  if (!try_enter(v)) return exchange(v, upwards, result);
  if (!frames_.empty()) update_direction_for_entry(*frames_.back(), v);
  remove_bound_motion(v, entering_row_);
  append_to_margin(v, entering_row_, column_, schur_);
  return true;
}

// Computes z with z_v = 1, and K z = 0, E z = 0 on the margin and v: its entries on the margin, K z, and the part of
// the multipliers.  (209)
void ActiveSet::Engine::null_vector(std::size_t v, const double* row, NullVector& z) {
  const std::size_t m = margin.size();
  std::vector<double> sums(G, 0.0);
  z.x.resize(m);
  z.move.resize(n);
  for (std::size_t i = 0; i < m; ++i) z.x[i] = -at(row, static_cast<std::size_t>(margin[i]));
  if (group[v] >= 0) sums[static_cast<std::size_t>(group[v])] = -1;
  solve_kkt(z.x, sums, z.eta);
  for (int round = 0;; ++round) {
    z.move.assign(row, row + n);
    add_margin(z.x, z.move);
    if (round == 1) return;
    std::vector<double> error(m), deficits = sums, shift;
    for (std::size_t i = 0; i < m; ++i) {
      const std::size_t u = static_cast<std::size_t>(margin[i]);
      error[i] = -(at(z.move, u) + (group[u] >= 0 ? z.eta[static_cast<std::size_t>(group[u])] : 0.0));
      if (group[u] >= 0) deficits[static_cast<std::size_t>(group[u])] -= z.x[i];
    }
    for (std::size_t g = 0; g < G; ++g)
      if (count_[g] == 0) deficits[g] = 0;
    solve_kkt(error, deficits, shift);
    for (std::size_t i = 0; i < m; ++i) z.x[i] += error[i];
    for (std::size_t g = 0; g < G; ++g) z.eta[g] += shift[g];
  }
}

// The position in the margin of the variable that reaches a bound first when v moves along z, and the step; the size of
// the margin if v itself does.
std::pair<std::size_t, double> ActiveSet::Engine::first_blocking_variable(const NullVector& z, double sign,
                                                                          double own) const {
  const std::size_t m = margin.size();
  double top = 1, limit = std::max(own, 0.0) + value_error_, best = -1, t = own;
  for (double value : z.x) top = std::max(top, std::abs(value));
  std::size_t leaving = m;
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t i = 0; i < m; ++i) {
      const double speed = sign * z.x[i];
      if (std::abs(speed) <= kMinNullEntry * top) continue;
      const std::size_t u = static_cast<std::size_t>(margin[i]);
      const double distance = std::max(0.0, speed > 0 ? now.upper[u] - beta[u] : beta[u] - now.lower[u]);
      if (pass == 0) {
        limit = std::min(limit, (distance + value_error_) / std::abs(speed));
      } else if (distance / std::abs(speed) <= limit && std::abs(speed) > best) {
        best = std::abs(speed), leaving = i, t = distance / std::abs(speed);
      }
    }
  if (own <= limit && (leaving == m || own <= t || best < kMinBlockingEntry)) return {m, std::max(own, 0.0)};
  return {leaving, t};
}

// The column of v depends on the columns of the margin: along their null vector z only β changes.  Moves along z until
// a variable of the margin, or v, reaches a bound; that variable leaves and v enters.  If the entry of z at that
// variable is within rounding, v also depends on the remaining columns, and the exchange is repeated.  (209), (210)
bool ActiveSet::Engine::exchange(std::size_t v, bool upwards, PathResult& result) {
  ++result.exchanges;
  end_tracking();
  direction_fresh_ = false;
  const double* row = entering_row_;
  const double sign = upwards ? 1.0 : -1.0, from = beta[v];
  remove_bound_motion(v, row);
  beta[v] = from;
  NullVector z;
  while (true) {
    null_vector(v, row, z);
    const auto [leaving, t] = first_blocking_variable(z, sign, upwards ? now.upper[v] - beta[v]
                                                      : beta[v] - now.lower[v]);
    const std::size_t m = margin.size();
    for (std::size_t i = 0; i < m; ++i) beta[static_cast<std::size_t>(margin[i])] += sign * t * z.x[i];
    beta[v] += sign * t;
    path_loops().axpy(sign * t, z.move.data(), f.data(), n);
    for (std::size_t g = 0; g < G; ++g) mu[g] += sign * t * z.eta[g];
    if (leaving == m) {
      place_on_bound(v, upwards ? Place::upper : Place::lower, row);
      return true;
    }
    move_to_bound(leaving, sign * z.x[leaving] > 0 ? Place::upper : Place::lower);
    const bool fits = try_enter(v);
    store_.unpin(key(v));  // it was pinned twice
    if (!fits) continue;
    append_to_margin(v, row, column_, schur_);
    return true;
  }
}

// Appends samples; their variables start at a bound.
void ActiveSet::Engine::grow(const Gram& bigger, Span<const std::int8_t> groups, PathData data) {
  if (on_pairs()) throw std::logic_error("grow: not supported for variables that are pairs of samples");
  const std::size_t old_n = n, slots = N / n, new_n = bigger.size();
  const auto new_index = [&](std::size_t v) { return v / old_n * new_n + v % old_n; };
  std::vector<double> coefficients(new_n, 0.0);
  for (std::size_t v = 0; v < N; ++v) coefficients[sample(v)] += value(v);
  std::vector<Place> places(slots * new_n, Place::lower);
  std::vector<double> values(slots * new_n, 0.0);
  for (std::size_t v = 0; v < N; ++v) {
    places[new_index(v)] = place[v];
    values[new_index(v)] = beta[v];
  }
  for (std::int32_t& v : margin) v = static_cast<std::int32_t>(new_index(static_cast<std::size_t>(v)));
  direction_fresh_ = false;
  store_.extend_source(bigger);
  gram = &bigger;
  n = new_n;
  N = slots * new_n;
  group.assign(groups.begin(), groups.end());
  one_group_ = std::all_of(group.begin(), group.end(), [](std::int8_t g) { return g == 0; });
  place = std::move(places);
  beta = std::move(values);
  now = std::move(data);
  df_.assign(n, 0.0);
  diagonal_.resize(n);
  gram->diagonal(diagonal_);
  k_scale_ = std::max(largest(diagonal_), std::numeric_limits<double>::min());
  extend_f(coefficients, old_n);
  for (std::size_t i = 0; i < margin.size(); ++i) {  // rows may have moved
    const std::size_t v = static_cast<std::size_t>(margin[i]);
    rows_[i] = store_.pin(key(v));
    store_.unpin(key(v));
  }
}

// Computes f of the new samples and their entries in the rows of the margin.  Most new samples never need a row.
void ActiveSet::Engine::extend_f(const std::vector<double>& coefficients, std::size_t old_n) {
  std::vector<std::int32_t> columns;
  std::vector<double> amounts;
  std::vector<std::size_t> at_column(old_n, n);
  std::vector<char> on_margin(old_n, 0);
  for (std::int32_t v : margin) on_margin[sample(static_cast<std::size_t>(v))] = 1;
  for (std::size_t i = 0; i < old_n; ++i) {
    if (coefficients[i] == 0 && !on_margin[i]) continue;
    at_column[i] = columns.size();
    columns.push_back(static_cast<std::int32_t>(i));
    amounts.push_back(coefficients[i]);
  }
  const std::size_t count = columns.size(), added = n - old_n;
  std::vector<double> block(added * count), entries(added);
  f.resize(n, 0.0);
  for (std::size_t k = 0; k < added && count > 0; ++k) {
    gram->row(old_n + k, columns, Span<double>(block.data() + k * count, count));
    f[old_n + k] = path_loops().dot(block.data() + k * count, amounts.data(), count);
  }
  for (std::size_t i = 0; i < old_n; ++i) {
    if (!on_margin[i]) continue;
    for (std::size_t k = 0; k < added; ++k) entries[k] = block[k * count + at_column[i]];
    store_.complete(i, entries);
  }
}

// Recomputes the factor, variables farthest from their bounds first; dependent variables are exchanged, (209).
void ActiveSet::Engine::refactor() {
  end_tracking();
  direction_fresh_ = false;
  std::vector<std::int32_t> order = margin;
  std::vector<double> distance(N, 0.0);
  for (std::int32_t v : order) {
    const std::size_t u = static_cast<std::size_t>(v);
    distance[u] = std::min(beta[u] - now.lower[u], now.upper[u] - beta[u]);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return distance[static_cast<std::size_t>(a)] > distance[static_cast<std::size_t>(b)];
  });
  std::fill(count_.begin(), count_.end(), 0);
  factor.clear();
  margin.clear();
  rows_.clear();
  std::vector<std::size_t> dependent;
  for (std::int32_t u : order) {
    const std::size_t v = static_cast<std::size_t>(u);
    const bool fits = try_enter(v);
    store_.unpin(key(v));  // it was already pinned
    if (!fits) {
      dependent.push_back(v);
      continue;
    }
    border_fresh_ = false;
    append_to_margin(v, entering_row_, column_, schur_);
    changes_.pop_back();
  }
  border_fresh_ = false;
  ++refactorings_;
  PathResult unused;
  for (const std::size_t v : dependent) {
    const double b = beta[v];
    const Place closest = b - now.lower[v] < now.upper[v] - b ? Place::lower : Place::upper;
    const bool fits = try_enter(v);             // possible after an exchange
    place_on_bound(v, closest, entering_row_);  // temporarily; removes one of its two pins
    beta[v] = b;
    if (fits) {
      remove_bound_motion(v, entering_row_);
      beta[v] = b;
      append_to_margin(v, entering_row_, column_, schur_);
    } else {
      exchange(v, closest == Place::upper, unused);
    }
  }
  if (!dependent.empty()) {
    refresh_f();
    newton_correction();
  }
}

}  // namespace hinge
