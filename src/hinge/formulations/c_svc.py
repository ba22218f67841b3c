"""C-classification."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.kernels import Access
from hinge.model import Expansion
from hinge.problems import Array, Problem, Quadratic


@dataclass(frozen=True)
class CSVC:
    """min ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ f(xᵢ)),  f = ⟨w, Φ⟩ + b.          docs/math (10); LwK (10.3)

    `y` holds ±1, `cost` the Cᵢ.  Without bias there is no equality row.
    """

    y: Array
    cost: Array
    bias: bool = True

    @property
    def upper(self) -> Array:
        """Cᵢ."""
        return self.cost

    def build(self, access: Access) -> Problem:
        """min ½αᵀQα − 1ᵀα,  yᵀα = 0,  0 ≤ α ≤ C,  Q = yyᵀ ∘ K."""
        n = len(self.y)
        rows = self.y[None, :] if self.bias else np.empty((0, n))
        return Problem(Quadratic(access, self.y), -np.ones(n), rows, np.zeros(len(rows)), np.zeros(n), self.cost)

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """β = y ∘ α, b = μ."""
        return Expansion(self.y * alpha, float(mu[0]) if self.bias else 0.0)

    def unit(self, mu: Array) -> float:
        """The function is in the problem's units."""
        return 1.0

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """α = y ∘ β."""
        return self.y * expansion.coefficients, np.array([expansion.intercept] if self.bias else [])


def equivalent_nu(alpha: Array, cost: Array) -> float:
    """The ν for which ν-classification gives the same function as C-classification: Σα / ΣC.     ν tutorial Prop. 3"""
    return float(np.sum(alpha) / np.sum(cost))
