"""Bound on the leave-one-out error of ν-classification without assumptions.                      docs/math (248)

The solution without sample p is close to a feasible point that is known: the solution with all samples, in which p is
removed and the margin set compensates for it. The duality gap bounds their distance. The thresholds of ν-classification
are order statistics of the decision values.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.problems import Array

AT_BOUND = 1e-9  # distance from a bound, or of ½ν(n − 1) from an integer, that is attributed to rounding
ROUNDING = 64 * np.finfo(float).eps  # relative rounding error that is added to the gap


def nu_intervals(K: Array, y: Array, beta: Array, b: float, rho: float, nu: float) -> tuple[Array, Array]:
    """Return intervals that contain yₚ f⁽⁻ᵖ⁾(xₚ) of every sample, f⁽⁻ᵖ⁾ ν-classification trained without p.

    `beta` (|βᵢ| ≤ 1), `b` and `rho` are those of the solution with all samples, min ½βᵀKβ with class totals ±½νn. If
    the problem without p is infeasible, because a class is too small, the interval is (−∞, ∞).
    """
    n, alpha, f = len(y), np.abs(beta), K @ beta
    margin = (alpha > AT_BOUND) & (alpha < 1 - AT_BOUND)
    slack = np.maximum(0.0, rho - y * (f + b))
    half = 0.5 * nu * (n - 1)
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    unchanged = None  # the point without a sample with α = 0 does not depend on the sample
    for p in range(n):
        if min(np.sum(y == side) - (y[p] == side) for side in (-1.0, 1.0)) < half:
            continue
        if alpha[p] > 0 or unchanged is None or np.any(unchanged[1][p] != 0):
            point = _feasible_without(K, y, beta, margin, p, nu)
            product = K @ (point - beta)
            if alpha[p] == 0:
                unchanged = (product, point - beta)
        else:
            product, point = unchanged[0], beta + unchanged[1]
        # ‖w̃ − w‖², and the gap between the solution (primal) and the point (dual), both without p
        squared_distance = float((point - beta) @ product)
        linear = f * (point - beta)
        rounding = ROUNDING * (float(np.sum(np.abs(linear))) + nu * rho + slack[p])
        gap = max(0.0, float(np.sum(linear)) + 0.5 * squared_distance + nu * rho - slack[p]) + rounding
        radius = np.sqrt(max(0.0, gap - 0.25 * squared_distance))
        values, radii = f + 0.5 * product, radius * np.sqrt(np.maximum(0.0, np.diagonal(K)))
        low[p], high[p] = _decision(values, radii, y, p, half)
    return low, high


def _feasible_without(K: Array, y: Array, beta: Array, margin: NDArray[np.bool_], p: int, nu: float) -> Array:
    """Return a feasible β without p: both totals are smaller by ½ν, and the margin set compensates for p if it can."""
    point, members = beta.copy(), np.flatnonzero(margin & (np.arange(len(y)) != p))
    point[p] = 0.0
    groups = [g for g in (1.0, -1.0) if np.any(y[members] == g)]
    change_of_total = {g: g * -0.5 * nu + (beta[p] if y[p] == g else 0.0) for g in (1.0, -1.0)}
    m, k = len(members), len(groups)
    if m:
        system, right = np.zeros((m + k, m + k)), np.zeros(m + k)
        system[:m, :m] = K[np.ix_(members, members)]
        for i, g in enumerate(groups):
            system[m + i, :m] = system[:m, m + i] = y[members] == g
            right[m + i] = change_of_total[g]
        right[:m] = K[members, p] * beta[p]
        change = scipy.linalg.lstsq(system, right, cond=1e-12, lapack_driver="gelsy")[0][:m]
        low, high = np.minimum(0.0, y[members]), np.maximum(0.0, y[members])
        point[members] = np.clip(beta[members] + change, low, high)
    for g in (1.0, -1.0):  # correct the totals after clipping, first by the margin set, then by all samples
        total = g * 0.5 * nu * (len(y) - 1)
        for samples in (members[y[members] == g], np.flatnonzero((y == g) & (np.arange(len(y)) != p))):
            missing = total - float(np.sum(point[y == g]))
            slack = (g if missing * g > 0 else 0.0) - point[samples]
            total_slack = float(np.sum(slack))
            if total_slack != 0 and missing != 0:
                point[samples] += slack * min(1.0, missing / total_slack)
    return point


def _decision(values: Array, radius: Array, y: Array, p: int, half: float) -> tuple[float, float]:
    """Return bounds of yₚ(vₚ + b) if every vᵢ is within `radius` of its value and b is that of the solution without p.

    c₊ = ρ − b is the ⌈½ν(n − 1)⌉-th smallest v of the positives, c₋ = ρ + b that of −v of the negatives.
    """
    is_integer = abs(half - round(half)) < AT_BOUND
    first = round(half) if is_integer else int(np.ceil(half))
    ends = {}
    for side in (1.0, -1.0):
        rows = np.flatnonzero((y == side) & (np.arange(len(y)) != p))
        low, up = np.sort(side * values[rows] - radius[rows]), np.sort(side * values[rows] + radius[rows])
        ends[side] = (
            low[max(first, 1) - 1],
            up[min(first, len(rows) - 1)] if is_integer else up[min(first, len(rows)) - 1],
        )
    below, above = 0.5 * (ends[-1.0][0] - ends[1.0][1]), 0.5 * (ends[-1.0][1] - ends[1.0][0])
    if y[p] < 0:
        below, above = -above, -below
    center = y[p] * values[p]
    return float(center - radius[p] + below), float(center + radius[p] + above)
