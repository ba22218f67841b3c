"""Refinement: from an approximate solution to one that is exact to rounding, with a status that has been checked.

The stages, always in this order; each one is optional:

1. **Crossover** (`crossover.ProximalNewton`). From an interior point or a rough initial point to the active set of the
   solution of a quadratic program, by Newton steps on the free variables. Used by the dense interior-point method.
2. **Polishing** (`polishing.polish`). Exact solution of the linear equations of the active set, with a few corrections
   of the active set. Used by all solvers for small problems.
3. **Iterative refinement** (`iterative_refinement.refine_iteratively`). Corrections with residuals in double-double
   precision, if the relative gap of the float64 solution is larger than requested. Used by the dense interior-point
   method.
4. **Verification** (`verification.verify`). Recompute the optimality conditions; replace SOLVED by NUMERICAL if they do
   not hold.

Solvers pass a finished solution to `refine`, which polishes and verifies it. The interior-point methods use the first
three stages while they run, since a failed stage is tried again from a later iterate.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from hinge.problems import Problem, Solution, Status, optimal_offset
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.refinement.polishing import polish
from hinge.solvers.refinement.verification import Criterion, verify

#: Number of samples above which BLAS would use several threads for the systems of polishing.
MAX_SERIAL_SAMPLES = 100


def refine(
    problem: Problem, solution: Solution, tol: float, criterion: Criterion | None, *, polishes: bool = False
) -> Solution:
    """Polish a solution, and verify it.

    Parameters
    ----------
    problem : Problem
    solution : Solution
        Near the optimum.
    tol : float
        Tolerance of the verification.
    criterion : {"kkt_violation", "relative_gap"} or None
        The quantity that is verified; None for no verification.
    polishes : bool
        Whether to polish. If polishing fails, `solution` is returned as it is; if it succeeds, its status is SOLVED.
    """
    if polishes:
        with single_thread() if problem.Q.n > MAX_SERIAL_SAMPLES else nullcontext():
            exact = polish(problem, solution.alpha, solution.gradient)
        if exact is None:
            return solution
        alpha, gradient = exact
        mu = optimal_offset(problem, alpha, gradient)
        solution = replace(
            solution, alpha=alpha, gradient=gradient, mu=mu, status=Status.SOLVED, polished=True,
            gradient_error=problem.Q.matvec_error(alpha),
        )  # fmt: skip
    return solution if criterion is None else verify(problem, solution, tol, criterion)


__all__ = ["refine", "verify"]
