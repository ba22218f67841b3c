"""Linear machines: labels and costs to the problem in signed coordinates.      docs/math.md (101), (103)"""

from __future__ import annotations

from typing import Any

import numpy as np

from hinge.problems import Array, Bias, LinearProblem

#: Losses of linear classification and regression; the second of each is squared.
CLASSIFICATION_LOSSES = ("hinge", "squared_hinge")
REGRESSION_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


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
    """min ½‖w‖² − νWρ + Σ wᵢ max(0, ρ − ⟨w, xᵢ⟩), W = Σ wᵢ; the offset is −ρ.        docs/math.md (14)"""
    none, upper = np.zeros(len(weight)), np.ascontiguousarray(weight)
    return LinearProblem(X, none, none, upper, none, 0.0, Bias.FREE, 1.0, float(nu * np.sum(weight)))


def _box(cost: Array, squared: bool) -> tuple[Array, Array]:
    """Height of the box and ridge of every variable: (C, 0), or (∞, 1/(2C)) for a squared loss."""
    if squared:
        return np.broadcast_to(np.inf, len(cost)), 0.5 / cost
    return cost, np.zeros(len(cost))


def times(values: Array, factor: float) -> Array:
    """values · factor; a number that stands for all of them (in no memory) still does."""
    if values.strides == (0,) and len(values):
        return np.broadcast_to(values[0] * factor, len(values))
    return np.asarray(factor * values, dtype=np.float64)
