"""Which decision values are zero: those that are no larger than the rounding of their own sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.kernels import Kernel, Precomputed
from hinge.problems import Array

#: A unit of the last place, halved: what one operation with doubles can lose of its result.
ROUNDING = 2.0**-53

#: Operations beside one for every sample and feature: along a path values are carried over so many segments.
CARRIED = 256


@dataclass(frozen=True)
class Rounding:
    """|f̂(x) − f(x)| ≤ share · (reach(x) · size + |b|), for f = Σ βᵢ k(xᵢ, ·) + b.                 docs/math (480)

    `norms` are the k(xᵢ, xᵢ)^½ of the training samples, of which there are no less than terms in the sum.
    """

    kernel: Kernel
    norms: Array
    features: int

    @classmethod
    def of(cls, kernel: Kernel, diagonal: Array, features: int) -> Rounding:
        """From k(xᵢ, xᵢ)."""
        return cls(kernel, np.sqrt(np.maximum(diagonal, 0.0)), 1 if isinstance(kernel, Precomputed) else features)

    @property
    def share(self) -> float:
        """How much of the sum of the sizes of all terms may be lost."""
        return ROUNDING * (len(self.norms) + self.features + CARRIED)

    def size(self, beta: Array) -> float:
        """Σ |βᵢ| k(xᵢ, xᵢ)^½."""
        return float(np.abs(beta) @ self.norms)

    def reach(self, X: Any) -> Array:
        """r(x) with |k(xᵢ, x)| ≤ r(x) k(xᵢ, xᵢ)^½, k(x, x)^½ or what a matrix shows of it; and the same for b.

        b is what is missing at some training sample, so it has the rounding of a sum there.
        """
        known = self.norms > 0
        if isinstance(self.kernel, Precomputed):
            own = np.max(np.abs(X[:, known]) / self.norms[known], axis=1, initial=0.0)
        else:
            own = np.sqrt(np.maximum(self.kernel.diag(X), 0.0))
        return own + np.max(self.norms, initial=0.0)

    def bound(self, reach: Any, size: Any, offset: Any) -> Any:
        """Values that are not larger are zero."""
        return self.share * (reach * size + np.abs(offset))

    def settle(self, values: Array, X: Any, beta: Array, offset: float) -> Array:
        """The values at the rows of X, those that are rounding made zero."""
        return np.where(np.abs(values) > self.bound(self.reach(X), self.size(beta), offset), values, 0.0)
