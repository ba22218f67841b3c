// test_passes.cpp: Cholesky factors for sizes around those of panels, and weighted sums of samples; bit-identical for
// any number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "expect.hpp"
#include "linear/cholesky/cholesky.hpp"
#include "linear/data/passes.hpp"
#include "parallel/thread_pool.hpp"

using namespace hinge;
using hinge::test::expect;
using hinge::test::number;

namespace {

void check_factor(std::size_t size) {
  unsigned seed = static_cast<unsigned>(size);
  const std::size_t rank = std::min<std::size_t>(size, 40);
  std::vector<double> x(size * rank), a(size * size), right(size), first;
  for (double& v : x) v = number(seed);
  for (double& v : right) v = number(seed);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      a[i * size + j] = i == j;
      for (std::size_t k = 0; k < rank; ++k) a[i * size + j] += x[i * rank + k] * x[j * rank + k];
    }
  for (int threads : {1, 3}) {
    const std::string what = " of " + std::to_string(size) + ", threads " + std::to_string(threads);
    ThreadPool pool(threads - 1);
    SymmetricFactor factor({threads, {}, &pool});
    const auto fill = [&](std::size_t bad) {
      factor.resize(size);
      for (std::size_t i = 0; i < size; ++i)
        std::copy_n(a.begin() + static_cast<std::ptrdiff_t>(i * size), i + 1, factor.row(i));
      if (bad < size) factor.row(bad)[bad] = -1;
    };
    for (std::size_t bad : {std::size_t{0}, size / 2, size - 1}) {  // in the first, a middle and the last panel
      fill(bad);
      expect(!factor.make(), "not positive definite" + what);
    }
    fill(size);
    expect(factor.make(), "positive definite" + what);
    std::vector<double> solution = right;
    factor.solve(solution);
    double worst = 0;
    for (std::size_t i = 0; i < size; ++i) {
      double sum = -right[i];
      for (std::size_t j = 0; j < size; ++j) sum += a[i * size + j] * solution[j];
      worst = std::max(worst, std::fabs(sum));
    }
    expect(worst <= 1e-13 * static_cast<double>(size + 10), "the residual" + what);
    if (first.empty()) first = solution;
    expect(solution == first, "bit-identical" + what);
  }
}

// Sparse rows; the first column occurs in all of them, the last in none.
void check_sums(std::size_t rows, std::size_t features, std::size_t each) {
  std::vector<float> values;
  std::vector<std::int32_t> index, start{0};
  unsigned seed = 3;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<std::int32_t> row{0};
    for (std::size_t k = 1; k < each; ++k)
      row.push_back(static_cast<std::int32_t>((number(seed) + 0.5) * static_cast<double>(features - 1)));
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    if (i % 7 == 3) row.clear();
    for (std::int32_t column : row) index.push_back(column), values.push_back(static_cast<float>(number(seed)));
    start.push_back(static_cast<std::int32_t>(index.size()));
  }
  const Samples samples = Csr<float, std::int32_t>{values.data(), index.data(), start.data(), rows, features};
  std::vector<double> beta(rows), expected(features, 0.0), found(features, 7.0);
  for (std::size_t i = 0; i < rows; ++i) beta[i] = i % 5 == 0 ? 0.0 : number(seed);
  for (std::size_t i = 0; i < rows; ++i)
    for (auto k = start[i]; k < start[i + 1]; ++k)
      expected[static_cast<std::size_t>(index[static_cast<std::size_t>(k)])] +=
          beta[i] * static_cast<double>(values[static_cast<std::size_t>(k)]);
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads - 1);
    const auto passes = make_passes(samples, {threads, {}, &pool}, 0);
    passes->combine(beta, found);
    expect(found == expected, "sums of " + std::to_string(threads) + " threads");
  }
}

}  // namespace

int main() {
  for (std::size_t size : {1, 2, 3, 4, 5, 31, 32, 33, 35, 36, 45, 63, 64, 65, 77, 101, 130, 511, 512, 515, 577, 1601})
    check_factor(size);
  check_sums(4000, 300'000, 150);
  return hinge::test::verdict("test_linear_passes");
}
