"""Equality rows as groups of variables, and feasible points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hinge.problems import Array, Problem, dot

#: Relative violation of an equality row up to which it is not corrected.
ROW_ROUNDING = 1e-15

#: Relative violation of an equality row above which there is no feasible point.
MAX_ROW_VIOLATION = 1e-9

#: Relative difference between the target of a row and its extreme value up to which the row determines its variables.
EXTREME_ROUNDING = 1e-13


def groups_of(problem: Problem) -> NDArray[np.int8]:
    """The group of every variable: the row of A it belongs to, or −1.  docs/math (6)

    In signed coordinates each row must be constant on its support, and no two rows may share a variable.
    """
    group = np.full(problem.p.size, -1, dtype=np.int8)
    for g, row in enumerate(problem.A):
        support = row != 0
        signed = (row * problem.Q.sign)[support]
        if np.any(group[support] >= 0) or (signed.size and np.any(signed != signed[0])):
            raise ValueError(
                f"row {g} of A: this solver needs equality rows that are constant on disjoint groups of variables (in "
                "signed coordinates); scale the variables, or use an interior-point method"
            )
        group[support] = g
    return group


def nearest_feasible(problem: Problem, alpha: Array | None = None) -> Array:
    """A feasible point close to `alpha`, or to the origin: clip to the bounds, then correct each row.

    The rows must not share variables.
    """
    start = np.zeros(problem.p.size) if alpha is None else np.array(alpha, dtype=np.float64)
    if start.shape != (problem.p.size,) or not np.isfinite(start).all():
        raise ValueError(f"start has shape {start.shape}; pass {problem.p.size} finite values, one for every variable")
    point = np.clip(start, problem.lower, problem.upper)
    if alpha is None and not problem.d.any() and not point.any():
        return point
    for row, target in zip(problem.A, problem.d, strict=True):
        if _correct_row(problem, point, row, target):
            _correct_row(problem, point, row, target)  # the rounding error of a large correction
    return point


def _correct_row(problem: Problem, point: Array, row: Array, target: float) -> bool:
    """Move variables of `row` towards their bounds, one after the other, until rowᵀ point = target.

    Returns whether the point was changed.
    """
    missing = target - dot(row, point)
    scale = dot(np.abs(row), np.abs(point)) + abs(target)
    if abs(missing) <= ROW_ROUNDING * scale:
        return False
    support = np.flatnonzero(row)
    rises = (row[support] > 0) == (missing > 0)
    bound = np.where(rises, problem.upper[support], problem.lower[support])
    capacity = np.abs(row[support] * (bound - point[support]))
    used = np.concatenate([[0.0], np.cumsum(capacity)[:-1]])
    with np.errstate(invalid="ignore"):
        share = np.clip(abs(missing) - np.where(np.isfinite(used), used, np.inf), 0.0, capacity)
    if share.sum() < abs(missing) - MAX_ROW_VIOLATION * scale:
        raise ValueError(
            f"no feasible point: an equality row must reach {target:g}, but with these bounds it reaches at most "
            f"{dot(row, point) + np.sign(missing) * capacity.sum():g}"
        )
    full = (share >= capacity) & (capacity > 0)
    moved = point[support] + np.sign(missing) * share / row[support]
    point[support] = np.where(full, bound, moved)
    return True


def complementary(problem: Problem, alpha: Array) -> Array:
    """Decrease α and α* of each sample by the same amount until one is at its bound.

    That leaves f and the equality rows unchanged and does not increase the objective. Problems with other variables, or
    with p + p* < 0, are left as they are.
    """
    Q, n, A = problem.Q, problem.Q.n, problem.A
    if Q.slots != 2 or np.any(Q.sign[:n] != -Q.sign[n:]) or np.any(A[:, :n] != -A[:, n:]):
        return alpha
    if problem.has_common_descent():
        return alpha
    common = np.minimum(alpha[:n] - problem.lower[:n], alpha[n:] - problem.lower[n:])
    return np.asarray(alpha - np.tile(np.maximum(common, 0.0), 2))


def fixed_by_rows(problem: Problem) -> tuple[NDArray[np.bool_], Array]:
    """Variables that the equality rows fix, and their values: a row whose target is its smallest or largest value.

    Such variables have no interior.
    """
    fixed, values = np.zeros(problem.size, dtype=bool), np.zeros(problem.size)
    for row, target in zip(problem.A, problem.d, strict=True):
        used = row != 0
        smallest = np.where(row > 0, problem.lower, problem.upper)[used]
        largest = np.where(row > 0, problem.upper, problem.lower)[used]
        for bounds in (smallest, largest):
            scale = np.abs(row[used]) @ np.abs(bounds) + abs(target)
            if np.isfinite(scale) and abs(row[used] @ bounds - target) <= EXTREME_ROUNDING * scale:
                fixed[used], values[used] = True, bounds
    return fixed, values
