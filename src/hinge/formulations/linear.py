"""Problems of linear estimators.      docs/math (101), (103)"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from hinge.formulations.c_svc import margin_dual
from hinge.formulations.one_class import OneClass
from hinge.formulations.svr import residual_dual
from hinge.losses import MARGIN_LOSSES, Loss, QuadraticConjugate, make_loss
from hinge.problems import (
    Array,
    Bias,
    LinearProblem,
    LinearSolution,
    Status,
    certify_linear,
    distinct,
    linear_problem,
)

#: Range of the costs of losses with a curvature: the dual problem contains 1/C, which overflows outside of it.
MIN_COST, MAX_COST = 1e-300, 1e300


def linear_classification(
    X: Any, y: Array, cost: Array, loss: str | Loss, bias: Bias = Bias.FREE, bias_scale: float = 1.0
) -> LinearProblem:
    """Return min ½‖w‖² + Σ Cᵢ φ(yᵢ f(xᵢ)); y holds ±1, and φ is a margin loss with a quadratic conjugate."""
    if isinstance(loss, str):
        conjugate = _registered_conjugate(MARGIN_LOSSES[loss])
    else:
        conjugate = make_loss(loss, "margin").quadratic_conjugate
    return linear_problem(margin_dual(y, cost, _checked(loss, conjugate, cost)), X, bias, bias_scale)


def linear_regression(
    X: Any,
    y: Array,
    cost: Array,
    epsilon: float,
    loss: str | Loss,
    bias: Bias = Bias.FREE,
    bias_scale: float = 1.0,
) -> LinearProblem:
    """Return min ½‖w‖² + Σ Cᵢ φ(yᵢ − f(xᵢ)); φ is a residual loss with a quadratic conjugate, ε that of its name."""
    conjugate = make_loss(loss, "residual", {"epsilon": float(epsilon)}).quadratic_conjugate
    return linear_problem(residual_dual(y, cost, _checked(loss, conjugate, cost)), X, bias, bias_scale)


def linear_one_class(X: Any, weight: Array, nu: float) -> LinearProblem:
    """Return min ½‖w‖² − νWρ + Σ wᵢ max(0, ρ − ⟨w, xᵢ⟩), W = Σ wᵢ; the offset is −ρ.        docs/math (14)"""
    return linear_problem(OneClass(weight, nu).dual(), X, Bias.FREE)


def without_half_space(problem: LinearProblem, solution: LinearSolution) -> LinearSolution:
    """Return w = 0 and ρ = 0 if the optimal value of one-class classification is zero to rounding.   docs/math (133)

    The solution then consists of rounding errors, and their signs would classify the samples at random.
    """
    if solution.status is not Status.SOLVED or max(abs(solution.primal), abs(solution.dual)) > 2 * solution.floor:
        return solution
    zero = np.zeros_like(solution.weights)
    certificate = certify_linear(problem, zero, 0.0, solution.beta)
    return replace(
        solution,
        weights=zero,
        offset=0.0,
        primal=certificate.primal,
        dual=certificate.dual,
        gap=certificate.gap,
        violation=certificate.kkt_violation,
    )


@cache
def _registered_conjugate(cls: type[Loss]) -> QuadraticConjugate | None:
    """Return the parameters of the conjugate of a registered margin loss with its default parameters."""
    return make_loss(cls(), "margin").quadratic_conjugate


def _checked(loss: str | Loss, conjugate: QuadraticConjugate | None, cost: Array) -> QuadraticConjugate:
    """Return the parameters of the conjugate of `loss`, after checking that the dual problem does not overflow."""
    if conjugate is None:
        raise ValueError(f"loss={loss!r}: linear estimators need a loss whose conjugate is quadratic, such as 'hinge'")
    if not conjugate.curvature or not len(cost):
        return conjugate
    costs = distinct(cost)
    low, high = float(np.min(costs)), float(np.max(costs))
    if not (low >= MIN_COST and high <= MAX_COST):
        raise ValueError(
            f"C times the weights of samples and classes lies between {low:g} and {high:g}; a squared loss needs "
            f"1/C: use C and weights with products between {MIN_COST:g} and {MAX_COST:g}, and a weight of 0 for "
            "samples that are to be left out"
        )
    return conjugate
