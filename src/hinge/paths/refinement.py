"""The last digits of a solution: its index sets as given, the margin's equations solved with exact sums.

docs/math (253)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve

from hinge.kernels import Access
from hinge.problems import Array, ParametricProblem

#: Entries of K that are held at a time.
BLOCK = 1 << 22

#: Veltkamp's constant: a double times this, split, has two halves of 26 bits.
SPLIT = 134217729.0

#: Steps of refinement at most; each is worth some digits, and the first that is not ends it.
STEPS = 8


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b, rounded, and what was lost.                                                                   [Knuth]"""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """ab, rounded, and what was lost.                                                                     [Dekker]"""
    product = a * b
    a_high, b_high = SPLIT * a - (SPLIT * a - a), SPLIT * b - (SPLIT * b - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def exact_product(A: Array, x: Array) -> tuple[Array, Array]:
    """Ax, rounded, and what was lost, to about twice the digits of a double."""
    high, low = two_product(A, x[None, :])
    while high.shape[1] > 1:
        half = high.shape[1] // 2
        odd = high[:, 2 * half :], low[:, 2 * half :]
        high, lost = two_sum(high[:, :half], high[:, half : 2 * half])
        low = low[:, :half] + low[:, half : 2 * half] + lost
        high, low = np.concatenate([high, odd[0]], axis=1), np.concatenate([low, odd[1]], axis=1)
    if high.shape[1] == 0:
        return np.zeros(len(A)), np.zeros(len(A))
    return high[:, 0], low[:, 0]


def exact_values(access: Access, rows: NDArray[np.intp], coefficients: Array) -> tuple[Array, Array]:
    """(Kβ) at some samples, rounded, and what was lost."""
    used = np.flatnonzero(coefficients)
    height = max(1, BLOCK // max(1, len(used)))
    parts = [
        exact_product(access.block(rows[k : k + height], used), coefficients[used]) for k in range(0, len(rows), height)
    ]
    empty = np.zeros(0)
    highs, lows = zip(*parts, strict=True) if parts else ((empty,), (empty,))
    return np.concatenate(highs), np.concatenate(lows)


def refine(
    motion: ParametricProblem, access: Access, theta: float, inside: Any, beta: Array, mu: Array
) -> tuple[Array, Array]:
    """(β, μ) at θ with the variables `inside` between their bounds and the others on them, to the last digits.

    Newton steps on the margin's equations, docs/math (203), whose residuals are computed without rounding. A step
    that makes them no smaller is not taken.
    """
    now, n = motion.at(theta), access.n
    beta, mu, free = beta.copy(), mu.copy(), np.flatnonzero(inside)
    held = [np.flatnonzero(motion.group[free] == g) for g in range(len(mu))]
    groups = [g for g, members in enumerate(held) if len(members)]
    if len(free) == 0:
        return beta, mu
    K = access.block(free % n, free % n)
    scale = max(float(np.max(np.diagonal(K))), np.finfo(float).tiny)
    solve = _solver(K / scale, [held[g] for g in groups])

    def residuals(beta: Array, mu: Array) -> tuple[Array, Array]:
        high, low = exact_values(access, free % n, beta.reshape(-1, n).sum(axis=0))
        offset = np.concatenate([mu, [0.0]])[motion.group[free]]
        high, first = two_sum(high, now.linear[free])
        high, second = two_sum(high, offset)
        sums = [math.fsum([-now.total[g], *beta[motion.group == g]]) for g in groups]
        return high + (low + first + second), np.array(sums)

    def size(residual: Array, sums: Array) -> float:
        return float(max(np.max(np.abs(residual)), scale * np.max(np.abs(sums), initial=0.0)))

    found, sums = residuals(beta, mu)
    for _ in range(STEPS):
        step, turn = solve(-found / scale, -sums)
        moved, turned = beta.copy(), mu.copy()
        moved[free] = np.clip(beta[free] + step, now.lower[free], now.upper[free])
        turned[groups] += scale * turn
        after, sums_after = residuals(moved, turned)
        if not size(after, sums_after) < size(found, sums):
            break
        beta, mu, found, sums = moved, turned, after, sums_after
    return beta, mu


def _solver(K: Array, held: list[NDArray[np.intp]]) -> Any:
    """Solves Kx + Eᵀν = a, Ex = s, where the rows of E are ones at `held`."""
    m, count = len(K), len(held)
    bordered = np.zeros((m + count, m + count))
    bordered[:m, :m] = K
    for row, members in enumerate(held):
        bordered[m + row, members] = bordered[members, m + row] = 1.0
    factor = lu_factor(bordered, check_finite=False)

    def solve(a: Array, s: Array) -> tuple[Array, Array]:
        x = lu_solve(factor, np.concatenate([a, s]), check_finite=False)
        return x[:m], x[m:]

    return solve
