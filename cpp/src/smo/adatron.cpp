// adatron.cpp: see adatron.hpp.
#include "hinge/solvers/adatron.hpp"

#include <algorithm>

namespace hinge {
namespace {

// The minimum along one variable within its bounds; the bound in the direction of descent if the curvature is zero.
double updated_value(const AdatronProblem& problem, std::size_t v, double value, double slope) noexcept {
  const double lower = problem.lower[v], upper = problem.upper[v];
  double target = value;
  if (problem.curvature[v] > 0)
    target = value - problem.rate * slope / problem.curvature[v];
  else if (slope != 0)
    target = slope > 0 ? lower : upper;
  return std::min(std::max(target, lower), upper);
}

}  // namespace

void adatron_sweep(const AdatronProblem& problem, Span<const std::int64_t> order, Span<double> alpha, Span<double> f,
                   Span<double> change, Span<double> residual) noexcept {
  const std::size_t n = problem.samples;
  for (const std::int64_t sample : order) {
    const auto i = static_cast<std::size_t>(sample);
    for (std::size_t v = i; v < n * problem.slots; v += n) {
      const int group = problem.group[v];
      double slope = problem.sign[v] * f[i] + problem.linear[v] + problem.ridge[v] * alpha[v];
      if (group >= 0)
        slope += problem.row[v] * (problem.multipliers[static_cast<std::size_t>(group)] +
                                   problem.penalty * residual[static_cast<std::size_t>(group)]);
      const double next = updated_value(problem, v, alpha[v], slope), moved = next - alpha[v];
      if (moved == 0) continue;
      const double step = problem.sign[v] * moved;
      const double* row = &problem.matrix[i * n];
      for (std::size_t j = 0; j < n; ++j) f[j] += step * row[j];
      change[i] += step;
      if (group >= 0) residual[static_cast<std::size_t>(group)] += problem.row[v] * moved;
      alpha[v] = next;
    }
  }
}

}  // namespace hinge
