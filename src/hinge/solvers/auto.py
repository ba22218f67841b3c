"""The default: the quick method first, the certain one where the quick one does not get there."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from hinge.problems import Array, Problem, Solution, Status
from hinge.solvers.interior_point import InteriorPoint
from hinge.solvers.monitor import Monitor
from hinge.solvers.smo import SMO

#: Up to this many samples the kernel matrix is small enough for an interior point method.
DENSE_N = 2000

#: Below this tolerance a small problem goes to the interior point method at once.
PRECISE_TOL = 1e-8

#: Where the interior point method fails too (a kernel that is not positive semidefinite), SMO gets so many times more.
LAST_PATIENCE = 5


@dataclass(frozen=True, kw_only=True)
class Auto(SMO):
    """SMO; on small problems that it does not solve within a fair number of steps, or that are to be solved very
    precisely, interior point.

    Badly scaled data and large C make SMO creep. An interior point method does not mind, but costs O(n³).
    """

    def solve(
        self, problem: Problem, start: Solution | Array | None = None, monitor: Monitor | None = None
    ) -> Solution:
        """Solve `problem`."""
        n = problem.Q.n
        patience = 20_000 + n * n // 4  # about as long as an interior point method would take
        if n > DENSE_N or 0 <= self.max_iter <= patience or not np.isfinite(problem.upper - problem.lower).all():
            return self._patient(problem, start, monitor)
        began = time.monotonic()
        if self.tol < PRECISE_TOL and start is None:
            precise = self._interior(problem, began, monitor, patience)
            if precise.status is Status.SOLVED or precise.error is not None:
                return precise
        first = self._smo(patience, began).solve(problem, start, monitor)
        if first.status is not Status.MAX_ITER:
            return first
        second = self._interior(problem, began, monitor, patience)
        if second.status is Status.SOLVED:
            return _after(first, second)
        if second.status in (Status.TIME_LIMIT, Status.INTERRUPTED):  # half-way an interior point is of no use
            return replace(first, status=second.status, error=second.error)
        limit = LAST_PATIENCE * patience if self.max_iter < 0 else self.max_iter - patience
        rest = self._smo(limit, began).solve(problem, first, monitor)
        if rest.status is Status.MAX_ITER and self.max_iter < 0:
            rest = replace(rest, status=Status.NUMERICAL)
        return _after(first, rest)

    def _patient(self, problem: Problem, start: Solution | Array | None, monitor: Monitor | None) -> Solution:
        """SMO alone; without bounds a problem may have no solution, and then there must be an end."""
        bounded = np.isfinite(problem.upper - problem.lower).all()
        if bounded or self.max_iter >= 0:
            return super().solve(problem, start, monitor)
        limit = LAST_PATIENCE * (20_000 + 200 * problem.Q.n)
        solution = self._smo(limit, time.monotonic()).solve(problem, start, monitor)
        return replace(solution, status=Status.NUMERICAL) if solution.status is Status.MAX_ITER else solution

    def _interior(self, problem: Problem, began: float, monitor: Monitor | None, patience: int) -> Solution:
        """Interior point; where its answer could not be polished, SMO carries it from the interior to the bounds."""
        inside = InteriorPoint(max_time=self._left(began)).solve(problem, None, monitor)
        if inside.status is not Status.SOLVED or inside.polished:
            return inside
        outside = self._smo(patience, began).solve(problem, inside, monitor)
        return _after(inside, outside) if outside.status is Status.SOLVED or outside.error is not None else inside

    def _smo(self, max_iter: int, began: float) -> SMO:
        options = {**vars(self), "max_iter": max_iter, "max_time": self._left(began)}
        return SMO(**options)

    def _left(self, began: float) -> float | None:
        return None if self.max_time is None else max(0.0, self.max_time - (time.monotonic() - began))


def _after(first: Solution, second: Solution) -> Solution:
    """The second solution with the story of both."""
    iterations = first.iterations + second.iterations
    return replace(second, iterations=iterations, history=first.history.then(second.history))
