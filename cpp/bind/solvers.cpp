// solvers.cpp: SMO as Python sees it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "bind.hpp"
#include "gram.hpp"
#include "hinge/smo.hpp"
#include "hinge/working_set.hpp"
#include "monitor.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
Span<T> span(const Vector<T>& v) {
  return {v.data(), v.size()};
}

SignedProblem signed_problem(const KernelSource& kernel, const Vector<const double>& linear,
                             const Vector<const double>& lower, const Vector<const double>& upper,
                             const Vector<const std::int8_t>& group, std::size_t slots, const Vector<double>& beta) {
  const std::size_t size = slots * kernel.size();
  for (std::size_t given : {linear.size(), lower.size(), upper.size(), group.size(), beta.size()})
    if (given != size) throw std::invalid_argument("every vector needs slots · n entries");
  return {span(linear), span(lower), span(upper), span(group), slots};
}

nb::dict report(const SmoResult& result, std::vector<double>&& f, const PyMonitor& monitor) {
  nb::dict out;
  out["status"] = static_cast<int>(result.status);
  out["exact"] = result.exact;
  out["iterations"] = result.iterations;
  out["violation"] = result.violation;
  out["objective"] = result.objective;
  out["row_hits"] = result.row_hits;
  out["row_misses"] = result.row_misses;
  out["reconstructions"] = result.reconstructions;
  out["recomputations"] = result.recomputations;
  out["f"] = to_numpy(std::move(f));
  out["history"] = monitor.history();
  out["error"] = monitor.error();
  return out;
}

nb::dict smo(const Gram& gram, Vector<const double> linear, Vector<const double> lower, Vector<const double> upper,
             Vector<const std::int8_t> group, std::size_t slots, Vector<double> beta, double tolerance,
             bool stop_on_gap, bool shrinking, std::int64_t max_iterations, double max_seconds, std::size_t cache_bytes,
             bool double_rows, nb::object progress) {
  const KernelSource& kernel = gram.source();
  const SignedProblem problem = signed_problem(kernel, linear, lower, upper, group, slots, beta);
  const SmoOptions options{tolerance, stop_on_gap, shrinking, max_iterations, max_seconds, cache_bytes};
  PyMonitor monitor(std::move(progress));
  std::vector<double> f(kernel.size());
  SmoResult result;
  {
    nb::gil_scoped_release nogil;
    result = double_rows ? solve_smo<double>(kernel, problem, options, span(beta), f, monitor)
                         : solve_smo<float>(kernel, problem, options, span(beta), f, monitor);
  }
  return report(result, std::move(f), monitor);
}

nb::dict working_set(const Gram& gram, Vector<const double> linear, Vector<const double> lower,
                     Vector<const double> upper, Vector<const std::int8_t> group, std::size_t slots,
                     Vector<double> beta, double tolerance, bool stop_on_gap, std::int64_t max_iterations,
                     double max_seconds, std::size_t cache_bytes, std::size_t size, int threads, bool double_rows,
                     nb::object progress) {
  const KernelSource& kernel = gram.source();
  const SignedProblem problem = signed_problem(kernel, linear, lower, upper, group, slots, beta);
  const WorkingSetOptions options{tolerance, stop_on_gap, max_iterations, max_seconds, cache_bytes, size, threads};
  PyMonitor monitor(std::move(progress));
  std::vector<double> f(kernel.size());
  SmoResult result;
  {
    nb::gil_scoped_release nogil;
    result = double_rows ? solve_working_set<double>(kernel, problem, options, span(beta), f, monitor)
                         : solve_working_set<float>(kernel, problem, options, span(beta), f, monitor);
  }
  return report(result, std::move(f), monitor);
}

}  // namespace

void solvers(nb::module_& m) {
  m.def("smo", &smo, "gram"_a, "linear"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
        "group"_a.noconvert(), "slots"_a, "beta"_a.noconvert(), "tolerance"_a, "stop_on_gap"_a, "shrinking"_a,
        "max_iterations"_a, "max_seconds"_a, "cache_bytes"_a, "double_rows"_a, "progress"_a.none() = nb::none(),
        "Minimise ½ βᵀKβ + cᵀβ over groups of variables; beta is changed in place.  See smo.hpp.");
  m.def("working_set", &working_set, "gram"_a, "linear"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
        "group"_a.noconvert(), "slots"_a, "beta"_a.noconvert(), "tolerance"_a, "stop_on_gap"_a, "max_iterations"_a,
        "max_seconds"_a, "cache_bytes"_a, "size"_a, "threads"_a, "double_rows"_a, "progress"_a.none() = nb::none(),
        "The same problem by working sets.  See working_set.hpp.");
}

}  // namespace hinge::bind
