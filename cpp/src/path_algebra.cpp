// path_algebra.cpp: the linear algebra of the parametric engine.  docs/math.md (203)–(207)
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "hinge/pairs.hpp"
#include "path_engine.hpp"

namespace hinge {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kDependent = 32;  // a Schur complement below so many roundings of its terms is zero

double largest(const std::vector<double>& x) {
  double top = 0;
  for (double v : x) top = std::max(top, std::isfinite(v) ? std::abs(v) : 0.0);
  return top;
}

bool any(const std::vector<double>& x) {
  return std::any_of(x.begin(), x.end(), [](double v) { return v != 0; });
}

std::size_t count_groups(Span<const std::int8_t> group) {
  int top = -1;
  for (std::int8_t g : group) top = std::max(top, int{g});
  return static_cast<std::size_t>(top + 1);
}

}  // namespace

ActiveSet::Engine::Engine(const Gram& source, std::size_t slots, Span<const std::int8_t> groups,
                          std::size_t cache_bytes, int threads, std::vector<std::int32_t> firsts,
                          std::vector<std::int32_t> seconds)
    : gram(&source), first(std::move(firsts)), second(std::move(seconds)), n(source.size()),
      N(first.empty() ? slots * source.size() : first.size()), G(count_groups(groups)),
      group(groups.begin(), groups.end()), place(N, Place::lower), beta(N, 0.0), mu(G, 0.0), f(n, 0.0),
      store_(source, cache_bytes, first, second), count_(G, 0), diagonal_(first.empty() ? n : N), parallel_{threads, {}}, border_(G),
      border_matrix_(G * G), dmu_(G), df_(n) {
  if (on_pairs()) {
    pair_diagonal(*gram, first, second, diagonal_);
  } else {
    gram->diagonal(diagonal_);
  }
  k_scale_ = std::max(largest(diagonal_), std::numeric_limits<double>::min());
  kappa_ = k_scale_;
}

// K times the variables, summed over the slots of each sample.
void ActiveSet::Engine::product(const std::vector<double>& per_variable, std::vector<double>& out) {
  std::vector<double> coefficients(n, 0.0);
  for (std::size_t v = 0; v < N && !on_pairs(); ++v) coefficients[sample(v)] += per_variable[v];
  for (std::size_t v = 0; v < N && on_pairs(); ++v) {
    coefficients[static_cast<std::size_t>(first[v])] += per_variable[v];
    coefficients[static_cast<std::size_t>(second[v])] -= per_variable[v];
  }
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < n; ++i)
    if (coefficients[i] != 0) used.push_back(i);
  if (used.size() * 16 > n + 64 || (on_pairs() && !used.empty())) {
    gram->multiply(coefficients, out, parallel_);
    return;
  }
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t i : used) {
    path_loops().axpy(coefficients[i], store_.pin(i), out.data(), n);
    store_.unpin(i);
  }
}

void ActiveSet::Engine::refresh_f() {
  std::vector<double> point(N);
  for (std::size_t v = 0; v < N; ++v) point[v] = value(v);
  product(point, f);
  since_refresh = 0;
  if (tracking_) std::fill(owed_.begin(), owed_.end(), 0.0);
}

ActiveSet::Engine::Frame ActiveSet::Engine::make_frame(PathData base, const PathData& rate, double span) {
  Frame frame;
  frame.base = std::move(base);
  frame.rate = rate;
  frame.span = span;
  frame.moves_linear = any(rate.linear);
  frame.moves_lower = any(rate.lower);
  frame.moves_upper = any(rate.upper);
  frame.h.assign(n, 0.0);
  fill_h(frame);
  return frame;
}

void ActiveSet::Engine::fill_h(Frame& frame) {
  frame.moved.assign(G, 0.0);
  if (!frame.moves_bounds()) return;
  std::vector<double> rates(N, 0.0);
  bool moving = false;
  for (std::size_t v = 0; v < N; ++v) {
    if (place[v] == Place::margin) continue;
    rates[v] = bound_rate(frame, v);
    moving = moving || rates[v] != 0;
    if (group[v] >= 0) frame.moved[static_cast<std::size_t>(group[v])] += rates[v];
  }
  if (moving) {
    product(rates, frame.h);
  } else {
    std::fill(frame.h.begin(), frame.h.end(), 0.0);
  }
}

void ActiveSet::Engine::move_data(Frame& frame, double t) {
  frame.t = t;
  const auto line = [&](const std::vector<double>& base, const std::vector<double>& rate, std::vector<double>& out) {
    for (std::size_t v = 0; v < out.size(); ++v) out[v] = base[v] + t * rate[v];
  };
  if (frame.moves_linear) line(frame.base.linear, frame.rate.linear, now.linear);
  if (frame.moves_lower) line(frame.base.lower, frame.rate.lower, now.lower);
  if (frame.moves_upper) line(frame.base.upper, frame.rate.upper, now.upper);
  line(frame.base.total, frame.rate.total, now.total);
}

// What rounding may do to residuals and to variables here.
void ActiveSet::Engine::scales() {
  double sum = 0, top = 0, linear = 0;
  for (std::size_t v = 0; v < N; ++v) {
    const double b = std::abs(value(v));
    sum += b;
    top = std::max(top, b);
    linear = std::max(linear, std::abs(now.linear[v]));
  }
  for (std::size_t v = 0; v < N; ++v) {
    const double lo = std::abs(now.lower[v]), hi = std::abs(now.upper[v]);
    if (std::isfinite(lo)) top = std::max(top, lo);
    if (std::isfinite(hi)) top = std::max(top, hi);
  }
  scale_ = linear + k_scale_ * top;
  r_noise_ = 4 * kEps * (k_scale_ * sum + linear + largest(mu));
  b_noise_ = 64 * kEps * top;
}

double ActiveSet::Engine::violation() const {
  double worst = 0;
  for (std::size_t v = 0; v < N; ++v) {
    if (now.lower[v] == now.upper[v] || far(v)) continue;
    const double r = residual(v);
    const double bad = place[v] == Place::margin ? std::abs(r) : place[v] == Place::lower ? -r : r;
    worst = std::max(worst, bad);
    if (place[v] == Place::margin)
      worst = std::max(worst, k_scale_ * std::max(now.lower[v] - beta[v], beta[v] - now.upper[v]));
  }
  return worst / scale_;
}

double ActiveSet::Engine::seen_violation() const {
  double worst = seen_violation_;
  for (std::int32_t u : margin) {
    const std::size_t v = static_cast<std::size_t>(u);
    worst = std::max({worst, std::abs(residual(v)), k_scale_ * (now.lower[v] - beta[v]), k_scale_ * (beta[v] - now.upper[v])});
  }
  return worst / scale_;
}

// Beyond this a violation is more than rounding.  f adds up thousands of pairs, whose roundings add up as well.
double ActiveSet::Engine::tolerable() const {
  constexpr double kRepair = 1e-11;
  return on_pairs() ? std::max(kRepair, 4 * r_noise_ / scale_) : kRepair;
}

// Solutions for the borders 1_g, kept until the margin changes.
void ActiveSet::Engine::border() {
  if (border_fresh_) return;
  const std::size_t m = margin.size();
  for (std::size_t g = 0; g < G; ++g) {
    border_[g].assign(m, 0.0);
    if (count_[g] == 0) continue;
    for (std::size_t i = 0; i < m; ++i)
      border_[g][i] = group[static_cast<std::size_t>(margin[i])] == static_cast<int>(g) ? 1.0 : 0.0;
    factor.solve(border_[g].data());
  }
  for (std::size_t g = 0; g < G; ++g)
    for (std::size_t h = 0; h < G; ++h) {
      double sum = 0;
      for (std::size_t i = 0; i < m; ++i)
        if (group[static_cast<std::size_t>(margin[i])] == static_cast<int>(g)) sum += border_[h][i];
      border_matrix_[g * G + h] = sum;
    }
  border_fresh_ = true;
}

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
  for (std::size_t g = 0; g < G; ++g)
    for (std::size_t h = 0; h < G; ++h) {
      double sum = group[v] == static_cast<int>(g) ? border_[h][m] : 0.0;
      for (std::size_t i = 0; i < m; ++i)
        if (group[static_cast<std::size_t>(margin[i])] == static_cast<int>(g)) sum += border_[h][i];
      border_matrix_[g * G + h] = sum;
    }
}

// K x + Eᵀν = right (in x), E x = sums, with K̃ = K + κ EᵀE in place of K: the same x, and ν = ν̃ + κ sums.  (204)
void ActiveSet::Engine::solve_kkt(std::vector<double>& x, const std::vector<double>& sums, std::vector<double>& nu) {
  const std::size_t m = margin.size();
  factor.solve(x.data());
  nu.assign(G, 0.0);
  if (G == 0) return;
  border();
  std::vector<double> gap(G, 0.0);
  for (std::size_t i = 0; i < m; ++i) {
    const int g = group[static_cast<std::size_t>(margin[i])];
    if (g >= 0) gap[static_cast<std::size_t>(g)] += x[i];
  }
  for (std::size_t g = 0; g < G; ++g) gap[g] -= sums[g];
  std::vector<std::size_t> used;
  for (std::size_t g = 0; g < G; ++g)
    if (count_[g] > 0) used.push_back(g);
  if (used.size() == 1) {
    nu[used[0]] = gap[used[0]] / border_matrix_[used[0] * G + used[0]];
  } else if (used.size() == 2) {
    const std::size_t a = used[0], b = used[1];
    const double aa = border_matrix_[a * G + a], ab = border_matrix_[a * G + b], bb = border_matrix_[b * G + b];
    const double det = aa * bb - ab * ab;
    nu[a] = (bb * gap[a] - ab * gap[b]) / det;
    nu[b] = (aa * gap[b] - ab * gap[a]) / det;
  }
  for (std::size_t g : used) {
    for (std::size_t i = 0; i < m; ++i) x[i] -= nu[g] * border_[g][i];
    nu[g] += kappa_ * sums[g];
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

// What try_enter(v) found is w, schur and z_.
void ActiveSet::Engine::to_margin(std::size_t v, const double* row, const std::vector<double>& w, double schur) {
  if (border_fresh_) grow_border(v, schur);
  factor.append(w.data(), schur);
  margin.push_back(static_cast<std::int32_t>(v));
  rows_.push_back(row);
  if (tracking_) {
    near_rows_.emplace_back(near_.size());
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
  factor.remove(j);
  margin.erase(margin.begin() + static_cast<std::ptrdiff_t>(j));
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(j));
  if (tracking_) {
    near_rows_.erase(near_rows_.begin() + static_cast<std::ptrdiff_t>(j));
    near_pointers_.erase(near_pointers_.begin() + static_cast<std::ptrdiff_t>(j));
  }
  if (group[v] >= 0) --count_[static_cast<std::size_t>(group[v])];
  border_fresh_ = false;
  on_bound(v, to, row);
}

void ActiveSet::Engine::on_bound(std::size_t v, Place to, const double* row) {
  place[v] = to;
  beta[v] = bound(v);
  for (Frame* frame : frames_) {
    const double rate = bound_rate(*frame, v);
    if (rate == 0) continue;
    path_loops().axpy(rate, row, frame->h.data(), n);
    if (group[v] >= 0) frame->moved[static_cast<std::size_t>(group[v])] += rate;
  }
  changes_.emplace_back(static_cast<std::int32_t>(v), to);
  store_.unpin(key(v));
}

// Takes what v, on a bound, adds to the movement out of it.
void ActiveSet::Engine::off_bound(std::size_t v, const double* row) {
  beta[v] = bound(v);
  for (Frame* frame : frames_) {
    const double rate = bound_rate(*frame, v);
    if (rate == 0) continue;
    path_loops().axpy(-rate, row, frame->h.data(), n);
    if (group[v] >= 0) frame->moved[static_cast<std::size_t>(group[v])] -= rate;
  }
}

// dβ_M, dμ and df per unit of the frame's parameter.  (203)
void ActiveSet::Engine::direction(Frame& frame) {
  const auto aim = [&](std::vector<double>& x, const std::vector<double>& from) {
    x.resize(margin.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t v = static_cast<std::size_t>(margin[i]);
      x[i] = -(at(from, v) + frame.rate.linear[v] + (group[v] >= 0 ? dmu_[static_cast<std::size_t>(group[v])] : 0));
    }
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::size_t m = margin.size();
    std::vector<double> sums(G);
    for (std::size_t g = 0; g < G; ++g) sums[g] = frame.rate.total[g] - frame.moved[g];
    std::fill(dmu_.begin(), dmu_.end(), 0.0);
    aim(dbeta_, frame.h);
    solve_kkt(dbeta_, sums, dmu_);
    df_ = frame.h;
    add_margin(dbeta_, df_);
    double sum = 0;
    dbeta_scale_ = 0;
    for (double d : dbeta_) {
      sum += std::abs(d);
      dbeta_scale_ = std::max(dbeta_scale_, std::abs(d));
    }
    largest_linear_ = frame.moves_linear ? largest(frame.rate.linear) : 0.0;
    rate_noise_ = 4 * kEps * (k_scale_ * sum + largest(frame.h) + largest_linear_ + largest(dmu_));
    // Iterative refinement: the residuals on the margin should be zero.
    bool good = false;
    for (int round = 0; round < 3; ++round) {
      std::vector<double> error, shift;
      aim(error, df_);
      if (largest(error) <= rate_noise_) {
        good = true;
        break;
      }
      std::vector<double> missing = sums;
      for (std::size_t i = 0; i < m; ++i) {
        const int g = group[static_cast<std::size_t>(margin[i])];
        if (g >= 0) missing[static_cast<std::size_t>(g)] -= dbeta_[i];
      }
      for (std::size_t g = 0; g < G; ++g)
        if (count_[g] == 0) missing[g] = 0;
      solve_kkt(error, missing, shift);
      add_margin(error, df_);
      for (std::size_t i = 0; i < m; ++i) dbeta_[i] += error[i];
      for (std::size_t g = 0; g < G; ++g) dmu_[g] += shift[g];
    }
    if (good || attempt == 1) break;
    refactor();
  }
}

// One Newton step on the margin: residuals and totals back to zero.  False if there was nothing to do, or if the step
// would leave the box: then what is left is for a repair, which stays inside.
bool ActiveSet::Engine::correct(bool sums) {
  const std::size_t m = margin.size();
  std::vector<double> missing(G, 0.0), error(m), shift;
  double worst = 0;
  for (std::size_t i = 0; i < m; ++i) {
    error[i] = -residual(static_cast<std::size_t>(margin[i]));
    worst = std::max(worst, std::abs(error[i]));
  }
  if (!sums && worst <= 4 * r_noise_) return false;
  missing = now.total;
  for (std::size_t v = 0; v < N && G > 0; ++v)
    if (group[v] >= 0) missing[static_cast<std::size_t>(group[v])] -= value(v);
  for (std::size_t g = 0; g < G; ++g)
    if (count_[g] == 0) missing[g] = 0;
  if (worst <= 4 * r_noise_ && largest(missing) <= b_noise_) return false;
  solve_kkt(error, missing, shift);
  for (std::size_t i = 0; i < m; ++i) {
    const std::size_t v = static_cast<std::size_t>(margin[i]);
    const double to = beta[v] + error[i], slack = 4 * b_noise_;
    if (to < std::min(now.lower[v], beta[v]) - slack || to > std::max(now.upper[v], beta[v]) + slack) return false;
  }
  add_margin(error, f);
  remember(1.0, error);
  for (std::size_t i = 0; i < m; ++i) beta[static_cast<std::size_t>(margin[i])] += error[i];
  for (std::size_t g = 0; g < G; ++g) mu[g] += shift[g];
  return true;
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
  store_.widen(bigger);
  gram = &bigger;
  n = new_n;
  N = slots * new_n;
  group.assign(groups.begin(), groups.end());
  place = std::move(places);
  beta = std::move(values);
  now = std::move(data);
  df_.assign(n, 0.0);
  diagonal_.resize(n);
  gram->diagonal(diagonal_);
  k_scale_ = std::max(largest(diagonal_), std::numeric_limits<double>::min());
  f.resize(n);
  for (std::size_t i = old_n; i < n; ++i) {
    f[i] = path_loops().dot(store_.pin(i), coefficients.data(), n);
    store_.unpin(i);
  }
  for (std::size_t i = 0; i < margin.size(); ++i) {  // rows may have moved
    const std::size_t v = static_cast<std::size_t>(margin[i]);
    rows_[i] = store_.pin(sample(v));
    store_.unpin(sample(v));
  }
}

// The factor from scratch, most interior variables first; what has become dependent goes to its nearer bound.
void ActiveSet::Engine::refactor() {
  end_tracking();
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
  bool dropped = false;
  for (std::int32_t u : order) {
    const std::size_t v = static_cast<std::size_t>(u);
    if (try_enter(v)) {
      border_fresh_ = false;
      to_margin(v, entering_row_, column_, schur_);
      changes_.pop_back();
    } else {
      dropped = true;
      on_bound(v, beta[v] - now.lower[v] < now.upper[v] - beta[v] ? Place::lower : Place::upper, entering_row_);
    }
    store_.unpin(key(v));  // the margin had pinned it before
  }
  border_fresh_ = false;
  ++refactorings_;
  if (dropped) {
    refresh_f();
    correct();
  }
}

}  // namespace hinge

