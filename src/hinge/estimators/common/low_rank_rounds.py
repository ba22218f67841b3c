"""Rounds of training with factors LLᵀ of growing rank in place of the kernel matrix.  LwK §10.3.4, docs/math (357)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hinge.lowrank import LowRankAccess
from hinge.problems import Problem, Solution, Status, optimality


@dataclass(frozen=True)
class Round:
    """The problems of all subproblems, and their solutions."""

    problems: list[Problem]
    solutions: list[Solution]
    basis: LowRankAccess | None = None  # the factor LLᵀ that replaces the kernel matrix, if there is one

    def is_solved(self) -> bool:
        """Whether all solutions reached the tolerance."""
        return all(solution.status is Status.SOLVED for solution in self.solutions)

    def risk(self) -> float:
        """The regularized risk of the functions: the sum of the primal values, which are equal for K and LLᵀ."""
        pairs = zip(self.problems, self.solutions, strict=True)
        return sum(optimality(problem, each.alpha, each.mu, each.gradient).primal for problem, each in pairs)

    def ended(self, status: Status, error: BaseException | None) -> Round:
        """The same round with the reason why no further round follows."""
        return replace(self, solutions=[replace(each, status=status, error=error) for each in self.solutions])

    def after(self, previous: Round, tol: float) -> tuple[Round, bool]:
        """The round to keep, and whether the risk decreased by more than a fraction `tol`.

        If this round did not reach its tolerance (time limit, interrupt), the previous one is kept with this status.
        """
        for solution in self.solutions:
            if solution.status is not Status.SOLVED:
                return previous.ended(solution.status, solution.error), False
        pairs = zip(previous.solutions, self.solutions, strict=True)
        joined = replace(self, solutions=[_joined(before, now) for before, now in pairs])
        before = previous.risk()
        return joined, before - joined.risk() > tol * abs(before)


def replacement(access: Any) -> LowRankAccess | None:
    """The factor LLᵀ behind the access; None if the access is to the kernel matrix itself."""
    return access if isinstance(access, LowRankAccess) and not access.origin.exact else None


def _joined(before: Solution, now: Solution) -> Solution:
    """The solution of this round with both histories; the bounds of the round of lower rank are removed."""
    history = before.history.without_bounds().then(now.history)
    return replace(now, iterations=before.iterations + now.iterations, history=history)
