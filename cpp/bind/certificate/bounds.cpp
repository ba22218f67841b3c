// bounds.cpp: Python bindings of rigorous bounds.
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

#include "arrays.hpp"
#include "bind.hpp"
#include "gram.hpp"
#include "hinge/certificate/bounds.hpp"
#include "hinge/certificate/linear_bounds.hpp"

namespace hinge::bind {
namespace {

using namespace nb::literals;

Bounds bounds(const Vector<const double>& linear, const Vector<const double>& lower, const Vector<const double>& upper,
              const std::optional<Vector<const double>>& ridge, const Matrix<const double>& rows,
              const Vector<const double>& totals, double bounds_error, double totals_error, double largest_diagonal,
              const Vector<const double>& alpha, const Vector<const double>& mu, const Vector<const double>& gradient,
              const Vector<const double>& error) {
  const std::size_t size = linear.size(), count = totals.size();
  for (std::size_t given : {lower.size(), upper.size(), alpha.size(), gradient.size()})
    if (given != size) throw std::invalid_argument("lower, upper, alpha and gradient need one value per variable");
  if (ridge && ridge->size() != size) throw std::invalid_argument("ridge needs one value per variable");
  if (error.size() != 1 && error.size() != size)
    throw std::invalid_argument("error needs one value, or one per variable");
  if (mu.size() != count || rows.shape(0) != count || (count && rows.shape(1) != size))
    throw std::invalid_argument("rows needs one row per total and one column per variable, and mu one value per total");
  const BoundedProblem problem{span(linear),
                               span(lower),
                               span(upper),
                               ridge ? span(*ridge) : Span<const double>(),
                               {rows.data(), count * size},
                               span(totals),
                               bounds_error,
                               totals_error,
                               largest_diagonal};
  const nb::gil_scoped_release nogil;
  return certified_bounds(problem, {span(alpha), span(mu), span(gradient), span(error)});
}

// Products that a solver has computed; see LinearProducts.
struct LinearKnown {
  Vector<const double> f;
  double reach, distance;
};

Bounds linear_bounds(const Samples& samples, const Vector<const double>& target, const Vector<const double>& lower,
                     const Vector<const double>& upper, const Vector<const double>& ridge, double tube, int bias,
                     double bias_scale, double total, double bounds_error, double totals_error,
                     const Vector<const double>& weights, double offset, const Vector<const double>& beta,
                     bool accurate, const std::optional<LinearKnown>& known, bool l1) {
  const std::size_t n = rows(samples.view);
  for (std::size_t given : {target.size(), lower.size(), upper.size(), ridge.size(), beta.size()})
    if (given != n) throw std::invalid_argument("target, lower, upper, ridge and beta need one value per sample");
  if (weights.size() != features(samples.view)) throw std::invalid_argument("weights needs one value per feature");
  if (known && known->f.size() != n) throw std::invalid_argument("known products need one value per sample");
  if (l1 && (known || total != 0)) throw std::invalid_argument("an l1 penalty needs total=0 and no known products");
  const LinearBoundedProblem problem{samples.view, span(target), span(lower),  span(upper), span(ridge),   tube,
                                     static_cast<Bias>(bias), bias_scale, total, bounds_error, totals_error, l1};
  const nb::gil_scoped_release nogil;
  if (!known || accurate) return certified_linear_bounds(problem, span(weights), offset, span(beta), accurate);
  const LinearProducts products{span(known->f), known->reach, known->distance};
  return certified_linear_bounds(problem, span(weights), offset, span(beta), products);
}

LinearPart part_of(const Samples& samples, const Vector<const double>& target, const Vector<const double>& lower,
                   const Vector<const double>& upper, const Vector<const double>& ridge, double tube, int bias,
                   double bounds_error, const Vector<const double>& weights, double offset,
                   const Vector<const double>& beta, bool accurate) {
  const std::size_t n = rows(samples.view);
  for (std::size_t given : {target.size(), lower.size(), upper.size(), ridge.size(), beta.size()})
    if (given != n) throw std::invalid_argument("target, lower, upper, ridge and beta need one value per sample");
  if (weights.size() != features(samples.view)) throw std::invalid_argument("weights needs one value per feature");
  const LinearBoundedProblem problem{samples.view, span(target), span(lower), span(upper), span(ridge), tube,
                                     static_cast<Bias>(bias), 1, 0, bounds_error, 0};
  const nb::gil_scoped_release nogil;
  return linear_part(problem, span(weights), offset, span(beta), accurate);
}

// The bounds of a part; the problem has no samples.
Bounds part_bounds(const LinearPart& part, double tube, int bias, double bias_scale, double total,
                   double bounds_error, double totals_error, const Vector<const double>& weights, double offset) {
  if (weights.size() != part.combined.size()) throw std::invalid_argument("weights needs one value per feature");
  const hinge::Samples none = Dense<double>{nullptr, 0, weights.size()};
  const LinearBoundedProblem problem{none, {}, {}, {}, {}, tube, static_cast<Bias>(bias), bias_scale,
                                     total, bounds_error, totals_error};
  return bounds_of_part(problem, span(weights), offset, part);
}

}  // namespace

void certificate(nb::module_& m) {
  nb::class_<Bounds>(m, "Bounds", "Bounds on the optimum of a problem at a point.")
      .def_ro("upper", &Bounds::upper)
      .def_ro("lower", &Bounds::lower)
      .def_ro("rounding", &Bounds::rounding)
      .def_ro("kkt_violation", &Bounds::kkt_violation)
      .def_ro("infeasibility", &Bounds::infeasibility)
      .def_ro("scale", &Bounds::scale)
      .def_ro("moved", &Bounds::moved);
  m.def("certified_bounds", &bounds, "linear"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
        "ridge"_a.noconvert().none(), "rows"_a.noconvert(), "totals"_a.noconvert(), "bounds_error"_a, "totals_error"_a,
        "largest_diagonal"_a, "alpha"_a.noconvert(), "mu"_a.noconvert(), "gradient"_a.noconvert(),
        "error"_a.noconvert(), "Rigorous bounds on the optimum of problem (1).  See bounds.hpp.");
  nb::class_<LinearKnown>(m, "LinearProducts", "Products of samples with weights, and ‖w − Xᵀβ‖.")
      .def(nb::new_([](Vector<const double> f, double reach, double distance) {
             return LinearKnown{f, reach, distance};
           }),
           "f"_a.noconvert(), "reach"_a, "distance"_a)
      .def_ro("f", &LinearKnown::f)
      .def_ro("reach", &LinearKnown::reach)
      .def_ro("distance", &LinearKnown::distance);
  m.def("certified_linear_bounds", &linear_bounds, "samples"_a, "target"_a.noconvert(), "lower"_a.noconvert(),
        "upper"_a.noconvert(), "ridge"_a.noconvert(), "tube"_a, "bias"_a, "bias_scale"_a, "total"_a,
        "bounds_error"_a, "totals_error"_a, "weights"_a.noconvert(), "offset"_a, "beta"_a.noconvert(),
        "accurate"_a, "known"_a.none() = nb::none(), "l1"_a = false,
        "Rigorous bounds on the optimum of a linear problem.  See linear_bounds.hpp.");
  nb::class_<LinearPart>(m, "LinearPart", "Sums over a part of the samples of a linear problem.  See linear_part.hpp.")
      .def("merge", &LinearPart::merge, "other"_a, "Add the sums of other samples.")
      .def("__getstate__", [](const LinearPart& part) { return to_numpy(part.state()); })
      .def("__setstate__", [](LinearPart& part, const Vector<const double>& state) {
        new (&part) LinearPart(LinearPart::from_state(span(state)));
      });
  m.def("linear_part", &part_of, "samples"_a, "target"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
        "ridge"_a.noconvert(), "tube"_a, "bias"_a, "bounds_error"_a, "weights"_a.noconvert(), "offset"_a,
        "beta"_a.noconvert(), "accurate"_a, "Sums over samples.  See linear_bounds.hpp.");
  m.def("bounds_of_part", &part_bounds, "part"_a, "tube"_a, "bias"_a, "bias_scale"_a, "total"_a,
        "bounds_error"_a, "totals_error"_a, "weights"_a.noconvert(), "offset"_a,
        "Rigorous bounds on the optimum of a linear problem from the sums over its samples.");
}

}  // namespace hinge::bind
