"""Approximation of kernel functions by few others in the values at the samples.                    LwK Problem 10.4"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from hinge.kernels import Kernel, Precomputed, cross
from hinge.lowrank.source import Source, check_samples_finite

Array = NDArray[np.float64]

#: A basis function is dropped if the values that the others leave unexplained are at most this fraction of its values.
DEPENDENCE_TOL = 1e-12

#: Columns of the kernel matrix that are approximated at a time.
TARGETS_PER_BLOCK = 256


@dataclass(frozen=True, repr=False)
class ValueExpansion:
    """The functions k̃ᵢ = Σⱼ αⱼᵢ k(x_basis[j], ·) with the smallest squared error on the samples.   docs/math (358)

    Attributes
    ----------
    basis : ndarray of int
        Indices of the samples that are basis functions. Functions whose values depend linearly on those of the others
        are left out.
    vectors : array or sparse matrix
        These samples; None for a precomputed kernel.
    targets : ndarray of int
        Indices of the samples i whose functions k(xᵢ, ·) are approximated.
    coefficients : ndarray (basis × targets)
        α.
    error : ndarray
        Σ over the samples x of (k(xᵢ, x) − k̃ᵢ(x))², for each target.
    norm : ndarray
        Σ over the samples x of k(xᵢ, x)², for each target.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF
    >>> from hinge.lowrank import expand_values
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> expansion = expand_values(RBF(0.1), X, basis=range(0, 100, 4))
    >>> expansion.coefficients.shape[1], bool(np.all(expansion.error <= expansion.norm))
    (100, True)
    """

    kernel: Kernel
    basis: NDArray[np.intp]
    vectors: Any
    targets: NDArray[np.intp]
    coefficients: Array
    error: Array
    norm: Array

    def __repr__(self) -> str:
        return (
            f"<approximation of {len(self.targets)} functions of {self.kernel!r} by {len(self.basis)} others: "
            f"relative squared error {self.relative_error:.3g}>"
        )

    @property
    def relative_error(self) -> float:
        """Sum of the errors ÷ sum of the norms."""
        total = float(np.sum(self.norm))
        return float(np.sum(self.error)) / total if total > 0 else 0.0

    def values(self, X: Any) -> Array:
        """Return the values of all k̃ᵢ at the rows of X, (rows × targets).

        With a precomputed kernel X holds kernel values with one column per basis function.
        """
        if isinstance(self.kernel, Precomputed):
            X = np.asarray(X, dtype=np.float64)
            if X.ndim != 2 or X.shape[1] != len(self.basis):
                raise ValueError(f"X has shape {X.shape}; a precomputed kernel needs {len(self.basis)} columns")
            return X @ self.coefficients
        return cross(self.kernel, X, self.vectors) @ self.coefficients


def expand_values(
    kernel: Kernel, X: Any, basis: ArrayLike, targets: ArrayLike | None = None, *, threads: int = 1
) -> ValueExpansion:
    """Approximate functions k(xᵢ, ·) by k̃ᵢ = Σⱼ αⱼᵢ k(x_basis[j], ·) in the values at the samples.   LwK Problem 10.4

    α minimizes Σₗ (k(xᵢ, xₗ) − k̃ᵢ(xₗ))², where `Factor` minimizes the distance in the feature space. The kernel need
    not be positive semidefinite. A QR factorization of K^mn costs O(mn²), and each function O(mn).

    Parameters
    ----------
    kernel : Kernel
    X : array, CSR matrix, or a square kernel matrix for `Precomputed`
        The m samples.
    basis : array-like of int
        Indices of the n basis functions, for example `Factor.basis`.
    targets : array-like of int, optional
        Indices of the functions to approximate; all samples by default.
    threads : int, default=1

    Returns
    -------
    ValueExpansion

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF
    >>> from hinge.lowrank import SGMA, expand_values
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> basis = SGMA(rank=20).fit(RBF(0.1), X).basis
    >>> expand_values(RBF(0.1), X, basis).relative_error < 1e-4
    True
    """
    X = np.asarray(X) if not hasattr(X, "shape") else X
    if isinstance(kernel, Precomputed) and (len(X.shape) != 2 or X.shape[0] != X.shape[1]):
        raise ValueError(f"a precomputed kernel matrix must be square, got shape {X.shape}")
    source = Source(kernel.resolve(X), X, threads)
    rows = _indices("basis", basis, source.m)
    columns = np.arange(source.m) if targets is None else _indices("targets", targets, source.m)
    check_samples_finite(X, threads)
    values = source.block(slice(None), rows)
    if not np.isfinite(values).all():
        raise ValueError("the kernel values of X are not finite: scale X, for example with StandardScaler")
    Q, R, order = scipy.linalg.qr(values, mode="economic", pivoting=True, check_finite=False)
    rank = _rank(R)
    Q, R, kept = Q[:, :rank], R[:rank, :rank], order[:rank]
    position = np.argsort(kept)
    coefficients, error, norm = np.zeros((rank, len(columns))), np.zeros(len(columns)), np.zeros(len(columns))
    for first in range(0, len(columns), TARGETS_PER_BLOCK):
        part = slice(first, first + TARGETS_PER_BLOCK)
        wanted = source.block(slice(None), columns[part])
        projected = Q.T @ wanted
        coefficients[:, part] = scipy.linalg.solve_triangular(R, projected, check_finite=False)[position]
        norm[part] = np.einsum("ij,ij->j", wanted, wanted)
        wanted -= Q @ projected
        error[part] = np.einsum("ij,ij->j", wanted, wanted)
    chosen = rows[kept[position]]
    return ValueExpansion(source.kernel, chosen, source.vectors(chosen), columns, coefficients, error, norm)


def _rank(R: Array) -> int:
    """Return the number of leading columns that are numerically independent; the diagonal of R decreases."""
    diagonal = np.abs(np.diagonal(R))
    return int(np.count_nonzero(diagonal > DEPENDENCE_TOL * np.max(diagonal, initial=0.0)))


def _indices(name: str, index: ArrayLike, m: int) -> NDArray[np.intp]:
    """Return indices of samples; raise an error if they are not integers between 0 and m − 1."""
    array = np.asarray(index)
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be a list of positions of samples (integers), and not empty")
    if array.min() < 0 or array.max() >= m:
        wrong = int(array[(array < 0) | (array >= m)][0])
        raise IndexError(f"{name} has the position {wrong}, but there are {m} samples (0 to {m - 1})")
    return array.astype(np.intp)
