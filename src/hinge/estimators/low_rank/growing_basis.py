"""Rounds with more and more basis functions.                                     LwK §10.3.4, docs/math (357)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hinge.estimators.common.training import Training
from hinge.lowrank import LowRankAccess
from hinge.problems import Problem, Solution, Status, certify
from hinge.solvers import Solver


@dataclass(frozen=True)
class Round:
    """The problems of all machines with one LLᵀ in the place of K, and their solutions."""

    access: LowRankAccess
    problems: list[Problem]
    solutions: list[Solution]

    def risk(self) -> float:
        """The regularised risk of the functions found: the primal values, which are the same for K and LLᵀ."""
        pairs = zip(self.problems, self.solutions, strict=True)
        return sum(certify(problem, each.alpha, each.mu, each.gradient).primal for problem, each in pairs)


def improved(solver: Solver, whole: Any, machines: Sequence[Any], found: Round, training: Training) -> Round:
    """The last of all rounds that the solver asks for, or the first that gains nothing."""
    control = training.control
    for stage in solver.stages()[1:]:
        access = control.unless_interrupted(lambda: stage.approximate(whole, control))  # noqa: B023
        if access is None:
            return _ended(found, Status.INTERRUPTED, control.interrupt)
        found, further = _next(found, access, machines, training, stage.tol)
        if not further:
            break
    return found


def _ended(last: Round, status: Status, error: BaseException | None) -> Round:
    """The last round, with the reason why it is the last."""
    return replace(last, solutions=[replace(each, status=status, error=error) for each in last.solutions])


def _next(
    last: Round, access: LowRankAccess, machines: Sequence[Any], training: Training, tol: float
) -> tuple[Round, bool]:
    """The same machines with more basis functions, and whether still more may help.

    Where the new round did not come to its end (time, an interruption) the last one stays, with the reason why.
    """
    if any(solution.status is not Status.SOLVED for solution in last.solutions):
        return last, False
    problems = [machine.problem(access) for machine in machines]
    solutions = training.solve_all(problems, [machine.formulation for machine in machines], last.solutions)
    for solution in solutions:
        if solution.status is not Status.SOLVED:
            return _ended(last, solution.status, solution.error), False
    joined = [_after(before, now) for before, now in zip(last.solutions, solutions, strict=True)]
    found = Round(access, problems, joined)
    before = last.risk()
    return found, before - found.risk() > tol * abs(before)


def _after(before: Solution, now: Solution) -> Solution:
    """The solution of this round with the story of all; bounds of a problem of lower rank are none of this one."""
    story = before.history.without_bounds().then(now.history)
    return replace(now, iterations=before.iterations + now.iterations, history=story)
