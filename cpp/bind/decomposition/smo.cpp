// smo.cpp: Python bindings of SMO and of the optimal multiplier.
#include <stdexcept>
#include <utility>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/multiplier.hpp"
#include "hinge/solvers/smo.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

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
           double max_seconds, std::size_t cache_bytes, bool double_rows, int rule, std::int64_t sticky_steps,
           nb::object python_control) {
  const KernelSource& kernel = gram.source();
  const SignedProblem problem = signed_problem(kernel.size(), linear, lower, upper, group, slots, beta);
  const SmoOptions options{tolerance,   stop_on_gap, shrinking, max_iterations,
                           max_seconds, cache_bytes, static_cast<PairRule>(rule), sticky_steps};
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
  auto run = def_record<SmoRun>(m, "SmoRun", "Result of `smo`.");
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
        "max_iterations"_a, "max_seconds"_a, "cache_bytes"_a, "double_rows"_a, "rule"_a = 0, "sticky_steps"_a = 0,
        "control"_a.none() = nb::none(),
        "Minimize ½ βᵀKβ + cᵀβ with the sums of groups of variables fixed; beta is updated in place.  See smo.hpp.");
  m.def("best_multiplier", &multiplier, "row"_a.noconvert(), "alpha"_a.noconvert(), "gradient"_a.noconvert(),
        "lower"_a.noconvert(), "upper"_a.noconvert(),
        "The multiplier of an equality row that minimizes the duality gap.  See multiplier.hpp.");
}

}  // namespace hinge::bind
