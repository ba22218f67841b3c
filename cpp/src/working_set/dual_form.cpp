// dual_form.cpp: see dual_form.hpp.
#include "hinge/solvers/dual_form.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "hinge/solvers/multiplier.hpp"

namespace hinge {
namespace {

constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr double kStepOperations = 8;  // rounded operations of a step, at most

double sum_of_absolute(Span<const double> values) {
  double sum = 0;
  for (double value : values) sum += std::abs(value);
  return sum;
}

[[noreturn]] void not_groups(std::size_t row) {
  throw std::invalid_argument(
      "row " + std::to_string(row) +
      " of A: this solver needs equality rows that are constant on disjoint groups of variables (in signed "
      "coordinates); scale the variables, or use an interior-point method");
}

}  // namespace

SignedForm::SignedForm(const DualForm& dual) : slots_(dual.slots) {
  const std::size_t size = dual.sign.size();
  linear_.resize(size), lower_.resize(size), upper_.resize(size), group_.assign(size, -1);
  for (std::size_t v = 0; v < size; ++v) {
    const double first = dual.sign[v] * dual.lower[v], second = dual.sign[v] * dual.upper[v];
    linear_[v] = dual.sign[v] * dual.linear[v];
    lower_[v] = std::min(first, second), upper_[v] = std::max(first, second);
  }
  for (std::size_t g = 0; g < dual.totals.size(); ++g) {
    const Span<const double> row = dual.rows.subspan(g * size, size);
    double value = 0;  // of the row in signed coordinates
    for (std::size_t v = 0; v < size; ++v) {
      if (row[v] == 0) continue;
      const double signed_value = row[v] * dual.sign[v];
      if (value == 0) value = signed_value;
      if (signed_value != value || group_[v] >= 0) not_groups(g);
      group_[v] = static_cast<std::int8_t>(g);
    }
    if (value != 0 && dual.totals[g] != 0) totals_[g] = dual.totals[g] / value;
  }
}

DualPoint dual_point(const DualForm& dual, Span<const double> beta, Span<const double> f, double f_error) {
  const std::size_t size = dual.sign.size(), n = f.size();
  DualPoint point;
  point.alpha.resize(size), point.gradient.resize(size);
  for (std::size_t first = 0; first < size; first += n)
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t v = first + k;
      point.alpha[v] = dual.sign[v] * beta[v];
      point.gradient[v] = dual.sign[v] * f[k] + dual.linear[v];
    }
  for (std::size_t g = 0; g < dual.totals.size(); ++g)
    point.mu.push_back(best_multiplier(dual.rows.subspan(g * size, size), point.alpha, point.gradient, dual.lower,
                                       dual.upper));
  if (!std::isfinite(f_error)) return point;
  const BoundedProblem bounded{dual.linear,       dual.lower,        dual.upper,           {}, dual.rows, dual.totals,
                               dual.bounds_error, dual.totals_error, dual.largest_diagonal};
  point.bounds = certified_bounds(bounded, {point.alpha, point.mu, point.gradient, {&f_error, 1}});
  point.certified = true;
  return point;
}

void include_errors(const DualForm& dual, Span<const double> beta, double travel, std::int64_t iterations,
                    double f_error, std::vector<Snapshot>& history) {
  if (history.empty() || !std::isfinite(f_error)) return;
  const std::size_t size = dual.sign.size();
  const double operations = kStepOperations * kUnitRoundoff * (static_cast<double>(iterations) + double(size));
  const double sums = travel + sum_of_absolute(beta);  // bounds Σ|β| of all iterates
  double largest = 0, width = 0;
  for (std::size_t v = 0; v < size; ++v) {
    largest = std::max(largest, std::abs(dual.linear[v]));
    width += dual.upper[v] - dual.lower[v];
  }
  const double gradient = dual.largest_diagonal * sums + largest;
  const double of_objective = sums * (2 * f_error + operations * gradient);
  const double of_primal = of_objective + width * (f_error + operations * gradient);
  for (Snapshot& snapshot : history) {
    snapshot.primal += of_primal, snapshot.dual -= of_objective;
    snapshot.gap += of_primal + of_objective;
  }
}

bool unsigned_variables(Span<const double> sign, Span<const double> linear, Span<const double> lower,
                        Span<const double> upper, Span<double> p, Span<double> low, Span<double> high) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool valid = true;
  for (std::size_t v = 0; v < sign.size(); ++v) {
    const double first = sign[v] * lower[v], second = sign[v] * upper[v];
    p[v] = sign[v] * linear[v];
    // adding zero turns −0.0, the product of a zero bound and a negative sign, into 0.0
    low[v] = (second < first ? second : first) + 0.0, high[v] = (first < second ? second : first) + 0.0;
    valid = valid && std::abs(sign[v]) == 1 && std::isfinite(p[v]) && first == first && second == second &&
            low[v] < infinity && high[v] > -infinity;
  }
  return valid;
}

}  // namespace hinge
