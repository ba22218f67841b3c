"""Choice of the most violating samples: LwK Table 10.1, balanced between the two directions of every group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge.problems import Array, Problem

Index = NDArray[np.intp]

#: Multiplier of the hash that orders samples with equal scores, so that their positions do not matter.
HASH_MULTIPLIER = np.uint32(2654435761)


def scores(rule: str, problem: Problem, alpha: Array, residual: Array) -> Array:
    """Violation of every variable by LwK Table 10.1; r = Qα + p + Aᵀμ, which is y f(x) − 1 in classification.

        gradient     |r| if the bounds allow α to move against r, else 0
        gap          |r| · (distance to the bound): contribution to the duality gap
        multiplier   distance to the bound if r ≠ 0

    If the bound is infinite, the score is that of "gradient".
    """
    distance = np.where(residual < 0, problem.upper - alpha, alpha - problem.lower)
    slope = np.where(distance > 0, np.abs(residual), 0.0)
    if rule == "gradient":
        return slope
    bounded = np.isfinite(distance)
    distance = np.where(bounded & (slope > 0), distance, 0.0)
    return np.where(bounded, distance * slope if rule == "gap" else distance, slope)


@dataclass(frozen=True)
class ViolatingPair:
    """The largest KKT violation, and the samples of the pair (or of the single variable) that has it."""

    violation: float
    samples: Index


def most_violating_pair(problem: Problem, group: NDArray[np.int8], alpha: Array, gradient: Array) -> ViolatingPair:
    """The most violating pair of a group, or variable without a group.  docs/math (7)"""
    sign, slope = problem.Q.sign, problem.Q.sign * gradient
    can_rise, can_fall = alpha < problem.upper, alpha > problem.lower
    can_rise, can_fall = np.where(sign > 0, can_rise, can_fall), np.where(sign > 0, can_fall, can_rise)
    worst = ViolatingPair(0.0, np.empty(0, dtype=np.intp))
    for g in np.unique(group):
        rising, falling = np.flatnonzero(can_rise & (group == g)), np.flatnonzero(can_fall & (group == g))
        up = rising[np.argmin(slope[rising])] if rising.size else None
        low = falling[np.argmax(slope[falling])] if falling.size else None
        if g < 0:
            moves = [(abs(slope[v]), [v]) for v, s in ((up, -1), (low, 1)) if v is not None and s * slope[v] > 0]
        else:
            moves = [] if up is None or low is None else [(slope[low] - slope[up], [up, low])]
        for violation, variables in moves:
            if violation > worst.violation:
                worst = ViolatingPair(float(violation), np.unique(np.array(variables) % problem.Q.n))
    return worst


def most_violating_samples(
    problem: Problem, group: NDArray[np.int8], score: Array, residual: Array, eligible: NDArray[np.bool_], count: int
) -> Index:
    """Up to `count` eligible samples with the largest scores, half of them with an increasing variable.  LwK §10.4.3

    Every group has the same share. If one direction has too few samples, the other direction has more.
    """
    n = problem.Q.n
    candidates = np.flatnonzero((score > 0) & np.tile(eligible, problem.Q.slots))
    tie_breaker = (candidates % n).astype(np.uint32) * HASH_MULTIPLIER
    candidates = candidates[np.lexsort((tie_breaker, -score[candidates]))]
    rises = (problem.Q.sign * residual < 0)[candidates]
    groups = np.unique(group[candidates])
    chosen: list[Index] = []
    for k, g in enumerate(groups):
        share = (count - sum(map(len, chosen))) // (len(groups) - k)
        up, down = (candidates[(group[candidates] == g) & side] for side in (rises, ~rises))
        up = up[: max((share + 1) // 2, share - len(down))]
        chosen += [up, down[: share - len(up)]]
    return np.unique(np.concatenate(chosen) % n) if chosen else np.empty(0, dtype=np.intp)
