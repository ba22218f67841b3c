// test_losses.cpp: loops over the losses of all samples against single samples, and compression of rows with many
// zeros; bit-identical for any number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "expect.hpp"
#include "hinge/parallel.hpp"
#include "linear/data/compressed.hpp"
#include "linear/loss/line_search.hpp"
#include "linear/loss/loss.hpp"
#include "linear/loss/loss_passes.hpp"
#include "parallel/thread_pool.hpp"

using namespace hinge;
using hinge::test::expect;
using hinge::test::number;

namespace {

bool near(double a, double b) { return std::fabs(a - b) <= 1e-11 * (1 + std::fabs(a) + std::fabs(b)); }

// Samples at both bounds, between them, and at zero.
struct LossCase {
  std::vector<double> target, lower, upper, ridge, f, q, beta, parts;
  LinearProblem problem;

  LossCase(std::size_t n, double tube, double curvature) {
    unsigned seed = static_cast<unsigned>(n) + 1;
    for (std::size_t i = 0; i < n; ++i) {
      target.push_back(3 * number(seed)), f.push_back(2 * number(seed)), q.push_back(number(seed));
      lower.push_back(-0.4 - 0.2 * number(seed)), upper.push_back(i % 3 == 0 ? 0.0 : 0.6 + number(seed));
      ridge.push_back(curvature * (1.1 + number(seed)));
      const double inside = lower[i] + (upper[i] - lower[i]) * (number(seed) + 0.5);
      beta.push_back(i % 4 == 0 ? lower[i] : i % 4 == 1 ? upper[i] : i % 8 == 2 ? 0.0 : inside);
    }
    parts.resize(n);
    problem.target = target, problem.lower = lower, problem.upper = upper, problem.ridge = ridge, problem.tube = tube;
  }
  LossTerm term(std::size_t i) const { return {target[i], lower[i], upper[i], ridge[i], problem.tube}; }
};

void check_losses(std::size_t n, double tube, double curvature) {
  LossCase m(n, tube, curvature);
  const Losses all(m.problem);
  const LossArrays arrays = all.arrays();
  const double b = 0.1, tau = 0.7, q_bias = 0.2;
  LossBounds bounds;
  double slope = 0, sum = 0;
  std::vector<std::uint32_t> free;
  for (std::size_t i = 0; i < n; ++i) {
    bounds.gap += m.term(i).gap(m.f[i] + b, m.beta[i]), bounds.sum += m.beta[i];
    slope += m.term(i).best(m.f[i] + b + tau * (m.q[i] + q_bias)) * (m.q[i] + q_bias);
    sum += m.term(i).best(m.f[i] + b);
    const bool bound = m.beta[i] == m.lower[i] || m.beta[i] == m.upper[i];
    if (!bound && !(m.beta[i] == 0 && tube > 0)) free.push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<double> first;
  for (int threads : {1, 2, 5}) {
    const std::string what = " of " + std::to_string(n) + " on " + std::to_string(threads);
    ThreadPool pool(threads - 1);
    const LossPasses passes(Parallel{threads, {}, &pool});
    std::vector<double> best(n, 9.0);
    passes.best(arrays, m.f.data(), b, best.data());
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) right = right && near(best[i], m.term(i).best(m.f[i] + b));
    expect(right, "best" + what);
    const LossBounds found = passes.bounds(arrays, m.f.data(), b, m.beta.data(), m.parts.data());
    const LossLine line = passes.line(arrays, m.f.data(), b, m.q.data(), q_bias, tau);
    const LossRoot root = passes.root(arrays, m.f.data(), b);
    expect(near(found.gap, bounds.gap) && near(found.sum, bounds.sum), "bounds" + what);
    expect(near(line.slope, slope), "line" + what);
    expect(near(root.sum, sum), "root" + what);
    std::vector<std::uint32_t> selected{7, 7};
    passes.choose(n, selected, [&](std::size_t i) { return is_free(arrays, i, m.beta[i]); });
    expect(selected == free, "choose" + what);
    best.insert(best.end(), {found.gap, found.loss, found.violation, found.sum, line.slope, line.curvature, root.sum,
                             root.mass, root.rise});
    if (first.empty()) first = best;
    expect(best == first, "bit-identical" + what);
  }
}

// `zero_rows`: number of zero rows at the end, where writes beyond a row would be out of bounds.
template <class T>
void check_compression(std::size_t n, std::size_t d, double density, std::size_t zero_rows) {
  unsigned seed = static_cast<unsigned>(n + d);
  std::vector<T> x(n * d, T(0));
  for (std::size_t i = 0; i + zero_rows < n; ++i)
    for (std::size_t j = 0; j < d; ++j)
      if (number(seed) + 0.5 < density && i % 11 != 4) x[i * d + j] = static_cast<T>(number(seed));
  const Samples samples = Dense<T>{x.data(), n, d};
  for (int threads : {1, 2, 5}) {
    const std::string what = " of " + std::to_string(n) + " × " + std::to_string(d) + " on " + std::to_string(threads);
    ThreadPool pool(threads - 1);
    CompactRows rows;
    const Samples made = rows.of(samples, {threads, {}, &pool});
    const auto* csr = std::get_if<Csr<T, std::int32_t>>(&made);
    expect(csr != nullptr, "the rows are compressed" + what);
    if (!csr) continue;
    bool right = csr->start[0] == 0 && csr->rows == n && csr->features == d;
    for (std::size_t i = 0; i < n && right; ++i) {
      std::int32_t at = csr->start[i];
      for (std::size_t j = 0; j < d; ++j) {
        if (x[i * d + j] == 0) continue;
        right = right && at < csr->start[i + 1] && csr->index[at] == static_cast<std::int32_t>(j) &&
                csr->values[at] == x[i * d + j];
        ++at;
      }
      right = right && at == csr->start[i + 1];
    }
    expect(right, "the same values" + what);
  }
}

// The inspected rows are sparse, the others are not: compression is abandoned.
void check_dense_rows(std::size_t n, std::size_t d) {
  std::vector<float> x(n * d, 1.0F);
  for (std::size_t i = 0; i < n; i += n / 256) std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(i * d), d, 0.0F);
  for (int threads : {1, 3}) {
    ThreadPool pool(threads - 1);
    CompactRows rows;
    const Samples samples = Dense<float>{x.data(), n, d}, made = rows.of(samples, {threads, {}, &pool});
    expect(std::holds_alternative<Dense<float>>(made), "dense rows are not compressed");
  }
}

}  // namespace

int main() {
  for (std::size_t n : {0, 1, 3, 4, 7, 8191, 8192, 16383, 16384, 16385, 30001})
    for (double tube : {0.0, 0.3})
      for (double curvature : {0.0, 0.5}) check_losses(n, tube, curvature);
  for (std::size_t d : {16, 17, 23, 24, 31, 40, 63, 64, 65, 130, 1001}) {
    check_compression<float>(200'000 / d, d, 0.2, 3);
    check_compression<double>(200'000 / d, d, 0.3, 0);
  }
  check_compression<float>(9, 20'000, 0.1, 1);
  check_compression<float>(20'000, 20, 0.0, 0);
  check_dense_rows(40'960, 32);
  return hinge::test::verdict("test_linear_losses");
}
