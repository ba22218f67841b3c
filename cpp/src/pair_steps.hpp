// pair_steps.hpp: the variables of some samples, and SMO steps on them; docs/math.md (6)-(8).
//
// Shared by SMO (all active samples, kernel rows from a cache) and the working-set engine (a few hundred samples, a
// kernel block).  Variable v = s·m + k is slot s of the k-th sample.  Owns copies of everything the loops read.
// A step costs two rows of length m and O(m).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "hinge/smo.hpp"
#include "smo_loops.hpp"

namespace hinge {

// Variables that exchange mass with each other (one equality row), or that move alone (no row).
struct Family {
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  std::int8_t group;
  bool moves_alone;
  std::vector<double> can_rise, can_fall;  // 0 or +inf, see smo_loops.hpp
  double up = -kInf, low = kInf;           // Keerthi's thresholds: optimal when up ≤ low

  double violation() const {
    if (moves_alone) return std::max({up, -low, 0.0});
    return up > -kInf && low < kInf ? up - low : 0.0;
  }

  // Midway between the thresholds: the multiplier with which snapshots state the gap.
  double offset() const {
    if (moves_alone) return 0;
    if (up > -kInf && low < kInf) return 0.5 * (up + low);
    if (up > -kInf) return up;
    return low < kInf ? low : 0;
  }
};

inline std::vector<Family> families_of(const SignedProblem& problem) {
  std::vector<Family> families;
  for (std::int8_t g : {std::int8_t{0}, std::int8_t{1}, std::int8_t{-1}})
    if (std::find(problem.group.begin(), problem.group.end(), g) != problem.group.end()) {
      families.push_back(Family{g, g < 0, {}, {}, -Family::kInf, Family::kInf});
    }
  return families;
}

template <class T>
class PairSteps {
 public:
  std::vector<double> f, diagonal, beta, c, lower, upper;
  std::vector<Family> families;

  std::size_t samples() const { return f.size(); }
  std::size_t size() const { return beta.size(); }
  double gradient(std::size_t v) const { return f[v % samples()] + c[v]; }
  double violation() const { return violation_; }

  // Take over the given samples of the whole problem.
  void gather(const SignedProblem& problem, Span<const std::int32_t> chosen, Span<const double> all_beta,
              Span<const double> all_f, Span<const double> all_diagonal) {
    const std::size_t m = chosen.size(), n = all_f.size(), slots = problem.slots;
    f.resize(m), diagonal.resize(m);
    for (std::vector<double>* v : {&beta, &c, &lower, &upper, &gain_}) v->resize(slots * m);
    for (std::size_t k = 0; k < m; ++k) {
      const std::size_t i = static_cast<std::size_t>(chosen[k]);
      f[k] = all_f[i], diagonal[k] = all_diagonal[i];
    }
    for (Family& family : families) {
      family.can_rise.assign(slots * m, Family::kInf), family.can_fall.assign(slots * m, Family::kInf);
    }
    for (std::size_t s = 0; s < slots; ++s)
      for (std::size_t k = 0; k < m; ++k) {
        const std::size_t v = s * m + k, w = s * n + static_cast<std::size_t>(chosen[k]);
        beta[v] = all_beta[w], c[v] = problem.linear[w];
        lower[v] = problem.lower[w], upper[v] = problem.upper[w];
        for (Family& family : families)
          if (problem.group[w] == family.group) mark(family, v);
      }
  }

  // Thresholds of every family; the worst one is the next to be stepped on.
  void select() {
    violation_ = 0;
    worst_ = families.empty() ? nullptr : &families.front();
    const std::size_t m = samples();
    for (Family& family : families) {
      family.up = -Family::kInf, family.low = Family::kInf;
      for (std::size_t offset = 0; offset < size(); offset += m) {
        const Thresholds t = loops_.thresholds(f.data(), c.data() + offset, family.can_rise.data() + offset,
                                               family.can_fall.data() + offset, m);
        family.up = std::max(family.up, t.up), family.low = std::min(family.low, t.low);
      }
      if (family.violation() > violation_) violation_ = family.violation(), worst_ = &family;
    }
  }

  // f += a · row.
  void add(const T* row, double a) { update(row, a, row, 0.0); }

  struct Step {
    double decrease = 0;  // of the objective; 0: β cannot be changed in floating point, or the problem is unbounded
    double length = 0;
  };

  // One step on the worst family.  row(k) gives the kernel row of the k-th sample over the samples here; it stays
  // valid while one other row is fetched.  tau: the smallest curvature in gains; flat: curvature below it is none.
  template <class Row>
  Step step(Row&& row, double tau, double flat) {
    return worst_->moves_alone ? step_single(row, tau, flat) : step_pair(row, tau, flat);
  }

 private:
  void mark(Family& family, std::size_t v) {
    family.can_rise[v] = beta[v] < upper[v] ? 0.0 : Family::kInf;
    family.can_fall[v] = beta[v] > lower[v] ? 0.0 : Family::kInf;
  }

  // The most violating variable that can rise, and the partner with the largest second-order gain; LwK 10.5.1.
  template <class Row>
  Step step_pair(Row& row, double tau, double flat) {
    const std::size_t m = samples();
    Family& family = *worst_;
    const std::size_t i = first_to_rise(family);
    if (i == size()) return {};
    const T* row_i = row(i % m);
    double best = 0;
    for (std::size_t offset = 0; offset < size(); offset += m)
      best = std::max(best, gains(row_i, family, offset, diagonal[i % m], tau));
    const std::size_t j = static_cast<std::size_t>(std::find(gain_.begin(), gain_.end(), best) - gain_.begin());
    if (j == size() || !(best > 0)) return {};

    const T* row_j = row(j % m);
    const double slope = family.up + gradient(j);
    // All of it from the rows: where they are rounded, a step still descends on the problem that they describe.
    const double curvature = double(row_i[i % m]) + double(row_j[j % m]) - 2 * double(row_i[j % m]);
    const double room_i = upper[i] - beta[i], room_j = beta[j] - lower[j], room = std::min(room_i, room_j);
    const double length = curvature > flat ? std::min(slope / curvature, room) : room;
    if (!std::isfinite(length)) return {};  // a direction of descent without end: the problem is unbounded
    const double old_i = beta[i], old_j = beta[j];
    beta[i] = length >= room_i ? upper[i] : old_i + length;
    beta[j] = length >= room_j ? lower[j] : old_j - length;
    if (beta[i] == old_i && beta[j] == old_j) return {};
    mark(family, i), mark(family, j);
    update(row_i, beta[i] - old_i, row_j, beta[j] - old_j);
    return {length * slope - 0.5 * curvature * length * length, length};
  }

  // No equality row: one variable at a time.
  template <class Row>
  Step step_single(Row& row, double tau, double flat) {
    const std::size_t m = samples();
    Family& family = *worst_;
    double best = 0;
    std::size_t i = size();
    for (std::size_t offset = 0; offset < size(); offset += m)
      for (std::size_t k = 0; k < m; ++k) {
        const double g = f[k] + c[offset + k];
        const double pull = g < 0 ? -g - family.can_rise[offset + k] : g - family.can_fall[offset + k];
        const double value = pull > 0 ? pull * pull / std::max(diagonal[k], tau) : 0;
        if (value > best) best = value, i = offset + k;
      }
    if (i == size()) return {};
    const T* row_i = row(i % m);
    const double g = gradient(i), curvature = double(row_i[i % m]);
    const double room = g < 0 ? upper[i] - beta[i] : beta[i] - lower[i];
    const double length = curvature > flat ? std::min(std::abs(g) / curvature, room) : room;
    if (!std::isfinite(length)) return {};
    const double old = beta[i];
    beta[i] = length >= room ? (g < 0 ? upper[i] : lower[i]) : (g < 0 ? old + length : old - length);
    if (beta[i] == old) return {};
    mark(family, i);
    update(row_i, beta[i] - old, row_i, 0.0);
    return {length * std::abs(g) - 0.5 * curvature * length * length, length};
  }

  std::size_t first_to_rise(const Family& family) const {
    const std::size_t m = samples();
    for (std::size_t offset = 0; offset < size(); offset += m)
      for (std::size_t k = 0; k < m; ++k)
        if (-(f[k] + c[offset + k]) - family.can_rise[offset + k] == family.up) return offset + k;
    return size();
  }

  double gains(const T* row, const Family& family, std::size_t offset, double diagonal_i, double tau) {
    const double* fall = family.can_fall.data() + offset;
    if constexpr (sizeof(T) == sizeof(float))
      return loops_.gains_f32(f.data(), c.data() + offset, fall, diagonal.data(), row, family.up, diagonal_i, tau,
                              gain_.data() + offset, samples());
    else
      return loops_.gains_f64(f.data(), c.data() + offset, fall, diagonal.data(), row, family.up, diagonal_i, tau,
                              gain_.data() + offset, samples());
  }

  void update(const T* x, double a, const T* y, double b) {
    if constexpr (sizeof(T) == sizeof(float))
      loops_.update_f32(f.data(), x, a, y, b, samples());
    else
      loops_.update_f64(f.data(), x, a, y, b, samples());
  }

  const SmoLoops& loops_ = smo_loops();
  std::vector<double> gain_;
  Family* worst_ = nullptr;
  double violation_ = 0;
};

}  // namespace hinge
