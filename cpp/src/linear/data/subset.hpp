// subset.hpp: contiguous copy of some rows, and the linear problem restricted to them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hinge/kernels/samples.hpp"
#include "hinge/solvers/linear.hpp"

namespace hinge {

// Owns a copy of the rows in the same storage format.
class RowSubset {
 public:
  RowSubset(const Samples& samples, Span<const std::uint32_t> rows);
  RowSubset(const RowSubset&) = delete;
  RowSubset& operator=(const RowSubset&) = delete;
  const Samples& samples() const { return view_; }

 private:
  std::unique_ptr<char[]> values_, index_, start_;
  Samples view_;
};

// The losses of some samples, each multiplied by `times`.  Owns its arrays.
class ProblemSubset {
 public:
  ProblemSubset(const LinearProblem& problem, Span<const std::uint32_t> rows, double times);
  ProblemSubset(const ProblemSubset&) = delete;
  ProblemSubset& operator=(const ProblemSubset&) = delete;
  LinearProblem problem;

 private:
  std::vector<double> target_, lower_, upper_, ridge_;
};

}  // namespace hinge
