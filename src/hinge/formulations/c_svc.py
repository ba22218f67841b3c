"""C-classification, and the dual of all margin losses with a quadratic conjugate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from hinge.formulations.base import COST_ERROR, Formulation
from hinge.kernels import Access
from hinge.losses import MARGIN_LOSSES, Hinge, Loss, QuadraticConjugate
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
    scaled_cost,
)

HINGE = Hinge().quadratic_conjugate


def margin_dual(
    y: Array, cost: Array, conjugate: QuadraticConjugate = HINGE, bias: bool = True, margin: Array | None = None
) -> Dual:
    """Dual of ½‖w‖² + Σ Cᵢ φ(yᵢ f(xᵢ)) with φ*(−a) = −ρa + ½δa² for 0 ≤ a ≤ h.       docs/math (103), (303)

    min ½βᵀKβ + Σ (½ (δ/Cᵢ) βᵢ² − ρ yᵢ βᵢ),  0 ≤ yᵢβᵢ ≤ h Cᵢ,  Σβ = 0.  `margin` replaces ρ by one value per sample.
    """
    rho, delta, h = conjugate
    lower, upper = signed_bounds(y, cost if h == 1 else scaled_cost(cost, h))
    target = y * margin if margin is not None else y if rho == 1 else rho * y
    ridge = broadcast_ratio(delta, cost) if delta else None
    return Dual(target, lower, upper, y, np.zeros(int(bias)), ridge=ridge, bounds_error=COST_ERROR)


def signed_bounds(y: Array, cost: Array) -> tuple[Array, Array]:
    """Bounds of β with 0 ≤ yᵢβᵢ ≤ costᵢ."""
    if cost.ndim == 2:  # rows: values at θ = 0 and rates; a rate may have any sign
        upper = cost * (y > 0)
        return upper - cost, upper
    signed_cost = y * cost
    return np.minimum(signed_cost, 0.0), np.maximum(signed_cost, 0.0)


@dataclass(frozen=True)
class CSVC(Formulation):
    """min ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ f(xᵢ)),  f = ⟨w, Φ⟩ + b.          docs/math (10); LwK (10.3)

    `y` holds ±1, `cost` the Cᵢ. Without bias there is no equality row. `margin` replaces 1 by one value δᵢ per sample.
    """

    y: Array
    cost: Array
    bias: bool = True
    margin: Array | None = None

    def dual(self) -> Dual:
        """Dual problem in the form (1): min ½αᵀQα − 1ᵀα,  yᵀα = 0,  0 ≤ α ≤ C,  Q = yyᵀ ∘ K."""
        return margin_dual(self.y, self.cost, bias=self.bias, margin=self.margin)

    def build(self, access: Access) -> Problem:
        """Return the kernel form of the dual problem."""
        return self.dual().problem(access)

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """β = y ∘ α, b = μ."""
        return Expansion(self.y * alpha, float(mu[0]) if self.bias else 0.0)

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """α = y ∘ β."""
        return self.y * expansion.coefficients, np.array([expansion.intercept] if self.bias else [])


def linear_classification(
    X: Any, y: Array, cost: Array, loss: str | Loss, bias: Bias = Bias.FREE, bias_scale: float = 1.0
) -> LinearProblem:
    """Return the linear form of min ½‖w‖² + Σ Cᵢ φ(yᵢ f(xᵢ)); y holds ±1, φ has a quadratic conjugate.

    docs/math (101), (103)
    """
    if isinstance(loss, str):
        conjugate = _registered_conjugate(MARGIN_LOSSES[loss])
    else:
        conjugate = quadratic_conjugate(loss, "margin")
    if conjugate.curvature:
        check_inverse_cost(cost)
    return linear_problem(margin_dual(y, cost, conjugate), X, bias, bias_scale)


@cache
def _registered_conjugate(cls: type[Loss]) -> QuadraticConjugate:
    """Return the parameters of the conjugate of a registered margin loss with its default parameters."""
    return quadratic_conjugate(cls(), "margin")


def equivalent_nu(alpha: Array, cost: Array) -> float:
    """Return the ν for which ν-classification has the same solution: Σα / ΣC.                     ν tutorial Prop. 3"""
    return float(np.sum(alpha) / np.sum(cost))
