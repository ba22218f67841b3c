"""A linear machine's answer and the proof of it, recomputed from the data where rounding may have had a part in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from hinge.problems import (
    Certificate,
    CrammerSingerProblem,
    CrammerSingerSolution,
    LinearProblem,
    LinearSolution,
    Status,
    certify_crammer_singer,
    certify_linear,
)
from hinge.problems.certificate import relative
from hinge.solvers.blas_threads import single_thread

#: Of the losses of nothing: a gap that is asked for and no larger than that may be one of rounding errors.
DOUBT = 1e-10

#: The floor of (133) is this much of them.
FLOOR = 1e-14

Answer = TypeVar("Answer", LinearSolution, CrammerSingerSolution)


def with_proof(solution: Answer, proof: Certificate) -> Answer:
    """The bounds of `proof` in the place of the solver's own."""
    return replace(
        solution, primal=proof.primal, dual=proof.dual, gap=proof.gap, violation=proof.kkt_violation
    )


def relative_gap(solution: LinearSolution | CrammerSingerSolution) -> float:
    return relative(solution.gap, solution.primal, solution.dual)


def is_proven(solution: LinearSolution, tol: float) -> bool:
    """The relative gap is at most `tol`, or gap and optimum are zero to rounding.                docs/math (133)"""
    nothing = max(solution.gap, min(abs(solution.primal), abs(solution.dual))) <= solution.floor
    return bool(relative_gap(solution) <= tol or nothing)


def borne_out(problem: LinearProblem, solution: LinearSolution, tol: float, moved: bool = False) -> LinearSolution:
    """NUMERICAL in the place of SOLVED where the data do not bear out the proof.

    They are asked where the gap is so small beside the losses of nothing that another order of summation may say
    otherwise, and where the machine that was solved was a `moved` one.
    """
    size = 0.5 * (abs(solution.primal) + abs(solution.dual))
    if not moved and (solution.status is not Status.SOLVED or tol * size > DOUBT / FLOOR * solution.floor):
        return solution
    with single_thread():  # its bits, too, are not to depend on how many threads BLAS has
        found = with_proof(solution, certify_linear(problem, solution.weights, solution.offset, solution.beta))
    status = Status.NUMERICAL if found.status is Status.SOLVED and not is_proven(found, tol) else found.status
    return replace(found, status=status)


def all_borne_out(
    problem: CrammerSingerProblem, solution: CrammerSingerSolution, tol: float
) -> CrammerSingerSolution:
    """The same for all classes at once."""
    size = 0.5 * (abs(solution.primal) + abs(solution.dual))
    if solution.status is not Status.SOLVED or tol * size > DOUBT * float(np.sum(problem.cost)):
        return solution
    with single_thread():
        found = with_proof(
            solution, certify_crammer_singer(problem, solution.weights, solution.offset, solution.alpha)
        )
    return found if relative_gap(found) <= tol else replace(found, status=Status.NUMERICAL)
