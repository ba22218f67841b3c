// subset.hpp: some rows of samples, copied side by side, and the part of a linear machine that is about them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hinge/kernels/samples.hpp"
#include "hinge/solvers/linear.hpp"

namespace hinge {

// Owns a copy of the rows; as stored as the samples they come from.
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

// The losses of some samples, every one of them `times` its own; owns its arrays.
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
