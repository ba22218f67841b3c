// test_pairs.cpp: problems over pairs: the kernel matrix, coordinate descent, and the parametric method.
#include "expect.hpp"
#include "hinge/solvers/path.hpp"
#include "hinge/solvers/ranking.hpp"
#include "no_control.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace hinge;
using hinge::test::expect;
using hinge::test::NoControl;

// Samples in blocks of five with duplicates, and all pairs of a block whose first sample has the higher grade.
struct Case {
  std::size_t n, d;
  std::vector<double> X, K, cost;
  std::vector<std::int32_t> first, second;
  std::vector<std::int64_t> block{0};

  Case(std::size_t size, std::size_t features, unsigned seed) : n(size), d(features), X(n * d), K(n * n) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.5, 1.5);
    for (double& x : X) x = normal(random);
    for (std::size_t i = 4; i < n; i += 4) std::copy_n(&X[(i - 4) * d], d, &X[i * d]);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < d; ++k) K[i * n + j] += X[i * d + k] * X[j * d + k];
    std::vector<int> grade(n);
    for (int& g : grade) g = static_cast<int>(random() % 3);
    for (std::size_t begin = 0; begin < n; begin += 5) {
      const std::size_t end = std::min(n, begin + 5);
      for (std::size_t i = begin; i < end; ++i)
        for (std::size_t j = begin; j < end; ++j)
          if (grade[i] > grade[j]) {
            first.push_back(static_cast<std::int32_t>(i)), second.push_back(static_cast<std::int32_t>(j));
            cost.push_back(uniform(random));
          }
      block.push_back(static_cast<std::int64_t>(first.size()));
    }
  }

  std::size_t pairs() const { return first.size(); }
  double kernel(std::int32_t i, std::int32_t j) const {
    return K[static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j)];
  }
  double entry(std::size_t p, std::size_t q) const {
    return kernel(first[p], first[q]) - kernel(first[p], second[q]) - kernel(second[p], first[q]) +
           kernel(second[p], second[q]);
  }

  // Largest violation of the optimality conditions of  ½αᵀQα − Σα + ½Σdα²,  0 ≤ α ≤ upper.
  double violation(const std::vector<double>& alpha, const std::vector<double>& upper,
                   const std::vector<double>& ridge) const {
    double worst = 0;
    for (std::size_t p = 0; p < pairs(); ++p) {
      double r = (ridge.empty() ? 0.0 : ridge[p] * alpha[p]) - 1;
      for (std::size_t q = 0; q < pairs(); ++q) r += entry(p, q) * alpha[q];
      if (alpha[p] < upper[p] * (1 - 1e-9)) worst = std::max(worst, -r);
      if (alpha[p] > 1e-9) worst = std::max(worst, r);
      worst = std::max({worst, -alpha[p], std::isfinite(upper[p]) ? alpha[p] - upper[p] : 0.0});
    }
    return worst;
  }
};

void check_matrix(const Case& c) {
  const auto base = make_gram(c.K.data(), c.n);
  const auto gram = make_pair_gram(*base, c.first, c.second);
  std::vector<double> row(c.pairs()), diagonal(c.pairs()), v(c.pairs(), 0.5), product(c.pairs());
  pair_diagonal(*base, c.first, c.second, diagonal);
  gram->multiply(v, product, {1, {}});
  double worst = 0;
  for (std::size_t p = 0; p < c.pairs(); ++p) {
    gram->row(p, {}, row);
    double sum = 0;
    for (std::size_t q = 0; q < c.pairs(); ++q) {
      worst = std::max(worst, std::abs(row[q] - c.entry(p, q)));
      sum += 0.5 * c.entry(p, q);
    }
    worst = std::max({worst, std::abs(diagonal[p] - c.entry(p, p)), std::abs(product[p] - sum)});
  }
  expect(worst < 1e-10, "the matrix over pairs has the entries K_ik - K_il - K_jk + K_jl");
}

void check_descent(const Case& c, bool squared, bool linear) {
  const auto gram = make_gram(c.K.data(), c.n);
  const Samples samples = Dense<double>{c.X.data(), c.n, c.d};
  std::vector<double> ridge, upper = c.cost;
  if (squared) {
    for (double cost : c.cost) ridge.push_back(0.5 / cost);
    std::fill(upper.begin(), upper.end(), std::numeric_limits<double>::infinity());
  }
  const PairProblem problem{c.first, c.second, upper, c.block, ridge};
  PairOptions options;
  options.tolerance = 1e-6;
  options.stop_on_gap = false;
  options.max_iterations = 200000;
  std::vector<double> alpha(c.pairs(), 0.0);
  NoControl control;
  const PairResult result = solve_pairs(*gram, linear ? &samples : nullptr, problem, options, alpha, control);
  expect(result.status == Status::solved, "descent over pairs converges");
  expect(c.violation(alpha, upper, ridge) < 1e-5, "descent over pairs finds the optimum");
  expect(result.gap >= 0 && result.gap < 1e-3 * std::abs(result.dual), "the gap is small");
  options.max_iterations = 1;
  options.tolerance = 1e-300;
  std::fill(alpha.begin(), alpha.end(), 0.0);
  expect(solve_pairs(*gram, nullptr, problem, options, alpha, control).status == Status::max_iter,
         "the limit of epochs is respected");
}

void check_path(const Case& c, std::size_t cache_bytes) {
  const auto gram = make_gram(c.K.data(), c.n);
  const std::size_t m = c.pairs();
  const std::vector<std::int8_t> group(m, -1);
  PathData data{std::vector<double>(m, -1.0), std::vector<double>(m, 0.0), c.cost, {}};
  NoControl control;
  ActiveSet set(*gram, c.first, c.second, group, cache_bytes, 1);
  PathResult result = set.start(std::vector<double>(m, 0.0), data, {}, control);
  expect(result.status == Status::solved, "the start of a path over pairs");
  expect(c.violation(set.beta(), c.cost, {}) < 1e-8, "a path over pairs starts at an optimum");

  PathData rate{std::vector<double>(m, 0.0), std::vector<double>(m, 0.0), std::vector<double>(m), {}};
  for (std::size_t p = 0; p < m; ++p) rate.upper[p] = (p % 3 == 0 ? 2.0 : 0.1) - c.cost[p];
  const auto before = set.snapshot();
  PathRecord record;
  result = set.follow(rate, 0.0, 1.0, &record, {}, control);
  expect(result.status == Status::solved && result.violation < 1e-9, "a path over pairs is followed to its end");
  const bool complete = !record.start.empty() && record.stop.back() == 1.0;
  expect(complete && record.offset.back() == static_cast<std::int64_t>(record.margin.size()),
         "the record of a path over pairs is complete");
  expect(c.violation(set.beta(), set.data().upper, {}) < 1e-8, "a path over pairs ends at an optimum");
  set.restore(*before);
  expect(c.violation(set.beta(), c.cost, {}) < 1e-8, "the snapshot of a path over pairs is restored");
}

}  // namespace

int main() {
  for (unsigned seed = 0; seed < 4; ++seed)
    for (std::size_t d : {1, 3, 30}) {
      const Case c(33, d, seed);
      check_matrix(c);
      for (bool squared : {false, true})
        for (bool linear : {false, true})
          if (squared || d > 3 || !linear) check_descent(c, squared, linear);
      check_path(c, 1 << 20);
      check_path(c, 1 << 10);  // memory for a few rows
    }
  return hinge::test::verdict("test_pairs");
}
