// test_quadrature.cpp: rules are exact for polynomials, and the selected rules have the error of rounding.
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "expect.hpp"
#include "inspection/quadrature.hpp"

namespace {

long double integral(const hinge::GaussRule& rule, const std::vector<double>& a, const std::vector<double>& b) {
  long double sum = 0;
  for (std::size_t k = 0; k < rule.node.size(); ++k) {
    long double product = rule.weight[k];
    for (std::size_t i = 0; i < a.size(); ++i) product *= b[i] + rule.node[k] * (a[i] - b[i]);
    sum += product;
  }
  return sum;
}

void powers_are_exact() {
  for (std::size_t m : {1, 2, 3, 8, 17, 64, 393}) {
    const hinge::GaussRule rule = hinge::gauss_legendre(m);
    for (std::size_t degree : {std::size_t{0}, m, 2 * m - 1}) {
      long double sum = 0;
      for (std::size_t k = 0; k < m; ++k) sum += rule.weight[k] * std::pow(rule.node[k], static_cast<double>(degree));
      hinge::test::expect(std::abs(static_cast<double>(sum * (degree + 1.0L) - 1)) < 1e-12, "powers are exact");
    }
  }
}

void selected_rules_have_the_error_of_rounding() {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (std::size_t d : {2, 5, 30, 200, 800}) {
    const hinge::QuadratureRules rules(d);
    for (double size : {1e-4, 1e-2, 0.1, 1.0, 10.0}) {
      std::vector<double> a(d), b(d);
      double spread = 0;
      for (std::size_t i = 0; i < d; ++i) {
        a[i] = std::exp(-size * std::abs(normal(random))), b[i] = std::exp(-size * std::abs(normal(random)));
        spread += std::abs(a[i] - b[i]) / (a[i] + b[i]);
      }
      const hinge::GaussRule& rule = rules.select(d, spread);
      if (size <= 1e-2 && d >= 200) hinge::test::expect(2 * rule.node.size() < d, "fewer nodes than half the factors");
      a.pop_back(), b.pop_back();
      const long double exact = integral(hinge::gauss_legendre(d), a, b);
      const double error = std::abs(static_cast<double>(integral(rule, a, b) / exact - 1));
      if (exact > 1e-280L) hinge::test::expect(error < 2e-13, "the error is that of rounding");
    }
  }
}

}  // namespace

int main() {
  powers_are_exact();
  selected_rules_have_the_error_of_rounding();
  return hinge::test::verdict("quadrature");
}
