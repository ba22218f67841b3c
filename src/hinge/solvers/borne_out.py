"""A status that the answer bears out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hinge.problems import Problem, Solution, Status

#: A variable this close to a bound, relative to the width of its box, counts as lying on it.
AT_BOUND = 1e-10

#: Answers that are exact on their index sets are solved with violations up to this, however small `tol` is.
EXACT = 1e-9


def borne_out(problem: Problem, solution: Solution, tol: float) -> Solution:
    """NUMERICAL in the place of SOLVED where the KKT conditions do not hold to `tol`.

    An answer of a small gap may not meet it, and one that solves its linear system may not by rounding: with kernel
    values of 10¹² and coefficients of 100, the sixteenth digit of the function is a hundredth.
    """
    if solution.status is not Status.SOLVED:
        return solution
    allowed = max(1.01 * tol, EXACT) if solution.polished else 1.01 * tol
    return solution if kkt_violation(problem, solution) <= allowed else replace(solution, status=Status.NUMERICAL)


def kkt_violation(problem: Problem, solution: Solution) -> float:
    """The largest force on a variable that could give way to it."""
    force = -problem.reduced(problem.slope(solution.alpha, solution.gradient), solution.mu)
    width = problem.upper - problem.lower
    close = AT_BOUND * np.where(np.isfinite(width), width, 1.0)
    rising = np.where(solution.alpha < problem.upper - close, force, 0.0)
    falling = np.where(solution.alpha > problem.lower + close, -force, 0.0)
    return float(np.maximum.reduce(np.maximum(rising, falling), initial=0.0))
