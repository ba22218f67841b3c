"""One-class classification: an estimate of the support of a distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.formulations.base import Formulation
from hinge.kernels import Access
from hinge.model import Expansion
from hinge.problems import Array, Dual, Problem


@dataclass(frozen=True)
class OneClass(Formulation):
    """min ½‖w‖² − νWρ + Σ wᵢ max(0, ρ − ⟨w, Φ(xᵢ)⟩),  W = Σ wᵢ.               docs/math (14)

    The scale is that of LIBSVM. The decision function is ⟨w, Φ(x)⟩ − ρ.
    """

    weight: Array
    nu: float | Array

    def dual(self) -> Dual:
        """In (1): min ½αᵀKα,  1ᵀα = νW,  0 ≤ α ≤ w."""
        n, sum_of_weights = len(self.weight), float(np.sum(self.weight))
        zero = np.zeros(n)
        total = np.multiply(self.nu, sum_of_weights)[..., None]
        if total.ndim == 1:
            total = np.minimum(total, sum_of_weights)  # ν = 1 up to rounding
        return Dual(zero, zero, self.weight, np.ones(n), total)

    def build(self, access: Access) -> Problem:
        """Return the kernel form of the dual problem."""
        return self.dual().problem(access)

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """β = α, ρ = −μ."""
        return Expansion(alpha, float(mu[0]), margin=-float(mu[0]))

    def scale(self, mu: Array) -> float:
        """Return ρ if it is below 1: tolerances are relative to it, because the sign of ⟨w, Φ(x)⟩ − ρ decides."""
        return min(1.0, abs(float(mu[0])))

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """α = β."""
        return expansion.coefficients, np.array([expansion.intercept])
