// linear.cpp: Python bindings of the solvers for linear and Crammer-Singer problems, and of linear decision values.
#include <nanobind/nanobind.h>

#include <stdexcept>
#include <utility>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/crammer_singer.hpp"
#include "hinge/solvers/l1_linear.hpp"
#include "hinge/solvers/linear.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

struct LinearRun {
  LinearRun(LinearResult&& r, RunHistory history, nb::object error)
      : status(r.status), iterations(r.iterations), epochs(r.epochs), newton_steps(r.newton_steps),
        sample_steps(r.sample_steps), passes(r.products), work(r.work), bounds(r.bounds), offset(r.offset),
        floor(r.floor), weights(to_numpy(std::move(r.weights))), beta(to_numpy(std::move(r.beta))),
        f(to_numpy(std::move(r.known.f))), reach(r.known.reach), distance(r.known.distance),
        history(std::move(history)), error(std::move(error)) {}

  Status status;
  std::int64_t iterations, epochs, newton_steps, sample_steps, passes;
  double work;
  LinearBounds bounds;
  double offset, floor;
  NumpyVector<double> weights, beta, f;
  double reach, distance;
  RunHistory history;
  nb::object error;
};

struct CrammerSingerRun {
  CrammerSingerRun(CrammerSingerResult&& r, RunHistory history, nb::object error)
      : status(r.status), iterations(r.iterations), bounds(r.bounds), weights(to_numpy(std::move(r.weights))),
        offset(to_numpy(std::move(r.offset))), alpha(to_numpy(std::move(r.alpha))), history(std::move(history)),
        error(std::move(error)) {}

  Status status;
  std::int64_t iterations;
  LinearBounds bounds;
  NumpyVector<double> weights, offset, alpha;
  RunHistory history;
  nb::object error;
};

struct L1Run {
  L1Run(L1LinearResult&& r, RunHistory history, nb::object error)
      : status(r.status), iterations(r.iterations), epochs(r.epochs), rounds(r.rounds), bounds(r.bounds),
        offset(r.offset), weights(to_numpy(std::move(r.weights))), beta(to_numpy(std::move(r.beta))),
        history(std::move(history)), error(std::move(error)) {}

  Status status;
  std::int64_t iterations, epochs, rounds;
  LinearBounds bounds;
  double offset;
  NumpyVector<double> weights, beta;
  RunHistory history;
  nb::object error;
};

template <class Record>
void def_bounds(nb::class_<Record>& record) {
  record.def_prop_ro("primal", [](const Record& r) { return r.bounds.primal; })
      .def_prop_ro("dual", [](const Record& r) { return r.bounds.dual; })
      .def_prop_ro("gap", [](const Record& r) { return r.bounds.gap; })
      .def_prop_ro("violation", [](const Record& r) { return r.bounds.violation; });
}

LinearRun solve(const Samples& samples, const Vector<const double>& target, const Vector<const double>& lower,
                const Vector<const double>& upper, const Vector<const double>& ridge, double tube, int bias,
                double bias_scale, double total, const Vector<const double>& beta, double tolerance, int method,
                std::int64_t max_iterations, double max_seconds, int threads, std::uint64_t seed, bool expansion,
                std::size_t block_bytes, int order, bool shrinking, nb::object python_control) {
  const std::size_t n = rows(samples.view);
  for (std::size_t size : {target.size(), lower.size(), upper.size(), ridge.size(), beta.size()})
    if (size != n) throw std::invalid_argument("every vector needs one entry per sample");
  const LinearProblem problem{span(target), span(lower), span(upper),
                              span(ridge),  tube,        static_cast<Bias>(bias),
                              bias_scale,   total};
  const LinearOptions options{tolerance, static_cast<LinearMethod>(method), max_iterations, max_seconds, threads, seed,
                              expansion, block_bytes, static_cast<VisitOrder>(order), shrinking};
  PyRunControl control(std::move(python_control));
  LinearResult result;
  {
    const nb::gil_scoped_release nogil;
    result = solve_linear(samples.view, problem, options, span(beta), control);
  }
  return {std::move(result), control.history(), control.error()};
}

L1Run solve_l1(const Samples& samples, const Vector<const double>& target, const Vector<const double>& lower,
               const Vector<const double>& upper, const Vector<const double>& ridge, int bias, double bias_scale,
               const Vector<const double>& weights, double offset, double tolerance, std::int64_t max_iterations,
               double max_seconds, int threads, std::uint64_t seed, nb::object python_control) {
  const std::size_t n = rows(samples.view);
  for (std::size_t size : {target.size(), lower.size(), upper.size(), ridge.size()})
    if (size != n) throw std::invalid_argument("every vector needs one entry per sample");
  if (weights.size() != features(samples.view)) throw std::invalid_argument("weights needs one value per feature");
  const LinearProblem problem{span(target), span(lower), span(upper), span(ridge), 0, static_cast<Bias>(bias),
                              bias_scale,   0};
  const L1LinearOptions options{tolerance, max_iterations, max_seconds, threads, seed};
  PyRunControl control(std::move(python_control));
  L1LinearResult result;
  {
    const nb::gil_scoped_release nogil;
    result = solve_l1_linear(samples.view, problem, options, span(weights), offset, control);
  }
  return {std::move(result), control.history(), control.error()};
}

CrammerSingerRun solve_multiclass(const Samples& samples, const Vector<const std::int32_t>& label,
                                  const Vector<const double>& cost, std::size_t classes, int bias, double bias_scale,
                                  const Vector<const double>& alpha, double tolerance, std::int64_t max_iterations,
                                  double max_seconds, std::uint64_t seed, nb::object python_control) {
  const std::size_t n = rows(samples.view);
  if (label.size() != n || cost.size() != n || alpha.size() != n * classes || classes < 2)
    throw std::invalid_argument("label and cost need n entries, alpha n · classes, and classes must be at least 2");
  for (std::int32_t k : span(label))
    if (k < 0 || static_cast<std::size_t>(k) >= classes)
      throw std::invalid_argument("labels must be at least 0 and less than the number of classes");
  const CrammerSingerProblem problem{span(label), span(cost), classes, static_cast<Bias>(bias), bias_scale};
  LinearOptions options;
  options.tolerance = tolerance, options.max_iterations = max_iterations;
  options.max_seconds = max_seconds, options.seed = seed;
  PyRunControl control(std::move(python_control));
  CrammerSingerResult result;
  {
    const nb::gil_scoped_release nogil;
    result = solve_crammer_singer(samples.view, problem, options, span(alpha), control);
  }
  return {std::move(result), control.history(), control.error()};
}

NumpyMatrix<double> inner_products(const Samples& samples, const Matrix<const double>& weights, int threads) {
  const std::size_t n = rows(samples.view), outputs = weights.shape(0);
  if (weights.shape(1) != features(samples.view)) throw std::invalid_argument("weights needs one column per feature");
  NumpyMatrix<double> out = new_matrix<double>(n, outputs);
  const nb::gil_scoped_release nogil;
  linear_products(samples.view, {weights.data(), weights.size()}, outputs, {threads, check_signals},
                  {out.data(), n * outputs});
  return out;
}

}  // namespace

void linear(nb::module_& m) {
  auto run = def_record<LinearRun>(m, "LinearRun", "Result of `linear`.");
  def_bounds(run);
  run.def_ro("iterations", &LinearRun::iterations)
      .def_ro("epochs", &LinearRun::epochs)
      .def_ro("newton_steps", &LinearRun::newton_steps)
      .def_ro("sample_steps", &LinearRun::sample_steps)
      .def_ro("passes", &LinearRun::passes)
      .def_ro("work", &LinearRun::work)
      .def_ro("offset", &LinearRun::offset)
      .def_ro("floor", &LinearRun::floor)
      .def_ro("reach", &LinearRun::reach)
      .def_ro("distance", &LinearRun::distance)
      .def_ro("history", &LinearRun::history);
  def_array(run, "weights", &LinearRun::weights);
  def_array(run, "beta", &LinearRun::beta);
  def_array(run, "f", &LinearRun::f);

  auto l1 = def_record<L1Run>(m, "L1LinearRun", "Result of `l1_linear`.");
  def_bounds(l1);
  l1.def_ro("iterations", &L1Run::iterations)
      .def_ro("epochs", &L1Run::epochs)
      .def_ro("rounds", &L1Run::rounds)
      .def_ro("offset", &L1Run::offset)
      .def_ro("history", &L1Run::history);
  def_array(l1, "weights", &L1Run::weights);
  def_array(l1, "beta", &L1Run::beta);

  auto multiclass = def_record<CrammerSingerRun>(m, "CrammerSingerRun", "Result of `crammer_singer`.");
  def_bounds(multiclass);
  multiclass.def_ro("iterations", &CrammerSingerRun::iterations).def_ro("history", &CrammerSingerRun::history);
  def_array(multiclass, "weights", &CrammerSingerRun::weights);
  def_array(multiclass, "offset", &CrammerSingerRun::offset);
  def_array(multiclass, "alpha", &CrammerSingerRun::alpha);

  m.def("linear", &solve, "samples"_a, "target"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
        "ridge"_a.noconvert(), "tube"_a, "bias"_a, "bias_scale"_a, "total"_a, "beta"_a.noconvert(), "tolerance"_a,
        "method"_a, "max_iterations"_a, "max_seconds"_a, "threads"_a, "seed"_a, "expansion"_a, "block_bytes"_a,
        "order"_a = 0, "shrinking"_a = true, "control"_a.none() = nb::none(),
        "Solve a linear problem in signed coordinates.  See linear.hpp.");
  m.def("l1_linear", &solve_l1, "samples"_a, "target"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
        "ridge"_a.noconvert(), "bias"_a, "bias_scale"_a, "weights"_a.noconvert(), "offset"_a, "tolerance"_a,
        "max_iterations"_a, "max_seconds"_a, "threads"_a, "seed"_a, "control"_a.none() = nb::none(),
        "Solve a linear problem with an l1 penalty.  See l1_linear.hpp.");
  m.def("crammer_singer", &solve_multiclass, "samples"_a, "label"_a.noconvert(), "cost"_a.noconvert(), "classes"_a,
        "bias"_a, "bias_scale"_a, "alpha"_a.noconvert(), "tolerance"_a, "max_iterations"_a, "max_seconds"_a, "seed"_a,
        "control"_a.none() = nb::none(), "Solve the linear Crammer-Singer problem.  See crammer_singer.hpp.");
  m.def("products", &inner_products, "samples"_a, "weights"_a.noconvert(), "threads"_a = 1,
        "Inner products of every sample with every row of weights.");
}

}  // namespace hinge::bind
