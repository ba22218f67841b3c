"""The subproblem of some samples while the variables of all others are fixed.  LwK (10.57)"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, cast

import numpy as np

from hinge.kernels import GramAccess, SubsetAccess
from hinge.problems import Array, History, Problem, Quadratic
from hinge.solvers.decomposition.selection import Index

#: Names of the columns of a history, in their order.
COLUMNS = tuple(field.name for field in fields(History))


class Chunk:
    """The subproblem of some samples.

    Attributes
    ----------
    problem : Problem
        Of the variables of these samples.
    variables : ndarray
        Their positions among all variables.
    has_row : ndarray of bool
        For each equality row, whether it contains one of them.
    """

    def __init__(self, problem: Problem, alpha: Array, samples: Index) -> None:
        Q = problem.Q
        self.is_whole = len(samples) == Q.n
        self.variables = (samples[None, :] + Q.n * np.arange(Q.slots)[:, None]).ravel()
        fixed = alpha.copy()
        fixed[self.variables] = 0.0
        linear, target, self.constant = problem.p[self.variables], problem.d, 0.0
        if fixed.any():  # not for the formulations of hinge: their variables outside of a chunk are zero
            Q_fixed = Q.matvec(fixed)
            linear = linear + Q_fixed[self.variables]
            target = problem.d - problem.A @ fixed
            self.constant = float(fixed @ (0.5 * Q_fixed + problem.p))
        A = problem.A[:, self.variables]
        self.has_row = np.any(A != 0, axis=1)
        access = Q.access if self.is_whole else cast("GramAccess | SubsetAccess", Q.access).subset(samples)
        self.problem = Problem(
            Quadratic(access, Q.sign[self.variables]),
            linear,
            A,
            np.where(self.has_row, target, 0.0),
            problem.lower[self.variables],
            problem.upper[self.variables],
        )

    def as_whole(self, snapshot: dict[str, Any], iterations: int, seconds: float) -> dict[str, Any]:
        """Snapshots of the chunk, as numbers or columns, for the whole problem.

        The lower bound holds for the whole problem; the upper bound holds for the chunk only, so `exact` is False.
        """
        shifts = {"iteration": iterations, "seconds": seconds, "primal": -self.constant, "dual": -self.constant}
        shifted = {name: value + shifts[name] if name in shifts else value for name, value in snapshot.items()}
        return shifted if self.is_whole else {**shifted, "exact": snapshot["exact"] & False}
