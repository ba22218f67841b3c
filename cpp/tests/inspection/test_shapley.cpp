// test_shapley.cpp: Shapley values of all kinds of terms against the sum over all coalitions, for any number of threads.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "expect.hpp"
#include "hinge/inspection/shapley.hpp"

using namespace hinge;
using hinge::test::expect;

namespace {

double spline(int degree, double t) {  // B_1 and B_3
  t = std::abs(t);
  if (degree == 1) return std::max(0.0, 1 - t);
  if (t >= 2) return 0;
  return t >= 1 ? (2 - t) * (2 - t) * (2 - t) / 6 : 2.0 / 3 - t * t + t * t * t / 2;
}

double kernel(const ShapleyTerm& term, const double* x, const double* s, std::size_t d) {
  double value = 1, y = term.coef0;
  for (std::size_t j = 0; j < d; ++j) {
    const double delta = x[j] - s[j];
    for (const Node& each : term.factors) {
      if (each.op == Op::rbf) value *= std::exp(-each.gamma * delta * delta);
      if (each.op == Op::laplacian) value *= std::exp(-each.gamma * std::abs(delta));
      if (each.op == Op::bspline) value *= spline(static_cast<int>(each.degree), std::sqrt(each.gamma) * delta);
    }
    y += term.gamma * x[j] * s[j];
  }
  double q = 0;
  for (std::size_t r = term.polynomial.size(); r-- > 0;) q = q * y + term.polynomial[r];
  return value * q;
}

void compare(const ShapleyTerm& term, std::size_t d, std::size_t groups, const char* name) {
  const std::size_t n = 3, m = 2, k = 5;
  unsigned seed = 7;
  const auto numbers = [&](std::size_t count) {
    std::vector<double> out(count);
    for (double& value : out) value = 2 * test::number(seed);
    return out;
  };
  std::vector<double> X = numbers(n * d), Z = numbers(m * d), S = numbers(k * d), c = numbers(k);
  X[0] = Z[0];  // a feature that does not change
  std::vector<std::int32_t> group(d);
  for (std::size_t j = 0; j < d; ++j) group[j] = static_cast<std::int32_t>(j % groups);
  const ShapleyData data{X.data(), Z.data(), S.data(), c.data(), group.data(), n, m, k, d, 1, groups};
  std::vector<double> one(n * groups), two(n * groups), pairs(n * groups * groups);
  shapley_values(data, term, one.data(), pairs.data(), {1, {}});
  shapley_values(data, term, two.data(), nullptr, {3, {}});
  expect(one == two, std::string(name) + ": the result depends on threads or interactions");

  double error = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> v(std::size_t{1} << groups, 0.0), point(d);
    for (std::size_t mask = 0; mask < v.size(); ++mask)
      for (std::size_t z = 0; z < m; ++z) {
        for (std::size_t j = 0; j < d; ++j) point[j] = mask >> group[j] & 1 ? X[i * d + j] : Z[z * d + j];
        for (std::size_t s = 0; s < k; ++s) v[mask] += c[s] * kernel(term, point.data(), &S[s * d], d) / m;
      }
    for (std::size_t g = 0; g < groups; ++g) {
      double phi = 0;
      for (std::size_t mask = 0; mask < v.size(); ++mask) {
        if (mask >> g & 1) continue;
        std::size_t size = 0;
        for (std::size_t h = 0; h < groups; ++h) size += mask >> h & 1;
        const double weight = std::tgamma(size + 1.0) * std::tgamma(static_cast<double>(groups - size)) /
                              std::tgamma(groups + 1.0);
        phi += weight * (v[mask | std::size_t{1} << g] - v[mask]);
      }
      error = std::max(error, std::abs(phi - one[i * groups + g]));
    }
  }
  expect(error < 1e-12, std::string(name) + ": differs from the sum over all coalitions");
}

}  // namespace

int main() {
  const Node rbf{Op::rbf, 0.7}, laplacian{Op::laplacian, 0.4};
  const Node linear_spline{Op::bspline, 1.0, 0, 1}, cubic_spline{Op::bspline, 0.5, 0, 3};
  for (std::size_t d : {1, 2, 7}) {
    compare({{rbf}}, d, d, "RBF");
    compare({{laplacian, rbf}}, d, d, "Laplacian times RBF");
    compare({{linear_spline}}, d, d, "linear spline");
    compare({{cubic_spline}}, d, d, "cubic spline");
    compare({{}, {0, 0, 0, 1}, 0.8, 0.3}, d, d, "cubic polynomial");
    compare({{rbf}, {1, -2, 1}, 0.8, 0.3}, d, d, "RBF times polynomial");
  }
  compare({{rbf}}, 9, 4, "groups");
  compare({{}, {0, 1, 2, 3, 1}, 0.8, 0.3}, 9, 4, "groups of a polynomial");
  return test::verdict("shapley");
}
