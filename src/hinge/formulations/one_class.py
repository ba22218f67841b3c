"""One-class: the support of a distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.kernels import Access
from hinge.model import Expansion
from hinge.problems import Array, Problem, Quadratic


@dataclass(frozen=True)
class OneClass:
    """min ½‖w‖² − νWρ + Σ wᵢ max(0, ρ − ⟨w, Φ(xᵢ)⟩),  W = Σ wᵢ.               docs/math (14)

    The scale is LIBSVM's.  The decision function is ⟨w, Φ(x)⟩ − ρ.
    """

    weight: Array
    nu: float

    @property
    def upper(self) -> Array:
        """wᵢ."""
        return self.weight

    def build(self, access: Access) -> Problem:
        """min ½αᵀKα,  1ᵀα = νW,  0 ≤ α ≤ w."""
        n, total = len(self.weight), float(self.weight.sum())
        rows, reached = np.ones((1, n)), np.array([min(self.nu * total, total)])
        return Problem(Quadratic(access, np.ones(n)), np.zeros(n), rows, reached, np.zeros(n), self.weight)

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """β = α, ρ = −μ."""
        return Expansion(alpha, float(mu[0]), margin=-float(mu[0]))

    def unit(self, mu: Array) -> float:
        """ρ, where it is below 1: the sign of ⟨w, Φ(x)⟩ − ρ is what counts."""
        return min(1.0, abs(float(mu[0])))

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """α = β."""
        return expansion.coefficients, np.array([expansion.intercept])
