"""Run of the low-rank interior-point method: iterations, feasible solution and polishing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg

from hinge.control import RunControl
from hinge.kernels import cache_bytes
from hinge.lowrank import LowRankAccess, RowBlocks
from hinge.problems import Array, History, Problem, Solution, Status, optimal_offset, optimality
from hinge.solvers.feasibility import nearest_feasible
from hinge.solvers.interior_point.low_rank_iterate import ZERO_OBJECTIVE_AT_END, LowRankIterate
from hinge.solvers.refinement.polishing import balance, polish
from hinge.solvers.refinement.verification import verify

#: Iterations if `max_iter` sets no limit; then the run ends with Status.SOLVED or Status.NUMERICAL.
DEFAULT_MAX_ITER = 100

#: Below this tolerance the factor is stored in float64, products are in float64 from the beginning, and the solution is
#: polished if possible.
FLOAT64_TOL = 1e-5

#: Relative gap up to which a run is solved if rounding errors prevent further steps, and up to which variables are
#: moved to their bounds.
ROUNDING_TOL = 1e-8

#: Free variables above which the solution is not polished.
MAX_POLISHED_FREE = 2000


class _DeadlinePassed(Exception):
    """Raised within products with L when the deadline has passed."""


def _deadline_check(control: RunControl) -> Callable[[], None]:
    """A function that raises when the deadline has passed.

    It is not a method of the run: the reference cycle would keep L in memory until garbage collection.
    """

    def check() -> None:
        if control.expired():
            raise _DeadlinePassed

    return check


class LowRankRun:
    """One run of the low-rank interior-point method.

    Parameters
    ----------
    problem : Problem
        With a `LowRankAccess`.
    tol : float
        Relative duality gap.
    max_iter : int
        Iterations; −1 for the default.
    cache_size : float or "auto"
        Megabytes for a copy of L in memory if L is a file.
    began : float
        Time of `time.monotonic` that the seconds of the history are counted from.
    control : RunControl
    """

    def __init__(
        self, problem: Problem, tol: float, max_iter: int, cache_size: float | str, began: float, control: RunControl
    ) -> None:
        self.problem, self.tol, self.max_iter, self.began, self.control = problem, tol, max_iter, began, control
        self.records: list[dict[str, Any]] = []
        self.iterate: LowRankIterate | None = None
        access = problem.Q.access
        assert isinstance(access, LowRankAccess)
        self.check_deadline = _deadline_check(control)
        blocks = access.blocks.gathered(cache_bytes(cache_size))
        self.blocks: RowBlocks = replace(blocks, wide=tol < FLOAT64_TOL, watch=self.check_deadline)

    def solve(self) -> Solution:
        """Follow the central path; the last iterate, made feasible, with its gradient in float64."""
        status, error = Status.MAX_ITER, None
        try:
            with self.control.interruptible():
                status = self._follow_path()
        except _DeadlinePassed:
            status = Status.TIME_LIMIT
        except scipy.linalg.LinAlgError:
            status = Status.NUMERICAL
        except BaseException as interruption:  # a signal, or an exception of the callback
            status, error = Status.INTERRUPTED, interruption
        alpha = nearest_feasible(self.problem, None if self.iterate is None else self.iterate.alpha)
        self.blocks = replace(self.blocks, wide=True, watch=None)
        return verify(self.problem, self._solution(alpha, status, error), self.tol, "relative_gap")

    def _follow_path(self) -> Status:
        """Iterate until the gap is small enough or no further step is possible."""
        iterate = LowRankIterate(self.problem, self.blocks, accuracy=min(1e-6, 1e-3 * self.tol))
        self.iterate = iterate
        for iteration in range(DEFAULT_MAX_ITER if self.max_iter < 0 else self.max_iter + 1):
            seconds = time.monotonic() - self.began
            self.records.append({"iteration": iteration, "seconds": seconds, **iterate.snapshot()})
            if iterate.is_optimal(self.tol) and self._is_optimal_in_float64(iterate):
                return Status.SOLVED
            if iteration == self.max_iter:
                return Status.MAX_ITER
            self.check_deadline()
            if not self.control.report(self.records[-1]):
                return Status.INTERRUPTED
            if not iterate.advance():
                return self._final_status(iterate)
        return self._final_status(iterate)

    def _final_status(self, iterate: LowRankIterate) -> Status:
        """Status if no further step is possible: solved if rounding errors may account for the remaining gap."""
        solved = iterate.is_optimal(max(self.tol, ROUNDING_TOL), ZERO_OBJECTIVE_AT_END)
        return Status.SOLVED if solved else Status.NUMERICAL

    def _is_optimal_in_float64(self, iterate: LowRankIterate) -> bool:
        """Check the gap with products in float64, which are used from then on."""
        if self.blocks.wide:
            return True
        self.blocks = replace(self.blocks, wide=True)
        iterate.use_blocks(self.blocks)
        return iterate.is_optimal(self.tol)

    def _solution(self, alpha: Array, status: Status, error: BaseException | None) -> Solution:
        Q = self.problem.Q
        f = self.blocks.times(self.blocks.transposed(Q.coefficients(alpha)))
        gradient = Q.spread(f) + self.problem.p
        return Solution(
            alpha=alpha,
            mu=optimal_offset(self.problem, alpha, gradient),
            gradient=gradient,
            status=status,
            iterations=max(0, len(self.records) - 1),
            history=History.from_records(self.records),
            error=error,
        )

    def polished(self, problem: Problem, solution: Solution) -> Solution:
        """Move variables close to an active bound onto it and solve for the others exactly, with the true K.

        If that fails, only move variables to their bounds, provided that the gap does not increase much.
        """
        if self.iterate is None or problem.term is not None:
            return solution
        alpha = self.iterate.at_bounds()
        gradient, known_gradient = problem.gradient(alpha), problem.gradient(solution.alpha)
        exact = polish(
            problem, alpha, gradient, solution.alpha, known_gradient, max_free=MAX_POLISHED_FREE,
            deadline=self.control.deadline,
        )  # fmt: skip
        if exact is not None:
            mu = optimal_offset(problem, *exact)
            return replace(solution, alpha=exact[0], gradient=exact[1], mu=mu, status=Status.SOLVED, polished=True)
        free = np.flatnonzero((alpha > problem.lower) & (alpha < problem.upper))
        if balance(problem, alpha, free):
            gradient = problem.gradient(alpha)
            new = optimality(problem, alpha, None, gradient)
            old = optimality(problem, solution.alpha, None, known_gradient)
            better = new.kkt_violation <= old.kkt_violation and new.gap <= ROUNDING_TOL * abs(old.dual)
            if better or new.gap <= max(1.1 * old.gap, self.tol * abs(old.dual)):
                return replace(solution, alpha=alpha, gradient=gradient, mu=new.mu, gradient_error=None)
        return solution
