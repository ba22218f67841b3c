"""All problems of an estimator, within one budget of time, each to the tolerance that it needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hinge.formulations import Formulation
from hinge.problems import Problem, Solution, Status
from hinge.solvers import Monitor

#: ν-classification refines its tolerance in proportion to its margin, down to this; a margin that cannot be told from
#: zero at the second tolerance is taken for zero.
FINEST_TOL = 1e-12
UNCLEAR_TOL = 1e-9


def left(deadline: float | None) -> float | None:
    """Seconds; None where there is no limit."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


@dataclass(frozen=True)
class Training:
    """How an estimator solves: `make(seconds)` is its solver."""

    make: Callable[[float | None], Any]
    deadline: float | None
    monitor: Monitor | None

    def solve_all(
        self, problems: Sequence[Problem], formulations: Sequence[Formulation], starts: Sequence[Any]
    ) -> list[Solution]:
        """All at once where the solver can; then, one by one, those that need a finer tolerance.

        Once something has interrupted one of them, the others keep the points that they start from.
        """
        together: list[Solution | None] = [None] * len(problems)
        solver = self.make(left(self.deadline))
        if len(problems) > 1 and hasattr(solver, "solve_many"):
            together = solver.solve_many(problems, starts, self.monitor)
        tol: float = getattr(solver, "tol", 0.0) or 0.0
        error = next((first.error for first in together if first is not None and first.error is not None), None)
        solutions: list[Solution] = []
        for problem, formulation, start, first in zip(problems, formulations, starts, together, strict=True):
            if error is None:
                solutions.append(self._solve(problem, formulation, tol, start, first))
                error = solutions[-1].error
            else:
                solutions.append(first or _at_once(solver, problem, start, error))
        return solutions

    def _solve(
        self, problem: Problem, formulation: Formulation, tol: float, start: Any, first: Solution | None
    ) -> Solution:
        """`tol` is in the units of the function: where recovering divides by ρ, go on until ρ · tol is reached."""
        solution = first or self.make(left(self.deadline)).solve(problem, start, self.monitor)
        finest = tol
        while solution.status is Status.SOLVED and not solution.polished and solution.error is None:
            unit = formulation.unit(solution.mu)
            wanted = max(unit * tol if unit > finest else max(finest * 1e-6, UNCLEAR_TOL), FINEST_TOL)
            if finest <= wanted:
                break
            finest = wanted
            solver = replace(self.make(left(self.deadline)), tol=finest)
            solution = solution.then(solver.solve(problem, solution, self.monitor))
        return solution


def _at_once(solver: Any, problem: Problem, start: Any, error: BaseException) -> Solution:
    """What a solver has that was given no time."""
    return replace(replace(solver, max_time=0.0).solve(problem, start), status=Status.INTERRUPTED, error=error)
