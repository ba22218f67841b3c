// cholesky.hpp: blocked Cholesky factorization A = LLᵀ of a dense matrix on a thread pool.
// The order of operations for an entry depends only on its position: results are bit-identical for any number of
// threads.
#pragma once

#include <cstddef>
#include <vector>

#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

class SymmetricFactor {
 public:
  explicit SymmetricFactor(const Parallel& parallel) : parallel_(parallel) {}

  // Allocates a matrix of this size.  Its lower triangle must be filled before `make`; the upper one is overwritten.
  void resize(std::size_t size);
  double* row(std::size_t i) { return values_.data() + i * stride_; }
  bool make();  // in place; false if the matrix is not positive definite
  void solve(std::vector<double>& x) const;

 private:
  void eliminate(std::size_t block, std::size_t width);
  template <class Work>
  void each_part(std::size_t rows, Work work);

  Parallel parallel_;
  std::size_t size_ = 0, stride_ = 0;
  std::vector<double> values_, panel_;
};

}  // namespace hinge
