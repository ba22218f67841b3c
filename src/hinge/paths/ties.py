"""Rounding error bounds of decision values; values within them count as zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.kernels import Kernel, Precomputed
from hinge.problems import Array

#: Relative rounding error of an operation with doubles.
ROUNDING = 2.0**-53

#: Number of segments over which values are accumulated. A decision value takes this many operations, and one for every
#: sample and feature.
ACCUMULATED_SEGMENTS = 256


@dataclass(frozen=True)
class Rounding:
    """Bound |f̂(x) − f(x)| ≤ unit · (reach(x) · size + |b|), for f = Σ βᵢ k(xᵢ, ·) + b.                 docs/math (480)

    `norms` are the k(xᵢ, xᵢ)^½ of the training samples. The sum has at most as many terms.
    """

    kernel: Kernel
    norms: Array
    features: int

    @classmethod
    def of(cls, kernel: Kernel, diagonal: Array, features: int) -> Rounding:
        """Return the bounds for training samples with the values k(xᵢ, xᵢ)."""
        return cls(kernel, np.sqrt(np.maximum(diagonal, 0.0)), 1 if isinstance(kernel, Precomputed) else features)

    @property
    def unit(self) -> float:
        """Rounding error relative to the sum of the absolute values of all terms."""
        return ROUNDING * (len(self.norms) + self.features + ACCUMULATED_SEGMENTS)

    def size(self, beta: Array) -> float:
        """Return Σ |βᵢ| k(xᵢ, xᵢ)^½."""
        return float(np.abs(beta) @ self.norms)

    def reach(self, X: Any) -> Array:
        """Return r(x) with |k(xᵢ, x)| ≤ r(x) k(xᵢ, xᵢ)^½, plus the same for the training sample that determines b.

        r(x) is k(x, x)^½; for a precomputed kernel, the smallest number for which the inequality holds.
        """
        positive = self.norms > 0
        if isinstance(self.kernel, Precomputed):
            r = np.max(np.abs(X[:, positive]) / self.norms[positive], axis=1, initial=0.0)
        else:
            r = np.sqrt(np.maximum(self.kernel.diag(X), 0.0))
        return r + np.max(self.norms, initial=0.0)

    def bound(self, reach: Any, size: Any, offset: Any) -> Any:
        """Return the bound: decision values that do not exceed it count as zero."""
        return self.unit * (reach * size + np.abs(offset))

    def zero_ties(self, values: Array, X: Any, beta: Array, offset: float) -> Array:
        """Return the decision values at the rows of X, with zeros for those within their bound."""
        return np.where(np.abs(values) > self.bound(self.reach(X), self.size(beta), offset), values, 0.0)
