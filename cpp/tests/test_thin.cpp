// test_thin.cpp: thin products against sums written out, for odd shapes, lists of rows and threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "expect.hpp"
#include "hinge/thin.hpp"

using namespace hinge;

namespace {

std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::vector<float> out(count);
  for (float& value : out) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(seed >> 8) / 16777216.0F - 0.5F;
  }
  return out;
}

void compare(std::size_t m, std::size_t n, std::size_t k, bool some, int threads) {
  const std::vector<float> K = numbers(m * n, 1), W = numbers(n * k, 2);
  std::vector<std::int64_t> list;
  for (std::size_t i = 0; some && i < m; i += 3) list.push_back(static_cast<std::int64_t>(m - 1 - i));
  const TallMatrix<float> tall{K.data(), m, n, {list.data(), list.size()}};
  const std::size_t rows = tall.count();
  const std::vector<float> D = numbers(rows * k, 3);
  std::vector<float> product(rows * k), again(rows * k);
  std::vector<double> pulled(n * k), weighted(n * k), wide(rows * k, 0.0);
  thin_times(tall, k, W.data(), product.data(), {threads, {}});
  thin_transposed(tall, k, D.data(), pulled.data(), {threads, {}});
  thin_weighted(tall, k, W.data(), D.data(), again.data(), weighted.data(), {threads, {}});
  const auto row = [&](std::size_t i) { return K.data() + (some ? static_cast<std::size_t>(list[i]) : i) * n; };
  double apart = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t c = 0; c < k; ++c) {
      for (std::size_t j = 0; j < n; ++j) wide[i * k + c] += double(row(i)[j]) * double(W[j * k + c]);
      apart = std::max(apart, std::abs(wide[i * k + c] - double(product[i * k + c])));
      apart = std::max(apart, std::abs(wide[i * k + c] - double(again[i * k + c])));
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t c = 0; c < k; ++c) {
      double plain = 0, heavy = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        plain += double(row(i)[j]) * double(D[i * k + c]);
        heavy += double(row(i)[j]) * double(D[i * k + c]) * wide[i * k + c];
      }
      apart = std::max({apart, std::abs(plain - pulled[j * k + c]), std::abs(heavy - weighted[j * k + c])});
    }
  }
  test::expect(apart < 1e-4, std::to_string(m) + " × " + std::to_string(n) + " times " + std::to_string(k) + " columns");
}

}  // namespace

int main() {
  for (const std::size_t m : {1U, 7U, 8U, 9U, 1100U})
    for (const std::size_t n : {1U, 5U, 257U})
      for (const std::size_t k : {1U, 8U, 11U})
        for (const bool some : {false, true}) compare(m, n, k, some, 2);
  return test::verdict("test_thin");
}
