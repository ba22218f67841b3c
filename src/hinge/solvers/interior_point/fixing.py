"""A problem without the samples that rest at their bounds, and its solution put back into its place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hinge.lowrank import LowRankAccess
from hinge.problems import Array, Problem, Quadratic

Mask = NDArray[np.bool_]

#: How hard a settled variable is pushed, in units of the mean.
FIRM = 0.5

#: A variable this close to the bound that it is pushed against, in widths of its box, may be settled there.
CLOSE = 0.1


@dataclass(frozen=True)
class FixedProblem:
    """What is left of a problem while some samples stay where they are.                         docs/math (357)"""

    problem: Problem
    open: NDArray[np.intp]
    alpha: Array

    def whole(self, alpha: Array) -> Array:
        """A point of the part, and the bounds of all others."""
        found = self.alpha.copy()
        found[self.open] = alpha
        return found


def settled(problem: Problem, alpha: Array, r: Array) -> Mask:
    """Samples whose variables are all pushed against their bounds, and firmly; r = Qα + p + Aᵀμ.

    These are the least likely to move when K is known better (LwK §10.3.4).
    """
    width = problem.upper - problem.lower
    room = np.where(r > 0, alpha - problem.lower, problem.upper - alpha)
    firm = (np.abs(r) >= FIRM * np.mean(np.abs(r))) & (room <= CLOSE * width)
    return np.asarray((firm | (width == 0)).reshape(problem.Q.slots, problem.Q.n).all(axis=0))


def open_part(problem: Problem, aside: Mask, r: Array) -> FixedProblem | None:
    """The problem over the other samples, those set aside being at the bounds that r pushes them to.

    None if nothing is gained, or if the rows could not be met.
    """
    n, slots, access = problem.Q.n, problem.Q.slots, problem.Q.access
    if not aside.any() or aside.all() or not isinstance(access, LowRankAccess):
        return None
    rest = np.tile(aside, slots)
    alpha = np.where(rest, np.where(r > 0, problem.lower, problem.upper), 0.0)
    samples, variables = np.flatnonzero(~aside), np.flatnonzero(~rest)
    A, lower, upper = problem.A[:, variables], problem.lower[variables], problem.upper[variables]
    d = problem.d - problem.A @ alpha
    least = np.sum(np.where(A > 0, A * lower, A * upper), axis=1)
    most = np.sum(np.where(A > 0, A * upper, A * lower), axis=1)
    if np.any(d < least) or np.any(d > most):
        return None
    p = (problem.p + problem.Q.spread(access.matvec(problem.Q.coefficients(alpha))))[variables]
    Q = Quadratic(access.subset(samples), problem.Q.sign[variables])
    part = replace(problem, Q=Q, p=p, A=A, d=d, lower=lower, upper=upper)
    assert part.Q.n == len(samples) < n
    return FixedProblem(part, variables, alpha)
