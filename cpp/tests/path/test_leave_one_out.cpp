// test_leave_one_out.cpp: removals from one inverse equal removals along separate paths.
#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "expect.hpp"
#include "hinge/solvers/leave_one_out.hpp"
#include "hinge/solvers/path.hpp"
#include "no_control.hpp"

namespace {

using namespace hinge;
using hinge::test::expect;
using hinge::test::NoControl;
using Matrix = std::vector<double>;

Matrix multiply(const Matrix& a, const Matrix& b, std::size_t rows, std::size_t inner, std::size_t columns) {
  Matrix out(rows * columns, 0.0);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < inner; ++k)
      for (std::size_t j = 0; j < columns; ++j) out[i * columns + j] += a[i * inner + k] * b[k * columns + j];
  return out;
}

// Gauss–Jordan elimination with row pivoting.
Matrix inverted(Matrix a, std::size_t n) {
  Matrix b(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) b[i * n + i] = 1;
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c; r < n; ++r)
      if (std::abs(a[r * n + c]) > std::abs(a[pivot * n + c])) pivot = r;
    for (std::size_t j = 0; j < n; ++j) std::swap(a[c * n + j], a[pivot * n + j]), std::swap(b[c * n + j], b[pivot * n + j]);
    const double scale = 1 / a[c * n + c];
    for (std::size_t j = 0; j < n; ++j) a[c * n + j] *= scale, b[c * n + j] *= scale;
    for (std::size_t r = 0; r < n; ++r) {
      const double factor = a[r * n + c];
      if (r == c || factor == 0) continue;
      for (std::size_t j = 0; j < n; ++j) a[r * n + j] -= factor * a[c * n + j], b[r * n + j] -= factor * b[c * n + j];
    }
  }
  return b;
}

// Classification with an RBF kernel and the cost C.
void check(std::size_t n, double C, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(2 * n);
  for (double& value : x) value = normal(random);
  Matrix K(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      K[i * n + j] = std::exp(-std::pow(x[2 * i] - x[2 * j], 2) - std::pow(x[2 * i + 1] - x[2 * j + 1], 2));
  PathData data{{}, std::vector<double>(n), std::vector<double>(n), {0.0}};
  for (std::size_t i = 0; i < n; ++i) {
    const double y = x[2 * i] + 0.5 * normal(random) > 0 ? 1.0 : -1.0;
    data.linear.push_back(-y);
    (y > 0 ? data.upper : data.lower)[i] = C * y;
  }
  const auto gram = make_gram(K.data(), n);
  NoControl control;
  ActiveSet set(*gram, 1, std::vector<std::int8_t>(n, 0), 1 << 24, 1);
  const PathOptions options;
  set.start(std::vector<double>(n, 0.0), data, options, control);
  const auto start = set.snapshot();

  const std::vector<std::int8_t> place = set.places();
  std::vector<std::int64_t> margin, samples;
  for (std::size_t i = 0; i < n; ++i)
    if (place[i] == static_cast<std::int8_t>(Place::margin)) margin.push_back(static_cast<std::int64_t>(i));
  const std::size_t m = margin.size(), a = m + 1;
  Matrix H(a * a, 0.0), rows(a * n, 1.0);
  for (std::size_t i = 0; i < m; ++i) {
    std::copy_n(&K[static_cast<std::size_t>(margin[i]) * n], n, &rows[i * n]);
    for (std::size_t j = 0; j < m; ++j) H[i * a + j] = rows[i * n + static_cast<std::size_t>(margin[j])];
    H[i * a + m] = H[m * a + i] = 1;
  }
  const Matrix inverse = inverted(H, a), solved = multiply(inverse, rows, a, a, n);
  Matrix transposed(n * a), rows_transposed(n * a), schur = K;
  for (std::size_t i = 0; i < a; ++i)
    for (std::size_t j = 0; j < n; ++j)
      transposed[j * a + i] = solved[i * n + j], rows_transposed[j * a + i] = rows[i * n + j];
  const Matrix product = multiply(rows_transposed, solved, n, a, n);
  for (std::size_t e = 0; e < schur.size(); ++e) schur[e] -= product[e];

  const std::vector<double> beta = set.beta(), f = set.f();
  for (std::size_t i = 0; i < n; ++i)
    if (beta[i] != 0) samples.push_back(static_cast<std::int64_t>(i));
  const LeaveOneOutProblem problem{n,           1,           m,           a,    schur, solved, transposed, inverse, margin,
                                   data.linear, data.lower, data.upper, beta, place, f,      set.mu()[0]};
  std::vector<double> found(samples.size() * n), mu(samples.size());
  std::vector<std::int64_t> events(samples.size());
  leave_one_out(problem, samples, found, mu, events, {2, {}});

  std::size_t ended = 0;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    if (events[k] < 0) continue;
    ++ended;
    const std::size_t i = static_cast<std::size_t>(samples[k]);
    PathData rate{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0), std::vector<double>(n, 0.0), {0.0}};
    rate.lower[i] = -data.lower[i], rate.upper[i] = -data.upper[i];
    set.follow(rate, 0.0, 1.0, nullptr, options, control);
    const std::vector<double> expected = set.beta();
    double difference = 0;
    for (std::size_t j = 0; j < n; ++j) difference = std::max(difference, std::abs(expected[j] - found[k * n + j]));
    expect(difference < 1e-7 * C, "a removal equals that along a separate path");
    set.restore(*start);
  }
  expect(10 * ended >= 9 * samples.size(), "almost all paths end");
}

}  // namespace

int main() {
  for (unsigned seed = 0; seed < 4; ++seed) {
    check(60, 1.0, seed);
    check(60, 100.0, seed);
    check(20, 10.0, seed);
  }
  return hinge::test::verdict("test_leave_one_out");
}
