// pair_steps.hpp: SMO steps on the variables of m samples; docs/math (6)-(8).
//
// Used by SMO (all active samples, kernel rows from a cache) and by the working-set method (some hundred samples and
// their kernel block, or all active samples).  Variable v = s·m + k is slot s of the k-th sample.  Owns copies of all
// data that the loops read.  A step costs two kernel rows of length m and two passes over them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "hinge/solvers/smo.hpp"
#include "smo/loops.hpp"
#include "smo/sticky_samples.hpp"

namespace hinge {

// Bounds of the curvature K_ii + K_jj − 2 K_ij along a step.
struct CurvatureBounds {
  double tau = 0;   // lower bound in the selection rule
  double zero = 0;  // smaller curvatures count as zero

  static CurvatureBounds of(Span<const double> diagonal) {
    double largest = 0;
    for (double d : diagonal) largest = std::max(largest, std::abs(d));
    return {kRelativeTau * (largest > 0 ? largest : 1.0), kRelativeZero * largest};
  }

 private:
  static constexpr double kRelativeTau = 1e-12;  // relative to the largest |K_ii|
  static constexpr double kRelativeZero = 8 * (std::numeric_limits<double>::epsilon() / 2);  // likewise
};

// The variables of one equality row, which change in pairs, or all variables without a row, which change one at a time.
struct Family {
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  std::int8_t group;
  bool single;  // no equality row
  std::vector<double> rise, fall;  // per sample, the linear term of the best slot that can move; see loops.hpp
  double up = -kInf, low = kInf;   // Keerthi's thresholds; optimal if up ≤ low
  std::size_t at = 0;              // the sample that attains up

  double violation() const {
    if (single) return std::max({up, -low, 0.0});
    return up > -kInf && low < kInf ? up - low : 0.0;
  }

  // The midpoint of the thresholds: the multiplier with which snapshots compute the gap.
  double offset() const {
    if (single) return 0;
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
  std::int64_t sticky_steps = 0;  // of samples at a bound; takes effect in gather

  std::size_t samples() const { return f.size(); }
  std::size_t size() const { return beta.size(); }
  double gradient(std::size_t v) const { return f[v % samples()] + c[v]; }
  double violation() const { return violation_; }
  bool can_rise(std::size_t v) const { return beta[v] < upper[v]; }
  bool can_fall(std::size_t v) const { return beta[v] > lower[v]; }

  // Copies the given samples of the complete problem.
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
    update_all_directions();
  }

  // Copies some samples of another object.
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
    update_all_directions();
  }

  // Computes the thresholds of every family and selects the family with the largest violation.  Free after a step.
  void select() {
    if (selected_) return;
    for (Family& family : families)
      set_thresholds(family, loops_.select(f.data(), family.rise.data(), family.fall.data(), samples()));
    find_worst();
  }

  // f += Σ a_r · row_r in the columns [first, first + count).  Threads may update disjoint columns; afterwards call
  // invalidate().
  void add(const T* const* rows, const double* a, std::size_t count_rows, std::size_t first, std::size_t count) {
    if constexpr (sizeof(T) == sizeof(float))
      loops_.add_f32(f.data() + first, rows, a, count_rows, first, count);
    else
      loops_.add_f64(f.data() + first, rows, a, count_rows, first, count);
  }
  void invalidate() { selected_ = false; }

  // Replaces f at some samples; returns the largest difference.
  double correct(Span<const std::int32_t> positions, Span<const double> values) {
    double largest = 0;
    for (std::size_t k = 0; k < positions.size(); ++k) {
      double& old = f[static_cast<std::size_t>(positions[k])];
      largest = std::max(largest, std::abs(old - values[k]));
      old = values[k];
    }
    selected_ = false;
    return largest;
  }

  // Updates rise and fall of sample k after its beta was changed by the caller.
  void update_directions(std::size_t k) {
    for (Family& family : families) update_directions(family, k);
    selected_ = false;
  }

  // Counts a step, which ends the time of some sticky samples.
  void advance() {
    sticky_.advance([this](std::size_t k) { update_directions(k); });
  }

  // Lets all sticky samples move again; returns whether there were any.
  bool release_all() {
    return sticky_.release_all([this](std::size_t k) { update_directions(k); });
  }

  struct Step {
    double decrease = 0;  // of the objective
    double length = 0;    // 0: no step changes β in floating point, or the problem is unbounded
    double moved = 0;     // the sum of the absolute changes of β
    double growth = 0;    // of the sum of |β|
  };

  // One step on the family with the largest violation.  row(k) returns the kernel row of the k-th sample, restricted to
  // the samples of this object; it must stay valid while one other row is requested.
  template <class Row>
  Step step(Row&& row, const CurvatureBounds& bounds) {
    return worst_->single ? step_single(row, bounds) : step_pair(row, bounds);
  }

  // The same with the first-order rule: the pair that attains both thresholds, or the variable with the largest
  // projected gradient.  LwK (10.89), docs/math (801)
  template <class Row>
  Step step_first_order(Row&& row, const CurvatureBounds& bounds) {
    Family& family = *worst_;
    if (!family.single) return step_on(family, family.at, lowest(family), row, bounds);
    std::size_t k = family.at;
    if (-family.low > std::max(family.up, 0.0)) k = lowest(family);
    return step_on(family, k, row, bounds);
  }

  // ---- given samples; all are valid for samples without a variable of the family ---------------------------------

  double up(const Family& family, std::size_t k) const { return -(f[k] + family.rise[k]); }    // −inf: cannot increase
  double low(const Family& family, std::size_t k) const { return -(f[k] + family.fall[k]); }   // +inf: cannot decrease

  // Whether a variable of sample k is strictly between its bounds.
  bool is_free(const Family& family, std::size_t k) const {
    for (std::size_t v = k; v < size(); v += samples())
      if (group[v] == family.group && can_rise(v) && can_fall(v)) return true;
    return false;
  }

  // The sample that attains the lower threshold.
  std::size_t lowest(const Family& family) const {
    std::size_t best = 0;
    for (std::size_t k = 1; k < samples(); ++k)
      if (low(family, k) < low(family, best)) best = k;
    return best;
  }

  // The step that increases a variable of sample k and decreases one of sample l; no step unless it is a descent.
  template <class Row>
  Step step_on(Family& family, std::size_t k, std::size_t l, Row&& row, const CurvatureBounds& bounds) {
    const std::size_t i = k < samples() ? rising(family, k) : size(), j = l < samples() ? falling(family, l) : size();
    if (i == size() || j == size() || i == j || !(up(family, k) > low(family, l))) return {};
    const T* row_k = row(k);
    return take_pair(family, k, i, l, j, up(family, k), row_k, row(l), bounds);
  }

  // The step that changes one variable of sample k, which has no equality row.
  template <class Row>
  Step step_on(Family& family, std::size_t k, Row&& row, const CurvatureBounds& bounds) {
    const bool increases = up(family, k) > -low(family, k);
    if (!(std::max(up(family, k), -low(family, k)) > 0)) return {};
    const std::size_t i = increases ? rising(family, k) : falling(family, k);
    return i == size() ? Step{} : take_single(family, k, i, increases, row(k), bounds);
  }

 private:
  void resize(std::size_t m, std::size_t slots) {
    slots_ = slots;
    f.resize(m), diagonal.resize(m), group.resize(slots * m);
    for (std::vector<double>* v : {&beta, &c, &lower, &upper}) v->resize(slots * m);
    sticky_.restart(m, sticky_steps);
  }

  void update_all_directions() {
    for (Family& family : families) {
      family.rise.resize(samples()), family.fall.resize(samples());
      for (std::size_t k = 0; k < samples(); ++k) update_directions(family, k);
    }
    selected_ = false;
  }

  void update_directions(Family& family, std::size_t k) {
    double rise = Family::kInf, fall = -Family::kInf;
    const bool held = sticky_.held(k);
    for (std::size_t v = k; v < size(); v += samples()) {
      if (group[v] != family.group || (held && !(can_rise(v) && can_fall(v)))) continue;
      if (can_rise(v)) rise = std::min(rise, c[v]);
      if (can_fall(v)) fall = std::max(fall, c[v]);
    }
    family.rise[k] = rise, family.fall[k] = fall;
  }

  // The variable of sample k that can increase (decrease) with the largest gain; size() if no variable can.
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

  static void set_thresholds(Family& family, const Thresholds& t) {
    family.up = t.up, family.low = t.low, family.at = t.at;
  }

  void find_worst() {
    violation_ = 0;
    worst_ = families.empty() ? nullptr : &families.front();
    for (Family& family : families)
      if (family.violation() > violation_) violation_ = family.violation(), worst_ = &family;
    selected_ = true;
  }

  // The most violating variable that can increase, and the partner with the largest second-order gain; LwK 10.5.1.
  template <class Row>
  Step step_pair(Row& row, const CurvatureBounds& bounds) {
    Family& family = *worst_;
    const std::size_t k = family.at, i = k < samples() ? rising(family, k) : size();
    if (i == size()) return {};
    const T* row_i = row(k);
    Partner partner = find_partner(family, row_i, diagonal[k], bounds.tau);
    std::size_t l = partner.at, j = l < samples() ? falling(family, l) : size();
    if (j == i) {  // possible by rounding; a variable is not its own partner
      const double fall = family.fall[k];
      family.fall[k] = -Family::kInf;
      partner = find_partner(family, row_i, diagonal[k], bounds.tau);
      family.fall[k] = fall;
      l = partner.at, j = l < samples() ? falling(family, l) : size();
    }
    if (j == size() || !(partner.gain > 0)) return {};

    return take_pair(family, k, i, l, j, family.up, row_i, row(l), bounds);
  }

  // Increases variable i of sample k and decreases variable j of sample l; up_i is −(f + c)_i.  LwK 10.5.1
  Step take_pair(Family& family, std::size_t k, std::size_t i, std::size_t l, std::size_t j, double up_i,
                 const T* row_i, const T* row_j, const CurvatureBounds& bounds) {
    const double slope = up_i + gradient(j);
    // From the rows, not the diagonal: with rounded rows the step still decreases the objective that they define.
    const double curvature = double(row_i[k]) + double(row_j[l]) - 2 * double(row_i[l]);
    const double max_i = upper[i] - beta[i], max_j = beta[j] - lower[j], max_length = std::min(max_i, max_j);
    const double length = curvature > bounds.zero ? std::min(slope / curvature, max_length) : max_length;
    if (!std::isfinite(length)) return {};  // the problem is unbounded
    const double old_i = beta[i], old_j = beta[j];
    beta[i] = length >= max_i ? upper[i] : old_i + length;
    beta[j] = length >= max_j ? lower[j] : old_j - length;
    if (beta[i] == old_i && beta[j] == old_j) return {};
    if (!can_rise(i)) sticky_.hold(k);
    if (!can_fall(j)) sticky_.hold(l);
    update_directions(family, k), update_directions(family, l);
    update(row_i, beta[i] - old_i, row_j, beta[j] - old_j);
    return {length * slope - 0.5 * curvature * length * length, length,
            std::abs(beta[i] - old_i) + std::abs(beta[j] - old_j),
            (std::abs(beta[i]) - std::abs(old_i)) + (std::abs(beta[j]) - std::abs(old_j))};
  }

  // Without an equality row: the variable with the largest second-order gain.
  template <class Row>
  Step step_single(Row& row, const CurvatureBounds& bounds) {
    Family& family = *worst_;
    double best = 0;
    std::size_t k = samples();
    for (std::size_t l = 0; l < samples(); ++l) {
      const double slope = std::max(-f[l] - family.rise[l], f[l] + family.fall[l]);
      const double gain = slope > 0 ? slope * slope / std::max(double(diagonal[l]), bounds.tau) : 0;
      if (gain > best) best = gain, k = l;
    }
    if (k == samples()) return {};
    const bool increases = -f[k] - family.rise[k] > f[k] + family.fall[k];
    const std::size_t i = increases ? rising(family, k) : falling(family, k);
    return i == size() ? Step{} : take_single(family, k, i, increases, row(k), bounds);
  }

  // Increases or decreases variable i of sample k alone.
  Step take_single(Family& family, std::size_t k, std::size_t i, bool increases, const T* row_i,
                   const CurvatureBounds& bounds) {
    const double g = gradient(i), curvature = double(row_i[k]);
    const double max_length = increases ? upper[i] - beta[i] : beta[i] - lower[i];
    const double length = curvature > bounds.zero ? std::min(std::abs(g) / curvature, max_length) : max_length;
    if (!std::isfinite(length)) return {};
    const double old = beta[i];
    beta[i] = length >= max_length ? (increases ? upper[i] : lower[i]) : (increases ? old + length : old - length);
    if (beta[i] == old) return {};
    if (!(can_rise(i) && can_fall(i))) sticky_.hold(k);
    update_directions(family, k);
    update(row_i, beta[i] - old, row_i, 0.0);
    return {length * std::abs(g) - 0.5 * curvature * length * length, length, std::abs(beta[i] - old),
            std::abs(beta[i]) - std::abs(old)};
  }

  Partner find_partner(const Family& family, const T* row, double diagonal_i, double tau) const {
    if constexpr (sizeof(T) == sizeof(float))
      return loops_.partner_f32(f.data(), family.fall.data(), diagonal.data(), row, family.up, diagonal_i, tau,
                                samples());
    else
      return loops_.partner_f64(f.data(), family.fall.data(), diagonal.data(), row, family.up, diagonal_i, tau,
                                samples());
  }

  // f += a x + b y, and the new thresholds of all families; for the first family in the same pass.
  void update(const T* x, double a, const T* y, double b) {
    Family& first = families.front();
    if constexpr (sizeof(T) == sizeof(float))
      set_thresholds(first, loops_.step_f32(f.data(), x, a, y, b, first.rise.data(), first.fall.data(), samples()));
    else
      set_thresholds(first, loops_.step_f64(f.data(), x, a, y, b, first.rise.data(), first.fall.data(), samples()));
    for (std::size_t k = 1; k < families.size(); ++k)
      set_thresholds(families[k], loops_.select(f.data(), families[k].rise.data(), families[k].fall.data(), samples()));
    find_worst();
  }

  const SmoLoops& loops_ = smo_loops();
  Family* worst_ = nullptr;
  StickySamples sticky_;
  double violation_ = 0;
  std::size_t slots_ = 1;
  bool selected_ = false;
};

}  // namespace hinge
