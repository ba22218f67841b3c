"""ε-regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.formulations.base import difference, split_signs
from hinge.kernels import Access
from hinge.model import Expansion
from hinge.problems import Array, Problem, Quadratic


@dataclass(frozen=True)
class SVR:
    """min ½‖w‖² + Σ Cᵢ max(0, yᵢ − f(xᵢ) − ε) + Cᵢ* max(0, f(xᵢ) − yᵢ − ε).       docs/math (11); LwK (10.4)

    `cost_star` is Cᵢ*, the price of lying above the tube; equal to `cost` when left out. ε may differ between samples.
    """

    y: Array
    cost: Array
    epsilon: float | Array
    cost_star: Array | None = None
    bias: bool = True

    @property
    def upper(self) -> Array:
        """(C, C*)."""
        return np.concatenate([self.cost, self.cost if self.cost_star is None else self.cost_star])

    def build(self, access: Access) -> Problem:
        """Variables (α, α*): signs (+, −), p = (ε − y, ε + y), 1ᵀ(α − α*) = 0."""
        n = len(self.y)
        sign = np.repeat([1.0, -1.0], n)
        p = np.concatenate([self.epsilon - self.y, self.epsilon + self.y])
        rows = sign[None, :] if self.bias else np.empty((0, 2 * n))
        return Problem(Quadratic(access, sign), p, rows, np.zeros(len(rows)), np.zeros(2 * n), self.upper)

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """β = α − α*, b = μ."""
        return Expansion(difference(alpha), float(mu[0]) if self.bias else 0.0, tube=float(np.max(self.epsilon)))

    def unit(self, mu: Array) -> float:
        """The function is in the problem's units."""
        return 1.0

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """α and α* are the positive and negative parts of β."""
        return split_signs(expansion.coefficients), np.array([expansion.intercept] if self.bias else [])
