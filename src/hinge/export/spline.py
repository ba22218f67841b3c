"""Centered B-splines as piecewise polynomials with nonnegative coefficients."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import numpy as np

from hinge.kernels.algebra import Array


def bernstein_table(degree: int) -> Array:
    """Return the Bernstein coefficients of B_q on its cells, from the end of its support to its center.

    With x = (q + 1)/2 − t, t ≥ 0, cell r = ⌊x⌋ and u = x − r,

        B_q(t) = Σₖ table[r, k] uᵏ (1 − u)^{q−k}.

    The binomial factors are included. All coefficients are nonnegative, so that the sum does not cancel. The last row
    belongs to t = 0, where u = 0.
    """
    q = degree
    rows = []
    for r in range((q + 1) // 2 + 1):
        powers = [_derivative_coefficient(q, r, i) for i in range(q + 1)]  # of uⁱ
        bernstein = [sum((Fraction(comb(k, i), comb(q, i)) * powers[i] for i in range(k + 1)), Fraction(0))
                     for k in range(q + 1)]  # fmt: skip
        rows.append([float(value * comb(q, k)) for k, value in enumerate(bernstein)])
    return np.array(rows)


def _derivative_coefficient(q: int, r: int, i: int) -> Fraction:
    """The coefficient of uⁱ in 1/q! Σⱼ (−1)ʲ C(q+1, j) (u + r − j)^q, j ≤ r."""
    total = sum((-1) ** j * comb(q + 1, j) * (r - j) ** (q - i) for j in range(r + 1))
    return Fraction(total * comb(q, i), factorial(q))
