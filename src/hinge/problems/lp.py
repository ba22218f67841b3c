"""Linear programs of ℓ1-penalized models in signed variables, and their certificates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.problems.certificate import Certificate
from hinge.problems.separable import Array
from hinge.problems.solution import History
from hinge.problems.status import Status

COST_OPERATIONS = 16  # rounded operations for a term of the objective
AT_BOUND = 1e-6  # relative distance at which a dual variable counts as on its bound; the accuracy of simplex solvers


@dataclass(frozen=True)
class LPProblem:
    """min Σ priceⱼ |aⱼ| + Σ lossᵢ(fᵢ),  f = Φa + b.                              docs/math (331); SVR tutorial (64)

    lossᵢ(f) = max over lowerᵢ ≤ β ≤ upperᵢ of β (targetᵢ − f) − tubeᵢ |β|, and zero lies between the bounds.
    `design_error` bounds the rounding errors of Φ.
    Dual: max targetᵀβ − tubeᵀ|β|  s.t.  |Φᵀβ| ≤ price,  1ᵀβ = 0,  lower ≤ β ≤ upper.                       (332)
    """

    design: Array
    target: Array
    lower: Array
    upper: Array
    tube: Array
    price: Array
    bias: bool = True
    design_error: float = 0.0

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.design.shape[0])


@dataclass(frozen=True)
class LPSolution:
    """Coefficients a, offset b and the dual point β."""

    coefficients: Array
    offset: float
    beta: Array
    status: Status
    iterations: int
    history: History
    error: BaseException | None = None
    rounded: ClassVar[bool] = True  # the values of the history do not include rounding errors


def certify_lp(problem: LPProblem, coefficients: Array, offset: float, beta: Array) -> Certificate:
    """Bound the optimum by the objective at (a, b) and at β, which is made feasible first.     docs/math (333), (630)

    The bounds include the rounding errors of their evaluation and of the design matrix.
    """
    feasible, infeasibility = _feasible(problem, beta)
    sizes, n, width = np.abs(problem.design), problem.n, len(coefficients)
    f = problem.design @ coefficients + (offset if problem.bias else 0.0)
    residual = problem.target - f
    error = UNIT_ROUNDOFF * (width + 4) * (sizes @ np.abs(coefficients) + abs(offset) + np.abs(problem.target))
    error += 2 * UNIT_ROUNDOFF * problem.tube + problem.design_error * float(np.sum(np.abs(coefficients)))
    error *= 1.01
    above = np.maximum(residual - problem.tube + error, 0.0) * problem.upper
    below = np.maximum(-residual - problem.tube + error, 0.0) * -problem.lower
    penalty = problem.price * np.abs(coefficients)
    nominal = float(
        np.sum(np.maximum(residual - problem.tube, 0.0) * problem.upper)
        + np.sum(np.maximum(-residual - problem.tube, 0.0) * -problem.lower)
    )
    value = float(np.sum(penalty) + np.sum(np.maximum(above, below)))
    of_sums = (COST_OPERATIONS + n + width) * UNIT_ROUNDOFF * value
    primal = value + of_sums

    gains = problem.target * feasible - problem.tube * np.abs(feasible)
    missing = 0.0
    if problem.bias:
        missing = abs(math.fsum(feasible.tolist())) + UNIT_ROUNDOFF * float(np.sum(np.abs(feasible)))
    largest = float(np.max(np.abs(problem.target) + problem.tube, initial=0.0))
    of_gains = (COST_OPERATIONS + n) * UNIT_ROUNDOFF * float(np.sum(np.abs(gains))) + 2 * missing * largest
    dual = max(float(np.sum(gains)) - of_gains, 0.0)  # β = 0 is feasible
    correlation = problem.design.T @ beta
    return Certificate.of(
        float(np.nextafter(primal, np.inf)),
        float(np.nextafter(dual, -np.inf)) if dual > 0 else 0.0,
        _violation(problem, coefficients, residual, beta, correlation),
        infeasibility,
        np.array([offset] if problem.bias else []),
        True,
        (value - float(np.sum(penalty)) - nominal) + of_sums + of_gains,
    )


def best_constant(problem: LPProblem) -> float:
    """Return the offset with the smallest sum of losses if all coefficients are zero."""
    if not problem.bias:
        return 0.0
    knots = np.concatenate([problem.target - problem.tube, problem.target + problem.tube])
    order = np.argsort(knots, kind="stable")
    slopes = np.cumsum(np.concatenate([problem.upper, -problem.lower])[order]) - float(np.sum(problem.upper))
    return float(knots[order][min(int(np.searchsorted(slopes, 0.0)), len(knots) - 1)])


def _feasible(problem: LPProblem, beta: Array) -> tuple[Array, float]:
    """Project β onto its box, make its sum zero and scale it until |Φᵀβ| ≤ price; also return its infeasibility.

    The scaled point satisfies the constraints with rounding errors, and after an exact correction of its sum.
    """
    inside = np.clip(beta, problem.lower, problem.upper)
    infeasibility = float(np.max(np.abs(beta - inside), initial=0.0))
    if problem.bias:
        surplus = float(np.sum(inside))
        side = np.maximum(inside, 0.0) if surplus > 0 else np.minimum(inside, 0.0)
        if surplus != 0:
            inside = inside - side * (surplus / float(np.sum(side)))
        infeasibility = max(infeasibility, abs(surplus))
    correlation = np.abs(problem.design.T @ inside)
    size = float(np.sum(np.abs(inside)))
    error = UNIT_ROUNDOFF * (problem.n + 4) * (np.abs(problem.design).T @ np.abs(inside)) + problem.design_error * size
    missing = 4 * UNIT_ROUNDOFF * size
    if problem.bias:  # an exact correction of the sum changes Φᵀβ too
        missing += abs(math.fsum(inside.tolist()))
    bound = correlation + 1.01 * error + 2 * missing * float(np.max(np.abs(problem.design), initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        nominal = float(np.max(np.where(correlation > problem.price, correlation / problem.price, 1.0), initial=1.0))
        excess = float(np.max(np.where(bound > 0, bound / problem.price, 0.0), initial=1.0 + 8 * UNIT_ROUNDOFF))
    return inside / (excess * (1 + 8 * UNIT_ROUNDOFF)), max(infeasibility, nominal - 1.0)


def _violation(problem: LPProblem, a: Array, residual: Array, beta: Array, correlation: Array) -> float:
    """Return the largest violation of the optimality conditions by a coefficient or a sample."""
    used = a != 0
    coefficients = np.max(np.abs(correlation - np.sign(a) * problem.price)[used], initial=0.0)
    above, below = residual - problem.tube, -residual - problem.tube
    at_upper, at_lower = beta >= problem.upper * (1 - AT_BOUND), beta <= problem.lower * (1 - AT_BOUND)
    too_far = np.where(at_upper, 0.0, np.maximum(above, 0.0)) + np.where(at_lower, 0.0, np.maximum(below, 0.0))
    too_near = np.where(beta > 0, np.maximum(-above, 0.0), 0.0) + np.where(beta < 0, np.maximum(-below, 0.0), 0.0)
    significant = np.abs(beta) > AT_BOUND * np.maximum(problem.upper, -problem.lower)
    return float(max(coefficients, np.max(too_far, initial=0.0), np.max(too_near[significant], initial=0.0)))
