// cost_sequence.cpp: Python binding of the solver for cost sequences of many problems, given as flat arrays.
#include <nanobind/nanobind.h>

#include <stdexcept>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/cost_sequence.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// Problem p has the samples start[p] … start[p + 1] − 1 of `samples`.  Its slots · n values of linear, lower and upper
// begin at slots · start[p], its m × n coefficients at m · start[p].  Tables have one row per problem and one column
// per cost.
void solve(const Gram& gram, const Vector<const std::int32_t>& samples, const Vector<const std::int64_t>& start,
           const Vector<const double>& linear, const Vector<const double>& lower, const Vector<const double>& upper,
           std::size_t slots, const Vector<const std::int64_t>& max_iterations, const Vector<const double>& costs,
           const Vector<double>& coefficients, const Matrix<double>& offset, const Matrix<double>& seconds,
           const Matrix<std::int8_t>& status, const Matrix<std::int64_t>& iterations, double tolerance,
           double max_seconds, std::size_t cache_bytes, bool double_rows, int threads) {
  require(start.size() > 0 && start.data()[0] == 0, "start must begin with 0");
  const std::size_t count = start.size() - 1, total = samples.size(), m = costs.size();
  for (std::size_t p = 0; p < count; ++p) require(start.data()[p] < start.data()[p + 1], "start must be increasing");
  require(static_cast<std::size_t>(start.data()[count]) == total, "start must end with the number of samples");
  for (std::size_t size : {linear.size(), lower.size(), upper.size()})
    require(size == slots * total, "linear, lower and upper need slots entries per sample");
  require(max_iterations.size() == count, "max_iterations needs one entry per problem");
  require(coefficients.size() == m * total, "coefficients needs one entry per cost and sample");
  for (std::int32_t i : span(samples))
    require(i >= 0 && static_cast<std::size_t>(i) < gram.size(), "samples must be rows of the kernel matrix");
  for (double cost : span(costs)) require(cost > 0, "costs must be positive");
  const auto fits = [&](const auto& table) { return table.shape(0) == count && table.shape(1) == m; };
  require(fits(offset) && fits(seconds) && fits(status) && fits(iterations),
          "offset, seconds, status and iterations need one row per problem and one column per cost");

  std::vector<CostSequenceProblem> problems;
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t first = static_cast<std::size_t>(start.data()[p]);
    const std::size_t n = static_cast<std::size_t>(start.data()[p + 1]) - first;
    const std::size_t at = slots * first, size = slots * n;
    problems.push_back({span(samples).subspan(first, n), span(linear).subspan(at, size), span(lower).subspan(at, size),
                        span(upper).subspan(at, size), slots, max_iterations.data()[p],
                        span(coefficients).subspan(m * first, m * n), {offset.data() + p * m, m},
                        {seconds.data() + p * m, m}, {status.data() + p * m, m}, {iterations.data() + p * m, m}});
  }
  const CostSequenceOptions options{tolerance, max_seconds, cache_bytes, double_rows};
  const nb::gil_scoped_release nogil;
  solve_cost_sequences(gram.source(), problems, span(costs), options, {threads, check_signals});
}

}  // namespace

void cost_sequences(nb::module_& m) {
  m.def("solve_cost_sequences", &solve, "gram"_a, "samples"_a.noconvert(), "start"_a.noconvert(),
        "linear"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(), "slots"_a, "max_iterations"_a.noconvert(),
        "costs"_a.noconvert(), "coefficients"_a.noconvert(), "offset"_a.noconvert(), "seconds"_a.noconvert(),
        "status"_a.noconvert(), "iterations"_a.noconvert(), "tolerance"_a, "max_seconds"_a, "cache_bytes"_a,
        "double_rows"_a, "threads"_a,
        "Solve problems over some of the samples each, for a sequence of costs.  See cost_sequence.hpp.");
}

}  // namespace hinge::bind
