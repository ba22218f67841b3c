// margin.cpp: variables join the margin, leave it, change places with each other; more samples.
// docs/math (208)–(210), (246), (247)
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kDependent = 32;       // a Schur complement below so many roundings of its terms is zero
constexpr double kPivot = 1e-11;        // entries of a null vector below this share of its largest are rounding
constexpr std::int64_t kBorderAge = 64;  // removals after which the borders are solved for anew

}  // namespace

// The same with one more variable: [K̃⁻¹1 − zτ; τ], τ = (1_v − zᵀ1)/s.
void ActiveSet::Engine::grow_border(std::size_t v, double schur) {
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

// Pins the row of v and finds its Schur complement in the margin; false if its column depends on the margin's.
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
  return schur_ > kDependent * kEps * terms;
}

// v, on a bound, joins the margin, and the direction turns: v takes over τ = −ṙ_v / s', the others make room.  (246)
void ActiveSet::Engine::turn_in(const Frame& frame, std::size_t v) {
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

// The j-th of the margin is about to leave for a bound: direction and borders without it.  (247)
void ActiveSet::Engine::turn_out(std::size_t j, Place to) {
  const std::size_t m = margin.size(), v = static_cast<std::size_t>(margin[j]);
  const bool last = group[v] >= 0 && count_[static_cast<std::size_t>(group[v])] == 1;
  if (frames_.empty() || last || !border_fresh_ || ++border_age_ > kBorderAge) {
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

// What try_enter(v) found is w, schur and z_.
void ActiveSet::Engine::to_margin(std::size_t v, const double* row, const std::vector<double>& w, double schur) {
  if (border_fresh_) grow_border(v, schur);
  factor.append(w.data(), schur);
  margin.push_back(static_cast<std::int32_t>(v));
  if (border_fresh_) sum_borders();
  rows_.push_back(row);
  if (tracking_) {
    near_rows_.emplace_back();
    near_rows_.back().reserve(near_.size() + 64);
    near_rows_.back().resize(near_.size());
    for (std::size_t k = 0; k < near_.size(); ++k) near_rows_.back()[k] = row[near_[k]];
    near_pointers_.push_back(near_rows_.back().data());
  }
  place[v] = Place::margin;
  if (group[v] >= 0) ++count_[static_cast<std::size_t>(group[v])];
  changes_.emplace_back(static_cast<std::int32_t>(v), Place::margin);
}

// The j-th of the margin goes to a bound.
void ActiveSet::Engine::to_bound(std::size_t j, Place to) {
  const std::size_t v = static_cast<std::size_t>(margin[j]);
  const double* row = rows_[j];
  turn_out(j, to);
  factor.remove(j);
  margin.erase(margin.begin() + static_cast<std::ptrdiff_t>(j));
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(j));
  if (tracking_) {
    near_rows_.erase(near_rows_.begin() + static_cast<std::ptrdiff_t>(j));
    near_pointers_.erase(near_pointers_.begin() + static_cast<std::ptrdiff_t>(j));
  }
  if (group[v] >= 0) --count_[static_cast<std::size_t>(group[v])];
  if (border_fresh_) sum_borders();
  watch(sample(v), row);
  on_bound(v, to, row);
}

void ActiveSet::Engine::on_bound(std::size_t v, Place to, const double* row) {
  place[v] = to;
  beta[v] = bound(v);
  for (Frame* frame : frames_) {
    const double rate = bound_rate(*frame, v);
    if (rate == 0) continue;
    frame->h_exact = false;
    path_loops().combine_exactly(&rate, &row, 1, frame->h.data(), frame->h_low.data(), n);
    if (group[v] >= 0) frame->moved[static_cast<std::size_t>(group[v])] += rate;
  }
  changes_.emplace_back(static_cast<std::int32_t>(v), to);
  store_.unpin(key(v));
}

// Takes what v, on a bound, adds to the movement out of it.
void ActiveSet::Engine::off_bound(std::size_t v, const double* row) {
  beta[v] = bound(v);
  for (Frame* frame : frames_) {
    const double rate = -bound_rate(*frame, v);
    if (rate == 0) continue;
    frame->h_exact = false;
    path_loops().combine_exactly(&rate, &row, 1, frame->h.data(), frame->h_low.data(), n);
    if (group[v] >= 0) frame->moved[static_cast<std::size_t>(group[v])] += rate;
  }
}

bool ActiveSet::Engine::enter(std::size_t v, PathResult& result) {
  const bool upwards = place[v] == Place::lower;
  beta[v] = bound(v);
  if (!try_enter(v)) return exchange(v, upwards, result);
  if (!frames_.empty()) turn_in(*frames_.back(), v);
  off_bound(v, entering_row_);
  to_margin(v, entering_row_, column_, schur_);
  return true;
}

// z with z_v = 1, K z = 0 and E z = 0 on the margin and v: its entries on the margin, K z and the multipliers' part.
// (209)
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
    std::vector<double> error(m), missing = sums, shift;
    for (std::size_t i = 0; i < m; ++i) {
      const std::size_t u = static_cast<std::size_t>(margin[i]);
      error[i] = -(at(z.move, u) + (group[u] >= 0 ? z.eta[static_cast<std::size_t>(group[u])] : 0.0));
      if (group[u] >= 0) missing[static_cast<std::size_t>(group[u])] -= z.x[i];
    }
    for (std::size_t g = 0; g < G; ++g)
      if (count_[g] == 0) missing[g] = 0;
    solve_kkt(error, missing, shift);
    for (std::size_t i = 0; i < m; ++i) z.x[i] += error[i];
    for (std::size_t g = 0; g < G; ++g) z.eta[g] += shift[g];
  }
}

// Which of the margin meets a bound first when v moves along z, and when; the size of the margin if v itself does.
std::pair<std::size_t, double> ActiveSet::Engine::first_at_bound(const NullVector& z, double sign, double own) const {
  const std::size_t m = margin.size();
  double top = 1, limit = std::max(own, 0.0) + b_noise_, best = -1, t = own;
  for (double value : z.x) top = std::max(top, std::abs(value));
  std::size_t leaving = m;
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t i = 0; i < m; ++i) {
      const double speed = sign * z.x[i];
      if (std::abs(speed) <= kPivot * top) continue;
      const std::size_t u = static_cast<std::size_t>(margin[i]);
      const double room = std::max(0.0, speed > 0 ? now.upper[u] - beta[u] : beta[u] - now.lower[u]);
      if (pass == 0) {
        limit = std::min(limit, (room + b_noise_) / std::abs(speed));
      } else if (room / std::abs(speed) <= limit && std::abs(speed) > best) {
        best = std::abs(speed), leaving = i, t = room / std::abs(speed);
      }
    }
  if (own <= limit && (leaving == m || own <= t || best < 1e-3)) return {m, std::max(own, 0.0)};
  return {leaving, t};
}

// v's column depends on the margin's: along their null vector nothing changes but β itself.  Go until a variable of
// the margin, or v, meets a bound; that one changes places with v.  If z has no more than rounding where that one
// stands, v depends on those that are left too, and goes on along their null vector.  (209), (210)
bool ActiveSet::Engine::exchange(std::size_t v, bool upwards, PathResult& result) {
  ++result.exchanges;
  end_tracking();
  direction_fresh_ = false;
  const double* row = entering_row_;
  const double sign = upwards ? 1.0 : -1.0, from = beta[v];
  off_bound(v, row);
  beta[v] = from;
  NullVector z;
  while (true) {
    null_vector(v, row, z);
    const auto [leaving, t] = first_at_bound(z, sign, upwards ? now.upper[v] - beta[v] : beta[v] - now.lower[v]);
    const std::size_t m = margin.size();
    for (std::size_t i = 0; i < m; ++i) beta[static_cast<std::size_t>(margin[i])] += sign * t * z.x[i];
    beta[v] += sign * t;
    path_loops().axpy(sign * t, z.move.data(), f.data(), n);
    for (std::size_t g = 0; g < G; ++g) mu[g] += sign * t * z.eta[g];
    if (leaving == m) {
      on_bound(v, upwards ? Place::upper : Place::lower, row);
      return true;
    }
    to_bound(leaving, sign * z.x[leaving] > 0 ? Place::upper : Place::lower);
    const bool fits = try_enter(v);
    store_.unpin(key(v));  // it is pinned twice now
    if (!fits) continue;
    to_margin(v, row, column_, schur_);
    return true;
  }
}

// More samples, after those there are; their variables begin on a bound, with a box of width zero or not.
void ActiveSet::Engine::grow(const Gram& bigger, Span<const std::int8_t> groups, PathData data) {
  if (on_pairs()) throw std::logic_error("pairs do not grow");
  const std::size_t old_n = n, slots = N / n, new_n = bigger.size();
  const auto moved = [&](std::size_t v) { return v / old_n * new_n + v % old_n; };
  std::vector<double> coefficients(new_n, 0.0);
  for (std::size_t v = 0; v < N; ++v) coefficients[sample(v)] += value(v);
  std::vector<Place> places(slots * new_n, Place::lower);
  std::vector<double> values(slots * new_n, 0.0);
  for (std::size_t v = 0; v < N; ++v) {
    places[moved(v)] = place[v];
    values[moved(v)] = beta[v];
  }
  for (std::int32_t& v : margin) v = static_cast<std::int32_t>(moved(static_cast<std::size_t>(v)));
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
  meet_newcomers(coefficients, old_n);
  for (std::size_t i = 0; i < margin.size(); ++i) {  // rows may have moved
    const std::size_t v = static_cast<std::size_t>(margin[i]);
    rows_[i] = store_.pin(key(v));
    store_.unpin(key(v));
  }
}

// f of the new samples, and their entries in the margin's rows.  Most of them will never need a row of their own.
void ActiveSet::Engine::meet_newcomers(const std::vector<double>& coefficients, std::size_t old_n) {
  std::vector<std::int32_t> columns;
  std::vector<double> amounts;
  std::vector<std::size_t> at_column(old_n, n);
  std::vector<char> wanted(old_n, 0);
  for (std::int32_t v : margin) wanted[sample(static_cast<std::size_t>(v))] = 1;
  for (std::size_t i = 0; i < old_n; ++i) {
    if (coefficients[i] == 0 && !wanted[i]) continue;
    at_column[i] = columns.size();
    columns.push_back(static_cast<std::int32_t>(i));
    amounts.push_back(coefficients[i]);
  }
  const std::size_t count = columns.size(), fresh = n - old_n;
  std::vector<double> block(fresh * count), entries(fresh);
  f.resize(n, 0.0);
  for (std::size_t k = 0; k < fresh && count > 0; ++k) {
    gram->row(old_n + k, columns, Span<double>(block.data() + k * count, count));
    f[old_n + k] = path_loops().dot(block.data() + k * count, amounts.data(), count);
  }
  for (std::size_t i = 0; i < old_n; ++i) {
    if (!wanted[i]) continue;
    for (std::size_t k = 0; k < fresh; ++k) entries[k] = block[k * count + at_column[i]];
    store_.complete(i, entries);
  }
}

// The factor from scratch, most interior variables first; what has become dependent is exchanged, (209).
void ActiveSet::Engine::refactor() {
  end_tracking();
  direction_fresh_ = false;
  std::vector<std::int32_t> order = margin;
  std::vector<double> room(N, 0.0);
  for (std::int32_t v : order) {
    const std::size_t u = static_cast<std::size_t>(v);
    room[u] = std::min(beta[u] - now.lower[u], now.upper[u] - beta[u]);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return room[static_cast<std::size_t>(a)] > room[static_cast<std::size_t>(b)];
  });
  std::fill(count_.begin(), count_.end(), 0);
  factor.clear();
  margin.clear();
  rows_.clear();
  std::vector<std::size_t> dependent;
  for (std::int32_t u : order) {
    const std::size_t v = static_cast<std::size_t>(u);
    const bool fits = try_enter(v);
    store_.unpin(key(v));  // the margin had pinned it before
    if (!fits) {
      dependent.push_back(v);
      continue;
    }
    border_fresh_ = false;
    to_margin(v, entering_row_, column_, schur_);
    changes_.pop_back();
  }
  border_fresh_ = false;
  ++refactorings_;
  PathResult unused;
  for (const std::size_t v : dependent) {
    const double b = beta[v];
    const Place nearer = b - now.lower[v] < now.upper[v] - b ? Place::lower : Place::upper;
    const bool fits = try_enter(v);         // after an exchange it may
    on_bound(v, nearer, entering_row_);  // as if; one of its two pins goes
    beta[v] = b;
    if (fits) {
      off_bound(v, entering_row_);
      beta[v] = b;
      to_margin(v, entering_row_, column_, schur_);
    } else {
      exchange(v, nearer == Place::upper, unused);
    }
  }
  if (!dependent.empty()) {
    refresh_f();
    correct();
  }
}

}  // namespace hinge
