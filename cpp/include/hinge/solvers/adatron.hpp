// adatron.hpp: the AdaTron, projected coordinate descent with an augmented Lagrangian, docs/math (367):
//   α_v ← projection of α_v − ω r_v / q_v onto [l_v, u_v],
//   r_v = s_v f_i + p_v + d_v α_v + a_v (μ_g + c m_g),   f = Kβ,  m = Aα − d.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/span.hpp"

namespace hinge {

// Vectors have one entry per variable, v = sample + n · slot.  A variable has a nonzero coefficient in at most one row
// of A.
struct AdatronProblem {
  std::size_t samples = 0, slots = 1;
  Span<const double> matrix;  // K, row-major
  Span<const double> linear, lower, upper, sign, ridge, row, curvature;
  Span<const std::int8_t> group;  // the row of A in which the variable has a coefficient; −1: none
  Span<const double> multipliers;  // μ
  double penalty = 0, rate = 1;    // c, ω
};

// Updates each variable of the samples in `order` once.  Updates α, f, the change of β and the residual m = Aα − d.
// An update costs one row of K if it changes the variable, and O(1) otherwise.
void adatron_sweep(const AdatronProblem& problem, Span<const std::int64_t> order, Span<double> alpha, Span<double> f,
                   Span<double> change, Span<double> residual) noexcept;

}  // namespace hinge
