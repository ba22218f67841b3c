// test_kernels.cpp: kernel functions, matrices and expansions against simple loops in long double.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "expect.hpp"
#include "hinge/kernels/expansion.hpp"
#include "hinge/kernels/gram.hpp"
#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "hinge/simd.hpp"
#include "kernels/kernel_data.hpp"
#include "kernels/loops/vector_ops.hpp"
#include "parallel/tasks.hpp"

namespace {

using namespace hinge;
using namespace hinge::test;

// k(x_i, z_j) from the definitions.
double reference(const Node& node, const Data& x, std::size_t i, const Data& z, std::size_t j) {
  long double dot = 0, squared = 0, l1 = 0;
  for (std::size_t f = 0; f < x.d; ++f) {
    const long double a = x.dense[i * x.d + f], b = z.dense[j * z.d + f];
    dot += a * b;
    squared += (a - b) * (a - b);
    l1 += std::fabs(a - b);
  }
  switch (node.op) {
    case Op::linear: return static_cast<double>(dot);
    case Op::polynomial: return static_cast<double>(std::pow(node.gamma * dot + node.coef0, node.degree));
    case Op::sigmoid: return static_cast<double>(std::tanh(node.gamma * dot + node.coef0));
    case Op::rbf: return static_cast<double>(std::exp(-node.gamma * squared));
    case Op::laplacian: return static_cast<double>(std::exp(-node.gamma * l1));
    case Op::bspline:
      return bspline(static_cast<int>(node.degree), std::sqrt(node.gamma * static_cast<double>(squared)));
    default: throw std::logic_error("not a leaf");
  }
}

void test_exp_and_tanh() {
  constexpr std::size_t m = 4096;
  alignas(kAlignment) static double x[m], y[m];
  alignas(kAlignment) static float xf[m], yf[m];
  std::mt19937 random(1);
  std::uniform_real_distribution<double> wide(-760, 720), narrow(-2, 2);
  for (const VectorOps* ops : {&vector_ops(), &vector_ops_base}) {
    for (std::size_t k = 0; k < m; ++k) x[k] = k % 2 ? wide(random) : narrow(random);
    x[0] = 0, x[1] = -1e308, x[2] = -745.1, x[3] = -std::numeric_limits<double>::infinity();
    ops->array_d.exp(m, 1.0, x, y);
    double worst = 0;
    for (std::size_t k = 0; k < m; ++k) {
      const double exact = std::exp(x[k]);
      if (std::isinf(exact)) {
        expect(std::isinf(y[k]), "exp overflows to infinity");
      } else {
        const double unit = std::max(std::nextafter(exact, INFINITY) - exact, 5e-324);
        worst = std::max(worst, std::fabs(y[k] - exact) / unit);
      }
    }
    expect(worst <= 2,
           std::string("exp within 2 units in the last place, ") +
               (ops == &vector_ops_base ? "baseline: " : "dispatched: ") + std::to_string(worst));
    expect(y[0] == 1 && y[1] == 0 && y[3] == 0, "exp(0) is 1 and exp(-huge) is 0");

    std::uniform_real_distribution<float> float_range(-110, 92);
    for (std::size_t k = 0; k < m; ++k) xf[k] = float_range(random);
    xf[0] = 0, xf[1] = -1e38f;
    ops->array_f.exp(m, 1.0f, xf, yf);
    worst = 0;
    for (std::size_t k = 0; k < m; ++k) {
      const auto exact = static_cast<float>(std::exp(static_cast<double>(xf[k])));
      if (std::isinf(exact)) continue;
      const double unit = std::max(std::nextafter(exact, INFINITY) - exact, 1.4e-45f);
      worst = std::max(worst, std::fabs(static_cast<double>(yf[k]) - exact) / unit);
    }
    expect(worst <= 2, std::string("float exp within 2 units: ") + std::to_string(worst));
    expect(yf[0] == 1 && yf[1] == 0, "float exp(0) is 1 and exp(-huge) is 0");

    for (std::size_t k = 0; k < m; ++k) x[k] = narrow(random) * (k % 3 ? 1 : 20) * (k % 5 ? 1 : 1e-9);
    ops->array_d.tanh(m, 1.0, 0.0, x, y);
    worst = 0;
    for (std::size_t k = 0; k < m; ++k) worst = std::max(worst, std::fabs(y[k] / std::tanh(x[k]) - 1));
    expect(worst < 1e-15, "tanh to 1e-15 relative: " + std::to_string(worst * 1e15));
  }
}

// The loops of all instruction sets compute the same sums up to rounding.
void test_instruction_sets_agree() {
  const VectorOps &fast = vector_ops(), &base = vector_ops_base;
  for (std::size_t d : {8, 9, 12, 31, 300}) {
    const Data data(23, d, 1, static_cast<unsigned>(d));
    const auto compare = [&](auto operation_fast, auto operation_base, const auto* x, auto zero,
                             double tolerance) {
      std::vector<decltype(zero)> one(23), two(23);
      operation_fast(x, x, d, d, nullptr, 23, one.data());
      operation_base(x, x, d, d, nullptr, 23, two.data());
      const double allowed = tolerance * static_cast<double>(d);
      for (std::size_t j = 0; j < 23; ++j) {
        expect(std::fabs(one[j] - two[j]) <= allowed * (1 + std::fabs(one[j])),
               "the loops of all instruction sets agree");
      }
    };
    const double* x = data.dense.data();
    const float* x32 = data.dense32.data();
    compare(fast.rows_dd.dot, base.rows_dd.dot, x, 0.0, 1e-15);
    compare(fast.rows_dd.squared, base.rows_dd.squared, x, 0.0, 1e-15);
    compare(fast.rows_dd.l1, base.rows_dd.l1, x, 0.0, 1e-15);
    compare(fast.rows_fd.squared, base.rows_fd.squared, x32, 0.0, 1e-15);
    compare(fast.rows_ff.dot, base.rows_ff.dot, x32, 0.0f, 1e-6);
    compare(fast.rows_ff.squared, base.rows_ff.squared, x32, 0.0f, 1e-6);
    compare(fast.rows_ff.l1, base.rows_ff.l1, x32, 0.0f, 1e-6);
  }
}

void test_products_of_strips() {
  constexpr std::size_t d = 10, width = kStripZ<double>, n = 2 * kStripX;
  alignas(kAlignment) double left[n * d], right[width * d], c[n * width];
  for (std::size_t k = 0; k < n * d; ++k) left[k] = std::sin(static_cast<double>(k));
  for (std::size_t k = 0; k < width * d; ++k) right[k] = std::cos(static_cast<double>(k));
  for (const VectorOps* ops : {&vector_ops(), &vector_ops_base}) {
    for (bool accumulate : {false, true}) {  // C, then C + C
      ops->strips_d.product(2, d, left, kStripX * d, right, accumulate, c, width);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < width; ++j) {
          double exact = 0;
          for (std::size_t f = 0; f < d; ++f) {
            exact += left[i / kStripX * kStripX * d + f * kStripX + i % kStripX] * right[f * width + j];
          }
          expect(std::fabs(c[i * width + j] - (accumulate ? 2 : 1) * exact) < 1e-13, "products of strips");
        }
      }
    }
  }
}

void test_rows_follow_the_formula() {
  for (std::size_t d : {1, 3, 4, 7, 8, 9, 20, 33, 300}) {
    const Data data(37, d, 0.4, static_cast<unsigned>(d));
    const std::vector<std::int32_t> columns = {36, 0, 5, 5, 17};
    for (const Node& leaf : kLeaves) {
      const KernelFunction function({leaf});
      for (const Samples& samples : {data.as_dense(), data.as_dense32(), data.as_csr()}) {
        const auto gram = make_gram(samples, function);
        std::vector<double> matrix(37 * 37), selected(columns.size()), diagonal(37);
        std::vector<float> row32(37);
        gram->diagonal(diagonal);
        double worst = 0, worst32 = 0;
        for (std::size_t i = 0; i < 37; ++i) {
          gram->row(i, {}, Span<double>(matrix.data() + i * 37, 37));
          gram->row(i, columns, selected);
          gram->row(i, {}, row32);
          for (std::size_t j = 0; j < 37; ++j) {
            const double exact = reference(leaf, data, i, data, j), scale = 1 + std::fabs(exact);
            worst = std::max(worst, std::fabs(matrix[i * 37 + j] - exact) / scale);
            worst32 = std::max(worst32, std::fabs(static_cast<double>(row32[j]) - exact) / scale);
          }
          for (std::size_t c = 0; c < columns.size(); ++c) {
            expect(selected[c] == matrix[i * 37 + static_cast<std::size_t>(columns[c])],
                   "selected columns equal those of the complete row");
          }
          expect(diagonal[i] == matrix[i * 37 + i], "the diagonal equals that of the rows");
          for (std::size_t j = 0; j < i; ++j)
            expect(matrix[i * 37 + j] == matrix[j * 37 + i], "the matrix is symmetric, bit for bit");
        }
        const std::string where =
            " op " + std::to_string(static_cast<int>(leaf.op)) + " d " + std::to_string(d);
        expect(worst < 1e-12, "double rows follow the formula," + where + ": " + std::to_string(worst));
        expect(worst32 < 1e-4, "float rows follow the formula," + where + ": " + std::to_string(worst32));
      }
    }
  }
}

void test_expansions() {
  const Data x(300, 29, 0.5, 1), z(531, 29, 0.5, 2), sparse_x(40, 600, 0.02, 3), sparse_z(70, 600, 0.02, 4);
  for (const auto& [left, right] : {std::pair{&x, &z}, std::pair{&sparse_x, &sparse_z}}) {
    std::vector<double> coef(right->n * 3);
    for (std::size_t k = 0; k < coef.size(); ++k) coef[k] = std::sin(static_cast<double>(k));
    for (const Node& leaf : kLeaves) {
      const KernelFunction function({leaf, {Op::rbf, 0.1}, {Op::scale, 2}, {Op::sum}});
      for (const Samples& a : {left->as_dense(), left->as_csr()}) {
        for (const Samples& b : {right->as_dense(), right->as_csr()}) {
          std::vector<double> one(left->n * 3), two(left->n * 3), matrix(left->n * right->n);
          expand(a, b, function, coef, 3, one, Precision::samples, {1, {}});
          expand(a, b, function, coef, 3, two, Precision::samples, {3, {}});
          cross(a, b, function, matrix, {2, {}});
          expect(std::memcmp(one.data(), two.data(), one.size() * sizeof(double)) == 0,
                 "results do not depend on the number of threads");
          double worst = 0, worst_sum = 0;
          for (std::size_t i = 0; i < left->n; ++i) {
            double sum = 0, size = 1;
            for (std::size_t j = 0; j < right->n; ++j) {
              const double exact =
                  reference(leaf, *left, i, *right, j) + 2 * reference({Op::rbf, 0.1}, *left, i, *right, j);
              worst = std::max(worst, std::fabs(matrix[i * right->n + j] - exact) / (1 + std::fabs(exact)));
              sum += exact * coef[j * 3 + 1];
              size += std::fabs(exact);
            }
            worst_sum = std::max(worst_sum, std::fabs(one[i * 3 + 1] - sum) / size);
          }
          expect(worst < 1e-12, "cross follows the formula: " + std::to_string(worst));
          expect(worst_sum < 1e-12, "expand follows the formula: " + std::to_string(worst_sum));
        }
      }
    }
  }
}

void test_equal_rows_and_translation() {
  Data data(9, 13, 1, 5);
  std::copy(data.dense.begin(), data.dense.begin() + 13, data.dense.begin() + 4 * 13);  // row 4 = row 0
  const KernelFunction rbf({{Op::rbf, 1e12}});
  std::vector<double> row(9), matrix(81);
  make_gram(data.as_dense(), rbf)->row(0, {}, row);
  expect(row[4] == 1 && row[1] == 0, "equal rows have distance 0; other kernel values underflow to 0");
  cross(data.as_dense(), data.as_dense(), rbf, matrix, {});
  expect(matrix[4] == 1 && matrix[0] == 1 && matrix[1] == 0, "the same for blocks");

  const KernelFunction mild({{Op::rbf, 0.1}});
  std::vector<double> moved(9);
  for (double& value : data.dense) value = std::round(value * 1024) / 1024;
  make_gram(data.as_dense(), mild)->row(2, {}, row);
  for (double& value : data.dense) value += 1048576;
  make_gram(data.as_dense(), mild)->row(2, {}, moved);
  expect(row == moved, "an exact translation of the data leaves the rbf kernel unchanged, bit for bit");
}

void test_splines() {
  expect(bspline(1, 0) == 1 && bspline(1, 0.25) == 0.75 && bspline(1, 1) == 0, "the linear spline");
  expect(std::fabs(bspline(3, 0) - 2.0 / 3) < 1e-15 && std::fabs(bspline(3, -1) - 1.0 / 6) < 1e-15,
         "the cubic spline");
  for (int q = 1; q <= KernelFunction::kMaxSplineDegree; q += 2) {
    double sum = 0;
    for (int k = -20; k <= 20; ++k) sum += bspline(q, 0.3 + k);
    expect(std::fabs(sum - 1) < 1e-14, "integer shifts sum to one");
    expect(bspline(q, 0.5 * (q + 1)) == 0 && bspline(q, 1e300) == 0, "zero outside the support");
  }
}

void test_programs_are_checked() {
  expect(throws([] { KernelFunction({}); }), "an empty program");
  expect(throws([] { KernelFunction({{Op::linear}, {Op::linear}}); }), "a program that leaves two values");
  expect(throws([] { KernelFunction({{Op::linear}, {Op::sum}}); }), "a missing operand");
  expect(throws([] { KernelFunction({{Op::rbf, -1}}); }), "a negative gamma");
  expect(throws([] { KernelFunction({{Op::rbf, NAN}}); }), "gamma is NaN");
  expect(throws([] { KernelFunction({{Op::bspline, 1, 0, 2}}); }), "a spline of even degree");
  expect(throws([] { op_named("cosine"); }), "an unknown name");
  const std::int64_t start[] = {0, 2}, index[] = {1, 1}, outside[] = {0, 5};
  const double values[] = {1, 2};
  expect(throws([&] { check_csr(Csr<double, std::int64_t>{values, index, start, 1, 3}, 2); }),
         "a repeated index");
  expect(throws([&] { check_csr(Csr<double, std::int64_t>{values, outside, start, 1, 3}, 2); }),
         "an index outside");
}

void test_tasks() {
  std::atomic<int> done{0};
  const auto count_task = [&] { return [&](std::size_t, Poller&) { ++done; }; };
  run_tasks(100, {4, {}}, count_task);
  expect(done == 100, "every task runs once");
  expect(throws([] {
           run_tasks(50, {3, {}}, [] {
             return [](std::size_t i, Poller&) {
               if (i == 7) throw std::runtime_error("seven");
             };
           });
         }),
         "an exception in a worker reaches the caller");
}

void test_stored_matrices() {
  const std::vector<double> matrix = {1, 2, 3, 4};
  const std::vector<float> matrix32 = {1, 2, 3, 4};
  int calls = 0;
  const RowCallback rows = [&](std::size_t i, Span<double> out) {
    ++calls;
    if (i > 1) throw std::runtime_error("outside");
    std::copy(matrix.begin() + static_cast<std::ptrdiff_t>(2 * i),
              matrix.begin() + static_cast<std::ptrdiff_t>(2 * i + 2), out.begin());
  };
  std::vector<std::unique_ptr<Gram>> grams;
  grams.push_back(make_gram(matrix.data(), 2));
  grams.push_back(make_gram(matrix32.data(), 2));
  grams.push_back(make_gram({1, 4}, rows));
  for (const auto& gram : grams) {
    std::vector<double> row(2), product(2), diagonal(2);
    const std::vector<double> v = {10, 1};
    const std::vector<std::int32_t> second = {1};
    std::vector<float> one(1);
    gram->row(1, {}, row);
    gram->row(0, second, one);
    gram->diagonal(diagonal);
    gram->multiply(v, product, {2, {}});
    expect(row == std::vector<double>{3, 4} && one[0] == 2 && diagonal == std::vector<double>{1, 4},
           "rows of a matrix");
    // For a callback the product is a sum of rows, because kernel matrices are symmetric.
    const std::vector<double> expected = gram == grams.back() ? std::vector<double>{13, 24}
        : std::vector<double>{12, 34};
    expect(product == expected, "the product with a matrix");
  }
  expect(calls == 4, "a callback is called once per row");
  std::vector<double> row(2);
  expect(throws([&] { grams[2]->row(2, {}, row); }), "an exception of a callback reaches the caller");
}

}  // namespace

int main() {
  test_exp_and_tanh();
  test_instruction_sets_agree();
  test_products_of_strips();
  test_rows_follow_the_formula();
  test_expansions();
  test_equal_rows_and_translation();
  test_splines();
  test_programs_are_checked();
  test_tasks();
  test_stored_matrices();
  std::printf("test_kernels (%s): %s\n", instruction_set(), failures ? "FAILED" : "passed");
  return failures != 0;
}
