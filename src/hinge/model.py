"""What prediction needs, nothing else: a kernel, support vectors, coefficients, offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Kernel, expand, products

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Expansion:
    """f(x) = Σᵢ coefficients[i] k(xᵢ, x) + intercept over the training samples, and what else the machine found.

    `margin` is ρ of ν-classification (coefficients are already divided by it), `tube` is ε of ν-regression.
    """

    coefficients: Array
    intercept: float
    margin: float = 1.0
    tube: float = 0.0


@dataclass(frozen=True)
class KernelModel:
    """Decision values K(X, vectors) @ coefficients + intercept, one column per machine.

    For a precomputed kernel there are no vectors: X holds kernel values, one column per support vector.
    """

    kernel: Kernel
    vectors: Any
    coefficients: Array
    intercept: Array

    def decide(self, X: Any, n_threads: int = 1) -> Array:
        """Decision values of the rows of X, (n_rows × n_machines)."""
        return expand(self.kernel, X, self.vectors, self.coefficients, threads=n_threads) + self.intercept


@dataclass(frozen=True)
class DictionaryModel:
    """The sum of several kernel expansions, and an intercept for every output."""

    parts: tuple[KernelModel, ...]
    intercept: Array

    def decide(self, X: Any, n_threads: int = 1) -> Array:
        """Values at the rows of X, (n_rows × n_outputs)."""
        values = np.tile(self.intercept, (X.shape[0], 1))
        for part in self.parts:
            if len(part.coefficients):
                values += part.decide(X, n_threads)
        return values


@dataclass(frozen=True)
class LinearModel:
    """Decision values ⟨w, x⟩ + b, one column per machine; `weights` has one row per machine."""

    weights: Array
    intercept: Array

    def decide(self, X: Any, n_threads: int = 1) -> Array:
        """Decision values of the rows of X, (n_rows × n_machines), without a copy of X."""
        return products(X, self.weights, threads=n_threads) + self.intercept
