"""ν-regression."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hinge.formulations.base import COST_ERROR, Formulation, total_error
from hinge.formulations.svr import difference, split_signs
from hinge.kernels import Access
from hinge.model import Expansion
from hinge.problems import Array, Dual, Problem


@dataclass(frozen=True)
class NuSVR(Formulation):
    """min ½‖w‖² + ν ε ΣCᵢ + Σ Cᵢ max(0, |yᵢ − f(xᵢ)| − ε) over w, b and ε.            docs/math (13); LwK (10.4)

    With a `shape` ζ the width of the tube is εζᵢ at sample i, and its cost ν ε Σ Cᵢζᵢ.                docs/math (342)
    """

    y: Array
    cost: Array
    nu: float | Array
    shape: Array | None = None

    def dual(self) -> Dual:
        """Dual problem in the form (1): variables (α, α*), p = (−y, y), 1ᵀα = 1ᵀα* = ν ΣC / 2.

        The two equality rows have no variable in common.
        """
        half = np.asarray(0.5 * self.nu * float(self.cost.sum()))
        total = np.stack([half, -half], axis=-1)
        group = np.repeat(np.array([0, 1], dtype=np.int8), len(self.y))
        sign = np.ones(len(self.y))
        error = total_error(self.nu, self.cost, float(half)) if half.ndim == 0 else 0.0
        return Dual(
            self.y,
            -self.cost,
            self.cost,
            sign,
            total,
            split=True,
            group=group,
            row_factors=(1.0, -1.0),
            bounds_error=COST_ERROR,
            totals_error=COST_ERROR + error,
        )

    def build(self, access: Access) -> Problem:
        """Return the kernel form of the dual problem.

        With a shape, its equality rows are 1ᵀ(α − α*) = 0 and ζᵀ(α + α*) = ν Σ Cζ.
        """
        problem = self.dual().problem(access)
        if self.shape is None:
            return problem
        rows = np.stack([problem.Q.sign, np.tile(self.shape, 2)])
        return replace(problem, A=rows, d=np.array([0.0, self.nu * float(self.cost @ self.shape)]))

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """μ = (ε + b, ε − b), or (b, ε) with a shape."""
        if self.shape is not None:
            return Expansion(difference(alpha), float(mu[0]), tube=float(mu[1]))
        return Expansion(difference(alpha), float(0.5 * (mu[0] - mu[1])), tube=float(0.5 * (mu[0] + mu[1])))

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """Return α and α* with α − α* = β, increased equally until ζᵀ(α + α*) = ν Σ Cζ, and the multipliers."""
        alpha = split_signs(expansion.coefficients)
        n = len(self.y)
        shape = np.ones(n) if self.shape is None else self.shape
        slack = self.cost - np.maximum(alpha[:n], alpha[n:])
        missing = 0.5 * self.nu * float(self.cost @ shape) - 0.5 * float(alpha @ np.tile(shape, 2))
        before = np.concatenate([[0.0], np.cumsum(shape * slack)[:-1]])
        alpha += np.tile(np.clip((missing - before) / shape, 0.0, np.maximum(slack, 0.0)), 2)
        if self.shape is not None:
            return alpha, np.array([expansion.intercept, expansion.tube])
        return alpha, np.array([expansion.tube + expansion.intercept, expansion.tube - expansion.intercept])
