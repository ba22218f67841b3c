"""Initial point of crossover: a few SMO steps over the kernel matrix in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hinge.control import RunControl
from hinge.kernels import Precomputed, open_access
from hinge.problems import Array, Diagonal, Problem, Quadratic, Solution
from hinge.solvers.decomposition.smo import SMO
from hinge.solvers.feasibility import nearest_feasible

#: Limit of SMO steps per sample; the point that they reach is the initial point.
MAX_STEPS_PER_SAMPLE = 10

#: KKT violation, relative to the mean slope at the start, at which SMO stops.
RELATIVE_VIOLATION = 0.01

#: Megabytes for copies of kernel rows; the matrix is in memory already.
CACHE_SIZE = 100


def has_initial_point(problem: Problem) -> bool:
    """Whether SMO accepts the problem: every variable is bounded or curved, and no two rows share a variable.

    ν-SVR problems are excluded: their tube may have width zero. Then both variables of a sample are free, which steps
    on pairs of variables do not detect.
    """
    if problem.Q.slots > 1 and len(problem.d) > 1:
        return False
    if problem.term is not None and not isinstance(problem.term, Diagonal):
        return False
    bounded = np.isfinite(problem.upper - problem.lower)
    if problem.term is not None:
        bounded |= problem.term.d > 0
        slots = problem.term.d.reshape(problem.Q.slots, problem.Q.n)
        if not np.all(slots == slots[0]) or problem.has_common_descent():
            return False
    return bool(bounded.all()) and not np.any(np.count_nonzero(problem.A, axis=0) > 1)


def initial_point(problem: Problem, K: Array, control: RunControl) -> Solution:
    """Return the point after at most `MAX_STEPS_PER_SAMPLE` · n SMO steps; `error` is set if they were interrupted."""
    program = over_kernel_matrix(problem, K)
    start = nearest_feasible(program, None)
    mean_slope = float(np.mean(np.abs(program.gradient(start)))) or 1.0
    smo = SMO(
        tol=RELATIVE_VIOLATION * mean_slope, max_iter=MAX_STEPS_PER_SAMPLE * problem.Q.n, cache_size=CACHE_SIZE,
        precision="float64", polish=False,
    )  # fmt: skip
    return smo.solve(program, start, control.without_callback())


def over_kernel_matrix(problem: Problem, K: Array) -> Problem:
    """The same quadratic program with K in memory and a diagonal term folded into it."""
    if problem.term is not None:
        K = K.copy()
        K[np.diag_indices_from(K)] += problem.sample_diagonal()
    return replace(problem, Q=Quadratic(open_access(Precomputed(), K), problem.Q.sign), term=None)
