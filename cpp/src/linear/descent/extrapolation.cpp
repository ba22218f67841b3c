// extrapolation.cpp: see the header.
#include "linear/descent/extrapolation.hpp"

#include <algorithm>
#include <cmath>

#include "linear/data/ops.hpp"

namespace hinge {
namespace {

// Solves G c = 1 by elimination; G is a small regularized Gram matrix.
bool solve_ones(std::vector<double>& g, std::size_t size, std::vector<double>& c) {
  c.assign(size, 1.0);
  for (std::size_t a = 0; a < size; ++a) {
    const double pivot = g[a * size + a];
    if (!(pivot > 0)) return false;
    for (std::size_t r = a + 1; r < size; ++r) {
      const double factor = g[r * size + a] / pivot;
      for (std::size_t b = a; b < size; ++b) g[r * size + b] -= factor * g[a * size + b];
      c[r] -= factor * c[a];
    }
  }
  for (std::size_t a = size; a-- > 0;) {
    for (std::size_t b = a + 1; b < size; ++b) c[a] -= g[a * size + b] * c[b];
    c[a] /= g[a * size + a];
  }
  return true;
}

}  // namespace

bool extrapolated(const std::vector<std::vector<double>>& points, std::vector<double>& out) {
  const std::size_t size = points.size() - 1, n = points[0].size();
  std::vector<std::vector<double>> steps(size, std::vector<double>(n));
  for (std::size_t k = 0; k < size; ++k)
    for (std::size_t i = 0; i < n; ++i) steps[k][i] = points[k + 1][i] - points[k][i];
  std::vector<double> g(size * size), c;
  double trace = 0;
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b <= a; ++b)
      g[a * size + b] = g[b * size + a] = linear_ops().dot_double(steps[a].data(), steps[b].data(), n);
  for (std::size_t a = 0; a < size; ++a) trace += g[a * size + a];
  for (std::size_t a = 0; a < size; ++a) g[a * size + a] += 1e-8 * trace;
  if (!solve_ones(g, size, c)) return false;
  double total = 0;
  for (double v : c) total += v;
  if (!(std::fabs(total) > 0)) return false;
  out.assign(n, 0.0);
  for (std::size_t k = 0; k < size; ++k)
    for (std::size_t i = 0; i < n; ++i) out[i] += c[k] / total * points[k + 1][i];
  return true;
}

bool Extrapolation::extrapolate(const LinearProblem& problem, std::vector<double>& beta) const {
  if (!extrapolated(points_, beta)) return false;
  for (std::size_t i = 0; i < beta.size(); ++i) beta[i] = std::min(problem.upper[i], std::max(problem.lower[i], beta[i]));
  return true;
}

double augmented_dual(const LinearProblem& problem, Span<const double> beta, Span<const double> w, double sigma,
                      double multiplier) {
  double sum = -problem.total, part = 0;
  for (std::size_t i = 0; i < beta.size(); ++i) {
    sum += beta[i];
    part += beta[i] * (0.5 * problem.ridge[i] * beta[i] - problem.target[i]) + problem.tube * std::fabs(beta[i]);
  }
  const double norm = linear_ops().dot_double(w.data(), w.data(), w.size());
  return -(0.5 * norm + sum * (0.5 * sigma * sum + multiplier) + part);
}

}  // namespace hinge
