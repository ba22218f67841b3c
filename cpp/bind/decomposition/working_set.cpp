// working_set.cpp: Python bindings of the working-set method and of the dual form of its problems.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/batch.hpp"
#include "hinge/solvers/dual_form.hpp"
#include "hinge/solvers/working_set.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

// Problem (1) over some samples of a batch, by reference to arrays of the caller.
struct WorkingSetProblem {
  std::optional<Vector<const std::int32_t>> samples;  // rows of the kernel matrix; none: all
  Vector<const double> sign, linear, lower, upper;
  Matrix<const double> rows;
  Vector<const double> totals;
  double bounds_error, totals_error, largest_diagonal;
  std::size_t slots;
  Vector<double> beta;
  bool double_rows;
  std::int64_t max_iterations;
  bool polish;

  DualForm form() const {
    return {span(sign),   span(linear), span(lower),  span(upper),  {rows.data(), totals.size() * sign.size()},
            span(totals), slots,        bounds_error, totals_error, largest_diagonal};
  }
};

void check_sizes(const WorkingSetProblem& p, std::size_t samples) {
  const std::size_t size = p.sign.size();
  for (std::size_t given : {p.linear.size(), p.lower.size(), p.upper.size(), p.beta.size(), p.slots * samples})
    if (given != size) throw std::invalid_argument("sign, linear, lower, upper and beta need slots · n entries each");
  const std::size_t count = p.totals.size();
  if (count > 2 || p.rows.shape(0) != count || (count && p.rows.shape(1) != size))
    throw std::invalid_argument("rows needs one row per total, of which there are at most two, and one column per variable");
}

Span<const std::int32_t> checked_samples(const Vector<const std::int32_t>& samples, std::size_t n) {
  for (std::int32_t i : span(samples))
    if (i < 0 || static_cast<std::size_t>(i) >= n)
      throw std::invalid_argument("samples must be rows of the kernel matrix");
  return span(samples);
}

// Result of one problem: the run, and its last point as a solution of problem (1).
struct WorkingSetRun {
  WorkingSetRun(const SmoResult& result, DualPoint&& point, std::vector<double>&& f, RunHistory history,
                nb::object error)
      : result(result), status(result.status), alpha(to_numpy(std::move(point.alpha))),
        gradient(to_numpy(std::move(point.gradient))), mu(to_numpy(std::move(point.mu))), f(to_numpy(std::move(f))),
        history(std::move(history)), error(std::move(error)) {
    if (point.certified) bounds = point.bounds;
  }

  SmoResult result;
  Status status;
  NumpyVector<double> alpha, gradient, mu, f;
  std::optional<Bounds> bounds;
  RunHistory history;
  nb::object error;
};

std::vector<WorkingSetRun> working_set(const Gram& gram, const std::vector<WorkingSetProblem>& given, double tolerance,
                                       bool stop_on_gap, bool shrinking, double max_seconds, std::size_t cache_bytes,
                                       std::size_t size, int threads, int selection, nb::object python_control) {
  const KernelSource& kernel = gram.source();
  std::vector<std::int32_t> all(kernel.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<SignedForm> forms;
  std::vector<BatchProblem> problems;
  std::vector<std::vector<double>> f;
  forms.reserve(given.size());
  for (const WorkingSetProblem& p : given) {
    const Span<const std::int32_t> samples = p.samples ? checked_samples(*p.samples, kernel.size()) : all;
    check_sizes(p, samples.size());
    f.emplace_back(samples.size());
    const SignedForm& form = forms.emplace_back(p.form());
    problems.push_back({samples, form.problem(), span(p.beta), f.back(), p.double_rows, p.max_iterations, p.polish,
                        form.totals()});
  }
  const WorkingSetOptions options{tolerance, stop_on_gap, -1,        max_seconds, cache_bytes,
                                  size,      threads,     shrinking, static_cast<Selection>(selection)};
  PyRunControl control(std::move(python_control));
  std::vector<BatchResult> results;
  std::vector<DualPoint> points;
  {
    const nb::gil_scoped_release nogil;
    results = solve_batch(kernel, problems, options, control);
    for (std::size_t k = 0; k < problems.size(); ++k) {
      const SmoResult& run = results[k].result;
      const DualForm form = given[k].form();
      include_errors(form, span(given[k].beta), run.travel, run.iterations, run.run_error, results[k].history);
      points.push_back(dual_point(form, span(given[k].beta), f[k], run.exact ? run.f_error
                                                                             : std::numeric_limits<double>::infinity()));
    }
  }
  std::vector<WorkingSetRun> runs;
  for (std::size_t k = 0; k < problems.size(); ++k)
    runs.emplace_back(results[k].result, std::move(points[k]), std::move(f[k]), RunHistory(results[k].history),
                      control.error());
  return runs;
}

// p, l and u of problem (1), and whether they are valid.
struct UnsignedVariables {
  NumpyVector<double> linear, lower, upper;
  bool valid;
};

UnsignedVariables variables(const Vector<const double>& sign, const Vector<const double>& linear,
                            const Vector<const double>& lower, const Vector<const double>& upper) {
  const std::size_t size = sign.size();
  for (std::size_t given : {linear.size(), lower.size(), upper.size()})
    if (given != size) throw std::invalid_argument("linear, lower and upper need one value per variable");
  std::vector<double> p(size), low(size), high(size);
  const bool valid = unsigned_variables(span(sign), span(linear), span(lower), span(upper), p, low, high);
  return {to_numpy(std::move(p)), to_numpy(std::move(low)), to_numpy(std::move(high)), valid};
}

}  // namespace

void working_sets(nb::module_& m) {
  nb::class_<WorkingSetProblem>(m, "WorkingSetProblem",
                                "Problem (1) over all or some samples of a kernel matrix; beta is updated in place.")
      .def(nb::new_([](std::optional<Vector<const std::int32_t>> samples, Vector<const double> sign,
                       Vector<const double> linear, Vector<const double> lower, Vector<const double> upper,
                       Matrix<const double> rows, Vector<const double> totals, double bounds_error,
                       double totals_error, double largest_diagonal, std::size_t slots, Vector<double> beta,
                       bool double_rows, std::int64_t max_iterations, bool polish) {
             return WorkingSetProblem{std::move(samples), sign,         linear,       lower,
                                      upper,              rows,         totals,       bounds_error,
                                      totals_error,       largest_diagonal, slots,    beta,
                                      double_rows,        max_iterations,   polish};
           }),
           "samples"_a.noconvert().none(), "sign"_a.noconvert(), "linear"_a.noconvert(), "lower"_a.noconvert(),
           "upper"_a.noconvert(), "rows"_a.noconvert(), "totals"_a.noconvert(), "bounds_error"_a, "totals_error"_a,
           "largest_diagonal"_a, "slots"_a, "beta"_a.noconvert(), "double_rows"_a, "max_iterations"_a, "polish"_a);

  auto run = def_record<WorkingSetRun>(m, "WorkingSetRun", "Result of one problem of `working_set`.");
  run.def_prop_ro("exact", [](const WorkingSetRun& r) { return r.result.exact; })
      .def_prop_ro("support_exact", [](const WorkingSetRun& r) { return r.result.support_exact; })
      .def_prop_ro("insufficient_precision", [](const WorkingSetRun& r) { return r.result.insufficient_precision; })
      .def_prop_ro("polish", [](const WorkingSetRun& r) { return static_cast<int>(r.result.polish); })
      .def_prop_ro("iterations", [](const WorkingSetRun& r) { return r.result.iterations; })
      .def_prop_ro("violation", [](const WorkingSetRun& r) { return r.result.violation; })
      .def_prop_ro("f_error", [](const WorkingSetRun& r) { return r.result.f_error; })
      .def_prop_ro("run_error", [](const WorkingSetRun& r) { return r.result.run_error; })
      .def_prop_ro("row_hits", [](const WorkingSetRun& r) { return r.result.row_hits; })
      .def_prop_ro("row_misses", [](const WorkingSetRun& r) { return r.result.row_misses; })
      .def_prop_ro("reconstructions", [](const WorkingSetRun& r) { return r.result.reconstructions; })
      .def_prop_ro("recomputations", [](const WorkingSetRun& r) { return r.result.recomputations; })
      .def_prop_ro("bounds", [](const WorkingSetRun& r) { return r.bounds; })
      .def_ro("history", &WorkingSetRun::history);
  def_array(run, "alpha", &WorkingSetRun::alpha);
  def_array(run, "gradient", &WorkingSetRun::gradient);
  def_array(run, "mu", &WorkingSetRun::mu);
  def_array(run, "f", &WorkingSetRun::f);

  m.def("working_set", &working_set, "gram"_a, "problems"_a, "tolerance"_a, "stop_on_gap"_a, "shrinking"_a,
        "max_seconds"_a, "cache_bytes"_a, "size"_a, "threads"_a, "selection"_a, "control"_a.none() = nb::none(),
        "Solve problems over one kernel matrix by the working-set method.  See working_set.hpp and batch.hpp.");
  nb::class_<UnsignedVariables> unsigned_form(m, "UnsignedVariables", "Result of `unsigned_variables`.");
  unsigned_form.def_ro("valid", &UnsignedVariables::valid);
  def_array(unsigned_form, "linear", &UnsignedVariables::linear);
  def_array(unsigned_form, "lower", &UnsignedVariables::lower);
  def_array(unsigned_form, "upper", &UnsignedVariables::upper);
  m.def("unsigned_variables", &variables, "sign"_a.noconvert(), "linear"_a.noconvert(), "lower"_a.noconvert(),
        "upper"_a.noconvert(), "p, l and u of problem (1), and whether they are valid.  See dual_form.hpp.");
}

}  // namespace hinge::bind
