"""A status that the answer bears out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hinge.problems import Array, Problem, Solution, Status, certify
from hinge.solvers.feasibility import nearest_feasible

#: A variable this close to a bound, relative to the width of its box, counts as lying on it.
AT_BOUND = 1e-10

#: A relative gap that interior points may have left when rounding allows no further step.
ROUNDING_GAP = 1e-8

#: Of the gap at the feasible point next to zero: an objective below that is zero.
ZERO = 1e-10

#: Of the linear term: forces below that change no function.
LITTLE = 1e-6


def borne_out(problem: Problem, solution: Solution, tol: float) -> Solution:
    """NUMERICAL in the place of SOLVED where the KKT conditions do not hold to `tol`.

    An answer of a small gap may not meet it, and one that solves its linear system may not by rounding: with kernel
    values of 10¹² and coefficients of 100, the sixteenth digit of the function is a hundredth. Where the system was
    solved, a relative gap of `tol` will do.
    """
    if solution.status is not Status.SOLVED:
        return solution
    force = -problem.reduced_gradient(problem.objective_gradient(solution.alpha, solution.gradient), solution.mu)
    met = kkt_violation(problem, solution.alpha, force) <= 1.01 * tol
    if not met and solution.polished:
        met = relative_gap(problem, solution, force) <= tol
    return solution if met else replace(solution, status=Status.NUMERICAL)


def gap_borne_out(problem: Problem, solution: Solution, tol: float) -> Solution:
    """NUMERICAL in the place of SOLVED where the relative gap is not what was promised, however far it has fallen.

    Beside an optimum of zero every gap is large: there a fraction `ZERO` of the gap of the feasible point next to zero
    will do, or a gradient that is right to rounding, if that is little beside the linear term.
    """
    if solution.status is not Status.SOLVED:
        return solution
    if solution.remainder is None:
        found = certify(problem, *solution.point, solution.gradient)
    else:
        found = certify(problem, *solution.point, remainder=solution.remainder)
    if found.relative_gap <= max(2 * tol, ROUNDING_GAP):
        return solution
    largest = float(np.max(problem.Q.access.diagonal(), initial=0.0))
    reach = largest * float(np.sum(np.abs(solution.alpha)))
    force = float(np.max(np.abs(problem.p), initial=0.0))
    if found.kkt_violation <= min(4 * np.finfo(float).eps * (reach + force), LITTLE * force):
        return solution
    nothing = certify(problem, nearest_feasible(problem, None)).gap
    if nothing == 0.0:  # that is the optimum
        width = problem.upper - problem.lower
        nothing = largest * max(1.0, float(np.sum(width[np.isfinite(width)] ** 2)))
    return solution if found.gap <= ZERO * nothing < np.inf else replace(solution, status=Status.NUMERICAL)


def kkt_violation(problem: Problem, alpha: Array, force: Array) -> float:
    """The largest force on a variable that could give way to it."""
    width = problem.upper - problem.lower
    close = AT_BOUND * np.where(np.isfinite(width), width, 1.0)
    rising = np.where(alpha < problem.upper - close, force, 0.0)
    falling = np.where(alpha > problem.lower + close, -force, 0.0)
    return float(np.maximum.reduce(np.maximum(rising, falling), initial=0.0))


def relative_gap(problem: Problem, solution: Solution, force: Array) -> float:
    """Of a problem without h, as a certificate would have it; infinite where a force points to an infinite bound."""
    ends = np.where(force < 0, problem.lower, problem.upper)
    if problem.term is not None or np.any(np.isinf(ends) & (force != 0)):
        return np.inf
    gap = float(np.sum(force * np.where(force == 0, 0.0, ends - solution.alpha)))
    dual = -problem.value(solution.alpha, solution.gradient)
    return gap / max(0.5 * (abs(dual + gap) + abs(dual)), np.finfo(float).tiny)
