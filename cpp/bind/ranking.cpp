// ranking.cpp: Python binding of the solver for problems over pairs of samples.
#include <nanobind/nanobind.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/ranking.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

struct PairRun {
  PairRun(PairResult&& r, RunHistory history, nb::object error)
      : status(r.status), iterations(r.iterations), primal(r.primal), dual(r.dual), gap(r.gap), violation(r.violation),
        scores(to_numpy(std::move(r.scores))), history(std::move(history)), error(std::move(error)) {}

  Status status;
  std::int64_t iterations;
  double primal, dual, gap, violation;
  NumpyVector<double> scores;
  RunHistory history;
  nb::object error;
};

void check_pairs(const Vector<const std::int32_t>& first, const Vector<const std::int32_t>& second, std::size_t n) {
  if (first.size() != second.size()) throw std::invalid_argument("first and second must have the same length");
  for (const auto* list : {&first, &second})
    for (std::int32_t i : span(*list))
      if (i < 0 || static_cast<std::size_t>(i) >= n)
        throw std::invalid_argument("first and second must be rows of the kernel matrix");
}

Gram pair_gram(nb::object base, const Vector<const std::int32_t>& first, const Vector<const std::int32_t>& second) {
  const Gram& gram = nb::cast<const Gram&>(base);
  check_pairs(first, second, gram.size());
  std::shared_ptr<const void> owner(new nb::object(base), [](const void* p) {
    const nb::gil_scoped_acquire gil;
    delete static_cast<const nb::object*>(p);
  });
  return Gram(make_pair_gram(gram.gram(), copied(first), copied(second)), {owner});
}

PairRun pair_descent(const Gram& gram, const Samples* samples, const Vector<const std::int32_t>& first,
                     const Vector<const std::int32_t>& second, const Vector<const double>& cost,
                     const Vector<const std::int64_t>& block, const Vector<const double>& ridge,
                     const Vector<double>& alpha, double tolerance, bool stop_on_gap, std::int64_t max_iterations,
                     double max_seconds, int threads, std::uint64_t seed, nb::object python_control) {
  const std::size_t m = first.size();
  check_pairs(first, second, gram.size());
  if (cost.size() != m || alpha.size() != m) throw std::invalid_argument("cost and alpha need one entry per pair");
  if (ridge.size() != 0 && ridge.size() != m)
    throw std::invalid_argument("ridge needs one entry per pair, or must be empty");
  bool valid = block.size() > 0 && block.data()[0] == 0 &&
               block.data()[block.size() - 1] == static_cast<std::int64_t>(m);
  for (std::size_t b = 1; b < block.size(); ++b) valid = valid && block.data()[b] >= block.data()[b - 1];
  if (!valid) throw std::invalid_argument("block must ascend from 0 to the number of pairs");
  const hinge::Samples* linear = samples ? &samples->view : nullptr;
  if (linear && rows(*linear) != gram.size())
    throw std::invalid_argument("samples must have one row per sample of the kernel matrix");
  const PairProblem problem{span(first), span(second), span(cost), span(block), span(ridge)};
  const PairOptions options{tolerance, stop_on_gap, max_iterations, max_seconds, threads, seed};
  PyRunControl control(std::move(python_control));
  PairResult result;
  {
    const nb::gil_scoped_release nogil;
    result = solve_pairs(gram.gram(), linear, problem, options, span(alpha), control);
  }
  return {std::move(result), control.history(), control.error()};
}

}  // namespace

void ranking(nb::module_& m) {
  auto run = def_record<PairRun>(m, "PairRun", "Result of `pair_descent`.");
  run.def_ro("iterations", &PairRun::iterations)
      .def_ro("primal", &PairRun::primal)
      .def_ro("dual", &PairRun::dual)
      .def_ro("gap", &PairRun::gap)
      .def_ro("violation", &PairRun::violation)
      .def_ro("history", &PairRun::history);
  def_array(run, "scores", &PairRun::scores);

  m.def("pair_gram", &pair_gram, "base"_a, "first"_a.noconvert(), "second"_a.noconvert(),
        "The kernel matrix over pairs of samples.  See ranking.hpp.", nb::sig(
        "def pair_gram(base: Gram, first: numpy.typing.NDArray[numpy.int32], "
        "second: numpy.typing.NDArray[numpy.int32]) -> Gram"));
  m.def("pair_descent", &pair_descent, "gram"_a, "samples"_a.none(), "first"_a.noconvert(), "second"_a.noconvert(),
        "cost"_a.noconvert(), "block"_a.noconvert(), "ridge"_a.noconvert(), "alpha"_a.noconvert(), "tolerance"_a,
        "stop_on_gap"_a, "max_iterations"_a, "max_seconds"_a, "threads"_a, "seed"_a, "control"_a.none() = nb::none(),
        "Coordinate descent over pairs; alpha is updated in place.  See ranking.hpp.");
}

}  // namespace hinge::bind
