// adatron.hpp: one variable after the other, each towards the best value in its box, docs/math (367):
//   α_v ← the point of [l_v, u_v] nearest to α_v − ω r_v / q_v,
//   r_v = s_v f_i + p_v + d_v α_v + a_v (μ_g + c m_g),   f = Kβ,  m = Aα − d.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/span.hpp"

namespace hinge {

// Vectors have an entry for every variable, v = sample + n · slot; a variable has a place in one row of A at most.
struct AdatronProblem {
  std::size_t samples = 0, slots = 1;
  Span<const double> matrix;  // K, row by row
  Span<const double> linear, lower, upper, sign, ridge, row, curvature;
  Span<const std::int8_t> group;  // the row of A a variable is part of; −1: none
  Span<const double> multipliers;
  double penalty = 0, rate = 1;
};

// The variables of the samples in `order` take their turns.  α, f, β's change and m are kept up to date; a step costs
// one row of K, a turn without a step costs nothing but itself.
void adatron_sweep(const AdatronProblem& problem, Span<const std::int64_t> order, Span<double> alpha, Span<double> f,
                Span<double> change, Span<double> missing) noexcept;

}  // namespace hinge
