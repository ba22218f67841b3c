"""Linear programs of ℓ1-penalized models in signed variables, and their certificates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.problems.certificate import Certificate, relative
from hinge.problems.separable import Array
from hinge.problems.solution import History
from hinge.problems.status import Status

AT_BOUND = 1e-6  # relative distance at which a dual variable counts as on its bound; the accuracy of simplex solvers


@dataclass(frozen=True)
class LPProblem:
    """min Σ priceⱼ |aⱼ| + Σ lossᵢ(fᵢ),  f = Φa + b.                              docs/math (331); SVR tutorial (64)

    lossᵢ(f) = max over lowerᵢ ≤ β ≤ upperᵢ of β (targetᵢ − f) − tubeᵢ |β|, and zero lies between the bounds.
    Dual: max targetᵀβ − tubeᵀ|β|  s.t.  |Φᵀβ| ≤ price,  1ᵀβ = 0,  lower ≤ β ≤ upper.                       (332)
    """

    design: Array
    target: Array
    lower: Array
    upper: Array
    tube: Array
    price: Array
    bias: bool = True

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


def certify_lp(problem: LPProblem, coefficients: Array, offset: float, beta: Array) -> Certificate:
    """Compute the certificate of (a, b) and of β, which is made feasible first.              docs/math (333)

    The gap is a sum of nonnegative complementarity terms (LwK Problem 10.1): priceⱼ|aⱼ| − aⱼΦⱼᵀβ for every coefficient,
    and a Fenchel–Young term for every sample.
    """
    beta, infeasibility = _feasible(problem, beta)
    f = problem.design @ coefficients + (offset if problem.bias else 0.0)
    residual = problem.target - f
    above = np.maximum(residual - problem.tube, 0.0) * problem.upper
    below = np.maximum(-residual - problem.tube, 0.0) * -problem.lower
    correlation = problem.design.T @ beta
    penalty = problem.price * np.abs(coefficients)
    losses = np.maximum(above + below - beta * residual + problem.tube * np.abs(beta), 0.0)
    slack = np.maximum(penalty - coefficients * correlation, 0.0)
    gap = float(np.sum(losses) + np.sum(slack)) + (abs(offset * float(np.sum(beta))) if problem.bias else 0.0)
    primal = float(np.sum(penalty) + np.sum(above) + np.sum(below))
    return Certificate(
        primal=primal,
        dual=primal - gap,
        gap=gap,
        relative_gap=relative(gap, primal, primal - gap),
        kkt_violation=_violation(problem, coefficients, residual, beta, correlation),
        infeasibility=infeasibility,
        mu=np.array([offset] if problem.bias else []),
        best_primal=primal,
        best_dual=primal - gap,
        convex=True,
    )


def _feasible(problem: LPProblem, beta: Array) -> tuple[Array, float]:
    """Project β onto its box, make its sum zero and scale it until |Φᵀβ| ≤ price; also return its infeasibility."""
    inside = np.clip(beta, problem.lower, problem.upper)
    infeasibility = float(np.max(np.abs(beta - inside), initial=0.0))
    if problem.bias:
        surplus = float(np.sum(inside))
        side = np.maximum(inside, 0.0) if surplus > 0 else np.minimum(inside, 0.0)
        if surplus != 0:
            inside = inside - side * (surplus / float(np.sum(side)))
        infeasibility = max(infeasibility, abs(surplus))
    correlation = np.abs(problem.design.T @ inside)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = float(np.max(np.where(correlation > problem.price, correlation / problem.price, 1.0), initial=1.0))
    return inside / excess, max(infeasibility, excess - 1.0)


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
