// cholesky.hpp: A = LLᵀ of a symmetric matrix in memory, by blocks of columns on the threads of a pool.
// What an entry is made of, and in which order, depends on its place alone: the bits do not depend on the threads.
#pragma once

#include <cstddef>
#include <vector>

#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

class SymmetricFactor {
 public:
  explicit SymmetricFactor(const Parallel& parallel) : parallel_(parallel) {}

  // Room for a matrix of so many rows, to be filled (the lower triangle; what is above it is lost) before `make`.
  void resize(std::size_t size);
  double* row(std::size_t i) { return values_.data() + i * stride_; }
  bool make();  // in place; false if the matrix is not positive definite
  void solve(std::vector<double>& x) const;

 private:
  void below(std::size_t block, std::size_t width);
  template <class Work>
  void each_part(std::size_t rows, Work work);

  Parallel parallel_;
  std::size_t size_ = 0, stride_ = 0;
  std::vector<double> values_, panel_;
};

}  // namespace hinge
