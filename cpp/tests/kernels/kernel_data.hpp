// kernel_data.hpp: random samples in all storages, and one kernel of each kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "hinge/kernels/kernel_function.hpp"
#include "hinge/kernels/samples.hpp"

namespace hinge::test {

struct Data {
  std::size_t n, d;
  std::vector<double> dense;
  std::vector<float> dense32;
  std::vector<double> values;
  std::vector<std::int64_t> index, start;

  Data(std::size_t rows, std::size_t features, double density, unsigned seed)
      : n(rows), d(features), start{0} {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t f = 0; f < d; ++f) {
        const double value = uniform(random) < density ? static_cast<float>(normal(random)) : 0.0;
        dense.push_back(value);
        dense32.push_back(static_cast<float>(value));
        if (value != 0) {
          values.push_back(value);
          index.push_back(static_cast<std::int64_t>(f));
        }
      }
      start.push_back(static_cast<std::int64_t>(index.size()));
    }
  }
  Samples as_dense() const { return Dense<double>{dense.data(), n, d}; }
  Samples as_dense32() const { return Dense<float>{dense32.data(), n, d}; }
  Samples as_csr() const {
    return Csr<double, std::int64_t>{values.data(), index.data(), start.data(), n, d};
  }
};

inline const Node kLeaves[] = {{Op::linear},         {Op::polynomial, 0.5, 1, 3},
                               {Op::rbf, 0.3},       {Op::sigmoid, 0.4, 0.1},
                               {Op::laplacian, 0.2}, {Op::bspline, 0.05, 0, 3}};

}  // namespace hinge::test
