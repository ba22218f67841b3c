// test_kernel_blocks.cpp: blocks of kernel values equal single rows, for all shapes and storages.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "expect.hpp"
#include "hinge/kernels/gram.hpp"
#include "kernels/kernel_data.hpp"

namespace {

using namespace hinge;
using namespace hinge::test;

void test_blocks_of_rows() {
  const Data data(300, 29, 0.5, 6);
  std::vector<std::int32_t> which;
  for (std::int32_t k = 0; k < 290; ++k) which.push_back((k * 7) % 300);
  for (const Node& leaf : kLeaves) {
    for (const Samples& samples : {data.as_dense(), data.as_dense32(), data.as_csr()}) {
      const auto gram = make_gram(samples, KernelFunction({leaf}));
      std::vector<double> block(290 * 300), row(300);
      std::vector<double*> out;
      for (std::size_t k = 0; k < 290; ++k) out.push_back(block.data() + k * 300);
      gram->block_rows(which, *gram->columns({}, 0), Span<double* const>(out.data(), out.size()), {2, {}});
      double worst = 0;
      for (std::size_t k = 0; k < 290; ++k) {
        gram->row(static_cast<std::size_t>(which[k]), {}, row);
        for (std::size_t j = 0; j < 300; ++j) {
          worst = std::max(worst, std::fabs(out[k][j] - row[j]) / (1 + std::fabs(row[j])));
        }
      }
      expect(worst < 1e-12, "blocks of rows equal single rows: " + std::to_string(worst));
    }
  }
}

template <class T>
void test_upper_parts() {
  const Data data(400, 29, 0.5, 8);
  for (const Node& leaf : kLeaves) {
    for (const Samples& samples : {data.as_dense(), data.as_dense32(), data.as_csr()}) {
      const auto gram = make_gram(samples, KernelFunction({leaf}));
      for (const std::int32_t count : {0, 1, 95, 256, 300}) {
        std::vector<std::int32_t> columns, which;
        for (std::int32_t k = 0; k < 310; ++k) {
          columns.push_back((k * 7) % 400);
          if (k < count) which.push_back(columns.back());
        }
        std::vector<T> whole(310 * which.size()), upper(whole.size(), T(-7));
        std::vector<T*> rows_whole, rows_upper;
        for (std::size_t k = 0; k < which.size(); ++k)
          rows_whole.push_back(whole.data() + k * 310), rows_upper.push_back(upper.data() + k * 310);
        const auto packed = gram->columns(columns, std::size_t(1) << 20);
        gram->block_rows(which, *packed, Span<T* const>(rows_whole.data(), rows_whole.size()), {1, {}});
        gram->block_rows(which, *packed, Span<T* const>(rows_upper.data(), rows_upper.size()), {2, {}}, Part::upper);
        bool same = true, symmetric = true;
        for (std::size_t k = 0; k < which.size(); ++k)
          for (std::size_t j = k; j < 310; ++j) {
            same = same && rows_whole[k][j] == rows_upper[k][j];
            symmetric = symmetric && (j >= which.size() || rows_whole[j][k] == rows_upper[k][j]);
          }
        expect(same, "the upper part is bit-identical with that of the complete block");
        expect(symmetric, "the block is symmetric");
      }
    }
  }
}

void test_squares() {
  const Data data(700, 29, 0.5, 7);
  for (const Node& leaf : kLeaves) {
    for (const Samples& samples : {data.as_dense(), data.as_dense32(), data.as_csr()}) {
      const auto gram = make_gram(samples, KernelFunction({leaf}));
      for (const std::int32_t n : {0, 1, 3, 97, 256, 257, 600}) {
        std::vector<std::int32_t> which;
        for (std::int32_t k = 0; k < n; ++k) which.push_back((k * 11) % 700);
        std::vector<double> coef(which.size()), expected(which.size()), symmetric(which.size()), threads(which.size());
        for (std::size_t k = 0; k < coef.size(); ++k) coef[k] = std::sin(double(k));
        if (n > 0) gram->add_rows(which, coef, *gram->columns(which, 0), double{}, expected, {1, {}});
        gram->add_square(which, coef, symmetric, std::size_t(1) << 30, {1, {}});
        gram->add_square(which, coef, threads, std::size_t(1) << 30, {2, {}});
        double worst = 0;
        for (std::size_t k = 0; k < coef.size(); ++k) worst = std::max(worst, std::fabs(expected[k] - symmetric[k]));
        expect(worst < 1e-10, "the symmetric product equals the sum of rows: " + std::to_string(worst));
        expect(symmetric == threads, "the symmetric product does not depend on the number of threads");
      }
    }
  }
}

}  // namespace

int main() {
  test_blocks_of_rows();
  test_upper_parts<float>();
  test_upper_parts<double>();
  test_squares();
  return verdict("test_kernel_blocks");
}
