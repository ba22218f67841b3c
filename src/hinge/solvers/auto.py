"""The default: the quick method first, the certain one where the quick one does not get there."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

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
    """SMO; on small problems that it does not solve within some hundred steps per sample, or that are to be solved very
    precisely, interior point.

    Badly scaled data and large C make SMO creep. An interior point method does not mind, but costs O(n³).
    """

    def solve(
        self, problem: Problem, start: Solution | Array | None = None, monitor: Monitor | None = None
    ) -> Solution:
        """Solve `problem`."""
        patience = 200 * problem.Q.n + 20_000
        if problem.Q.n > DENSE_N or 0 <= self.max_iter <= patience:
            return super().solve(problem, start, monitor)
        began = time.monotonic()
        if self.tol < PRECISE_TOL and start is None:
            precise = self._interior(problem, began, monitor, patience)
            if precise.status is not Status.NUMERICAL:
                return precise
        first = replace(self, max_iter=patience)._smo().solve(problem, start, monitor)
        if first.status is not Status.MAX_ITER:
            return first
        second = self._interior(problem, began, monitor, patience)
        if second.status is not Status.NUMERICAL:
            return replace(second, iterations=first.iterations + second.iterations)
        limit = LAST_PATIENCE * patience if self.max_iter < 0 else self.max_iter - patience
        rest = replace(self, max_iter=limit, max_time=self._left(began))._smo().solve(problem, first, monitor)
        hopeless = rest.status is Status.MAX_ITER and self.max_iter < 0
        status = Status.NUMERICAL if hopeless else rest.status
        return replace(rest, iterations=first.iterations + rest.iterations, status=status)

    def _interior(self, problem: Problem, began: float, monitor: Monitor | None, patience: int) -> Solution:
        """Interior point; where its answer could not be polished, SMO carries it from the interior to the bounds."""
        inside = InteriorPoint(max_time=self._left(began)).solve(problem, None, monitor)
        if inside.status is not Status.SOLVED or inside.polished:
            return inside
        outside = replace(self, max_iter=patience, max_time=self._left(began))._smo().solve(problem, inside, monitor)
        iterations = inside.iterations + outside.iterations
        return replace(outside if outside.status is Status.SOLVED else inside, iterations=iterations)

    def _smo(self) -> SMO:
        return SMO(**vars(self))

    def _left(self, began: float) -> float | None:
        return None if self.max_time is None else max(0.0, self.max_time - (time.monotonic() - began))
