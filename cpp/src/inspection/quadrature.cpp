// quadrature.cpp: Gauss–Legendre rules and the number of nodes that Shapley values need.  docs/math (505), (506)
#include <algorithm>
#include <cmath>
#include <limits>

#include "inspection/quadrature.hpp"

namespace hinge {
namespace {

constexpr int kMaxNewtonSteps = 100;  // Newton's method for a node stops after this number of steps in any case
constexpr std::size_t kRuleGrowth = 8;  // rules with more nodes than this differ by more than one node
constexpr double kPi = 3.14159265358979323846;

}  // namespace

GaussRule gauss_legendre(std::size_t m) {
  GaussRule rule{std::vector<double>(m), std::vector<double>(m)};
  const double n = static_cast<double>(m);
  for (std::size_t i = 0; i < (m + 1) / 2; ++i) {
    double x = std::cos(kPi * (static_cast<double>(i) + 0.75) / (n + 0.5)), derivative = 0;
    for (int step = 0; step < kMaxNewtonSteps; ++step) {
      double p = 1, before = 0;
      for (std::size_t k = 0; k < m; ++k) {
        const double j = static_cast<double>(k);
        const double next = ((2 * j + 1) * x * p - j * before) / (j + 1);
        before = p, p = next;
      }
      derivative = n * (x * p - before) / (x * x - 1);
      const double change = p / derivative;
      x -= change;
      if (std::abs(change) <= 2 * std::numeric_limits<double>::epsilon()) break;
    }
    if (2 * i + 1 == m) x = 0;  // the middle node
    const double weight = 1 / ((1 - x * x) * derivative * derivative);
    rule.node[i] = 0.5 * (1 - x), rule.node[m - 1 - i] = 0.5 * (1 + x);
    rule.weight[i] = rule.weight[m - 1 - i] = weight;
  }
  return rule;
}

QuadratureRules::QuadratureRules(std::size_t factors) {
  const std::size_t exact = std::max<std::size_t>(1, (factors + 1) / 2);
  const double roundoff = 0.5 * std::numeric_limits<double>::epsilon();
  const double target = std::log(8.0 / 3.0 * static_cast<double>(std::max<std::size_t>(1, factors)) / roundoff);
  for (std::size_t m = 1;; m = std::min(exact, m + 1 + m / kRuleGrowth)) {
    double spread = 0;
    for (double rho = 1.25; rho < 1e6; rho *= 1.25) {  // any ρ > 1 gives a bound
      const double gain = 2 * static_cast<double>(m) * std::log(rho) + std::log1p(-1 / (rho * rho)) - target;
      spread = std::max(spread, 2 * gain / (rho + 1 / rho));
    }
    rules_.push_back(gauss_legendre(m));
    largest_spread_.push_back(spread);
    if (m == exact) break;
  }
}

const GaussRule& QuadratureRules::select(std::size_t count, double spread) const {
  std::size_t i = 0;
  while (i + 1 < rules_.size() && 2 * rules_[i].node.size() < count && !(spread < largest_spread_[i])) ++i;
  return rules_[i];
}

const GaussRule& QuadratureRules::exact(std::size_t degree) const {
  std::size_t i = 0;
  while (i + 1 < rules_.size() && 2 * rules_[i].node.size() < degree + 1) ++i;
  return rules_[i];
}

}  // namespace hinge
