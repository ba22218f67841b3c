// cost_sequence.cpp: Python binding of the solver for cost sequences of many problems.
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/cost_sequence.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

// hinge::CostSequenceProblem, by reference to arrays of the caller.
struct SequenceProblem {
  Vector<const std::int32_t> samples;
  Vector<const double> linear, lower, upper;
  std::size_t slots;
  std::int64_t max_iterations;
  Matrix<double> coefficients;
  Vector<double> offset, seconds;
  Vector<std::int8_t> status;
  Vector<std::int64_t> iterations;
};

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

CostSequenceProblem checked(const SequenceProblem& p, std::size_t rows, std::size_t costs) {
  const std::size_t n = p.samples.size();
  for (std::int32_t i : span(p.samples))
    require(i >= 0 && static_cast<std::size_t>(i) < rows, "samples must be rows of the kernel matrix");
  for (std::size_t size : {p.linear.size(), p.lower.size(), p.upper.size()})
    require(size == p.slots * n, "linear, lower and upper need slots entries per sample");
  require(p.coefficients.shape(0) == costs && p.coefficients.shape(1) == n,
          "coefficients needs one row per cost and one column per sample");
  for (std::size_t size : {p.offset.size(), p.seconds.size(), p.status.size(), p.iterations.size()})
    require(size == costs, "offset, seconds, status and iterations need one entry per cost");
  return {span(p.samples), span(p.linear), span(p.lower), span(p.upper), p.slots, p.max_iterations,
          {p.coefficients.data(), p.coefficients.size()}, span(p.offset), span(p.seconds), span(p.status),
          span(p.iterations)};
}

void solve(const Gram& gram, const std::vector<SequenceProblem>& given, const Vector<const double>& costs,
           double tolerance, double max_seconds, std::size_t cache_bytes, bool double_rows, int threads) {
  for (double cost : span(costs)) require(cost > 0, "costs must be positive");
  std::vector<CostSequenceProblem> problems;
  for (const SequenceProblem& problem : given) problems.push_back(checked(problem, gram.size(), costs.size()));
  const CostSequenceOptions options{tolerance, max_seconds, cache_bytes, double_rows};
  const nb::gil_scoped_release nogil;
  solve_cost_sequences(gram.source(), problems, span(costs), options, {threads, check_signals});
}

}  // namespace

void cost_sequences(nb::module_& m) {
  nb::class_<SequenceProblem>(m, "CostSequenceProblem",
                              "A problem over some samples of a kernel matrix, and the arrays to which its solutions "
                              "for all costs are written.  See cost_sequence.hpp.")
      .def(nb::new_([](Vector<const std::int32_t> samples, Vector<const double> linear, Vector<const double> lower,
                       Vector<const double> upper, std::size_t slots, std::int64_t max_iterations,
                       Matrix<double> coefficients, Vector<double> offset, Vector<double> seconds,
                       Vector<std::int8_t> status, Vector<std::int64_t> iterations) {
             return SequenceProblem{samples,        linear,       lower,  upper,   slots,
                                    max_iterations, coefficients, offset, seconds, status, iterations};
           }),
           "samples"_a.noconvert(), "linear"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(), "slots"_a,
           "max_iterations"_a, "coefficients"_a.noconvert(), "offset"_a.noconvert(), "seconds"_a.noconvert(),
           "status"_a.noconvert(), "iterations"_a.noconvert());
  m.def("solve_cost_sequences", &solve, "gram"_a, "problems"_a, "costs"_a.noconvert(), "tolerance"_a, "max_seconds"_a,
        "cache_bytes"_a, "double_rows"_a, "threads"_a,
        "Solve problems over some of the samples each, for a decreasing sequence of costs.  See cost_sequence.hpp.");
}

}  // namespace hinge::bind
