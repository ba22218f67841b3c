"""Linear machines: labels and costs to the problem in signed coordinates.      docs/math (101), (103)"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hinge.problems import Array, Bias, LinearProblem, LinearSolution, Status, certify_linear
from hinge.problems.linear import different

#: Losses of linear classification and regression; the second of each is squared.
CLASSIFICATION_LOSSES = ("hinge", "squared_hinge")
REGRESSION_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")

#: Squared losses divide by their cost: beyond these it overflows.
LEAST_COST, MOST_COST = 1e-300, 1e300


def linear_classification(
    X: Any, y: Array, cost: Array, loss: str, bias: Bias = Bias.FREE, bias_scale: float = 1.0
) -> LinearProblem:
    """min ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ f(xᵢ)) or its square; y holds ±1."""
    height, ridge = _box(cost, squared=loss == "squared_hinge")
    reach = y * height
    return LinearProblem(X, y, np.minimum(reach, 0.0), np.maximum(reach, 0.0), ridge, 0.0, bias, bias_scale)


def linear_regression(
    X: Any, y: Array, cost: Array, epsilon: float, loss: str, bias: Bias = Bias.FREE, bias_scale: float = 1.0
) -> LinearProblem:
    """min ½‖w‖² + Σ Cᵢ max(0, |yᵢ − f(xᵢ)| − ε) or its square."""
    height, ridge = _box(cost, squared=loss == "squared_epsilon_insensitive")
    return LinearProblem(X, y, times(height, -1.0), height, ridge, float(epsilon), bias, bias_scale)


def linear_one_class(X: Any, weight: Array, nu: float) -> LinearProblem:
    """min ½‖w‖² − νWρ + Σ wᵢ max(0, ρ − ⟨w, xᵢ⟩), W = Σ wᵢ; the offset is −ρ.        docs/math (14)"""
    none, upper = np.zeros(len(weight)), np.ascontiguousarray(weight)
    return LinearProblem(X, none, none, upper, none, 0.0, Bias.FREE, 1.0, float(nu * np.sum(weight)))


def without_half_space(problem: LinearProblem, solution: LinearSolution) -> LinearSolution:
    """One class around the origin: w = 0 and ρ = 0 where the optimum is zero to rounding.       docs/math (133)

    What a solver has there are rounding errors; their signs would tell samples apart by chance.
    """
    if solution.status is not Status.SOLVED or max(abs(solution.primal), abs(solution.dual)) > 2 * solution.floor:
        return solution
    nothing = np.zeros_like(solution.weights)
    found = certify_linear(problem, nothing, 0.0, solution.beta)
    return replace(
        solution,
        weights=nothing,
        offset=0.0,
        primal=found.primal,
        dual=found.dual,
        gap=found.gap,
        violation=found.kkt_violation,
    )


def _box(cost: Array, squared: bool) -> tuple[Array, Array]:
    """Height of the box and ridge of every variable: (C, 0), or (∞, 1/(2C)) for a squared loss."""
    if squared:
        some = different(cost)
        low, high = float(np.min(some, initial=np.inf)), float(np.max(some, initial=0.0))
        if len(cost) and not (low >= LEAST_COST and high <= MOST_COST):
            raise ValueError(
                f"C times the weights of samples and classes lies between {low:g} and {high:g}; a squared loss needs "
                f"1/C: use C and weights with products between {LEAST_COST:g} and {MOST_COST:g}, and a weight of 0 for "
                "samples that are to be left out"
            )
        return np.broadcast_to(np.inf, len(cost)), np.broadcast_to(0.5 / some, len(cost))
    return cost, np.zeros(len(cost))


def times(values: Array, factor: float) -> Array:
    """values · factor; a number that stands for all of them (in no memory) still does."""
    if values.strides == (0,) and len(values):
        return np.broadcast_to(values[0] * factor, len(values))
    return np.asarray(factor * values, dtype=np.float64)
