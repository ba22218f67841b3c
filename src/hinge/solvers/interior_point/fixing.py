"""Fixing: elimination of samples whose variables are at their bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hinge.lowrank import LowRankAccess
from hinge.problems import Array, Problem, Quadratic

Mask = NDArray[np.bool_]

#: Variables with a reduced gradient below this multiple of the mean are not fixed.
MIN_RELATIVE_GRADIENT = 0.5

#: Variables farther from their bound than this share of the width of their box are not fixed.
MAX_RELATIVE_DISTANCE = 0.1


@dataclass(frozen=True)
class FixedProblem:
    """Problem over the variables that are not fixed.                                              docs/math (357)

    Attributes
    ----------
    problem : Problem
    variables : ndarray of int
        Positions of its variables in the whole problem.
    alpha : ndarray
        All variables of the whole problem: the fixed ones at their bounds, 0 for the others.
    """

    problem: Problem
    variables: NDArray[np.intp]
    alpha: Array

    def whole(self, alpha: Array) -> Array:
        """Return the point of the whole problem for a point of this problem."""
        point = self.alpha.copy()
        point[self.variables] = alpha
        return point


def fixable_samples(problem: Problem, alpha: Array, r: Array) -> Mask:
    """Samples whose variables are all close to a bound, with a large reduced gradient r = Qα + p + Aᵀμ towards it.

    They are least likely to change when the approximation of K is improved (LwK §10.3.4).
    """
    width = problem.upper - problem.lower
    distance = np.where(r > 0, alpha - problem.lower, problem.upper - alpha)
    steep = np.abs(r) >= MIN_RELATIVE_GRADIENT * np.mean(np.abs(r))
    fixable = steep & (distance <= MAX_RELATIVE_DISTANCE * width)
    return np.asarray((fixable | (width == 0)).reshape(problem.Q.slots, problem.Q.n).all(axis=0))


def fix_samples(problem: Problem, fixed: Mask, r: Array) -> FixedProblem | None:
    """Fix the variables of some samples at the bounds that the reduced gradient r points to.

    Return None if no sample or every sample is fixed, or if the equality constraints would be infeasible.
    """
    slots, access = problem.Q.slots, problem.Q.access
    if not fixed.any() or fixed.all() or not isinstance(access, LowRankAccess):
        return None
    fixed_variables = np.tile(fixed, slots)
    alpha = np.where(fixed_variables, np.where(r > 0, problem.lower, problem.upper), 0.0)
    samples, variables = np.flatnonzero(~fixed), np.flatnonzero(~fixed_variables)
    A, lower, upper = problem.A[:, variables], problem.lower[variables], problem.upper[variables]
    d = problem.d - problem.A @ alpha
    smallest = np.sum(np.where(A > 0, A * lower, A * upper), axis=1)
    largest = np.sum(np.where(A > 0, A * upper, A * lower), axis=1)
    if np.any(d < smallest) or np.any(d > largest):
        return None
    p = (problem.p + problem.Q.spread(access.matvec(problem.Q.coefficients(alpha))))[variables]
    Q = Quadratic(access.subset(samples), problem.Q.sign[variables])
    return FixedProblem(replace(problem, Q=Q, p=p, A=A, d=d, lower=lower, upper=upper), variables, alpha)
