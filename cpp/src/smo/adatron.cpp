// adatron.cpp: see adatron.hpp.
#include "hinge/solvers/adatron.hpp"

#include <algorithm>

namespace hinge {
namespace {

// Where the objective falls along one variable: towards its minimum, or to the end of the box where it has none.
double best_value(const AdatronProblem& problem, std::size_t v, double here, double slope) noexcept {
  const double lower = problem.lower[v], upper = problem.upper[v];
  double target = here;
  if (problem.curvature[v] > 0)
    target = here - problem.rate * slope / problem.curvature[v];
  else if (slope != 0)
    target = slope > 0 ? lower : upper;
  return std::min(std::max(target, lower), upper);
}

}  // namespace

void adatron_sweep(const AdatronProblem& problem, Span<const std::int64_t> order, Span<double> alpha, Span<double> f,
                Span<double> change, Span<double> missing) noexcept {
  const std::size_t n = problem.samples;
  for (const std::int64_t sample : order) {
    const auto i = static_cast<std::size_t>(sample);
    for (std::size_t v = i; v < n * problem.slots; v += n) {
      const int group = problem.group[v];
      double slope = problem.sign[v] * f[i] + problem.linear[v] + problem.ridge[v] * alpha[v];
      if (group >= 0)
        slope += problem.row[v] * (problem.multipliers[static_cast<std::size_t>(group)] +
                                   problem.penalty * missing[static_cast<std::size_t>(group)]);
      const double there = best_value(problem, v, alpha[v], slope), moved = there - alpha[v];
      if (moved == 0) continue;
      const double step = problem.sign[v] * moved;
      const double* row = &problem.matrix[i * n];
      for (std::size_t j = 0; j < n; ++j) f[j] += step * row[j];
      change[i] += step;
      if (group >= 0) missing[static_cast<std::size_t>(group)] += problem.row[v] * moved;
      alpha[v] = there;
    }
  }
}

}  // namespace hinge
