"""Iterative refinement: from a solution in float64 to one in double-double precision.

If C is large, the rounding of α to float64 alone causes a gap of 1e-10 to 1e-8 of the objective, docs/math (377). A
solution whose variables are sums of two float64 numbers does not have this limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.kernels.double_double import Pair, add
from hinge.problems import Array, Problem
from hinge.problems.double_double import equality_residual, residual
from hinge.solvers.refinement.newton_step import ROW_RANK_TOL, row_basis

#: Corrections after which the best point is returned.
MAX_CORRECTIONS = 12

#: Corrections that do not halve the gap after which the best point is returned.
MAX_STALLED_CORRECTIONS = 3

#: Diagonal that is added to a singular Q, in units of its largest entry; refinement corrects the error.
RELATIVE_RIDGE = 1e-13

#: Share of the requested gap at which refinement ends.
FINAL_SHARE = 0.01


@dataclass(frozen=True)
class Refined:
    """Variables and multipliers in double-double precision, the gap (with violations of the rows) and the objective."""

    alpha: Pair
    mu: Pair
    gap: float
    value: float


def refine_iteratively(problem: Problem, K: Array, alpha: Array, mu: Array, tol: float) -> Refined:
    """Newton steps on the free variables with residuals in double-double precision.  docs/math (379)

    Returns the point with the smallest gap. Ends early if the relative gap is far below `tol`.
    """
    x: Pair = alpha, np.zeros_like(alpha)
    m: Pair = mu, np.zeros_like(mu)
    system, stalled = _System(problem, K), 0
    best: Refined | None = None
    for _ in range(MAX_CORRECTIONS):
        gradient, r = residual(problem, K, x, m)
        missing = equality_residual(problem, x)
        value = problem.value(x[0], gradient)
        current = Refined(x, m, _gap(problem, x, r) + float(np.abs(m[0]) @ np.abs(missing)), value)
        stalled = 0 if best is None or current.gap < 0.5 * best.gap else stalled + 1
        best = current if best is None or current.gap < best.gap else best
        if best.gap <= FINAL_SHARE * tol * abs(value) or stalled >= MAX_STALLED_CORRECTIONS:
            break
        free = _free_variables(problem, x[0], r)
        step = system.solve(free, -r[free], -missing)
        if step is None:
            break
        dx, dm = np.zeros_like(alpha), step[1]
        dx[free] = step[0]
        x, m = _clipped(problem, add(x, (dx, np.zeros_like(dx)))), add(m, (dm, np.zeros_like(dm)))
    assert best is not None
    return best


def _gap(problem: Problem, x: Pair, r: Array) -> float:
    """Duality gap (4). Variables with a slope towards an infinite bound are free: their r is a rounding error."""
    bound = np.where(r > 0, problem.lower, problem.upper)
    finite = np.isfinite(bound)
    distance = ((x[0] - np.where(finite, bound, 0.0)) + x[1])[finite]
    return float(np.sum(r[finite] * distance))


def _free_variables(problem: Problem, x: Array, r: Array) -> NDArray[np.intp]:
    """Variables inside their bounds, and those at a bound whose multiplier has the wrong sign."""
    wrong = ((x <= problem.lower) & (r < 0)) | ((x >= problem.upper) & (r > 0))
    inside = (x > problem.lower) & (x < problem.upper)
    return np.flatnonzero((inside | wrong) & (problem.lower < problem.upper))


def _clipped(problem: Problem, x: Pair) -> Pair:
    """x within its bounds: a pair is outside if its high part is, or if that is at the bound and the low part is."""
    high, low = x
    below = (high < problem.lower) | ((high == problem.lower) & (low < 0))
    above = (high > problem.upper) | ((high == problem.upper) & (low > 0))
    clipped = np.where(below, problem.lower, np.where(above, problem.upper, high))
    return clipped, np.where(below | above, 0.0, low)


class _System:
    """Q_FF δα + A_Fᵀ δμ = right,  A_F δα = need.  The factor is kept as long as F does not change."""

    def __init__(self, problem: Problem, K: Array) -> None:
        self.problem, self.K, self.row_basis = problem, K, row_basis(problem)
        self.free: NDArray[np.intp] | None = None

    def solve(self, free: NDArray[np.intp], right: Array, need: Array) -> tuple[Array, Array] | None:
        """(δα_F, δμ), or None if there is no free variable or the system is not positive definite."""
        if free.size == 0:
            return None
        if (self.free is None or not np.array_equal(free, self.free)) and not self._factorize(free):
            return None
        step = np.asarray(scipy.linalg.lapack.dpotrs(self.factor, right, lower=0)[0])
        if not len(self.problem.d):
            return step, np.zeros(0)
        missing = (self.rows.T @ step - self.row_basis @ need) / self.scale
        d_mu = np.asarray(np.linalg.lstsq(self.schur, missing, rcond=ROW_RANK_TOL)[0]) / self.scale
        return step - self.solved_rows @ d_mu, d_mu @ self.row_basis

    def _factorize(self, free: NDArray[np.intp]) -> bool:
        Q = self.problem.Q
        at, sign = free % Q.n, Q.sign[free]
        B = self.K[np.ix_(at, at)] * sign[:, None] * sign
        B[np.diag_indices_from(B)] += RELATIVE_RIDGE * float(np.max(np.diagonal(self.K), initial=0.0))
        self.factor, info = scipy.linalg.lapack.dpotrf(B.T, lower=0, overwrite_a=1, clean=0)
        if info != 0:
            return False
        self.free, self.rows = free, np.ascontiguousarray((self.row_basis @ self.problem.A[:, free]).T)
        if len(self.problem.d):
            self.solved_rows = np.asarray(scipy.linalg.lapack.dpotrs(self.factor, self.rows, lower=0)[0])
            schur = self.rows.T @ self.solved_rows
            self.scale = np.sqrt(np.maximum(np.diagonal(schur), 1e-300))
            self.schur = schur / np.outer(self.scale, self.scale)
        return True
