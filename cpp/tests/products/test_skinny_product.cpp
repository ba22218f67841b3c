// test_skinny_product.cpp: skinny products and slack sums against simple loops, for all shapes, lists of rows, float16
// and the loops of all instruction sets of this processor.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "expect.hpp"
#include "hinge/products/skinny_product.hpp"
#include "hinge/products/slack_sums.hpp"
#include "products/skinny_loops.hpp"

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

void compare(std::size_t m, std::size_t n, std::size_t k, bool listed, int threads) {
  const std::vector<float> K = numbers(m * n, 1), W = numbers(n * k, 2);
  std::vector<std::int64_t> list;
  for (std::size_t i = 0; listed && i < m; i += 3) list.push_back(static_cast<std::int64_t>(m - 1 - i));
  const TallMatrix<float> tall{K.data(), m, n, {list.data(), list.size()}};
  const std::size_t rows = tall.count();
  const std::vector<float> D = numbers(rows * k, 3);
  std::vector<float> product(rows * k), again(rows * k);
  std::vector<double> transposed(n * k), weighted(n * k), exact(rows * k, 0.0);
  skinny_product(tall, k, W.data(), product.data(), {threads, {}});
  skinny_transposed_product(tall, k, D.data(), transposed.data(), {threads, {}});
  skinny_weighted_product(tall, k, W.data(), D.data(), again.data(), weighted.data(), {threads, {}});
  const auto row = [&](std::size_t i) { return K.data() + (listed ? static_cast<std::size_t>(list[i]) : i) * n; };
  double error = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t c = 0; c < k; ++c) {
      for (std::size_t j = 0; j < n; ++j) exact[i * k + c] += double(row(i)[j]) * double(W[j * k + c]);
      error = std::max(error, std::abs(exact[i * k + c] - double(product[i * k + c])));
      error = std::max(error, std::abs(exact[i * k + c] - double(again[i * k + c])));
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t c = 0; c < k; ++c) {
      double sum = 0, weighted_sum = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        sum += double(row(i)[j]) * double(D[i * k + c]);
        weighted_sum += double(row(i)[j]) * double(D[i * k + c]) * exact[i * k + c];
      }
      error = std::max(error, std::abs(sum - transposed[j * k + c]));
      error = std::max(error, std::abs(weighted_sum - weighted[j * k + c]));
    }
  }
  test::expect(error < 1e-4,
               std::to_string(m) + " × " + std::to_string(n) + " times " + std::to_string(k) + " columns");
}

// Numbers that float16 represents exactly, and their bits.
constexpr float kNumbers[] = {0.0F, 0.5F, 1.0F, 0.25F, -0.5F, 1.5F, 5.9604645e-8F, 0.099975586F};
constexpr Half kBits[] = {0x0000, 0x3800, 0x3C00, 0x3400, 0xB800, 0x3E00, 0x0001, 0x2E66};

void compare_half(std::size_t m, std::size_t n, std::size_t k) {
  if (!has_float16_loops()) return;
  std::vector<float> K(m * n), W = numbers(n * k, 2), D = numbers(m * k, 3);
  std::vector<Half> bits(m * n);
  for (std::size_t e = 0; e < K.size(); ++e) K[e] = kNumbers[(e * 5 + e / 7) % 8], bits[e] = kBits[(e * 5 + e / 7) % 8];
  const TallMatrix<float> wide{K.data(), m, n, {}};
  const TallMatrix<Half> narrow{bits.data(), m, n, {}};
  std::vector<float> first(m * k), second(m * k);
  std::vector<double> pulled(n * k), again(n * k);
  skinny_weighted_product(wide, k, W.data(), D.data(), first.data(), pulled.data(), {2, {}});
  skinny_weighted_product(narrow, k, W.data(), D.data(), second.data(), again.data(), {2, {}});
  test::expect(first == second && pulled == again, "float16 is converted exactly");
  std::vector<Half> back(m * n);
  skinny_loops().to_half(K.size(), K.data(), back.data());
  test::expect(back == bits, "float32 is rounded to the nearest float16");
}

template <class T>
void compare_loops(const SkinnyLoopsOf<T>& loops, const std::vector<T>& values, const std::vector<float>& wide,
                   std::size_t n, std::size_t k, const std::string& name) {
  const std::size_t stride = (n + kSkinnyPad - 1) / kSkinnyPad * kSkinnyPad;
  std::vector<float> W(k * stride, 0.0F), G(k * stride, 1.0F), out(kSkinnyRows * kSkinnyWidth);
  const std::vector<float> R = numbers(kSkinnyRows * kSkinnyWidth, 5), columns = numbers(k * n, 6);
  for (std::size_t c = 0; c < k; ++c) std::copy_n(columns.data() + c * n, n, W.data() + c * stride);
  const T* rows[kSkinnyRows];
  for (std::size_t r = 0; r < kSkinnyRows; ++r) rows[r] = values.data() + r * n;
  loops.times(n, rows, W.data(), stride, k, out.data());
  loops.add(n, rows, R.data(), k, G.data(), stride);
  double error = 0;
  for (std::size_t c = 0; c < k; ++c) {
    for (std::size_t r = 0; r < kSkinnyRows; ++r) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += double(wide[r * n + j]) * double(W[c * stride + j]);
      error = std::max(error, std::abs(sum - double(out[r * kSkinnyWidth + c])));
    }
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 1;
      for (std::size_t r = 0; r < kSkinnyRows; ++r) sum += double(wide[r * n + j]) * double(R[r * kSkinnyWidth + c]);
      error = std::max(error, std::abs(sum - double(G[c * stride + j])));
    }
  }
  test::expect(error < 1e-4, name + ", " + std::to_string(n) + " columns times " + std::to_string(k));
}

void compare_instruction_sets(std::size_t n, std::size_t k) {
  std::vector<float> wide(kSkinnyRows * n);
  std::vector<Half> bits(kSkinnyRows * n);
  for (std::size_t e = 0; e < wide.size(); ++e) {
    const std::size_t choice = (e * 3 + e / 5) % 8;
    wide[e] = kNumbers[choice], bits[e] = kBits[choice];
  }
  compare_loops(skinny_loops_base.single, wide, wide, n, k, "any processor");
#if defined(__x86_64__)
  const auto both = [&](const SkinnyLoops& loops, const std::string& name) {
    compare_loops(loops.single, wide, wide, n, k, name);
    compare_loops(loops.half, bits, wide, n, k, name + ", float16");
  };
  if (!has_float16_loops()) return;
  both(skinny_loops_avx2, "AVX2");
  if (processor_instruction_set() == InstructionSet::avx512) both(skinny_loops_avx512, "AVX-512");
#endif
}

void compare_slacks(std::size_t m, std::size_t k, int threads) {
  const std::vector<float> f = numbers(m * k, 7), b = numbers(k, 8);
  std::vector<float> sign(m * k), cost(m * k), slack(m * k);
  const std::vector<double> offsets(b.begin(), b.end());
  for (std::size_t e = 0; e < m * k; ++e) {
    sign[e] = e % 3 ? 1.0F : -3.0F;
    cost[e] = 0.5F + static_cast<float>(e / k % 4);
  }
  std::vector<double> sums(3 * k), expected(3 * k, 0.0);
  slack_sums(m, k, f.data(), sign.data(), cost.data(), offsets.data(), slack.data(),
             {sums.data(), sums.data() + k, sums.data() + 2 * k}, {threads, {}});
  double error = 0;
  for (std::size_t e = 0; e < m * k; ++e) {
    const double xi = std::max(0.0, 1.0 - double(sign[e]) * (double(f[e]) + offsets[e % k]));
    const double weighted = double(cost[e]) * xi;
    error = std::max(error, std::abs(xi - double(slack[e])));
    if (slack[e] > 0) expected[e % k] += double(cost[e]);
    expected[k + e % k] += weighted * double(sign[e]), expected[2 * k + e % k] += weighted * xi;
  }
  for (std::size_t c = 0; c < 3 * k; ++c)
    error = std::max(error, std::abs(expected[c] - sums[c]) / (1 + std::abs(expected[c])));
  test::expect(error < 1e-5, "slacks of " + std::to_string(m) + " samples");
}

}  // namespace

int main() {
  for (const std::size_t m : {1U, 7U, 8U, 9U, 1100U})
    for (const std::size_t n : {1U, 5U, 257U})
      for (const std::size_t k : {1U, 8U, 11U})
        for (const bool listed : {false, true}) compare(m, n, k, listed, 2);
  for (const std::size_t n : {1U, 15U, 16U, 1050U}) {
    for (const std::size_t k : {1U, 2U, 3U, 4U, 5U, 9U, 16U}) compare_instruction_sets(n, k);
    compare_half(37, n, 7);
  }
  for (const std::size_t m : {1U, 64U, 9000U}) compare_slacks(m, 3, 2);
  return test::verdict("test_skinny_product");
}
