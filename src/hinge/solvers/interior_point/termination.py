"""From the last iterate of the dense interior-point method to a solution: crossover, polishing and multipliers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hinge.problems import Array, History, Problem, Solution, Status, optimal_offset, optimality
from hinge.solvers.feasibility import complementary, nearest_feasible
from hinge.solvers.interior_point.initial_point import over_kernel_matrix
from hinge.solvers.interior_point.iterate import Iterate, is_quadratic
from hinge.solvers.refinement.crossover import ProximalNewton, free_width, rounding_of
from hinge.solvers.refinement.iterative_refinement import refine_iteratively
from hinge.solvers.refinement.polishing import MAX_SINGULAR, balance, polish

#: The gap is divided by at least this share of the first objective when no further step is possible.
ZERO_OBJECTIVE_AT_END = 1e-4

#: Variables closer to a bound than this share of the width of their box are moved onto it after crossover.
BOUND_ROUNDING = 1e-14

#: A gap above this share of the requested one is reduced by iterative refinement in double-double arithmetic.
REFINED_SHARE_OF_GAP = 0.1

#: Number of variables above which a linear program for the multipliers of rows that share variables takes too long:
#: then the multipliers of the iterate are returned.
MAX_LP_VARIABLES = 2000

#: Largest relative increase of the gap that is accepted to have variables on their bounds.
MAX_GAP_INCREASE = 1.1

#: A point and its gradient.
Point = tuple[Array, Array]


def cross_over(iterate: Iterate, deadline: float | None, tol: float) -> tuple[Point | None, bool, int]:
    """Solution of a quadratic program, whether it is exact to rounding, and the number of Newton steps.

    docs/math (373)–(376)
    """
    problem = iterate.problem
    if not is_quadratic(problem):
        return None, False, 0
    newton = ProximalNewton(problem, iterate.K, deadline)
    result = newton.run(iterate.x, iterate.mu, tol, near=not iterate.is_interior)
    if result is None:
        return None, False, newton.steps
    alpha = _rounded_to_bounds(problem, result.x)
    if not balance(problem, alpha, _free_variables(problem, alpha)):
        return None, False, newton.steps
    gradient = iterate.gradient_at(alpha)
    scale = max(abs(problem.value(alpha, gradient)), ZERO_OBJECTIVE_AT_END * iterate.objective_scale)
    rounding = rounding_of(problem, alpha, newton.largest) * free_width(problem, alpha)
    if not iterate.gap_of(alpha, gradient, result.mu) <= max(10 * tol * scale, 10 * rounding):
        return None, False, newton.steps
    iterate.mu = result.mu
    return (alpha, gradient), result.exact, newton.steps


def _rounded_to_bounds(problem: Problem, alpha: Array) -> Array:
    """Move variables that differ from a bound by rounding onto it: as free ones they would determine the offset."""
    width = problem.upper - problem.lower
    rounding = BOUND_ROUNDING * np.where(np.isfinite(width), width, np.max(np.abs(alpha), initial=0.0))
    alpha = np.where(alpha - problem.lower <= rounding, problem.lower, alpha)
    return np.where(problem.upper - alpha <= rounding, problem.upper, alpha)


def _free_variables(problem: Problem, alpha: Array) -> NDArray[np.intp]:
    return np.flatnonzero((alpha > problem.lower) & (alpha < problem.upper))


def polish_iterate(iterate: Iterate, deadline: float | None) -> Point | None:
    """Move variables close to an active bound onto it and solve for the others exactly; None if that fails.

    This is possible for quadratic programs only. If it fails, the variables of the iterate stay on the bounds as long
    as the gap does not increase much.
    """
    problem = iterate.problem
    if problem.term is not None and (problem.Q.slots > 1 or not is_quadratic(problem)):
        iterate.x = complementary(problem, iterate.x)
        return None
    alpha = _at_active_bounds(iterate)
    program = over_kernel_matrix(problem, iterate.K)
    polished = polish(
        program, alpha, program.gradient(alpha), iterate.x, program.gradient(iterate.x), max_free=problem.size,
        max_singular=MAX_SINGULAR, deadline=deadline,
    )  # fmt: skip
    if polished is None:
        _move_to_bounds(iterate, alpha)
        return None
    return polished[0], polished[1] if problem.term is None else iterate.gradient_at(polished[0])


def _at_active_bounds(iterate: Iterate) -> Array:
    """x with variables moved to the bound whose multiplier shows that it is active."""
    problem = iterate.problem
    width = problem.upper - problem.lower
    width = np.where(np.isfinite(width), width, np.max(np.abs(iterate.x), initial=1e-300))
    scale = iterate.gradient_scale
    at_lower = iterate.has_lower & (iterate.s * scale < iterate.z * width) & (iterate.z >= iterate.w)
    at_upper = iterate.has_upper & (iterate.t * scale < iterate.w * width) & (iterate.w > iterate.z)
    return np.where(at_lower, problem.lower, np.where(at_upper, problem.upper, iterate.x))


def _move_to_bounds(iterate: Iterate, alpha: Array) -> None:
    """Replace the iterate by `alpha`, which has variables on their bounds, unless the gap increases."""
    problem = iterate.problem
    if not balance(problem, alpha, _free_variables(problem, alpha)):
        return
    gradient = iterate.gradient_at(alpha)
    points = (alpha, gradient), (iterate.x, iterate.gradient)
    new_gap, gap = (iterate.gap_of(x, g, optimal_offset(problem, x, g)) for x, g in points)
    if new_gap <= MAX_GAP_INCREASE * gap:
        iterate.x, iterate.gradient = alpha, gradient


def solution_from(
    iterate: Iterate, exact: Point | None, status: Status, records: list[dict[str, float]], tol: float
) -> Solution:
    """The exact point if there is one, else the iterate made feasible, refined if float64 does not suffice."""
    alpha, gradient = exact or _feasible_point(iterate)
    mu = _multipliers(iterate, alpha, gradient)
    if status is Status.NUMERICAL and _is_optimal_to_rounding(iterate, alpha, mu, gradient):
        status = Status.SOLVED
    remainder = None
    if status is Status.SOLVED and iterate.problem.term is None:
        objective = abs(iterate.problem.value(alpha, gradient))
        if not iterate.gap_of(alpha, gradient, mu) <= REFINED_SHARE_OF_GAP * tol * objective:
            refined = refine_iteratively(iterate.problem, iterate.K, alpha, mu, tol)
            (alpha, alpha_remainder), (mu, mu_remainder) = refined.alpha, refined.mu
            gradient, remainder = iterate.gradient_at(alpha), (alpha_remainder, mu_remainder)
    return Solution(
        alpha=alpha,
        mu=mu,
        gradient=gradient,
        status=status,
        iterations=max(0, len(records) - 1),
        history=History.from_records(records),
        remainder=remainder,
        gradient_error=iterate.problem.Q.matvec_error(alpha),
    )


def _is_optimal_to_rounding(iterate: Iterate, alpha: Array, mu: Array, gradient: Array) -> bool:
    """Whether the KKT violation is a rounding error of the gradient: then no step can improve the point, even if the
    gap is large relative to a small objective."""
    certificate = optimality(iterate.problem, alpha, mu, gradient)
    largest = float(np.max(np.abs(iterate.K), initial=0.0)) * float(np.sum(np.abs(alpha)))
    rounding = 4 * np.finfo(float).eps * (largest + float(np.max(np.abs(iterate.problem.p), initial=0.0)))
    feasible = certificate.infeasibility <= 1e-12 * (1.0 + float(np.max(np.abs(alpha), initial=0.0)))
    return bool(certificate.kkt_violation <= rounding and feasible)


def _multipliers(iterate: Iterate, alpha: Array, gradient: Array) -> Array:
    """The optimal multipliers for this point or those of the iterate, whichever have the smaller gap."""
    problem = iterate.problem
    if _shares_variables(problem) and problem.size > MAX_LP_VARIABLES:
        return iterate.mu
    optimal = optimal_offset(problem, alpha, gradient)
    gap_optimal, gap = (iterate.gap_of(alpha, gradient, mu) for mu in (optimal, iterate.mu))
    rounding = np.finfo(float).eps * abs(problem.value(alpha, gradient))
    return iterate.mu if gap < gap_optimal - rounding else optimal


def _feasible_point(iterate: Iterate) -> Point:
    """The iterate if it is feasible to rounding, else a feasible point close to it."""
    problem = iterate.problem
    if iterate.is_feasible(1e-14) or _shares_variables(problem):
        return iterate.x, iterate.gradient
    alpha = nearest_feasible(problem, iterate.x)
    return alpha, iterate.gradient_at(alpha)


def _shares_variables(problem: Problem) -> bool:
    """Whether equality rows share variables."""
    return bool(np.any(np.count_nonzero(problem.A, axis=0) > 1))
