"""Verification: recompute the optimality conditions of a solution and correct its status.

A solver stops on quantities that it updates step by step. Verification computes them from the final point. It replaces
SOLVED by NUMERICAL if the conditions do not hold to the tolerance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeVar

import numpy as np

from hinge.problems import (
    Array,
    CrammerSingerProblem,
    CrammerSingerSolution,
    LinearProblem,
    LinearSolution,
    Optimality,
    Problem,
    Solution,
    Status,
    crammer_singer_optimality,
    linear_optimality,
    optimality,
)
from hinge.problems.certificate import relative
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.feasibility import nearest_feasible

#: The quantity that a tolerance limits.
Criterion = Literal["kkt_violation", "relative_gap"]

#: A variable whose distance from a bound is below this share of the width of its box is at the bound.
AT_BOUND = 1e-10

#: KKT violations up to this multiple of the tolerance are accepted: the sums of the solver may differ by rounding.
KKT_SLACK = 1.01

#: Relative gap up to which SOLVED is kept even if the tolerance is smaller: rounding errors may prevent progress.
ROUNDING_GAP = 1e-8

#: SOLVED is kept if the gap is at most this share of the gap at the feasible point nearest to zero. The optimum is then
#: zero up to rounding, and the relative gap is not meaningful.
ZERO_GAP = 1e-10

#: KKT violations up to this share of the largest linear coefficient may be rounding errors of the gradient.
SMALL_VIOLATION = 1e-6

#: A linear problem is certified again if the requested gap is at most this share of the losses at w = 0. Such a gap
#: depends on the order of summation.
RECERTIFIED_GAP = 1e-10

#: `LinearSolution.floor` in units of the losses at w = 0.  docs/math (133)
FLOOR = 1e-14

AnyLinearSolution = TypeVar("AnyLinearSolution", LinearSolution, CrammerSingerSolution)


def verify(problem: Problem, solution: Solution, tol: float, criterion: Criterion) -> Solution:
    """Replace SOLVED by NUMERICAL unless the KKT violation or the relative gap is at most `tol`."""
    if solution.status is not Status.SOLVED:
        return solution
    holds = _kkt_conditions_hold if criterion == "kkt_violation" else _gap_is_small
    return solution if holds(problem, solution, tol) else replace(solution, status=Status.NUMERICAL)


def _kkt_conditions_hold(problem: Problem, solution: Solution, tol: float) -> bool:
    """Whether the KKT violation is at most `tol`; for a polished solution a relative gap of `tol` is enough.

    An exact solution of the active-set equations can violate the conditions by rounding errors. With kernel values of
    10¹² and coefficients of 100, the rounding error of f is 0.01.
    """
    descent = -problem.reduced_gradient(problem.objective_gradient(solution.alpha, solution.gradient), solution.mu)
    if kkt_violation(problem, solution.alpha, descent) <= KKT_SLACK * tol:
        return True
    return solution.polished and _relative_gap(problem, solution, descent) <= tol


def _gap_is_small(problem: Problem, solution: Solution, tol: float) -> bool:
    """Whether the relative gap is small, or both the gap and the optimum are zero to rounding."""
    if solution.remainder is None:
        certificate = optimality(problem, *solution.point, solution.gradient)
    else:
        certificate = optimality(problem, *solution.point, remainder=solution.remainder)
    if certificate.relative_gap <= max(2 * tol, ROUNDING_GAP):
        return True
    largest = float(np.max(problem.Q.access.diagonal(), initial=0.0))
    f_bound = largest * float(np.sum(np.abs(solution.alpha)))
    slope = float(np.max(np.abs(problem.p), initial=0.0))
    if certificate.kkt_violation <= min(4 * np.finfo(float).eps * (f_bound + slope), SMALL_VIOLATION * slope):
        return True
    initial_gap = optimality(problem, nearest_feasible(problem, None)).gap
    if initial_gap == 0.0:  # the point nearest to zero is optimal
        width = problem.upper - problem.lower
        initial_gap = largest * max(1.0, float(np.sum(width[np.isfinite(width)] ** 2)))
    return certificate.gap <= ZERO_GAP * initial_gap < np.inf


def kkt_violation(problem: Problem, alpha: Array, descent: Array) -> float:
    """Return the largest component of the descent direction −(∇ + Aᵀμ) that does not point out of the bounds."""
    width = problem.upper - problem.lower
    close = AT_BOUND * np.where(np.isfinite(width), width, 1.0)
    rising = np.where(alpha < problem.upper - close, descent, 0.0)
    falling = np.where(alpha > problem.lower + close, -descent, 0.0)
    return float(np.maximum.reduce(np.maximum(rising, falling), initial=0.0))


def _relative_gap(problem: Problem, solution: Solution, descent: Array) -> float:
    """Relative gap of a problem without h; infinite if the descent direction points to an infinite bound."""
    ends = np.where(descent < 0, problem.lower, problem.upper)
    if problem.term is not None or np.any(np.isinf(ends) & (descent != 0)):
        return np.inf
    gap = float(np.sum(descent * np.where(descent == 0, 0.0, ends - solution.alpha)))
    dual = -problem.value(solution.alpha, solution.gradient)
    return gap / max(0.5 * (abs(dual + gap) + abs(dual)), np.finfo(float).tiny)


# ---- linear problems ---------------------------------------------------------------------------------------------


def with_certificate(solution: AnyLinearSolution, certificate: Optimality) -> AnyLinearSolution:
    """The solution with the bounds of a certificate instead of those of the solver."""
    return replace(
        solution,
        primal=certificate.primal,
        dual=certificate.dual,
        gap=certificate.gap,
        violation=certificate.kkt_violation,
    )


def relative_gap(solution: LinearSolution | CrammerSingerSolution) -> float:
    """The gap relative to the mean of the bounds."""
    return relative(solution.gap, solution.primal, solution.dual)


def meets_tolerance(solution: LinearSolution, tol: float) -> bool:
    """Whether the relative gap is at most `tol`, or gap and optimum are zero to rounding.  docs/math (133)"""
    is_zero = max(solution.gap, min(abs(solution.primal), abs(solution.dual))) <= solution.floor
    return bool(relative_gap(solution) <= tol or is_zero)


def verify_linear(
    problem: LinearProblem, solution: LinearSolution, tol: float, transformed: bool = False
) -> LinearSolution:
    """Recompute a small gap, and replace SOLVED by NUMERICAL unless the gap is at most `tol`.

    A solution of a `transformed` problem (centered features or targets) is certified for the original problem in any
    case.
    """
    size = 0.5 * (abs(solution.primal) + abs(solution.dual))
    is_large = tol * size > RECERTIFIED_GAP / FLOOR * solution.floor
    if not transformed and (solution.status is not Status.SOLVED or is_large):
        return solution
    with single_thread():  # results must be bit-identical for any number of BLAS threads
        certificate = linear_optimality(problem, solution.weights, solution.offset, solution.beta)
    verified = with_certificate(solution, certificate)
    if verified.status is Status.SOLVED and not meets_tolerance(verified, tol):
        return replace(verified, status=Status.NUMERICAL)
    return verified


def verify_crammer_singer(
    problem: CrammerSingerProblem, solution: CrammerSingerSolution, tol: float
) -> CrammerSingerSolution:
    """`verify_linear` for the multi-class problem of Crammer and Singer."""
    size = 0.5 * (abs(solution.primal) + abs(solution.dual))
    if solution.status is not Status.SOLVED or tol * size > RECERTIFIED_GAP * float(np.sum(problem.cost)):
        return solution
    with single_thread():
        certificate = crammer_singer_optimality(problem, solution.weights, solution.offset, solution.alpha)
    verified = with_certificate(solution, certificate)
    return verified if relative_gap(verified) <= tol else replace(verified, status=Status.NUMERICAL)
