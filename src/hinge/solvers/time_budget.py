"""Work that does not fit into a time limit: estimates of its time, and the solution that replaces its result."""

from __future__ import annotations

import numpy as np

from hinge import _core
from hinge.control import RunControl
from hinge.problems import Array, History, Problem, Solution, Status, optimal_offset
from hinge.solvers.feasibility import nearest_feasible

#: Estimated seconds of one value of a stored kernel matrix, and of a multiplication of a factorization, on one thread.
KERNEL_VALUE_SECONDS, MULTIPLICATION_SECONDS = 6e-9, 2e-11

#: After a time limit the offset is estimated from MIN_OFFSET_SAMPLES to MAX_OFFSET_SAMPLES samples, such that about
#: OFFSET_KERNEL_VALUES kernel values are needed, and with at most MAX_OFFSET_SUPPORT of the coefficients.
MIN_OFFSET_SAMPLES, MAX_OFFSET_SAMPLES, MAX_OFFSET_SUPPORT = 128, 2000, 50_000
OFFSET_KERNEL_VALUES = 10_000_000


def matrix_seconds(n: int, factorizations: float = 0.0) -> float:
    """Estimated seconds for the kernel matrix of n samples, and for factorizations of it."""
    return KERNEL_VALUE_SECONDS * n**2 + MULTIPLICATION_SECONDS * factorizations * n**3 / 3


def fits(control: RunControl, seconds: float) -> bool:
    """Whether work of this many seconds ends before the deadline."""
    remaining = control.remaining()
    return remaining is None or seconds <= remaining


def unsolved_at_limit(problem: Problem) -> Solution:
    """The feasible point nearest to zero, for a run whose time limit does not suffice for an iteration."""
    alpha = nearest_feasible(problem, None)
    is_zero = not alpha.any()
    estimated = not is_zero and problem.Q.access.compiled  # rows of a Python function may take long
    gradient = np.array(problem.p, dtype=np.float64)
    return Solution(
        alpha=alpha,
        mu=estimated_offset(problem, alpha) if estimated else optimal_offset(problem, alpha, gradient),
        gradient=gradient,
        status=Status.TIME_LIMIT,
        iterations=0,
        history=History.empty(),
        exact=is_zero,
    )


def estimated_offset(problem: Problem, alpha: Array) -> Array:
    """The multipliers with the smallest gap of a few samples, for a point whose gradient is not known."""
    Q = problem.Q
    beta = Q.coefficients(alpha)
    support = np.flatnonzero(beta)
    count = int(np.clip(OFFSET_KERNEL_VALUES // max(1, len(support)), MIN_OFFSET_SAMPLES, MAX_OFFSET_SAMPLES))
    some = np.sort(np.random.default_rng(0).permutation(Q.n)[:count])
    if len(support) > MAX_OFFSET_SUPPORT:  # a sample of the coefficients, scaled to their sum
        drawn = np.sort(np.random.default_rng(1).permutation(support)[:MAX_OFFSET_SUPPORT])
        beta = beta * (np.abs(beta[support]).sum() / np.abs(beta[drawn]).sum())
        support = drawn
    f = np.zeros(Q.n)
    if len(support):
        f[some] = Q.access.block(some, support) @ beta[support]
    gradient = Q.spread(f) + problem.p
    variables = (some + Q.n * np.arange(Q.slots)[:, None]).ravel()
    mu = np.empty(len(problem.A))
    for k, row in enumerate(problem.A):
        columns = (row, alpha, gradient, problem.lower, problem.upper)
        mu[k] = _core.best_multiplier(*(np.ascontiguousarray(column[variables]) for column in columns))
    return mu
