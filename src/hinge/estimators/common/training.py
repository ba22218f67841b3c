"""All problems of an estimator, within one budget of time, each to the tolerance that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hinge.control import RunControl
from hinge.formulations import Formulation
from hinge.problems import Problem, Solution, Status
from hinge.solvers import Solver

#: ν-classification refines its tolerance in proportion to its margin, down to this; a margin that cannot be told from
#: zero at the second tolerance is taken for zero.
FINEST_TOL = 1e-12
UNCLEAR_TOL = 1e-9


@dataclass(frozen=True)
class Training:
    """The solver of an estimator, and the control of its run."""

    solver: Solver
    control: RunControl

    def solve_all(
        self, problems: Sequence[Problem], formulations: Sequence[Formulation], starts: Sequence[Any]
    ) -> list[Solution]:
        """Solve all problems; then refine those that need a smaller tolerance.

        Once one of them is interrupted, the others are not refined.
        """
        solutions = self.solver.solve_batch(problems, starts, self.control)
        error = next((solution.error for solution in solutions if solution.error is not None), None)
        for k, (problem, formulation) in enumerate(zip(problems, formulations, strict=True)):
            if error is None:
                solutions[k] = self._refined(problem, formulation, solutions[k])
                error = solutions[k].error
        return solutions

    def _refined(self, problem: Problem, formulation: Formulation, solution: Solution) -> Solution:
        """`tol` is in the units of the function: where recovering divides by ρ, go on until ρ · tol is reached."""
        tol = finest = self.solver.tol
        while solution.status is Status.SOLVED and not solution.polished and solution.error is None:
            scale = formulation.scale(solution.mu)
            wanted = max(scale * tol if scale > finest else max(finest * 1e-6, UNCLEAR_TOL), FINEST_TOL)
            if finest <= wanted:
                break
            finest = wanted
            solver = replace(self.solver, tol=finest)
            solution = solution.then(solver.solve(problem, solution, self.control))
        return solution
