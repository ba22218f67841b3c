// adatron.cpp: Python binding of a sweep of the AdaTron.
#include <nanobind/nanobind.h>

#include <stdexcept>

#include "arrays.hpp"
#include "bind.hpp"
#include "hinge/solvers/adatron.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

void sweep(const Matrix<const double>& matrix, const Vector<const double>& linear, const Vector<const double>& lower,
           const Vector<const double>& upper, const Vector<const double>& sign, const Vector<const double>& ridge,
           const Vector<const double>& row, const Vector<const double>& curvature,
           const Vector<const std::int8_t>& group, const Vector<const double>& multipliers, double penalty, double rate,
           const Vector<const std::int64_t>& order, const Vector<double>& alpha, const Vector<double>& f,
           const Vector<double>& change, const Vector<double>& residual) {
  const std::size_t n = matrix.shape(0), size = alpha.size();
  if (matrix.shape(1) != n || f.size() != n || change.size() != n || n == 0 || size % n != 0)
    throw std::invalid_argument("matrix must be square, and f and change need one entry per sample");
  for (const std::size_t entries : {linear.size(), lower.size(), upper.size(), sign.size(), ridge.size(), row.size(),
                                    curvature.size(), group.size()})
    if (entries != size) throw std::invalid_argument("vectors of variables need slots · n entries each");
  if (residual.size() != multipliers.size())
    throw std::invalid_argument("multipliers and residual need one entry per equality row");
  for (const std::int8_t g : span(group))
    if (g >= static_cast<std::int64_t>(multipliers.size()))
      throw std::invalid_argument("entries of group must be less than the number of equality rows");
  for (const std::int64_t i : span(order))
    if (i < 0 || static_cast<std::size_t>(i) >= n)
      throw std::invalid_argument("entries of order must be at least 0 and less than the number of samples");
  const AdatronProblem problem{n, size / n, {matrix.data(), n * n}, span(linear), span(lower), span(upper), span(sign),
                               span(ridge), span(row), span(curvature), span(group), span(multipliers), penalty, rate};
  const nb::gil_scoped_release nogil;
  adatron_sweep(problem, span(order), span(alpha), span(f), span(change), span(residual));
}

}  // namespace

void adatron(nb::module_& m) {
  m.def("adatron_sweep", &sweep, "matrix"_a.noconvert(), "linear"_a.noconvert(), "lower"_a.noconvert(),
        "upper"_a.noconvert(), "sign"_a.noconvert(), "ridge"_a.noconvert(), "row"_a.noconvert(),
        "curvature"_a.noconvert(), "group"_a.noconvert(), "multipliers"_a.noconvert(), "penalty"_a, "rate"_a,
        "order"_a.noconvert(), "alpha"_a.noconvert(), "f"_a.noconvert(), "change"_a.noconvert(),
        "residual"_a.noconvert(), "One step of coordinate descent for each variable, in place.  See adatron.hpp.");
}

}  // namespace hinge::bind
