// linear_bounds.cpp: see linear_bounds.hpp.
#include "hinge/certificate/linear_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "certificate/loops.hpp"
#include "certificate/slack_candidates.hpp"

namespace hinge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kShareOfBox = 0.01;  // of |target| times the width of the box, in the size of the terms
constexpr std::size_t kChunk = 512;   // components of w whose squares are summed without compensation
constexpr std::size_t kMaxCandidates = 256;  // samples that are considered for the correction of a deficit

// (side, least slack) → samples that can increase (side 1) or decrease (side −1) the sum of β.
using FindCandidates = std::function<std::vector<SlackCandidate>(double, double)>;

class LinearBounds {
 public:
  LinearBounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset, const LinearPart& part,
               FindCandidates find_candidates, const LinearProducts* known = nullptr, double f_error = 0)
      : p_(problem), w_(weights), b_(offset), part_(part), find_candidates_(std::move(find_candidates)), known_(known),
        f_error_(f_error), norm_(std::sqrt(certificate_loops().squares(weights.data(), weights.size()))) {}

  Bounds run() const {
    Bounds found{kInf, -kInf, 0, 0, 0, 0};
    found.kkt_violation = part_.sums.violation;
    if (p_.l1) found.kkt_violation = violation_of_features();
    found.infeasibility = part_.sums.outside;
    if (p_.bias == Bias::free) found.infeasibility = std::max(found.infeasibility, std::abs(deficit().value()));
    add_upper(found);
    add_lower(found);
    if (std::isnan(found.upper)) found.upper = found.kkt_violation = kInf;
    if (std::isnan(found.lower)) found.lower = -kInf;
    return found;
  }

 private:
  static constexpr double u = kUnitRoundoff;

  // Adds ½‖w‖², computed in chunks of plain sums if the other sums are.
  void add_half_square(BoundedSum& sum, double& error) const {
    if (part_.plain == 0) {
      for (double w : w_) sum.add_product(0.5 * w, w);
      return;
    }
    for (std::size_t first = 0; first < w_.size(); first += kChunk)
      sum.add(0.5 * certificate_loops().squares(w_.data() + first, std::min(kChunk, w_.size() - first)));
    const double features = static_cast<double>(w_.size());
    error += 0.5 * part_.plain * norm_ * norm_ * 1.01 + features * std::numeric_limits<double>::min();
  }

  void add_upper(Bounds& found) const {
    BoundedSum sum = part_.losses;
    double error = 0;
    if (p_.l1) {
      for (double w : w_) sum.add(std::abs(w));
    } else {
      add_half_square(sum, error);
    }
    const double offset = p_.total * b_;
    sum.add(offset);
    error += std::abs(offset) * (p_.totals_error + 2 * u);
    if (p_.bias == Bias::penalized && p_.l1) {
      const double penalty = std::abs(b_) / p_.bias_scale;
      sum.add(penalty);
      error += 2 * u * penalty;
    } else if (p_.bias == Bias::penalized) {
      const double penalty = 0.5 * (b_ / p_.bias_scale) * (b_ / p_.bias_scale);
      sum.add(penalty);
      error += 6 * u * penalty;
    }
    error += (2 * p_.bounds_error + 6 * u) * part_.sums.loss_sizes + part_.plain * part_.sums.losses;
    error = 1.001 * (error + sum.error());
    found.upper = error > 0 ? std::nextafter(sum.value() + error, kInf) : sum.value();
    found.rounding += part_.sums.inflation + error;
  }

  // Adds −½‖Xᵀβ‖² to the value; returns ‖Xᵀβ‖ and adds the error.
  double add_norm(BoundedSum& value, double& error) const {
    const LinearSums& sums = part_.sums;
    double norm = 0;
    for (std::size_t j = 0; j < part_.combined.size(); ++j) {
      const double c = part_.combined[j] + part_.compensation[j];
      value.add_product(-0.5 * c, c), norm += c * c;
    }
    norm = std::sqrt(norm);
    // rounded products β x and compensated sums: 2 u Σ |β_i| ‖x_i‖ in norm
    const double count = part_.count, rounded = part_.rounded_additions * u;
    const double wrong = 1.01 * ((rounded + 4 * count * u * count * u) * sums.weighted + u * norm + sums.moved);
    error += wrong * (norm + 0.5 * wrong);
    return norm + wrong;
  }

  // The same from −½‖Xᵀβ‖² = ½‖w‖² − Σ f β − ½‖w − Xᵀβ‖²; the sum is part of the value already.   (621)
  double add_known_norm(BoundedSum& value, double& error) const {
    const LinearSums& sums = part_.sums;
    add_half_square(value, error);
    error += 1.01 * f_error_ * sums.magnitude;
    const double distance = known_->distance, rounded = (part_.count + 8) * u;
    const double wrong = 1.01 * (rounded * sums.weighted + sums.moved + u * distance);
    value.add_product(-0.5 * distance, distance);
    error += wrong * (distance + 0.5 * wrong);
    return norm_ + distance + wrong;
  }

  // The largest violation of |c_j| ≤ 1 and c_j w_j = |w_j|, c = Xᵀβ.
  double violation_of_features() const {
    double worst = 0;
    for (std::size_t j = 0; j < part_.combined.size(); ++j) {
      const double c = part_.combined[j] + part_.compensation[j], w = w_[j];
      worst = std::max(worst, w == 0 ? std::abs(c) - 1 : std::abs(c - (w > 0 ? 1 : -1)));
    }
    return worst;
  }

  // With an ℓ1 penalty: β / z is feasible for z ≥ max(1, ‖Xᵀβ‖_∞), and its value is at least that of β over z.   (867)
  void add_l1_lower(Bounds& found) const {
    const LinearSums& sums = part_.sums;
    const BoundedSum& value = part_.dual;
    double error = sums.squares * (p_.bounds_error + 6 * u) + 4 * u * sums.linear;
    error += part_.plain * (sums.squares + sums.linear) + value.error();
    double largest = 0;
    for (std::size_t j = 0; j < part_.combined.size(); ++j)
      largest = std::max(largest, std::abs(part_.combined[j] + part_.compensation[j]));
    const double count = part_.count, rounded = part_.rounded_additions * u;
    double reach = 1.01 * ((rounded + 4 * count * u * count * u) * sums.weighted + u * largest + sums.moved);
    if (p_.bias == Bias::penalized) {
      const double sum = std::abs(part_.beta.value());
      largest = std::max(largest, p_.bias_scale * sum);
      reach = std::max(reach, 1.01 * p_.bias_scale * (part_.beta.error() + plain_error() + 2 * u * sum));
    }
    double cost = 0;
    if (p_.bias == Bias::free) {
      const Correction correction = correction_of_deficit(0, std::max(0.0, value.value()));
      cost = correction.cost, reach += correction.reach;
    }
    if (!std::isfinite(cost) || !std::isfinite(largest + reach)) {
      found.lower = 0;  // β = 0 is feasible
      return;
    }
    found.scale = sums.linear + sums.squares + kShareOfBox * sums.boxes;
    error = 1.001 * (error + cost);
    const double z = std::max(1.0, (1 + 8 * u) * (largest + 1.001 * reach));
    const double lower = value.value() - error, without = std::max(1.0, largest);
    found.lower = std::max(0.0, lower > 0 ? lower / z * (1 - 4 * u) : 0.0);
    found.rounding += error + std::max(0.0, value.value()) * (z - without) / z;
  }

  void add_lower(Bounds& found) const {
    if (p_.l1) return add_l1_lower(found);
    const LinearSums& sums = part_.sums;
    BoundedSum value = part_.dual;
    double error = sums.squares * (p_.bounds_error + 6 * u) + 4 * u * sums.linear;
    error += part_.plain * (sums.squares + sums.linear);
    const double norm = known_ ? add_known_norm(value, error) : add_norm(value, error);
    if (p_.bias == Bias::penalized) {
      const double s = p_.bias_scale * (std::abs(part_.beta.value()) + part_.beta.error() + plain_error());
      value.add(-0.5 * s * s);
      error += 4 * u * s * s;
    }
    double cost = 0;
    if (p_.bias == Bias::free) cost = correction_of_deficit(norm, 0).cost;
    if (!std::isfinite(cost)) return;
    found.scale = sums.linear + sums.squares + kShareOfBox * sums.boxes + 0.5 * sums.weighted * sums.weighted;
    error = 1.001 * (error + cost) + value.error();
    found.lower = error > 0 ? std::nextafter(value.value() - error, -kInf) : value.value();
    found.rounding += error;
  }

  // Σ β − total.
  BoundedSum deficit() const {
    BoundedSum rest = part_.beta;
    rest.add(-p_.total);
    return rest;
  }
  double plain_error() const { return 1.001 * part_.plain * part_.sums.magnitude; }  // of Σ β

  // Bound on the decrease of the dual objective by an exact correction of the sum of β: a sample increases it and
  // another one decreases it, each by at most twice the deficit.  Any samples with enough slack give a bound; the best
  // ones of a few are taken.  With an ℓ1 penalty the norm does not matter, but Xᵀβ moves: `value` per unit of its largest
  // component is lost by the scaling.
  struct Correction {
    double cost = 0, reach = 0;  // decrease of the dual objective, and increase of ‖Xᵀβ‖_∞
  };
  Correction correction_of_deficit(double norm, double value) const {
    const BoundedSum rest = deficit();
    const double rounded = rest.error() + plain_error();
    const double missing = std::abs(rest.value()) + rounded + p_.totals_error * std::abs(p_.total);
    Correction sum;
    if (missing == 0) return sum;
    for (const double side : {1.0, -1.0}) {
      Correction best{kInf, 0};
      for (const SlackCandidate& c : find_candidates_(side, 2 * missing)) {
        if (!(c.slack >= 2 * missing)) continue;
        const double curvature = p_.l1 ? 0.0 : 2 * missing * c.norm * c.norm;
        const double slope = c.slope + c.norm * norm + c.ridge * missing;
        const Correction found{2 * missing * (slope + curvature), 2 * missing * c.norm};
        if (found.cost + value * found.reach < best.cost + value * best.reach) best = found;
      }
      sum.cost += best.cost, sum.reach += best.reach;
    }
    return sum;
  }

  const LinearBoundedProblem& p_;
  Span<const double> w_;
  const double b_;
  const LinearPart& part_;
  const FindCandidates find_candidates_;
  const LinearProducts* const known_;  // or nullptr
  const double f_error_;               // bound on the error of known products ⟨w, x_i⟩
  const double norm_;                  // ‖w‖
};

}  // namespace

Bounds certified_linear_bounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                               Span<const double> beta, bool accurate) {
  const LinearPart part = sums_of_part(problem, weights, offset, beta, accurate);
  const auto search = [&](double side, double least_slack) {
    return slack_candidates(problem, beta, side, least_slack, kMaxCandidates);
  };
  return LinearBounds(problem, weights, offset, part, search).run();
}

Bounds certified_linear_bounds(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                               Span<const double> beta, const LinearProducts& products) {
  double f_error = 0;
  const LinearPart part = sums_of_products(problem, weights, offset, beta, products, f_error);
  const auto search = [&](double side, double least_slack) {
    return slack_candidates(problem, beta, side, least_slack, kMaxCandidates);
  };
  return LinearBounds(problem, weights, offset, part, search, &products, f_error).run();
}

Bounds bounds_of_part(const LinearBoundedProblem& problem, Span<const double> weights, double offset,
                      const LinearPart& part) {
  const auto stored = [&](double side, double) { return side > 0 ? part.increasing : part.decreasing; };
  return LinearBounds(problem, weights, offset, part, stored).run();
}

}  // namespace hinge
