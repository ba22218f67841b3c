// test_linear_passes.cpp: Cholesky factors by panels for sizes around theirs, by the loops of every instruction set this
// processor has; sums over all samples by columns, which are those of one thread bit by bit.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../src/crew.hpp"
#include "../src/linear_ops.hpp"
#include "../src/linear_passes.hpp"
#include "expect.hpp"

using namespace hinge;

namespace hinge {
extern const LinearOps linear_ops_base, linear_ops_avx2;
}

namespace {

double number(unsigned& seed) {
  seed = seed * 1664525U + 1013904223U;
  return static_cast<double>(seed >> 8) / 16777216.0 - 0.5;
}

void factor(const LinearOps& ops, std::size_t size) {
  const std::size_t stride = (size + 4) / 4 * 4;
  unsigned seed = static_cast<unsigned>(size);
  std::vector<double> x(size * size), a(stride * stride, 0.0), panel(kPanel * stride);
  for (double& v : x) v = number(seed);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      a[i * stride + j] = i == j;
      for (std::size_t k = 0; k < size; ++k) a[i * stride + j] += x[i * size + k] * x[j * size + k];
    }
  std::vector<double> l = a;
  hinge::test::expect(ops.cholesky(l.data(), size, stride, panel.data()), "positive: " + std::to_string(size));
  double worst = 0;
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k <= j; ++k) sum += l[i * stride + k] * l[j * stride + k];
      worst = std::max(worst, std::fabs(sum - a[i * stride + j]));
    }
  hinge::test::expect(worst <= 1e-13 * static_cast<double>(size), "LLᵀ = A: " + std::to_string(size));
  for (std::size_t bad : {std::size_t{0}, size / 2, size - 1}) {  // in any panel
    l = a;
    l[bad * stride + bad] = -1;
    hinge::test::expect(!ops.cholesky(l.data(), size, stride, panel.data()), "not positive: " + std::to_string(size));
  }
}

// Rows of some of `features` columns; the first column is in all of them, the last in none.
void sums(std::size_t rows, std::size_t features, std::size_t each) {
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
    Crew crew(threads - 1);
    const auto passes = make_passes(samples, {{threads, {}}, &crew}, 0);
    passes->combine(beta, found);
    hinge::test::expect(found == expected, "sums of " + std::to_string(threads) + " threads");
  }
}

}  // namespace

int main() {
  std::vector<const LinearOps*> sets{&linear_ops_base};
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back(&linear_ops_avx2);
#endif
  for (const LinearOps* ops : sets)
    for (std::size_t size : {1, 2, 3, 4, 5, 31, 32, 33, 35, 36, 45, 63, 64, 65, 77, 96, 101, 130}) factor(*ops, size);
  sums(4000, 300'000, 150);
  return hinge::test::verdict("test_linear_passes");
}
