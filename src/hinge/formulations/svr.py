"""ε-regression, and the dual of all residual losses with a quadratic conjugate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.formulations.base import COST_ERROR, Formulation
from hinge.kernels import Access
from hinge.losses import Loss, QuadraticConjugate
from hinge.losses.registry import quadratic_conjugate
from hinge.model import Expansion
from hinge.problems import (
    Array,
    Bias,
    Dual,
    LinearProblem,
    Problem,
    broadcast_ratio,
    check_inverse_cost,
    linear_problem,
    scaled,
    scaled_cost,
)


def residual_dual(
    y: Array,
    cost: Array,
    conjugate: QuadraticConjugate,
    bias: bool = True,
    split: bool = True,
    cost_star: Array | None = None,
    epsilon_star: float | Array | None = None,
) -> Dual:
    """Dual of ½‖w‖² + Σ Cᵢ φ(yᵢ − f(xᵢ)) with φ*(s) = ε|s| + ½δs² for |s| ≤ h.       docs/math (103), (303)

    min ½βᵀKβ + Σ (½ (δ/Cᵢ) βᵢ² + ε|βᵢ| − yᵢβᵢ),  |βᵢ| ≤ h Cᵢ,  Σβ = 0.  `cost_star` and `epsilon_star` replace Cᵢ
    and ε where βᵢ < 0; they need δ = 0 and h = 1.
    `split`: two variables per sample in (1), which a tube of positive width requires.
    """
    epsilon, delta, h = conjugate
    upper = cost if h == 1 else scaled_cost(cost, h)
    if cost_star is not None:
        lower = -cost_star
    else:
        lower = scaled(upper, -1.0) if upper.strides == (0,) else -upper  # a broadcast scalar remains one
    ridge = broadcast_ratio(delta, cost) if delta else None
    sign, total = np.ones(y.shape), np.zeros(int(bias))
    return Dual(
        y, lower, upper, sign, total, tube=epsilon, ridge=ridge, split=split, bounds_error=COST_ERROR,
        tube_star=epsilon_star,
    )  # fmt: skip


@dataclass(frozen=True)
class SVR(Formulation):
    """min ½‖w‖² + Σ Cᵢ max(0, yᵢ − f(xᵢ) − εᵢ) + Cᵢ* max(0, f(xᵢ) − yᵢ − εᵢ*).   docs/math (11); LwK (10.78)

    `cost` and `epsilon` apply to targets above f, `cost_star` and `epsilon_star` (Cᵢ*, εᵢ*) to targets below f. The
    latter are equal to the former if None. All may differ between samples.
    """

    y: Array
    cost: Array
    epsilon: float | Array
    cost_star: Array | None = None
    bias: bool = True
    epsilon_star: float | Array | None = None

    def dual(self) -> Dual:
        """Dual problem in the form (1): variables (α, α*), signs (+, −), p = (ε − y, ε* + y), 1ᵀ(α − α*) = 0."""
        conjugate = QuadraticConjugate(self.epsilon, 0.0, 1.0)
        return residual_dual(
            self.y, self.cost, conjugate, self.bias, cost_star=self.cost_star, epsilon_star=self.epsilon_star
        )

    def build(self, access: Access) -> Problem:
        """Return the kernel form of the dual problem."""
        return self.dual().problem(access)

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """β = α − α*, b = μ."""
        return Expansion(difference(alpha), float(mu[0]) if self.bias else 0.0, tube=float(np.max(self.epsilon)))

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """α and α* are the positive and negative parts of β."""
        return split_signs(expansion.coefficients), np.array([expansion.intercept] if self.bias else [])


def linear_regression(
    X: Any,
    y: Array,
    cost: Array,
    epsilon: float,
    loss: str | Loss,
    bias: Bias = Bias.FREE,
    bias_scale: float = 1.0,
    cost_star: Array | None = None,
    epsilon_star: float | None = None,
) -> LinearProblem:
    """Return the linear form of min ½‖w‖² + Σ Cᵢ φ(yᵢ − f(xᵢ)); φ has a quadratic conjugate.    docs/math (101), (103)

    `epsilon` is the ε of a loss given by name. `cost_star` and `epsilon_star` apply to targets below f, with the
    ε-insensitive loss only.
    """
    conjugate = quadratic_conjugate(loss, "residual", {"epsilon": float(epsilon)})
    if conjugate.curvature:
        check_inverse_cost(cost)
    dual = residual_dual(y, cost, conjugate, cost_star=cost_star, epsilon_star=epsilon_star)
    return linear_problem(dual, X, bias, bias_scale)


def split_signs(coefficients: Array) -> Array:
    """Return regression variables (α, α*) with α − α* = coefficients and α α* = 0."""
    return np.concatenate([np.maximum(coefficients, 0.0), np.maximum(-coefficients, 0.0)])


def difference(alpha: Array) -> Array:
    """Return α − α* from the variables (α, α*) of regression."""
    up, down = alpha.reshape(2, -1)
    return up - down
