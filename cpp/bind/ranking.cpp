// bind/ranking.cpp: preferences between samples as Python sees them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "bind.hpp"
#include "gram.hpp"
#include "hinge/solvers/ranking.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void check(const Vector<std::int32_t>& first, const Vector<std::int32_t>& second, std::size_t n) {
  if (first.size() != second.size()) throw std::invalid_argument("a pair has two samples");
  for (const auto* list : {&first, &second})
    for (std::size_t p = 0; p < list->size(); ++p)
      if (list->data()[p] < 0 || static_cast<std::size_t>(list->data()[p]) >= n)
        throw std::invalid_argument("a pair names a sample that is not there");
}

Gram pair_gram(nb::object base, Vector<std::int32_t> first, Vector<std::int32_t> second) {
  const Gram& gram = nb::cast<const Gram&>(base);
  check(first, second, gram.size());
  std::shared_ptr<const void> owner(new nb::object(base), [](const void* p) {
    const nb::gil_scoped_acquire gil;
    delete static_cast<const nb::object*>(p);
  });
  return Gram(make_pair_gram(gram.gram(), {first.data(), first.data() + first.size()},
                             {second.data(), second.data() + second.size()}),
              {owner});
}

nb::dict pair_descent(const Gram& gram, nb::object samples, Vector<std::int32_t> first, Vector<std::int32_t> second,
                      Vector<double> cost, Vector<std::int64_t> block, Vector<double> ridge,
                      nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> alpha, double tolerance,
                      bool stop_on_gap, std::int64_t max_iterations, double max_seconds, int threads,
                      std::uint64_t seed, nb::object python_control) {
  const std::size_t m = first.size();
  check(first, second, gram.size());
  if (cost.size() != m || alpha.size() != m) throw std::invalid_argument("every pair has a cost and a variable");
  if (ridge.size() != 0 && ridge.size() != m) throw std::invalid_argument("every pair has a ridge, or none has");
  bool good = block.size() > 0 && block.data()[0] == 0 && block.data()[block.size() - 1] == static_cast<std::int64_t>(m);
  for (std::size_t b = 1; b < block.size(); ++b) good = good && block.data()[b] >= block.data()[b - 1];
  if (!good) throw std::invalid_argument("blocks must divide the pairs");
  const hinge::Samples* linear = samples.is_none() ? nullptr : &nb::cast<const Samples&>(samples).view;
  if (linear && rows(*linear) != gram.size()) throw std::invalid_argument("the samples are not those of the matrix");
  const PairProblem problem{{first.data(), m}, {second.data(), m}, {cost.data(), m}, {block.data(), block.size()},
                            {ridge.data(), ridge.size()}};
  const PairOptions options{tolerance, stop_on_gap, max_iterations, max_seconds, threads, seed};
  PyRunControl control(std::move(python_control));
  PairResult result;
  {
    nb::gil_scoped_release nogil;
    result = solve_pairs(gram.gram(), linear, problem, options, {alpha.data(), m}, control);
  }
  nb::dict out;
  out["status"] = static_cast<int>(result.status);
  out["iterations"] = result.iterations;
  out["primal"] = result.primal;
  out["dual"] = result.dual;
  out["gap"] = result.gap;
  out["violation"] = result.violation;
  out["scores"] = to_numpy(std::move(result.scores));
  out["history"] = control.history();
  out["error"] = control.error();
  return out;
}

}  // namespace

void pairs(nb::module_& m) {
  m.def("pair_gram", &pair_gram, "base"_a, "first"_a.noconvert(), "second"_a.noconvert(),
        "The kernel matrix over pairs of samples.  See ranking.hpp.");
  m.def("pair_descent", &pair_descent, "gram"_a, "samples"_a.none(), "first"_a.noconvert(), "second"_a.noconvert(),
        "cost"_a.noconvert(), "block"_a.noconvert(), "ridge"_a.noconvert(), "alpha"_a.noconvert(), "tolerance"_a, "stop_on_gap"_a,
        "max_iterations"_a, "max_seconds"_a, "threads"_a, "seed"_a, "control"_a.none() = nb::none(),
        "Coordinate descent over pairs.  See ranking.hpp.");
}

}  // namespace hinge::bind
