// decomposition.cpp: Python bindings of SMO, the working-set method and the optimal multiplier.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/batch.hpp"
#include "hinge/solvers/multiplier.hpp"
#include "hinge/solvers/smo.hpp"
#include "hinge/solvers/working_set.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

// One problem of a batch, by reference to arrays of the caller.
struct WorkingSetProblem {
  std::optional<Vector<const std::int32_t>> samples;  // rows of the kernel matrix; none: all
  Vector<const double> linear, lower, upper;
  Vector<const std::int8_t> group;
  std::size_t slots;
  Vector<double> beta;
  bool double_rows;
  std::int64_t max_iterations;
  bool polish;
  std::pair<double, double> totals;
};

struct SmoRun {
  SmoRun(const SmoResult& result, std::vector<double>&& f, RunHistory history, nb::object error)
      : result(result), status(result.status), f(to_numpy(std::move(f))), history(std::move(history)),
        error(std::move(error)) {}

  SmoResult result;
  Status status;
  NumpyVector<double> f;
  RunHistory history;
  nb::object error;
};

SignedProblem signed_problem(std::size_t samples, const Vector<const double>& linear,
                             const Vector<const double>& lower, const Vector<const double>& upper,
                             const Vector<const std::int8_t>& group, std::size_t slots, const Vector<double>& beta) {
  for (std::size_t size : {linear.size(), lower.size(), upper.size(), group.size(), beta.size()})
    if (size != slots * samples)
      throw std::invalid_argument("linear, lower, upper, group and beta need slots · n entries each");
  return {span(linear), span(lower), span(upper), span(group), slots};
}

SmoRun smo(const Gram& gram, const Vector<const double>& linear, const Vector<const double>& lower,
           const Vector<const double>& upper, const Vector<const std::int8_t>& group, std::size_t slots,
           const Vector<double>& beta, double tolerance, bool stop_on_gap, bool shrinking, std::int64_t max_iterations,
           double max_seconds, std::size_t cache_bytes, bool double_rows, int rule, nb::object python_control) {
  const KernelSource& kernel = gram.source();
  const SignedProblem problem = signed_problem(kernel.size(), linear, lower, upper, group, slots, beta);
  const SmoOptions options{tolerance,   stop_on_gap, shrinking, max_iterations,
                           max_seconds, cache_bytes, static_cast<PairRule>(rule)};
  PyRunControl control(std::move(python_control));
  std::vector<double> f(kernel.size());
  SmoResult result;
  {
    const nb::gil_scoped_release nogil;
    result = double_rows ? solve_smo<double>(kernel, problem, options, span(beta), f, control)
                         : solve_smo<float>(kernel, problem, options, span(beta), f, control);
  }
  return {result, std::move(f), control.history(), control.error()};
}

Span<const std::int32_t> checked_samples(const Vector<const std::int32_t>& samples, std::size_t n) {
  for (std::int32_t i : span(samples))
    if (i < 0 || static_cast<std::size_t>(i) >= n)
      throw std::invalid_argument("samples must be rows of the kernel matrix");
  return span(samples);
}

std::vector<SmoRun> working_set(const Gram& gram, const std::vector<WorkingSetProblem>& given, double tolerance,
                                bool stop_on_gap, bool shrinking, double max_seconds, std::size_t cache_bytes,
                                std::size_t size, int threads, int selection, nb::object python_control) {
  const KernelSource& kernel = gram.source();
  std::vector<std::int32_t> all(kernel.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<BatchProblem> problems;
  std::vector<std::vector<double>> f;
  for (const WorkingSetProblem& p : given) {
    const Span<const std::int32_t> samples = p.samples ? checked_samples(*p.samples, kernel.size()) : all;
    f.emplace_back(samples.size());
    problems.push_back({samples, signed_problem(samples.size(), p.linear, p.lower, p.upper, p.group, p.slots, p.beta),
                        span(p.beta), f.back(), p.double_rows, p.max_iterations, p.polish,
                        {p.totals.first, p.totals.second}});
  }
  const WorkingSetOptions options{tolerance, stop_on_gap, -1,        max_seconds, cache_bytes,
                                  size,      threads,     shrinking, static_cast<Selection>(selection)};
  PyRunControl control(std::move(python_control));
  std::vector<BatchResult> results;
  {
    const nb::gil_scoped_release nogil;
    results = solve_batch(kernel, problems, options, control);
  }
  std::vector<SmoRun> runs;
  for (std::size_t k = 0; k < problems.size(); ++k)
    runs.emplace_back(results[k].result, std::move(f[k]), RunHistory(results[k].history), control.error());
  return runs;
}

double multiplier(const Vector<const double>& row, const Vector<const double>& alpha,
                  const Vector<const double>& gradient, const Vector<const double>& lower,
                  const Vector<const double>& upper) {
  for (std::size_t size : {alpha.size(), gradient.size(), lower.size(), upper.size()})
    if (size != row.size())
      throw std::invalid_argument("row, alpha, gradient, lower and upper must have the same length");
  const nb::gil_scoped_release nogil;
  return best_multiplier(span(row), span(alpha), span(gradient), span(lower), span(upper));
}

}  // namespace

void decomposition(nb::module_& m) {
  nb::class_<WorkingSetProblem>(m, "WorkingSetProblem",
                                "A problem over all or some samples of a kernel matrix; beta is updated in place.")
      .def(nb::new_([](std::optional<Vector<const std::int32_t>> samples, Vector<const double> linear,
                       Vector<const double> lower, Vector<const double> upper, Vector<const std::int8_t> group,
                       std::size_t slots, Vector<double> beta, bool double_rows, std::int64_t max_iterations,
                       bool polish, std::pair<double, double> totals) {
             return WorkingSetProblem{std::move(samples), linear,      lower,          upper,  group, slots,
                                      beta,               double_rows, max_iterations, polish, totals};
           }),
           "samples"_a.noconvert().none(), "linear"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
           "group"_a.noconvert(), "slots"_a, "beta"_a.noconvert(), "double_rows"_a, "max_iterations"_a, "polish"_a,
           "totals"_a);

  auto run = def_record<SmoRun>(m, "SmoRun", "Result of `smo` or of one problem of `working_set`.");
  run.def_prop_ro("exact", [](const SmoRun& r) { return r.result.exact; })
      .def_prop_ro("support_exact", [](const SmoRun& r) { return r.result.support_exact; })
      .def_prop_ro("single_precision", [](const SmoRun& r) { return r.result.single_precision; })
      .def_prop_ro("insufficient_precision", [](const SmoRun& r) { return r.result.insufficient_precision; })
      .def_prop_ro("polish", [](const SmoRun& r) { return static_cast<int>(r.result.polish); })
      .def_prop_ro("iterations", [](const SmoRun& r) { return r.result.iterations; })
      .def_prop_ro("violation", [](const SmoRun& r) { return r.result.violation; })
      .def_prop_ro("objective", [](const SmoRun& r) { return r.result.objective; })
      .def_prop_ro("f_error", [](const SmoRun& r) { return r.result.f_error; })
      .def_prop_ro("run_error", [](const SmoRun& r) { return r.result.run_error; })
      .def_prop_ro("travel", [](const SmoRun& r) { return r.result.travel; })
      .def_prop_ro("row_hits", [](const SmoRun& r) { return r.result.row_hits; })
      .def_prop_ro("row_misses", [](const SmoRun& r) { return r.result.row_misses; })
      .def_prop_ro("reconstructions", [](const SmoRun& r) { return r.result.reconstructions; })
      .def_prop_ro("recomputations", [](const SmoRun& r) { return r.result.recomputations; })
      .def_ro("history", &SmoRun::history);
  def_array(run, "f", &SmoRun::f);

  m.def("smo", &smo, "gram"_a, "linear"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
        "group"_a.noconvert(), "slots"_a, "beta"_a.noconvert(), "tolerance"_a, "stop_on_gap"_a, "shrinking"_a,
        "max_iterations"_a, "max_seconds"_a, "cache_bytes"_a, "double_rows"_a, "rule"_a = 0,
        "control"_a.none() = nb::none(),
        "Minimize ½ βᵀKβ + cᵀβ with the sums of groups of variables fixed; beta is updated in place.  See smo.hpp.");
  m.def("working_set", &working_set, "gram"_a, "problems"_a, "tolerance"_a, "stop_on_gap"_a, "shrinking"_a,
        "max_seconds"_a, "cache_bytes"_a, "size"_a, "threads"_a, "selection"_a, "control"_a.none() = nb::none(),
        "Solve problems over one kernel matrix by the working-set method.  See working_set.hpp and batch.hpp.");
  m.def("best_multiplier", &multiplier, "row"_a.noconvert(), "alpha"_a.noconvert(), "gradient"_a.noconvert(),
        "lower"_a.noconvert(), "upper"_a.noconvert(),
        "The multiplier of an equality row that minimizes the duality gap.  See multiplier.hpp.");
}

}  // namespace hinge::bind
