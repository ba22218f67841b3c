// bind/adatron.cpp: the AdaTron's sweep as Python sees it.
#include "bind.hpp"
#include "hinge/solvers/adatron.hpp"
#include "vectors.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

namespace hinge::bind {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

void adatron_turns(nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> matrix,
                   Vector<const double> linear, Vector<const double> lower, Vector<const double> upper,
                   Vector<const double> sign, Vector<const double> ridge, Vector<const double> row,
                   Vector<const double> curvature, Vector<const std::int8_t> group, Vector<const double> multipliers,
                   double penalty, double rate, Vector<const std::int64_t> order, Vector<double> alpha,
                   Vector<double> f, Vector<double> change, Vector<double> missing) {
  const std::size_t n = matrix.shape(0), size = alpha.size();
  if (matrix.shape(1) != n || f.size() != n || change.size() != n || n == 0 || size % n != 0)
    throw std::invalid_argument("the matrix is square, and f and change have an entry for every sample");
  for (const std::size_t given : {linear.size(), lower.size(), upper.size(), sign.size(), ridge.size(), row.size(),
                                  curvature.size(), group.size()})
    if (given != size) throw std::invalid_argument("every vector needs slots · n entries");
  const auto rows = static_cast<std::int64_t>(multipliers.size());
  if (missing.size() != multipliers.size()) throw std::invalid_argument("every row of A has a multiplier");
  for (std::size_t v = 0; v < size; ++v)
    if (group.data()[v] >= rows) throw std::invalid_argument("a variable names a row that is not there");
  for (std::size_t k = 0; k < order.size(); ++k)
    if (order.data()[k] < 0 || static_cast<std::size_t>(order.data()[k]) >= n)
      throw std::invalid_argument("the order names a sample that is not there");
  const TurnProblem problem{n, size / n, {matrix.data(), n * n}, span(linear), span(lower), span(upper), span(sign),
                            span(ridge), span(row), span(curvature), span(group), span(multipliers), penalty, rate};
  const nb::gil_scoped_release nogil;
  take_turns(problem, span(order), span(alpha), span(f), span(change), span(missing));
}

}  // namespace

void adatron(nb::module_& m) {
  m.def("adatron_turns", &adatron_turns, "matrix"_a.noconvert(), "linear"_a.noconvert(), "lower"_a.noconvert(),
        "upper"_a.noconvert(), "sign"_a.noconvert(), "ridge"_a.noconvert(), "row"_a.noconvert(),
        "curvature"_a.noconvert(), "group"_a.noconvert(), "multipliers"_a.noconvert(), "penalty"_a, "rate"_a,
        "order"_a.noconvert(), "alpha"_a.noconvert(), "f"_a.noconvert(), "change"_a.noconvert(),
        "missing"_a.noconvert(), "Variables take their turns.  See adatron.hpp.");
}

}  // namespace hinge::bind
