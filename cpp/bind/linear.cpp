// bind/linear.cpp: linear machines as Python sees them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/crammer_singer.hpp"
#include "hinge/solvers/linear.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Span<const double> span(const Vector<double>& v) { return {v.data(), v.size()}; }

nb::dict linear(const Samples& samples, Vector<double> target, Vector<double> lower, Vector<double> upper,
                Vector<double> ridge, double tube, int bias, double bias_scale, double total, Vector<double> beta,
                double tolerance, int method, std::int64_t max_iterations, double max_seconds, int threads,
                std::uint64_t seed, bool expansion, std::size_t block_bytes, nb::object python_control) {
  const std::size_t n = rows(samples.view);
  for (std::size_t given : {target.size(), lower.size(), upper.size(), ridge.size(), beta.size()})
    if (given != n) throw std::invalid_argument("every vector needs one entry per sample");
  const LinearProblem problem{span(target), span(lower), span(upper),
                              span(ridge),  tube,        static_cast<Bias>(bias),
                              bias_scale,   total};
  const LinearOptions options{tolerance, static_cast<LinearMethod>(method), max_iterations, max_seconds, threads, seed,
                              expansion, block_bytes};
  PyRunControl control(std::move(python_control));
  LinearResult result;
  {
    nb::gil_scoped_release nogil;
    result = solve_linear(samples.view, problem, options, span(beta), control);
  }
  nb::dict out;
  out["status"] = static_cast<int>(result.status);
  out["iterations"] = result.iterations;
  out["epochs"] = result.epochs;
  out["newton_steps"] = result.newton_steps;
  out["sample_steps"] = result.sample_steps;
  out["passes"] = result.products;
  out["work"] = result.work;
  out["primal"] = result.bounds.primal;
  out["dual"] = result.bounds.dual;
  out["gap"] = result.bounds.gap;
  out["violation"] = result.bounds.violation;
  out["weights"] = to_numpy(std::move(result.weights));
  out["beta"] = to_numpy(std::move(result.beta));
  out["offset"] = result.offset;
  out["floor"] = result.floor;
  out["history"] = control.history();
  out["error"] = control.error();
  return out;
}

nb::dict crammer_singer(const Samples& samples, Vector<std::int32_t> label, Vector<double> cost, std::size_t classes,
                        int bias, double bias_scale, Vector<double> alpha, double tolerance,
                        std::int64_t max_iterations, double max_seconds, std::uint64_t seed, nb::object python_control) {
  const std::size_t n = rows(samples.view);
  if (label.size() != n || cost.size() != n || alpha.size() != n * classes || classes < 2)
    throw std::invalid_argument("one label and one cost per sample, and a variable per class, are needed");
  for (std::size_t i = 0; i < n; ++i)
    if (label.data()[i] < 0 || static_cast<std::size_t>(label.data()[i]) >= classes)
      throw std::invalid_argument("a label is outside the classes");
  const CrammerSingerProblem problem{{label.data(), n}, span(cost), classes, static_cast<Bias>(bias), bias_scale};
  LinearOptions options;
  options.tolerance = tolerance, options.max_iterations = max_iterations;
  options.max_seconds = max_seconds, options.seed = seed;
  PyRunControl control(std::move(python_control));
  CrammerSingerResult result;
  {
    nb::gil_scoped_release nogil;
    result = solve_crammer_singer(samples.view, problem, options, span(alpha), control);
  }
  nb::dict out;
  out["status"] = static_cast<int>(result.status);
  out["iterations"] = result.iterations;
  out["primal"] = result.bounds.primal;
  out["dual"] = result.bounds.dual;
  out["gap"] = result.bounds.gap;
  out["violation"] = result.bounds.violation;
  out["weights"] = to_numpy(std::move(result.weights));
  out["offset"] = to_numpy(std::move(result.offset));
  out["alpha"] = to_numpy(std::move(result.alpha));
  out["history"] = control.history();
  out["error"] = control.error();
  return out;
}

nb::ndarray<nb::numpy, double, nb::ndim<2>> products(
    const Samples& samples, nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> weights,
    int threads) {
  const std::size_t n = rows(samples.view), machines = weights.shape(0);
  if (weights.shape(1) != features(samples.view)) throw std::invalid_argument("one weight per feature is needed");
  auto* values = new double[n * machines]();
  nb::ndarray<nb::numpy, double, nb::ndim<2>> out(
      values, {n, machines}, nb::capsule(values, [](void* p) noexcept { delete[] static_cast<double*>(p); }));
  const nb::gil_scoped_release nogil;
  linear_products(samples.view, {weights.data(), weights.size()}, machines, {threads, check_signals},
                  {values, n * machines});
  return out;
}

}  // namespace

void linear_machines(nb::module_& m) {
  m.def("linear", &linear, "samples"_a, "target"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
        "ridge"_a.noconvert(), "tube"_a, "bias"_a, "bias_scale"_a, "total"_a, "beta"_a.noconvert(), "tolerance"_a,
        "method"_a, "max_iterations"_a, "max_seconds"_a, "threads"_a, "seed"_a, "expansion"_a, "block_bytes"_a,
        "control"_a.none() = nb::none(), "A linear machine in signed coordinates.  See linear.hpp.");
  m.def("crammer_singer", &crammer_singer, "samples"_a, "label"_a.noconvert(), "cost"_a.noconvert(), "classes"_a,
        "bias"_a, "bias_scale"_a, "alpha"_a.noconvert(), "tolerance"_a, "max_iterations"_a, "max_seconds"_a, "seed"_a,
        "control"_a.none() = nb::none(), "All classes at once.  See crammer_singer.hpp.");
  m.def("products", &products, "samples"_a, "weights"_a.noconvert(), "threads"_a = 1,
        "Inner products of every sample with every row of weights.");
}

}  // namespace hinge::bind
