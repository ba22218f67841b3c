// test_path.cpp: the parametric method maintains the optimality conditions, also for singular K.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "expect.hpp"
#include "hinge/solvers/path.hpp"
#include "no_control.hpp"

namespace {

using namespace hinge;
using hinge::test::expect;
using hinge::test::NoControl;

// K = ZZᵀ of the given rank, with every third row repeated.
std::vector<double> gram_matrix(std::size_t n, std::size_t rank, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> Z(n * rank), K(n * n);
  for (double& z : Z) z = normal(random);
  for (std::size_t i = 3; i < n; i += 3) std::copy_n(&Z[(i - 3) * rank], rank, &Z[i * rank]);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < rank; ++k) K[i * n + j] += Z[i * rank + k] * Z[j * rank + k];
  return K;
}

// Largest violation of r >= 0 at the lower bound, r <= 0 at the upper, r = 0 between, and of the total.
double violation(const ActiveSet& set, const std::vector<double>& K, std::size_t n) {
  const std::vector<double> beta = set.beta(), mu = set.mu();
  const PathData now = set.data();
  double worst = 0, sum = 0;
  for (std::size_t v = 0; v < n; ++v) {
    double r = now.linear[v] + mu[0];
    for (std::size_t j = 0; j < n; ++j) r += K[v * n + j] * beta[j];
    sum += beta[v];
    const double tolerance = 1e-9 * (now.upper[v] - now.lower[v]);
    if (beta[v] < now.upper[v] - tolerance) worst = std::max(worst, -r);
    if (beta[v] > now.lower[v] + tolerance) worst = std::max(worst, r);
    worst = std::max({worst, now.lower[v] - beta[v], beta[v] - now.upper[v]});
  }
  return std::max(worst, std::abs(sum - now.total[0]));
}

void check(std::size_t n, std::size_t rank, unsigned seed) {
  const std::vector<double> K = gram_matrix(n, rank, seed);
  const auto gram = make_gram(K.data(), n);
  std::mt19937 random(seed + 1);
  std::uniform_real_distribution<double> uniform;
  const std::vector<std::int8_t> group(n, 0);
  PathData data{{}, std::vector<double>(n), std::vector<double>(n), {0.0}};
  for (std::size_t i = 0; i < n; ++i) {
    const double y = uniform(random) < 0.4 ? 1.0 : -1.0;
    data.linear.push_back(-y);
    (y > 0 ? data.upper : data.lower)[i] = y;
  }
  NoControl control;
  ActiveSet set(*gram, 1, group, 1 << 20, 1);
  const PathOptions options;
  PathResult result = set.start(std::vector<double>(n, 0.0), data, options, control);
  expect(result.status == Status::solved, "the path is followed to its end");
  expect(violation(set, K, n) < 1e-9, "the point is optimal");

  PathData rate{std::vector<double>(n, 0.0), data.lower, data.upper, {0.0}};
  PathRecord record;
  const auto before = set.snapshot();
  result = set.follow(rate, 1.0, 99.0, &record, options, control);
  expect(result.status == Status::solved, "the path is followed to its end");
  expect(result.violation < 1e-9, "the reported violation is small");
  expect(violation(set, K, n) < 1e-7, "the end of the path is optimal");
  expect(record.start.size() == record.stop.size() && record.start.front() == 1.0,
         "the record begins at the origin");
  expect(record.offset.back() == static_cast<std::int64_t>(record.margin.size()),
         "the record is complete");

  set.restore(*before);
  expect(violation(set, K, n) < 1e-9, "the point is optimal");
  for (double& c : rate.linear) c = uniform(random) - 0.5;  // dependent columns are exchanged
  std::fill(rate.lower.begin(), rate.lower.end(), 0.0);
  std::fill(rate.upper.begin(), rate.upper.end(), 0.0);
  result = set.follow(rate, 0.0, 5.0, nullptr, options, control);
  expect(result.status == Status::solved, "the path is followed to its end");
  expect(violation(set, K, n) < 1e-8, "the end of the second path is optimal");
}

}  // namespace

int main() {
  for (unsigned seed = 0; seed < 6; ++seed) {
    check(40, 3, seed);
    check(60, 20, seed);
    check(60, 60, seed);
    check(2, 1, seed);
  }
  check(900, 300, 1);  // large enough for tracking
  return hinge::test::verdict("test_path");
}
