// test_feature_lists.cpp: products by feature equal gathered products bit for bit, and are chosen where they are
// cheaper.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "expect.hpp"
#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"
#include "kernels/kernel_data.hpp"
#include "kernels/sparse/feature_lists.hpp"
#include "kernels/sparse/gather_kernel.hpp"

namespace {

using namespace hinge;
using namespace hinge::test;

std::vector<double> kernel_rows(const Samples& x, const Samples& z, RowList list, const KernelFunction& function,
                                const FeatureLists* lists) {
  constexpr std::size_t width = GatherKernel::kColumns;
  const SampleNorms norms(z, function.needs());
  GatherKernel kernel(x, z, list, function, norms, lists);
  std::vector<double> values;
  for (std::size_t i = 0; i < rows(x); ++i) {
    kernel.open(i, list.size());
    for (std::size_t j = 0; j < list.size(); j += width) {
      const std::size_t count = std::min(width, list.size() - j);
      const double* const row = kernel.evaluate(j, count);
      values.insert(values.end(), row, row + count);
    }
    kernel.close();
  }
  return values;
}

void test_lists_and_gathering_agree() {
  const Data x(40, 900, 0.01, 1), z(300, 900, 0.01, 2);
  const std::vector<std::size_t> some = {3, 4, 17, 40, 41, 42, 120, 250, 251, 299};
  for (const RowList list : {RowList(z.n), RowList(some)}) {
    const FeatureLists lists(z.as_csr(), list);
    for (const Node& leaf : kLeaves) {
      const KernelFunction function({leaf});
      for (const Samples& samples : {x.as_csr(), x.as_dense(), x.as_dense32()}) {
        expect(lists_are_cheaper(lists, lists.terms(samples, 0), list.size()) == (list.size() == z.n),
               "lists are used for all samples, and not for ten of 300");
        expect(kernel_rows(samples, z.as_csr(), list, function, &lists) ==
                   kernel_rows(samples, z.as_csr(), list, function, nullptr),
               "kernel values by feature equal gathered values");
      }
      std::vector<double> dots(z.n, 7.0), overlaps(z.n, 7.0);
      lists.multiply(x.as_csr(), 0, dots, overlaps);
      for (std::size_t j = 0, c = 0; j < z.n; ++j) {
        if (c < list.size() && list[c] == j) {
          double dot = 0;
          for (std::size_t f = 0; f < x.d; ++f) dot += x.dense[f] * z.dense[j * z.d + f];
          expect(dots[j] == dot, "product of two rows");
          ++c;
        } else {
          expect(dots[j] == 0 && overlaps[j] == 0, "samples that are not listed have no product");
        }
      }
    }
  }
}

void test_choice() {
  const Data sparse(200, 2000, 0.01, 3), few(8, 2000, 0.01, 4), narrow(200, 40, 0.5, 5);
  const RowList all(200);
  expect(useful_feature_lists(sparse.as_csr(), sparse.as_csr(), all) != nullptr, "few common features");
  expect(useful_feature_lists(narrow.as_csr(), narrow.as_csr(), all) == nullptr, "many common features");
  expect(useful_feature_lists(few.as_csr(), sparse.as_csr(), all) == nullptr, "few rows do not repay the lists");
  expect(useful_feature_lists(sparse.as_csr(), sparse.as_dense(), all) == nullptr, "dense Z");
  expect(useful_feature_lists(sparse.as_csr(), sparse.as_csr(), RowList(0)) == nullptr, "empty list");
}

}  // namespace

int main() {
  test_lists_and_gathering_agree();
  test_choice();
  return verdict("test_feature_lists");
}
