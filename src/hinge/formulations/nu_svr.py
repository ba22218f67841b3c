"""ν-regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.formulations.base import difference, split_signs
from hinge.kernels import Access
from hinge.model import Expansion
from hinge.problems import Array, Problem, Quadratic


@dataclass(frozen=True)
class NuSVR:
    """min ½‖w‖² + ν ε ΣCᵢ + Σ Cᵢ max(0, |yᵢ − f(xᵢ)| − ε) over w, b and ε.            docs/math (13); LwK (10.4)

    With a `shape` ζ the tube is εζᵢ wide at sample i, and its price ν ε Σ Cᵢζᵢ.                docs/math (342)
    """

    y: Array
    cost: Array
    nu: float
    shape: Array | None = None

    @property
    def upper(self) -> Array:
        """(C, C)."""
        return np.concatenate([self.cost, self.cost])

    def build(self, access: Access) -> Problem:
        """Variables (α, α*), p = (−y, y), 1ᵀα = 1ᵀα* = ν ΣC / 2: two rows that share no variable.

        With a shape 1ᵀ(α − α*) = 0 and ζᵀ(α + α*) = ν Σ Cζ, which share all.
        """
        n = len(self.y)
        sign = np.repeat([1.0, -1.0], n)
        if self.shape is None:
            rows, totals = np.zeros((2, 2 * n)), np.full(2, 0.5 * self.nu * float(self.cost.sum()))
            rows[0, :n] = rows[1, n:] = 1.0
        else:
            rows = np.stack([sign, np.tile(self.shape, 2)])
            totals = np.array([0.0, self.nu * float(self.cost @ self.shape)])
        return Problem(
            Quadratic(access, sign),
            np.concatenate([-self.y, self.y]),
            rows,
            totals,
            np.zeros(2 * n),
            self.upper,
        )

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """μ = (ε + b, ε − b), or (b, ε) with a shape."""
        if self.shape is not None:
            return Expansion(difference(alpha), float(mu[0]), tube=float(mu[1]))
        return Expansion(difference(alpha), float(0.5 * (mu[0] - mu[1])), tube=float(0.5 * (mu[0] + mu[1])))

    def unit(self, mu: Array) -> float:
        """The function is in the problem's units."""
        return 1.0

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """α α* = 0 may leave 1ᵀ(α + α*) short of ν ΣC: what is missing is added to both slots alike."""
        alpha = split_signs(expansion.coefficients)
        n = len(self.y)
        shape = np.ones(n) if self.shape is None else self.shape
        room = self.cost - np.maximum(alpha[:n], alpha[n:])
        missing = 0.5 * self.nu * float(self.cost @ shape) - 0.5 * float(alpha @ np.tile(shape, 2))
        before = np.concatenate([[0.0], np.cumsum(shape * room)[:-1]])
        alpha += np.tile(np.clip((missing - before) / shape, 0.0, np.maximum(room, 0.0)), 2)
        if self.shape is not None:
            return alpha, np.array([expansion.intercept, expansion.tube])
        return alpha, np.array([expansion.tube + expansion.intercept, expansion.tube - expansion.intercept])
