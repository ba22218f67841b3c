"""From a solution in doubles to one in pairs of doubles: iterative refinement of the optimality conditions.

Rounding alone makes a gap of 1e-10 to 1e-8 of the objective where C is large, docs/math (377).  Pairs do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from hinge.problems import Array, Problem
from hinge.problems.double_double import Pair, add, equality_residual, residual
from hinge.solvers.refinement.crossover import turn_of

#: Corrections, and those without a gain after which there is none.
MAX_ROUNDS, MAX_IDLE = 12, 3

#: The diagonal that is added to Q, in units of its largest entry: what is singular stays solvable, and refinement
#: makes good for it.
DIAGONAL = 1e-13

#: Gaps are made smaller than asked for by this.
BELOW = 0.01


@dataclass(frozen=True)
class Refined:
    """Variables and multipliers as pairs, the gap (with what is missing in the rows), and the objective."""

    alpha: Pair
    mu: Pair
    gap: float
    value: float


def refine_iteratively(problem: Problem, K: Array, alpha: Array, mu: Array, tol: float) -> Refined:
    """The point of the smallest gap found from (alpha, mu): Newton steps on the free variables, with what is missing
    to optimality computed to twice the precision.                                          docs/math (379)"""
    x: Pair = alpha, np.zeros_like(alpha)
    m: Pair = mu, np.zeros_like(mu)
    system, idle = _System(problem, K), 0
    best: Refined | None = None
    for _ in range(MAX_ROUNDS):
        gradient, r = residual(problem, K, x, m)
        missing = equality_residual(problem, x)
        value = problem.value(x[0], gradient)
        here = Refined(x, m, _gap(problem, x, r) + float(np.abs(m[0]) @ np.abs(missing)), value)
        idle = 0 if best is None or here.gap < 0.5 * best.gap else idle + 1
        best = here if best is None or here.gap < best.gap else best
        if best.gap <= BELOW * tol * abs(value) or idle >= MAX_IDLE:
            break
        free = _free(problem, x[0], r)
        step = system.solve(free, -r[free], -missing)
        if step is None:
            break
        dx, dm = np.zeros_like(alpha), step[1]
        dx[free] = step[0]
        x, m = _inside(problem, add(x, (dx, np.zeros_like(dx)))), add(m, (dm, np.zeros_like(dm)))
    assert best is not None
    return best


def _gap(problem: Problem, x: Pair, r: Array) -> float:
    """(4); variables without a bound on the side they are pushed to share nothing: they are free, and r is rounding."""
    towards = np.where(r > 0, problem.lower, problem.upper)
    closed = np.isfinite(towards)
    away = ((x[0] - np.where(closed, towards, 0.0)) + x[1])[closed]
    return float(np.sum(r[closed] * away))


def _free(problem: Problem, x: Array, r: Array) -> NDArray[np.intp]:
    """Variables inside their boxes, and those at a bound that are pushed away from it."""
    towards_inside = ((x <= problem.lower) & (r < 0)) | ((x >= problem.upper) & (r > 0))
    inside = (x > problem.lower) & (x < problem.upper)
    return np.flatnonzero((inside | towards_inside) & (problem.lower < problem.upper))


def _inside(problem: Problem, x: Pair) -> Pair:
    """Within the boxes; a pair is beyond a bound by its first part, or at it by the first and beyond by the second."""
    high, low = x
    below = (high < problem.lower) | ((high == problem.lower) & (low < 0))
    above = (high > problem.upper) | ((high == problem.upper) & (low > 0))
    cut = np.where(below, problem.lower, np.where(above, problem.upper, high))
    return cut, np.where(below | above, 0.0, low)


class _System:
    """Q_FF δα + A_Fᵀ δμ = right,  A_F δα = need; the factor is kept while F stays."""

    def __init__(self, problem: Problem, K: Array) -> None:
        self.problem, self.K, self.turn = problem, K, turn_of(problem)
        self.free: NDArray[np.intp] | None = None

    def solve(self, free: NDArray[np.intp], right: Array, need: Array) -> tuple[Array, Array] | None:
        if free.size == 0:
            return None
        if (self.free is None or not np.array_equal(free, self.free)) and not self._factor(free):
            return None
        own = np.asarray(lapack.dpotrs(self.factor, right, lower=0)[0])
        if not len(self.problem.d):
            return own, np.zeros(0)
        missing = (self.rows.T @ own - self.turn @ need) / self.unit
        change = np.asarray(np.linalg.lstsq(self.inner, missing, rcond=1e-14)[0]) / self.unit
        return own - self.solved @ change, change @ self.turn

    def _factor(self, free: NDArray[np.intp]) -> bool:
        Q = self.problem.Q
        at, sign = free % Q.n, Q.sign[free]
        B = self.K[np.ix_(at, at)] * sign[:, None] * sign
        B[np.diag_indices_from(B)] += DIAGONAL * float(np.max(np.diagonal(self.K), initial=0.0))
        self.factor, info = lapack.dpotrf(B.T, lower=0, overwrite_a=1, clean=0)
        if info != 0:
            return False
        self.free, self.rows = free, np.ascontiguousarray((self.turn @ self.problem.A[:, free]).T)
        if len(self.problem.d):
            self.solved = np.asarray(lapack.dpotrs(self.factor, self.rows, lower=0)[0])
            inner = self.rows.T @ self.solved
            self.unit = np.sqrt(np.maximum(np.diagonal(inner), 1e-300))
            self.inner = inner / np.outer(self.unit, self.unit)
        return True
