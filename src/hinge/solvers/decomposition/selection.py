"""Which samples violate the optimality conditions most: LwK Table 10.1, balanced over both sides of every group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge.problems import Array, Problem

Index = NDArray[np.intp]

#: A hash of the sample decides between equals, so that their order does not.
LOT = np.uint32(2654435761)


def scores(rule: str, problem: Problem, alpha: Array, residual: Array) -> Array:
    """How badly every variable wants to move, by LwK Table 10.1; r = Qα + p + Aᵀμ, in classification y f(x) − 1.

        gradient     |r| where the box lets α go the way r pushes it, else 0
        gap          |r| · (how far the box lets it go): its share of the duality gap
        multiplier   (how far the box lets it go) where r ≠ 0

    Where a box is open there is no such distance, and the score is that of "gradient".
    """
    room = np.where(residual < 0, problem.upper - alpha, alpha - problem.lower)
    force = np.where(room > 0, np.abs(residual), 0.0)
    if rule == "gradient":
        return force
    bounded = np.isfinite(room)
    distance = np.where(bounded & (force > 0), room, 0.0)
    return np.where(bounded, distance * force if rule == "gap" else distance, force)


@dataclass(frozen=True)
class Extremes:
    """The largest violation, and the samples of the pair (or of the one variable) that has it."""

    violation: float
    samples: Index


def extremes(problem: Problem, group: NDArray[np.int8], alpha: Array, gradient: Array) -> Extremes:
    """The pair of a group, or the variable without one, that violates most.                    docs/math (7)"""
    sign, slope = problem.Q.sign, problem.Q.sign * gradient
    can_rise, can_fall = alpha < problem.upper, alpha > problem.lower
    can_rise, can_fall = np.where(sign > 0, can_rise, can_fall), np.where(sign > 0, can_fall, can_rise)
    worst = Extremes(0.0, np.empty(0, dtype=np.intp))
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
                worst = Extremes(float(violation), np.unique(np.array(variables) % problem.Q.n))
    return worst


def worst_samples(
    problem: Problem, group: NDArray[np.int8], score: Array, residual: Array, wanted: NDArray[np.bool_], count: int
) -> Index:
    """Up to `count` of the wanted samples with the largest scores, as many that would rise as would fall.

    Every group gets the same share. A side that has fewer leaves its room to the other.           LwK §10.4.3
    """
    n = problem.Q.n
    candidates = np.flatnonzero((score > 0) & np.tile(wanted, problem.Q.slots))
    lot = (candidates % n).astype(np.uint32) * LOT
    candidates = candidates[np.lexsort((lot, -score[candidates]))]
    rises = (problem.Q.sign * residual < 0)[candidates]
    present = np.unique(group[candidates])
    found: list[Index] = []
    for k, g in enumerate(present):
        share = (count - sum(map(len, found))) // (len(present) - k)
        up, down = (candidates[(group[candidates] == g) & side] for side in (rises, ~rises))
        up = up[: max((share + 1) // 2, share - len(down))]
        found += [up, down[: share - len(up)]]
    return np.unique(np.concatenate(found) % n) if found else np.empty(0, dtype=np.intp)
