"""Iterative refinement of a solution on given index sets, with exact residuals.      docs/math (253)"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve

from hinge.kernels import Access
from hinge.kernels.double_double import two_sum
from hinge.problems import Array, ParametricProblem

BLOCK_ENTRIES = 1 << 22  # entries of the kernel matrix per block

SPLITTER = 134217729.0  # Veltkamp's constant 2²⁷ + 1: splits a double into two halves of 26 bits

MAX_STEPS = 8  # refinement steps; the first step that does not reduce the residual ends the loop earlier


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return ab rounded, and the rounding error.                                                          [Dekker]"""
    product = a * b
    a_high, b_high = SPLITTER * a - (SPLITTER * a - a), SPLITTER * b - (SPLITTER * b - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def exact_product(A: Array, x: Array) -> tuple[Array, Array]:
    """Return Ax rounded, and the rounding error, to about twice the precision of a double."""
    high, low = two_product(A, x[None, :])
    while high.shape[1] > 1:
        half = high.shape[1] // 2
        odd = high[:, 2 * half :], low[:, 2 * half :]
        high, error = two_sum(high[:, :half], high[:, half : 2 * half])
        low = low[:, :half] + low[:, half : 2 * half] + error
        high, low = np.concatenate([high, odd[0]], axis=1), np.concatenate([low, odd[1]], axis=1)
    if high.shape[1] == 0:
        return np.zeros(len(A)), np.zeros(len(A))
    return high[:, 0], low[:, 0]


def exact_values(access: Access, rows: NDArray[np.intp], coefficients: Array) -> tuple[Array, Array]:
    """Return Kβ at some samples rounded, and the rounding error."""
    used = np.flatnonzero(coefficients)
    height = max(1, BLOCK_ENTRIES // max(1, len(used)))
    parts = [
        exact_product(access.block(rows[k : k + height], used), coefficients[used]) for k in range(0, len(rows), height)
    ]
    empty = np.zeros(0)
    highs, lows = zip(*parts, strict=True) if parts else ((empty,), (empty,))
    return np.concatenate(highs), np.concatenate(lows)


def refine(
    parametric: ParametricProblem, access: Access, theta: float, in_margin: Any, beta: Array, mu: Array
) -> tuple[Array, Array]:
    """Refine (β, μ) at θ; the variables `in_margin` are between their bounds, the others at a bound.

    The steps are Newton steps on the equations of the margin set, docs/math (203). Their residuals are computed in
    double-double arithmetic. A step that does not reduce the residuals is discarded.
    """
    values, n = parametric.at(theta), access.n
    beta, mu, free = beta.copy(), mu.copy(), np.flatnonzero(in_margin)
    members = [np.flatnonzero(parametric.group[free] == g) for g in range(len(mu))]
    groups = [g for g, positions in enumerate(members) if len(positions)]
    if len(free) == 0:
        return beta, mu
    K = access.block(free % n, free % n)
    scale = max(float(np.max(np.diagonal(K))), np.finfo(float).tiny)
    solve = _bordered_solver(K / scale, [members[g] for g in groups])

    def residuals(beta: Array, mu: Array) -> tuple[Array, Array]:
        high, low = exact_values(access, free % n, beta.reshape(-1, n).sum(axis=0))
        offset = np.concatenate([mu, [0.0]])[parametric.group[free]]
        high, first = two_sum(high, values.linear[free])
        high, second = two_sum(high, offset)
        sums = [math.fsum([-values.total[g], *beta[parametric.group == g]]) for g in groups]
        return high + (low + first + second), np.array(sums)

    def norm(residual: Array, sums: Array) -> float:
        return float(max(np.max(np.abs(residual)), scale * np.max(np.abs(sums), initial=0.0)))

    residual, sums = residuals(beta, mu)
    for _ in range(MAX_STEPS):
        beta_step, mu_step = solve(-residual / scale, -sums)
        new_beta, new_mu = beta.copy(), mu.copy()
        new_beta[free] = np.clip(beta[free] + beta_step, values.lower[free], values.upper[free])
        new_mu[groups] += scale * mu_step
        new_residual, new_sums = residuals(new_beta, new_mu)
        if not norm(new_residual, new_sums) < norm(residual, sums):
            break
        beta, mu, residual, sums = new_beta, new_mu, new_residual, new_sums
    return beta, mu


def _bordered_solver(K: Array, members: list[NDArray[np.intp]]) -> Any:
    """Return a function that solves Kx + Eᵀν = a, Ex = s; the rows of E are ones at `members`."""
    m, count = len(K), len(members)
    bordered = np.zeros((m + count, m + count))
    bordered[:m, :m] = K
    for row, positions in enumerate(members):
        bordered[m + row, positions] = bordered[positions, m + row] = 1.0
    factor = lu_factor(bordered, check_finite=False)

    def solve(a: Array, s: Array) -> tuple[Array, Array]:
        x = lu_solve(factor, np.concatenate([a, s]), check_finite=False)
        return x[:m], x[m:]

    return solve
