"""Equality rows as groups of variables, and points that satisfy them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hinge.problems import Array, Problem, dot


def groups_of(problem: Problem) -> NDArray[np.int8]:
    """The group of every variable: −1 for none, else the row of A it belongs to.        docs/math (6)

    In signed coordinates each row must be constant on its support and no two rows may share a variable.
    """
    group = np.full(problem.p.size, -1, dtype=np.int8)
    for g, row in enumerate(problem.A):
        support = row != 0
        signed = (row * problem.Q.sign)[support]
        if np.any(group[support] >= 0) or (signed.size and np.any(signed != signed[0])):
            raise ValueError(
                "this solver needs equality rows that are constant on disjoint groups of variables "
                "(in signed coordinates); write the rows of A so, or use an interior point method"
            )
        group[support] = g
    return group


def group_totals(problem: Problem) -> tuple[float, float]:
    """What the signed variables of each group add up to; zero for a group that is not there."""
    totals = [0.0, 0.0]
    for g in np.flatnonzero(problem.d):
        row = problem.A[g] * problem.Q.sign
        totals[g] = float(problem.d[g] / row[np.argmax(row != 0)])
    return totals[0], totals[1]


def nearest_feasible(problem: Problem, alpha: Array | None = None) -> Array:
    """A feasible point close to `alpha` (to the origin when left out): clip to the boxes, then fill each row.

    The rows must not share variables.
    """
    start = np.zeros(problem.p.size) if alpha is None else np.array(alpha, dtype=np.float64)
    if start.shape != (problem.p.size,) or not np.isfinite(start).all():
        raise ValueError(f"a starting point needs {problem.size} finite values, got shape {start.shape}")
    point = np.clip(start, problem.lower, problem.upper)
    if alpha is None and not problem.d.any() and not point.any():
        return point
    for row, target in zip(problem.A, problem.d, strict=True):
        _fill(problem, point, row, target)
        _fill(problem, point, row, target)  # what rounding has left, where the way was long
    return point


def _fill(problem: Problem, point: Array, row: Array, target: float) -> None:
    """Move variables of `row`, first ones first, until rowᵀ point = target."""
    missing = target - dot(row, point)
    scale = dot(np.abs(row), np.abs(point)) + abs(target)
    if abs(missing) <= 1e-15 * scale:
        return
    support = np.flatnonzero(row)
    rises = (row[support] > 0) == (missing > 0)
    ends = np.where(rises, problem.upper[support], problem.lower[support])
    room = np.abs(row[support] * (ends - point[support]))
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    with np.errstate(invalid="ignore"):
        share = np.clip(abs(missing) - np.where(np.isfinite(before), before, np.inf), 0.0, room)
    if share.sum() < abs(missing) - 1e-9 * scale:
        raise ValueError(
            f"no feasible point: an equality row must reach {target:g} but its boxes allow at most "
            f"{dot(row, point) + np.sign(missing) * room.sum():g}"
        )
    full = (share >= room) & (room > 0)
    moved = point[support] + np.sign(missing) * share / row[support]
    point[support] = np.where(full, ends, moved)


def forced(problem: Problem) -> tuple[NDArray[np.bool_], Array]:
    """Variables of a row that asks for the least or the most its boxes allow: they have no interior to speak of."""
    fixed, values = np.zeros(problem.size, dtype=bool), np.zeros(problem.size)
    for row, target in zip(problem.A, problem.d, strict=True):
        used = row != 0
        least = np.where(row > 0, problem.lower, problem.upper)[used]
        most = np.where(row > 0, problem.upper, problem.lower)[used]
        for ends in (least, most):
            scale = np.abs(row[used]) @ np.abs(ends) + abs(target)
            if np.isfinite(scale) and abs(row[used] @ ends - target) <= 1e-13 * scale:
                fixed[used], values[used] = True, ends
    return fixed, values
