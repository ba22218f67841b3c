"""Models: objects that predict. They do not depend on training code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge import _core
from hinge.kernels import Kernel, expand, products
from hinge.kernels.samples import view

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Expansion:
    """f(x) = Σᵢ coefficients[i] k(xᵢ, x) + intercept over the training samples, recovered from a dual solution.

    Attributes
    ----------
    coefficients : ndarray
        One per training sample of the subproblem.
    intercept : float
    margin : float
        ρ of ν-classification, by which the coefficients are already divided.
    tube : float
        ε of ν-regression.
    """

    coefficients: Array
    intercept: float
    margin: float = 1.0
    tube: float = 0.0


@dataclass(frozen=True)
class KernelModel:
    """Decision values K(X, vectors) @ coefficients + intercept, one column per function.

    A precomputed kernel has no vectors: X then holds kernel values, one column per support vector.
    """

    kernel: Kernel
    vectors: Any
    coefficients: Array
    intercept: Array

    def decide(self, X: Any, n_threads: int = 1) -> Array:
        """Decision values of the rows of X, (n_rows × n_functions)."""
        if _is_native(X) and self._native is not None:
            kernel, vectors = self._native
            coefficients = np.ascontiguousarray(self.coefficients, dtype=np.float64)
            return _core.expand(_core.Samples.dense(X), vectors, kernel, coefficients, n_threads) + self.intercept
        return expand(self.kernel, X, self.vectors, self.coefficients, threads=n_threads) + self.intercept

    @cached_property
    def _native(self) -> tuple[_core.Kernel, _core.Samples] | None:
        """The kernel and the support vectors as objects of the compiled core; None for kernels in Python."""
        nodes = self.kernel.nodes()
        if nodes is None:
            return None
        vectors = self.vectors
        samples = _core.Samples.dense(vectors) if _is_native(vectors) else view(vectors).native
        return _core.Kernel(nodes), samples

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_native"}


def _is_native(X: Any) -> bool:
    """Whether the compiled core can read X as it is."""
    return type(X) is np.ndarray and X.dtype.char in "fd" and X.dtype.isnative and X.flags.c_contiguous and X.ndim == 2


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
    """Decision values ⟨w, x⟩ + b, one column per function; `weights` has one row per function."""

    weights: Array
    intercept: Array

    def decide(self, X: Any, n_threads: int = 1) -> Array:
        """Decision values of the rows of X, (n_rows × n_functions), without a copy of X."""
        return products(X, self.weights, threads=n_threads) + self.intercept


@dataclass(frozen=True)
class PartlyLinearModel:
    """The sum of a kernel expansion and a linear function for every output."""

    expansion: KernelModel
    linear: LinearModel

    @property
    def intercept(self) -> Array:
        """Intercept of every output."""
        return self.expansion.intercept + self.linear.intercept

    def decide(self, X: Any, n_threads: int = 1) -> Array:
        """Values at the rows of X, (n_rows × n_outputs)."""
        return self.expansion.decide(X, n_threads) + self.linear.decide(X, n_threads)
