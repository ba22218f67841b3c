// shapley.cpp: Python binding of Shapley values.
#include "hinge/inspection/shapley.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bind.hpp"
#include "run_control.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

ShapleyTerm make_term(std::vector<Node> factors, std::vector<double> polynomial, double gamma, double coef0) {
  for (const Node& factor : factors) {
    if (factor.op != Op::rbf && factor.op != Op::laplacian && factor.op != Op::bspline)
      throw std::invalid_argument("'" + std::string(name_of(factor.op)) + "' is not a product over features");
  }
  if (polynomial.empty()) throw std::invalid_argument("polynomial needs at least one coefficient");
  return {std::move(factors), std::move(polynomial), gamma, coef0};
}

void add_shapley_values(const Matrix<const double>& X, const Matrix<const double>& background,
                        const Matrix<const double>& vectors, const Matrix<const double>& coefficients,
                        const Vector<const std::int32_t>& group, std::vector<Node> factors,
                        std::vector<double> polynomial, double gamma, double coef0, const Vector<double>& values,
                        const Vector<double>& interactions, int threads) {
  const std::size_t d = X.shape(1), F = coefficients.shape(1);
  if (background.shape(1) != d || vectors.shape(1) != d || group.size() != d ||
      coefficients.shape(0) != vectors.shape(0))
    throw std::invalid_argument("the shapes of the arrays do not match");
  std::size_t groups = 0;
  for (std::int32_t g : span(group)) {
    if (g < 0 || static_cast<std::size_t>(g) >= d) throw std::invalid_argument("group has an invalid entry");
    groups = std::max(groups, static_cast<std::size_t>(g) + 1);
  }
  const std::size_t per_row = groups * F, rows = X.shape(0);
  if (values.size() != rows * per_row || (interactions.size() && interactions.size() != rows * groups * per_row))
    throw std::invalid_argument("values or interactions have the wrong size");
  const ShapleyTerm term = make_term(std::move(factors), std::move(polynomial), gamma, coef0);
  const ShapleyData data{X.data(), background.data(), vectors.data(),      coefficients.data(), group.data(), rows,
                         background.shape(0), vectors.shape(0), d, F, groups};
  double* const pairs = interactions.size() ? interactions.data() : nullptr;
  const nb::gil_scoped_release nogil;
  shapley_values(data, term, values.data(), pairs, {threads, check_signals});
}

}  // namespace

void inspection(nb::module_& m) {
  m.def("add_shapley_values", &add_shapley_values, "X"_a.noconvert(), "background"_a.noconvert(),
        "vectors"_a.noconvert(), "coefficients"_a.noconvert(), "group"_a.noconvert(), "factors"_a, "polynomial"_a,
        "gamma"_a, "coef0"_a, "values"_a.noconvert(), "interactions"_a.noconvert(), "threads"_a = 1,
        "Add the Shapley values of Σ c Π κ(x, s) q(γ x·s + c₀) to values (rows × groups × functions), and the halved "
        "interactions unless that array is empty.");
}

}  // namespace hinge::bind
