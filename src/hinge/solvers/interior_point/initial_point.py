"""A point near the solution of a quadratic program: a few steps on pairs of variables, over the matrix in memory."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from hinge.kernels import Precomputed, open_access
from hinge.problems import Array, Diagonal, Problem, Quadratic, Solution
from hinge.solvers.decomposition.smo import SMO
from hinge.solvers.diagonal import diagonal_of
from hinge.solvers.feasibility import nearest_feasible

#: Steps for every sample, and the violation of the optimality conditions, in units of the mean slope, that is enough.
STEPS, VIOLATION = 10, 0.01

#: Megabytes for rows of the matrix, which is in memory already.
CACHE = 100


def may_be_rough(problem: Problem) -> bool:
    """Whether steps on pairs can be taken: boxes or a diagonal hold all variables, and rows share none.

    Not for ν-regressions: their tube may have no width, and then both variables of a sample are free, of which steps on
    pairs know nothing.
    """
    if problem.Q.slots > 1 and len(problem.d) > 1:
        return False
    if problem.term is not None and not isinstance(problem.term, Diagonal):
        return False
    held = np.isfinite(problem.upper - problem.lower)
    if problem.term is not None:
        held |= problem.term.d > 0
        slots = problem.term.d.reshape(problem.Q.slots, problem.Q.n)
        if not np.all(slots == slots[0]):
            return False
    return bool(held.all()) and not np.any(np.count_nonzero(problem.A, axis=0) > 1)


def rough_point(problem: Problem, K: Array, deadline: float | None) -> Solution:
    """Where at most ten steps for every sample lead; its `error` is what interrupted them."""
    plain = over_matrix(problem, K)
    start = nearest_feasible(plain, None)
    force = float(np.mean(np.abs(plain.gradient(start)))) or 1.0
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    steps = SMO(
        tol=VIOLATION * force, max_iter=STEPS * problem.Q.n, max_time=left, cache_size=CACHE, precision="float64",
        polish=False,
    )  # fmt: skip
    return steps.solve(plain, start)


def over_matrix(problem: Problem, K: Array) -> Problem:
    """The same quadratic program over a matrix in memory, a diagonal term added to it."""
    if problem.term is not None:
        K = K.copy()
        K[np.diag_indices_from(K)] += diagonal_of(problem)
    return replace(problem, Q=Quadratic(open_access(Precomputed(), K), problem.Q.sign), term=None)
