// pair_steps.hpp: the variables of some samples, and SMO steps on them; docs/math (6)-(8).
//
// Shared by SMO (all active samples, kernel rows from a cache) and the working-set engine (a few hundred samples and
// their kernel block, or all active ones).  Variable v = s·m + k is slot s of the k-th sample.  Owns copies of
// everything the loops read.  A step costs two rows of length m and two passes over them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "hinge/solvers/smo.hpp"
#include "smo/loops.hpp"

namespace hinge {

// Variables that exchange mass with each other (one equality row), or that move alone (no row).
struct Family {
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  std::int8_t group;
  bool moves_alone;
  std::vector<double> rise, fall;  // by sample, the linear term of the slot that moves best; see loops.hpp
  double up = -kInf, low = kInf;   // Keerthi's thresholds: optimal when up ≤ low
  std::size_t at = 0;              // the sample that attains up

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
      families.push_back(Family{g, g < 0, {}, {}, -Family::kInf, Family::kInf, 0});
    }
  return families;
}

template <class T>
class PairSteps {
 public:
  std::vector<double> f, beta, c, lower, upper;
  std::vector<std::int8_t> group;
  std::vector<T> diagonal;
  std::vector<Family> families;

  std::size_t samples() const { return f.size(); }
  std::size_t size() const { return beta.size(); }
  double gradient(std::size_t v) const { return f[v % samples()] + c[v]; }
  double violation() const { return violation_; }
  bool can_rise(std::size_t v) const { return beta[v] < upper[v]; }
  bool can_fall(std::size_t v) const { return beta[v] > lower[v]; }

  // Take over the given samples of the whole problem.
  void gather(const SignedProblem& problem, Span<const std::int32_t> chosen, Span<const double> all_beta,
              Span<const double> all_f, Span<const double> all_diagonal) {
    resize(chosen.size(), problem.slots);
    const std::size_t m = chosen.size(), n = all_f.size();
    for (std::size_t k = 0; k < m; ++k) {
      const std::size_t i = static_cast<std::size_t>(chosen[k]);
      f[k] = all_f[i], diagonal[k] = static_cast<T>(all_diagonal[i]);
    }
    for (std::size_t s = 0; s < slots_; ++s)
      for (std::size_t k = 0; k < m; ++k) {
        const std::size_t v = s * m + k, w = s * n + static_cast<std::size_t>(chosen[k]);
        beta[v] = all_beta[w], c[v] = problem.linear[w], group[v] = problem.group[w];
        lower[v] = problem.lower[w], upper[v] = problem.upper[w];
      }
    mark_all();
  }

  // Take over some of the samples of another.
  void gather(const PairSteps& from, const std::vector<std::int32_t>& chosen) {
    resize(chosen.size(), from.slots_);
    const std::size_t m = chosen.size(), n = from.samples();
    for (std::size_t k = 0; k < m; ++k) {
      const std::size_t i = static_cast<std::size_t>(chosen[k]);
      f[k] = from.f[i], diagonal[k] = from.diagonal[i];
    }
    for (std::size_t s = 0; s < slots_; ++s)
      for (std::size_t k = 0; k < m; ++k) {
        const std::size_t v = s * m + k, w = s * n + static_cast<std::size_t>(chosen[k]);
        beta[v] = from.beta[w], c[v] = from.c[w], group[v] = from.group[w];
        lower[v] = from.lower[w], upper[v] = from.upper[w];
      }
    mark_all();
  }

  // Thresholds of every family; the worst one is the next to be stepped on.  Free after a step.
  void select() {
    if (selected_) return;
    for (Family& family : families)
      see(family, loops_.select(f.data(), family.rise.data(), family.fall.data(), samples()));
    find_worst();
  }

  // f += Σ a_r · row_r over columns [first, first + count).  Parts may be changed by several threads; then touch().
  void add(const T* const* rows, const double* a, std::size_t count_rows, std::size_t first, std::size_t count) {
    if constexpr (sizeof(T) == sizeof(float))
      loops_.add_f32(f.data() + first, rows, a, count_rows, first, count);
    else
      loops_.add_f64(f.data() + first, rows, a, count_rows, first, count);
  }
  void touch() { selected_ = false; }

  // Better values of f at some samples; the largest difference.
  double correct(Span<const std::int32_t> some, Span<const double> values) {
    double largest = 0;
    for (std::size_t k = 0; k < some.size(); ++k) {
      double& old = f[static_cast<std::size_t>(some[k])];
      largest = std::max(largest, std::abs(old - values[k]));
      old = values[k];
    }
    selected_ = false;
    return largest;
  }

  // What may move, of sample k, after beta was changed from outside.
  void mark(std::size_t k) {
    for (Family& family : families) mark(family, k);
    selected_ = false;
  }

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
  void resize(std::size_t m, std::size_t slots) {
    slots_ = slots;
    f.resize(m), diagonal.resize(m), group.resize(slots * m);
    for (std::vector<double>* v : {&beta, &c, &lower, &upper}) v->resize(slots * m);
  }

  void mark_all() {
    for (Family& family : families) {
      family.rise.resize(samples()), family.fall.resize(samples());
      for (std::size_t k = 0; k < samples(); ++k) mark(family, k);
    }
    selected_ = false;
  }

  void mark(Family& family, std::size_t k) {
    double rise = Family::kInf, fall = -Family::kInf;
    for (std::size_t v = k; v < size(); v += samples()) {
      if (group[v] != family.group) continue;
      if (can_rise(v)) rise = std::min(rise, c[v]);
      if (can_fall(v)) fall = std::max(fall, c[v]);
    }
    family.rise[k] = rise, family.fall[k] = fall;
  }

  // The variable of sample k that rises (falls) best.
  std::size_t rising(const Family& family, std::size_t k) const {
    for (std::size_t v = k; v < size(); v += samples())
      if (group[v] == family.group && can_rise(v) && c[v] == family.rise[k]) return v;
    return size();
  }
  std::size_t falling(const Family& family, std::size_t k) const {
    for (std::size_t v = k; v < size(); v += samples())
      if (group[v] == family.group && can_fall(v) && c[v] == family.fall[k]) return v;
    return size();
  }

  static void see(Family& family, const Thresholds& t) { family.up = t.up, family.low = t.low, family.at = t.at; }

  void find_worst() {
    violation_ = 0;
    worst_ = families.empty() ? nullptr : &families.front();
    for (Family& family : families)
      if (family.violation() > violation_) violation_ = family.violation(), worst_ = &family;
    selected_ = true;
  }

  // The most violating variable that can rise, and the partner with the largest second-order gain; LwK 10.5.1.
  template <class Row>
  Step step_pair(Row& row, double tau, double flat) {
    Family& family = *worst_;
    const std::size_t k = family.at, i = k < samples() ? rising(family, k) : size();
    if (i == size()) return {};
    const T* row_i = row(k);
    Partner partner = find_partner(family, row_i, diagonal[k], tau);
    std::size_t l = partner.at, j = l < samples() ? falling(family, l) : size();
    if (j == i) {  // by rounding: a variable is no partner of its own
      const double fall = family.fall[k];
      family.fall[k] = -Family::kInf;
      partner = find_partner(family, row_i, diagonal[k], tau);
      family.fall[k] = fall;
      l = partner.at, j = l < samples() ? falling(family, l) : size();
    }
    if (j == size() || !(partner.gain > 0)) return {};

    const T* row_j = row(l);
    const double slope = family.up + gradient(j);
    // All of it from the rows: where they are rounded, a step still descends on the problem that they describe.
    const double curvature = double(row_i[k]) + double(row_j[l]) - 2 * double(row_i[l]);
    const double room_i = upper[i] - beta[i], room_j = beta[j] - lower[j], room = std::min(room_i, room_j);
    const double length = curvature > flat ? std::min(slope / curvature, room) : room;
    if (!std::isfinite(length)) return {};  // a direction of descent without end: the problem is unbounded
    const double old_i = beta[i], old_j = beta[j];
    beta[i] = length >= room_i ? upper[i] : old_i + length;
    beta[j] = length >= room_j ? lower[j] : old_j - length;
    if (beta[i] == old_i && beta[j] == old_j) return {};
    mark(family, k), mark(family, l);
    update(row_i, beta[i] - old_i, row_j, beta[j] - old_j);
    return {length * slope - 0.5 * curvature * length * length, length};
  }

  // No equality row: one variable at a time.
  template <class Row>
  Step step_single(Row& row, double tau, double flat) {
    Family& family = *worst_;
    double best = 0;
    std::size_t k = samples();
    for (std::size_t l = 0; l < samples(); ++l) {
      const double pull = std::max(-f[l] - family.rise[l], f[l] + family.fall[l]);
      const double value = pull > 0 ? pull * pull / std::max(double(diagonal[l]), tau) : 0;
      if (value > best) best = value, k = l;
    }
    if (k == samples()) return {};
    const bool rises = -f[k] - family.rise[k] > f[k] + family.fall[k];
    const std::size_t i = rises ? rising(family, k) : falling(family, k);
    if (i == size()) return {};
    const T* row_i = row(k);
    const double g = gradient(i), curvature = double(row_i[k]);
    const double room = rises ? upper[i] - beta[i] : beta[i] - lower[i];
    const double length = curvature > flat ? std::min(std::abs(g) / curvature, room) : room;
    if (!std::isfinite(length)) return {};
    const double old = beta[i];
    beta[i] = length >= room ? (rises ? upper[i] : lower[i]) : (rises ? old + length : old - length);
    if (beta[i] == old) return {};
    mark(family, k);
    update(row_i, beta[i] - old, row_i, 0.0);
    return {length * std::abs(g) - 0.5 * curvature * length * length, length};
  }

  Partner find_partner(const Family& family, const T* row, double diagonal_i, double tau) const {
    if constexpr (sizeof(T) == sizeof(float))
      return loops_.partner_f32(f.data(), family.fall.data(), diagonal.data(), row, family.up, diagonal_i, tau,
                                samples());
    else
      return loops_.partner_f64(f.data(), family.fall.data(), diagonal.data(), row, family.up, diagonal_i, tau,
                                samples());
  }

  // f changes, and with it all thresholds: those of the first family in the same pass.
  void update(const T* x, double a, const T* y, double b) {
    Family& first = families.front();
    if constexpr (sizeof(T) == sizeof(float))
      see(first, loops_.step_f32(f.data(), x, a, y, b, first.rise.data(), first.fall.data(), samples()));
    else
      see(first, loops_.step_f64(f.data(), x, a, y, b, first.rise.data(), first.fall.data(), samples()));
    for (std::size_t k = 1; k < families.size(); ++k)
      see(families[k], loops_.select(f.data(), families[k].rise.data(), families[k].fall.data(), samples()));
    find_worst();
  }

  const SmoLoops& loops_ = smo_loops();
  Family* worst_ = nullptr;
  double violation_ = 0;
  std::size_t slots_ = 1;
  bool selected_ = false;
};

}  // namespace hinge
