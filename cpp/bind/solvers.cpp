// solvers.cpp: SMO and the working-set engine as Python sees them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/batch.hpp"
#include "hinge/solvers/multiplier.hpp"
#include "hinge/solvers/smo.hpp"
#include "hinge/solvers/working_set.hpp"
#include "run_control.hpp"
#include "vectors.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

SignedProblem signed_problem(std::size_t samples, const Vector<const double>& linear,
                             const Vector<const double>& lower, const Vector<const double>& upper,
                             const Vector<const std::int8_t>& group, std::size_t slots, const Vector<double>& beta) {
  const std::size_t size = slots * samples;
  for (std::size_t given : {linear.size(), lower.size(), upper.size(), group.size(), beta.size()})
    if (given != size) throw std::invalid_argument("every vector needs slots · n entries");
  return {span(linear), span(lower), span(upper), span(group), slots};
}

nb::dict report(const SmoResult& result, std::vector<double>&& f, nb::dict history, nb::object error) {
  nb::dict out;
  out["status"] = static_cast<int>(result.status);
  out["exact"] = result.exact;
  out["single"] = result.single;
  out["rough"] = result.rough;
  out["polish"] = result.polish;
  out["iterations"] = result.iterations;
  out["violation"] = result.violation;
  out["objective"] = result.objective;
  out["row_hits"] = result.row_hits;
  out["row_misses"] = result.row_misses;
  out["reconstructions"] = result.reconstructions;
  out["recomputations"] = result.recomputations;
  out["f"] = to_numpy(std::move(f));
  out["history"] = history;
  out["error"] = error;
  return out;
}

nb::dict smo(const Gram& gram, Vector<const double> linear, Vector<const double> lower, Vector<const double> upper,
             Vector<const std::int8_t> group, std::size_t slots, Vector<double> beta, double tolerance,
             bool stop_on_gap, bool shrinking, std::int64_t max_iterations, double max_seconds, std::size_t cache_bytes,
             bool double_rows, nb::object python_control) {
  const KernelSource& kernel = gram.source();
  const SignedProblem problem = signed_problem(kernel.size(), linear, lower, upper, group, slots, beta);
  const SmoOptions options{tolerance, stop_on_gap, shrinking, max_iterations, max_seconds, cache_bytes};
  PyRunControl control(std::move(python_control));
  std::vector<double> f(kernel.size());
  SmoResult result;
  {
    nb::gil_scoped_release nogil;
    result = double_rows ? solve_smo<double>(kernel, problem, options, span(beta), f, control)
                         : solve_smo<float>(kernel, problem, options, span(beta), f, control);
  }
  return report(result, std::move(f), control.history(), control.error());
}

using Part = std::tuple<nb::object, Vector<const double>, Vector<const double>, Vector<const double>,
                        Vector<const std::int8_t>, std::size_t, Vector<double>, bool, std::int64_t, bool, std::pair<double, double>>;

// Every part: (samples or None for all, linear, lower, upper, group, slots, beta, double_rows, max_iterations, polish, totals).
nb::list working_set(const Gram& gram, const std::vector<Part>& given, double tolerance, bool stop_on_gap,
                     bool shrinking, double max_seconds, std::size_t cache_bytes, std::size_t size, int threads,
                     int selection, nb::object python_control) {
  const KernelSource& kernel = gram.source();
  std::vector<std::int32_t> everybody(kernel.size());
  std::iota(everybody.begin(), everybody.end(), 0);
  std::vector<ProblemPart> parts;
  std::vector<std::vector<double>> f;
  std::vector<Vector<const std::int32_t>> lists;  // kept alive
  for (const auto& [list, linear, lower, upper, group, slots, beta, double_rows, max_iterations, polish, totals] : given) {
    Span<const std::int32_t> samples(everybody);
    if (!list.is_none()) {
      lists.push_back(nb::cast<Vector<const std::int32_t>>(list, false));
      samples = span(lists.back());
      for (std::int32_t i : samples)
        if (i < 0 || static_cast<std::size_t>(i) >= kernel.size())
          throw std::invalid_argument("samples must be rows of the kernel matrix");
    }
    f.emplace_back(samples.size());
    parts.push_back({samples, signed_problem(samples.size(), linear, lower, upper, group, slots, beta), span(beta),
                     f.back(), double_rows, max_iterations, polish, {totals.first, totals.second}});
  }
  const WorkingSetOptions options{tolerance, stop_on_gap, -1,        max_seconds, cache_bytes,
                                  size,      threads,     shrinking, static_cast<Selection>(selection)};
  PyRunControl control(std::move(python_control));
  std::vector<BatchResult> results;
  {
    nb::gil_scoped_release nogil;
    results = solve_many(kernel, parts, options, control);
  }
  nb::list out;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (!results[k].begun) results[k].result.status = Status::interrupted, results[k].result.exact = false;
    out.append(report(results[k].result, std::move(f[k]), PyRunControl::as_columns(results[k].history), control.error()));
  }
  return out;
}

double multiplier(Vector<const double> row, Vector<const double> alpha, Vector<const double> gradient,
                  Vector<const double> lower, Vector<const double> upper) {
  for (std::size_t size : {alpha.size(), gradient.size(), lower.size(), upper.size()})
    if (size != row.size()) throw std::invalid_argument("every variable needs a value of each");
  const nb::gil_scoped_release release;
  return best_multiplier(span(row), span(alpha), span(gradient), span(lower), span(upper));
}

}  // namespace

void solvers(nb::module_& m) {
  m.def("smo", &smo, "gram"_a, "linear"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
        "group"_a.noconvert(), "slots"_a, "beta"_a.noconvert(), "tolerance"_a, "stop_on_gap"_a, "shrinking"_a,
        "max_iterations"_a, "max_seconds"_a, "cache_bytes"_a, "double_rows"_a, "control"_a.none() = nb::none(),
        "Minimise ½ βᵀKβ + cᵀβ over groups of variables; beta is changed in place.  See smo.hpp.");
  m.def("working_set", &working_set, "gram"_a, "parts"_a, "tolerance"_a, "stop_on_gap"_a, "shrinking"_a,
        "max_seconds"_a, "cache_bytes"_a, "size"_a, "threads"_a, "selection"_a,
        "control"_a.none() = nb::none(),
        "Such problems over some of the samples each, by working sets.  See working_set.hpp and batch.hpp.");
  m.def("best_multiplier", &multiplier, "row"_a.noconvert(), "alpha"_a.noconvert(), "gradient"_a.noconvert(),
        "lower"_a.noconvert(), "upper"_a.noconvert(),
        "The multiplier of an equality row that makes the duality gap smallest.  See multiplier.hpp.");
}

}  // namespace hinge::bind
