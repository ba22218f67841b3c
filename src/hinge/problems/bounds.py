"""Rigorous bounds on the optimum of problem (1), and violations of its optimality conditions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hinge import _core
from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.problems.problem import Problem, dot
from hinge.problems.separable import Array, Diagonal

#: A variable is at a bound if its distance from the bound is below this fraction of the width of its box.
BOUND_TOL = 1e-10

#: Share of |p| times the width of the box in the size of the terms.
SHARE_OF_BOX = 0.01

#: Relative error of the values of losses and conjugates, in units of the rounding error.
TERM_OPERATIONS = 32


class Bounds(NamedTuple):
    """Bounds of a problem with a term that is not quadratic; the attributes are those of the compiled `Bounds`."""

    upper: float
    lower: float
    rounding: float
    kkt_violation: float
    infeasibility: float
    scale: float
    moved: float


def bounds(problem: Problem, alpha: Array, mu: Array, gradient: Array, error: Array) -> Bounds | _core.Bounds:
    """Return the upper bound of the Lagrangian at (α, μ) and the lower bound of a feasible point near α.

    `gradient` may be that of another function: the upper bound is then that of this function with ½αᵀ(gradient − p) in
    place of its half squared norm.
    """
    if problem.term is not None and not isinstance(problem.term, Diagonal):
        return _bounds_with_term(problem, alpha, mu, gradient, error)
    return _core.certified_bounds(
        problem.p,
        problem.lower,
        problem.upper,
        None if problem.term is None else problem.term.d,
        problem.A,
        problem.d,
        problem.bounds_error,
        problem.totals_error,
        problem.Q.access.largest(),
        alpha,
        mu,
        np.ascontiguousarray(gradient),
        np.ascontiguousarray(error),
    )


def _bounds_with_term(problem: Problem, alpha: Array, mu: Array, gradient: Array, error: Array) -> Bounds:
    """Return the bounds of a problem with a term h that is not quadratic.                     docs/math (603)

    The terms of the gap are convex functions of the residual: with an error of the residual they are largest at an end
    of its interval.
    """
    term = problem.term
    assert term is not None
    rows = np.abs(mu) @ np.abs(problem.A) if len(mu) else np.zeros(problem.size)
    residual = problem.reduced_gradient(gradient, mu)
    size = np.abs(gradient) + 2 * np.abs(problem.p) + rows
    radius = error + 4 * UNIT_ROUNDOFF * size
    ends = [term.gap(alpha, residual + side * radius, problem.lower, problem.upper) for side in (-1.0, 0.0, 1.0)]
    shares = np.maximum(np.maximum(ends[0], ends[2]), ends[1])
    value = term.value(alpha)
    operations = TERM_OPERATIONS * UNIT_ROUNDOFF + 2 * problem.bounds_error
    finite = np.isfinite(shares)
    terms = np.abs(value) + np.abs(residual * alpha) + np.abs(alpha * gradient) + np.where(finite, shares, 0.0)
    rounding = float(np.sum(np.abs(alpha) * radius) + operations * np.sum(terms))
    slopes = np.abs(gradient) + np.abs(term.gradient(alpha)) + radius
    visible, cost, moved = _cost_of_feasibility(problem, alpha, slopes)
    rounding += cost

    curvature = dot(alpha, gradient - problem.p)
    dual = -(0.5 * curvature + dot(problem.p, alpha) + float(np.sum(value)))
    missing = abs(dot(mu, problem.d) - dot(mu @ problem.A, alpha)) if len(mu) else 0.0
    unbounded = float(np.max(np.abs(residual[~finite]), initial=0.0))
    upper = np.inf if unbounded > 0 else dual + float(np.sum(shares)) + missing
    inflation = float(np.sum((shares - ends[1])[finite]))
    slope = residual + (problem.objective_gradient(alpha, gradient) - gradient)
    violation = float(np.maximum.reduce(kkt_violations(alpha, slope, problem.lower, problem.upper), initial=0.0))
    infeasibility = max(infeasibility_of(problem, alpha), unbounded)
    lower = dual - rounding - visible
    width = np.where(np.isfinite(problem.upper - problem.lower), problem.upper - problem.lower, 0.0)
    scale = float(np.sum(terms) + SHARE_OF_BOX * np.sum(width * np.abs(problem.p)))
    return Bounds(upper + rounding, lower, 2 * rounding + inflation, violation, infeasibility, scale, moved)


def _cost_of_feasibility(problem: Problem, alpha: Array, slope: Array) -> tuple[float, float, float]:
    """Return bounds on the increase of the objective if α is moved into the boxes and to the equality rows.

    The first is due to a violation that is visible, the second to rounding. The third bounds the distance in the ℓ1
    norm.
    """
    violation = np.maximum(np.maximum(problem.lower - alpha, alpha - problem.upper), 0.0)
    outside, rounded, moved = float(np.sum(violation * slope)), 0.0, float(np.sum(violation))
    for row, total in zip(problem.A, problem.d, strict=True):
        used = row != 0
        if not used.any():
            continue
        products = row * alpha
        missing = abs(math.fsum(products.tolist()) - total)
        rounding = UNIT_ROUNDOFF * float(np.sum(np.abs(products))) + problem.totals_error * abs(total)
        slack = np.minimum(alpha - problem.lower, problem.upper - alpha)
        steps = 2 * (missing + rounding) / np.where(used, np.abs(row), 1.0)
        possible = used & (slack >= steps)
        if not possible.any():
            outside = np.inf if missing + rounding > 0 else outside
            continue
        cost = float(np.min(np.where(possible, slope, np.inf))) / float(np.min(np.abs(row[used])))
        outside += 2 * cost * missing
        rounded += 2 * cost * rounding
        moved += 2 * (missing + rounding) / float(np.min(np.abs(row[used])))
    return outside, rounded + 0.5 * problem.Q.access.largest() * moved**2, moved


def kkt_violations(alpha: Array, residual: Array, lower: Array, upper: Array) -> Array:
    """Return the KKT violation of every variable: how fast the objective falls in a feasible direction."""
    width = upper - lower
    margin = BOUND_TOL * np.where(np.isfinite(width), width, 1.0)
    rising = np.where(alpha < upper - margin, -residual, 0.0)
    falling = np.where(alpha > lower + margin, residual, 0.0)
    violations: Array = np.maximum(np.maximum(rising, falling), 0.0)
    return violations


def infeasibility_of(problem: Problem, alpha: Array) -> float:
    """Return the largest violation of a constraint."""
    worst = float(np.maximum.reduce(np.maximum(problem.lower - alpha, alpha - problem.upper), initial=0.0))
    for row, total in zip(problem.A, problem.d, strict=True):
        worst = float(np.maximum(worst, abs(np.einsum("i,i->", row, alpha) - total)))
    return worst
