"""A bound on the leave-one-out error of ν-classification that assumes nothing.                  docs/math (248)

The machine without sample p is near one that can be written down: the trained one, with p taken out and the margin
making up for it. How near, the duality gap says; and the thresholds of a ν-machine are order statistics of its values.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.problems import Array


def nu_intervals(K: Array, y: Array, beta: Array, b: float, rho: float, nu: float) -> tuple[Array, Array]:
    """An interval for yₚ f⁽⁻ᵖ⁾(xₚ) of every sample, f⁽⁻ᵖ⁾ the ν-machine trained without p.

    `beta` (|βᵢ| ≤ 1), `b` and `rho` are those of the trained machine, min ½βᵀKβ with class totals ±½νn. Where a class
    is too small to do without p the interval is (−∞, ∞).
    """
    n, alpha, f = len(y), np.abs(beta), K @ beta
    inside = (alpha > 1e-9) & (alpha < 1 - 1e-9)
    slack = np.maximum(0.0, rho - y * (f + b))
    half = 0.5 * nu * (n - 1)
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    plain = None  # the point for a sample without influence does not depend on the sample
    for p in range(n):
        if min(np.sum(y == side) - (y[p] == side) for side in (-1.0, 1.0)) < half:
            continue
        if alpha[p] > 0 or plain is None or np.any(plain[1][p] != 0):
            moved = _without(K, y, beta, inside, p, nu)
            product = K @ (moved - beta)
            if alpha[p] == 0:
                plain = (product, moved - beta)
        else:
            product, moved = plain[0], beta + plain[1]
        # ‖w̃ − w‖² and the gap between the trained machine (primal) and the point written down (dual), both without p
        apart = float((moved - beta) @ product)
        linear = f * (moved - beta)
        rounding = 64 * np.finfo(float).eps * (float(np.sum(np.abs(linear))) + nu * rho + slack[p])
        gap = max(0.0, float(np.sum(linear)) + 0.5 * apart + nu * rho - slack[p]) + rounding
        radius = np.sqrt(max(0.0, gap - 0.25 * apart))
        values, reach = f + 0.5 * product, radius * np.sqrt(np.maximum(0.0, np.diagonal(K)))
        low[p], high[p] = _decision(values, reach, y, p, half)
    return low, high


def _without(K: Array, y: Array, beta: Array, inside: NDArray[np.bool_], p: int, nu: float) -> Array:
    """β without p, feasible: both totals fall by ½ν. The margin makes up for p as nearly as its box allows."""
    moved, members = beta.copy(), np.flatnonzero(inside & (np.arange(len(y)) != p))
    moved[p] = 0.0
    groups = [g for g in (1.0, -1.0) if np.any(y[members] == g)]
    want = {g: g * -0.5 * nu + (beta[p] if y[p] == g else 0.0) for g in (1.0, -1.0)}
    m, k = len(members), len(groups)
    if m:
        system, right = np.zeros((m + k, m + k)), np.zeros(m + k)
        system[:m, :m] = K[np.ix_(members, members)]
        for i, g in enumerate(groups):
            system[m + i, :m] = system[:m, m + i] = y[members] == g
            right[m + i] = want[g]
        right[:m] = K[members, p] * beta[p]
        change = scipy.linalg.lstsq(system, right, cond=1e-12, lapack_driver="gelsy")[0][:m]
        low, high = np.minimum(0.0, y[members]), np.maximum(0.0, y[members])
        moved[members] = np.clip(beta[members] + change, low, high)
    for g in (1.0, -1.0):  # what the box left over: the margin first, then everybody of the class
        goal = g * 0.5 * nu * (len(y) - 1)
        for who in (members[y[members] == g], np.flatnonzero((y == g) & (np.arange(len(y)) != p))):
            missing = goal - float(np.sum(moved[y == g]))
            room = (g if missing * g > 0 else 0.0) - moved[who]
            whole = float(np.sum(room))
            if whole != 0 and missing != 0:
                moved[who] += room * min(1.0, missing / whole)
    return moved


def _decision(values: Array, reach: Array, y: Array, p: int, half: float) -> tuple[float, float]:
    """yₚ(vₚ + b) when every vᵢ is within `reach` of its value and b is that of the ν-machine without p.

    c₊ = ρ − b is the ⌈½ν(n − 1)⌉-th smallest v of the positives, c₋ = ρ + b that of −v of the negatives.
    """
    whole = abs(half - round(half)) < 1e-9
    first = round(half) if whole else int(np.ceil(half))
    ends = {}
    for side in (1.0, -1.0):
        rows = np.flatnonzero((y == side) & (np.arange(len(y)) != p))
        low, up = np.sort(side * values[rows] - reach[rows]), np.sort(side * values[rows] + reach[rows])
        ends[side] = (
            low[max(first, 1) - 1],
            up[min(first, len(rows) - 1)] if whole else up[min(first, len(rows)) - 1],
        )
    below, above = 0.5 * (ends[-1.0][0] - ends[1.0][1]), 0.5 * (ends[-1.0][1] - ends[1.0][0])
    if y[p] < 0:
        below, above = -above, -below
    centre = y[p] * values[p]
    return float(centre - reach[p] + below), float(centre + reach[p] + above)
