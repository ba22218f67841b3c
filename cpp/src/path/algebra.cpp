// algebra.cpp: linear algebra of the parametric method.  docs/math (203), (204)
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hinge/solvers/ranking.hpp"
#include "path/engine.hpp"

namespace hinge {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr std::size_t kRowsPerProduct = 64;      // rows that are pinned at a time for a product
constexpr std::size_t kMaxMissingShare = 16;     // no row is stored if more than 1/16 are missing and do not fit
constexpr std::size_t kFewMovingShare = 8;       // at most 1/8 of the variables with moving bounds are listed
constexpr std::int64_t kDirectionInterval = 16;  // while tracking, the direction is recomputed at least this often
constexpr int kMaxRefinements = 3;               // of a direction before the factor is recomputed
constexpr double kMaxSumRoundings = 64;          // roundings of rates; sums with larger errors are refined

bool any(const std::vector<double>& x) { return std::any_of(x.begin(), x.end(), [](double v) { return v != 0; }); }

std::size_t count_groups(Span<const std::int8_t> group) {
  int top = -1;
  for (std::int8_t g : group) top = std::max(top, int{g});
  return static_cast<std::size_t>(top + 1);
}

}  // namespace

double largest(const std::vector<double>& x) {
  double top = 0;
  for (double v : x) top = std::max(top, std::isfinite(v) ? std::abs(v) : 0.0);
  return top;
}

PathData difference(const PathData& to, const PathData& from) {
  const auto minus = [](const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> out(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] == b[i] ? 0.0 : a[i] - b[i];
    return out;
  };
  return {minus(to.linear, from.linear), minus(to.lower, from.lower), minus(to.upper, from.upper),
          minus(to.total, from.total)};
}

ActiveSet::Engine::Engine(const Gram& source, std::size_t slots, Span<const std::int8_t> groups,
                          std::size_t cache_bytes, int threads, std::vector<std::int32_t> firsts,
                          std::vector<std::int32_t> seconds)
    : gram(&source), first(std::move(firsts)), second(std::move(seconds)), n(source.size()),
      N(first.empty() ? slots * source.size() : first.size()), G(count_groups(groups)),
      group(groups.begin(), groups.end()), place(N, Place::lower), beta(N, 0.0), mu(G, 0.0), f(n, 0.0),
      store_(source, cache_bytes, first, second), count_(G, 0), diagonal_(first.empty() ? n : N),
      parallel_{threads, {}}, border_(G), border_matrix_(G * G), dmu_(G), df_(n) {
  if (on_pairs()) {
    pair_diagonal(*gram, first, second, diagonal_);
  } else {
    gram->diagonal(diagonal_);
  }
  // For K = 0 the scale is arbitrary; a tiny one would leave the range of normal numbers.
  const double top = largest(diagonal_);
  k_scale_ = top > 0 ? top : 1.0;
  kappa_ = k_scale_;
  one_group_ = std::all_of(group.begin(), group.end(), [](std::int8_t g) { return g == 0; });
}

// K times the variables, summed over the slots of each sample.
void ActiveSet::Engine::product(const std::vector<double>& per_variable, std::vector<double>& out) {
  std::vector<double> coefficients(n, 0.0);
  for (std::size_t v = 0; v < N && !on_pairs(); ++v) coefficients[sample(v)] += per_variable[v];
  if (on_pairs()) {  // the store holds rows of pairs
    for (std::size_t v = 0; v < N; ++v) {
      coefficients[static_cast<std::size_t>(first[v])] += per_variable[v];
      coefficients[static_cast<std::size_t>(second[v])] -= per_variable[v];
    }
    gram->multiply(coefficients, out, parallel_);
    return;
  }
  std::vector<std::size_t> used;
  std::vector<double> amounts;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (coefficients[i] == 0) continue;
    used.push_back(i);
    amounts.push_back(coefficients[i]);
    if (!store_.has(i)) ++missing;
  }
  // Stored rows cost little; missing rows are computed once if they fit into the store.
  if (missing * kMaxMissingShare > n + 64 && !store_.has_room(missing)) {
    gram->multiply(coefficients, out, parallel_);
    return;
  }
  std::fill(out.begin(), out.end(), 0.0);
  std::vector<double> low(n, 0.0);
  std::vector<const double*> rows;
  for (std::size_t begin = 0; begin < used.size(); begin += kRowsPerProduct) {
    const std::size_t end = std::min(used.size(), begin + kRowsPerProduct);
    rows.clear();
    for (std::size_t k = begin; k < end; ++k) rows.push_back(store_.pin(used[k]));
    path_loops().combine_compensated(amounts.data() + begin, rows.data(), rows.size(), out.data(), low.data(), n);
    for (std::size_t k = begin; k < end; ++k) store_.unpin(used[k]);
  }
}

void ActiveSet::Engine::refresh_f() {
  end_tracking();
  std::vector<double> point(N);
  for (std::size_t v = 0; v < N; ++v) point[v] = value(v);
  product(point, f);
  since_refresh = 0;
}

ActiveSet::Engine::Frame ActiveSet::Engine::make_frame(const PathData& base, PathData rate, double span) {
  Frame frame;
  set_frame(frame, base, std::move(rate), span);
  return frame;
}

// A frame that begins at the current point; reuses its memory.
void ActiveSet::Engine::set_frame(Frame& frame, const PathData& base, PathData rates, double span) {
  frame.base = base;
  frame.rate = std::move(rates);
  const PathData& rate = frame.rate;
  frame.span = span;
  frame.t = 0;
  frame.moves_linear = any(rate.linear);
  frame.linear_top = largest(rate.linear);
  frame.moves_lower = any(rate.lower);
  frame.moves_upper = any(rate.upper);
  frame.moving.clear();
  for (std::size_t v = 0; v < N && frame.moving.size() <= N / kFewMovingShare; ++v)
    if (rate.lower[v] != 0 || rate.upper[v] != 0) frame.moving.push_back(static_cast<std::int32_t>(v));
  frame.few_moving = frame.moving.size() <= N / kFewMovingShare;
  frame.h.assign(n, 0.0);
  fill_h(frame);
}

void ActiveSet::Engine::fill_h(Frame& frame) {
  direction_fresh_ = false;
  frame.h_age = 0;
  frame.h_exact = true;
  frame.h_error.assign(n, 0.0);
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
  if (frame.few_moving) {
    for (std::int32_t u : frame.moving) {
      const std::size_t v = static_cast<std::size_t>(u);
      now.lower[v] = frame.base.lower[v] + t * frame.rate.lower[v];
      now.upper[v] = frame.base.upper[v] + t * frame.rate.upper[v];
    }
  } else {
    if (frame.moves_lower) line(frame.base.lower, frame.rate.lower, now.lower);
    if (frame.moves_upper) line(frame.base.upper, frame.rate.upper, now.upper);
  }
  line(frame.base.total, frame.rate.total, now.total);
}

// Computes K̃⁻¹ 1_g for all groups; kept until the margin changes.
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
  sum_borders();
  border_fresh_ = true;
  border_age_ = 0;
}

void ActiveSet::Engine::sum_borders() {
  std::fill(border_matrix_.begin(), border_matrix_.end(), 0.0);
  for (std::size_t i = 0; i < margin.size(); ++i) {
    const int g = group[static_cast<std::size_t>(margin[i])];
    if (g < 0) continue;
    for (std::size_t h = 0; h < G; ++h) border_matrix_[static_cast<std::size_t>(g) * G + h] += border_[h][i];
  }
}

// The multipliers that change the sums of the groups with a margin by −gap.
void ActiveSet::Engine::solve_border(const std::vector<double>& gap, std::vector<double>& nu) const {
  nu.assign(G, 0.0);
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
  solve_border(gap, nu);
  for (std::size_t g = 0; g < G; ++g) {
    if (count_[g] == 0) continue;
    for (std::size_t i = 0; i < m; ++i) x[i] -= nu[g] * border_[g][i];
    nu[g] += kappa_ * sums[g];
  }
}

// The negative rates of the residuals of the margin if f has the rate `from`.
void ActiveSet::Engine::margin_rate_residuals(const Frame& frame, const std::vector<double>& from,
                                              std::vector<double>& x) const {
  x.resize(margin.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t v = static_cast<std::size_t>(margin[i]);
    x[i] = -(at(from, v) + frame.rate.linear[v] + (group[v] >= 0 ? dmu_[static_cast<std::size_t>(group[v])] : 0));
  }
}

// The rates that are missing in the sums of the groups with a margin.
std::vector<double> ActiveSet::Engine::missing_sum_rates(const std::vector<double>& sums) const {
  std::vector<double> missing = sums;
  for (std::size_t i = 0; i < margin.size(); ++i) {
    const int g = group[static_cast<std::size_t>(margin[i])];
    if (g >= 0) missing[static_cast<std::size_t>(g)] -= dbeta_[i];
  }
  for (std::size_t g = 0; g < G; ++g)
    if (count_[g] == 0) missing[g] = 0;
  return missing;
}

// One step of iterative refinement of the direction.
void ActiveSet::Engine::refine(const std::vector<double>& sums, std::vector<double>& error) {
  std::vector<double> shift;
  solve_kkt(error, missing_sum_rates(sums), shift);
  add_margin(error, df_);
  for (std::size_t i = 0; i < margin.size(); ++i) dbeta_[i] += error[i];
  for (std::size_t g = 0; g < G; ++g) dmu_[g] += shift[g];
}

// Computes the rates dβ_M, dμ and df with respect to the parameter of the frame.  (203)
void ActiveSet::Engine::direction(Frame& frame) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::vector<double> sums(G);
    for (std::size_t g = 0; g < G; ++g) sums[g] = frame.rate.total[g] - frame.moved[g];
    if (!direction_fresh_ || (tracking_ && since_refresh % kDirectionInterval == 0)) {
      std::fill(dmu_.begin(), dmu_.end(), 0.0);
      margin_rate_residuals(frame, frame.h, dbeta_);
      solve_kkt(dbeta_, sums, dmu_);
      direction_fresh_ = true;
    }
    if (tracking_) {
      for (std::int32_t i : tracked_) df_[static_cast<std::size_t>(i)] = frame.h[static_cast<std::size_t>(i)];
    } else {
      df_ = frame.h;
    }
    add_margin(dbeta_, df_);
    double sum = 0;
    dbeta_scale_ = 0;
    for (double d : dbeta_) {
      sum += std::abs(d);
      dbeta_scale_ = std::max(dbeta_scale_, std::abs(d));
    }
    if (frame.h_age++ % 16 == 0) frame.h_top = largest(frame.h);
    rate_error_ = 4 * kEps * (k_scale_ * sum + frame.h_top + frame.linear_top + largest(dmu_));
    if (tracking_) {  // the residuals of the margin are checked at the end
      set_margin_values(frame.rate.linear, dmu_, df_);
      return;
    }
    // Iterative refinement: the residuals of the margin must stay zero.
    bool accurate = false;
    for (int round = 0; round < kMaxRefinements; ++round) {
      std::vector<double> error;
      margin_rate_residuals(frame, df_, error);
      // If bounds are tiny, rates that should cancel are large compared with them; one refinement removes them.
      const bool sums_accurate = round > 0 || largest(missing_sum_rates(sums)) <= kMaxSumRoundings * kEps * sum;
      if (sums_accurate && largest(error) <= rate_error_) {
        accurate = true;
        break;
      }
      refine(sums, error);
    }
    if (accurate || attempt == 1) break;
    refactor();
  }
}

}  // namespace hinge
