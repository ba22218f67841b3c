"""Kernels that the user provides: a precomputed matrix or a Python function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from hinge.kernels.algebra import Array, Data, Kernel
from hinge.kernels.distances import pair
from hinge.matrices import is_symmetric
from hinge.validation import as_rows

DIAGONAL_BLOCK = 64  # samples per call of the function when only the diagonal is needed


@dataclass(frozen=True)
class Precomputed(Kernel):
    """k(i, j) = Kᵢⱼ: the kernel matrix is passed in place of the samples.

    Training takes the square matrix of all training samples. Prediction takes one row per new sample and one column
    per training sample.

    Examples
    --------
    >>> import hinge
    >>> from hinge.kernels import RBF
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> K = RBF(1.0)(X, X)
    >>> model = hinge.SVC(kernel="precomputed").fit(K, y)
    >>> bool(abs(model.decision_function(K) - hinge.SVC(gamma=1.0).fit(X, y).decision_function(X)).max() < 1e-6)
    True
    """

    combinable: ClassVar[bool] = False

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        if Z is not None:
            raise ValueError("a precomputed kernel takes one matrix, K(X, Z) itself, and no Z")
        K = pair(X, None)[0]
        return K.toarray() if sparse.issparse(K) else K

    def diag(self, X: Data) -> Array:
        K = self(X)
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"a precomputed kernel matrix must be square, got shape {K.shape}")
        return np.diagonal(K).copy()

    @property
    def psd(self) -> None:
        return None

    def nodes(self) -> None:
        return None


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """k(x, z) by a Python function: ``function(X, Z)`` returns the matrix of values, as in scikit-learn.

    Examples
    --------
    >>> import hinge
    >>> from hinge.kernels import FunctionKernel
    >>> from sklearn.metrics.pairwise import chi2_kernel
    >>> model = hinge.SVC(kernel=FunctionKernel(chi2_kernel)).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    >>> model.predict([[0.2, 0.8]])
    array([0])
    """

    function: Callable[[Data, Data], Data]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function={self.function!r} must be a function (X, Z) -> matrix")

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        square, X = Z is None, as_rows(X)
        Z = X if Z is None else as_rows(Z, "Z")
        name = getattr(self.function, "__name__", repr(self.function))
        expected = (X.shape[0], Z.shape[0])
        values = self.function(X, Z)
        matrix = values.toarray() if sparse.issparse(values) else values
        if not (isinstance(matrix, np.ndarray) and matrix.dtype.kind in "biuf"):
            dtype = f" of dtype {matrix.dtype}" if isinstance(matrix, np.ndarray) else ""
            raise ValueError(
                f"the kernel function {name} must return a real array of shape {expected}, "
                f"but it returned {type(values).__name__}{dtype}"
            )
        if matrix.shape != expected:
            raise ValueError(
                f"the kernel function {name} must return a matrix of shape {expected}, "
                f"one row per row of X and one column per row of Z, but it returned shape {matrix.shape}"
            )
        if not np.isfinite(matrix).all():
            raise ValueError(f"the kernel function {name} must return finite values, not NaN or infinity")
        if square and not is_symmetric(matrix):
            raise ValueError(
                f"the kernel function {name} must be symmetric, but its values for (x, z) and (z, x) differ; "
                "return their mean instead"
            )
        return matrix.astype(np.float64, copy=False)

    def diag(self, X: Data) -> Array:
        blocks = (X[k : k + DIAGONAL_BLOCK] for k in range(0, X.shape[0], DIAGONAL_BLOCK))
        return np.concatenate([np.diagonal(self(block)) for block in blocks] or [np.empty(0)])

    @property
    def psd(self) -> None:
        return None

    def nodes(self) -> None:
        return None
