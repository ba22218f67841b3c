"""Inner products and distances between the rows of two matrices, dense or CSR, in NumPy and float64.

Squared distances use ‖x − z‖² = ‖x‖² + ‖z‖² − 2x·z. Dense data are centered at the mean of Z first, so that the terms
that cancel have the size of the spread of the data, not of its offset. Where most of the sum cancels nevertheless, it
is computed from differences. Blocks of rows keep temporary arrays small.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy  # scipy.spatial is loaded on first use
from scipy import sparse

from hinge.kernels.algebra import UNIT_ROUNDOFF, Array, Data
from hinge.matrices import check_sparse
from hinge.validation import as_floats

SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)  # values below it may underflow

BLOCK_BYTES = 1 << 26  # size of a temporary array
CANCELLATION = 1e-4  # squared distances below this multiple of ‖x‖² + ‖z‖² are computed from differences
DENSE_FEATURES = 256  # features of sparse samples that are converted to dense at a time

#: Squared distances with bounds on their errors are computed from differences, which have the smallest errors, up to
#: this number of features, where they cost about as much as exp, and up to this number of operations.
DIFFERENCE_FEATURES = 64
DIFFERENCE_OPERATIONS = 1e8


def as_float(X: Data, name: str = "X") -> Data:
    """Return X as a two-dimensional float64 array or CSR array."""
    if sparse.issparse(X):
        check_sparse(X, name)
        return sparse.csr_array(X, dtype=np.float64)
    X = as_floats(X, name)
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (samples × features), got shape {X.shape}")
    return X


def pair(X: Data, Z: Data | None) -> tuple[Data, Data]:
    """Return both arguments of a kernel in float64 after checking their shapes; the same object twice if Z is None."""
    X = as_float(X)
    Z = X if Z is None else as_float(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X and Z must have the same features, got {X.shape[1]} and {Z.shape[1]}")
    return X, Z


def dots(X: Data, Z: Data) -> Array:
    """xᵢ·zⱼ"""
    product = X @ Z.T
    return product.toarray() if sparse.issparse(product) else np.asarray(product)


def bounded_dots(X: Data, Z: Data) -> tuple[Array, Array]:
    """xᵢ·zⱼ and bounds on the rounding errors: |xᵢ|·|zⱼ| times the number of operations."""
    return dots(X, Z), 1.01 * UNIT_ROUNDOFF * (_terms(X, Z) + 2) * dots(abs(X), abs(Z))


def _terms(X: Data, Z: Data) -> int:
    """Return a bound on the number of features in which a row of X or a row of Z is not zero.

    Zeros have no rounding errors.
    """
    counts = (int(np.diff(side.indptr).max(initial=0)) if sparse.issparse(side) else side.shape[1] for side in (X, Z))
    return min(X.shape[1], sum(counts))


def squared_norms(X: Data) -> Array:
    """xᵢ·xᵢ"""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", X, X)


def squared_distances(X: Data, Z: Data) -> Array:
    """‖xᵢ − zⱼ‖²"""
    return _squared_distances(X, Z, None)


def bounded_squared_distances(X: Data, Z: Data) -> tuple[Array, Array]:
    """‖xᵢ − zⱼ‖² and bounds on the rounding errors.                                            docs/math (611)"""
    features, dense = X.shape[1], not sparse.issparse(X) and not sparse.issparse(Z)
    few = features <= DIFFERENCE_FEATURES or X.shape[0] * Z.shape[0] * features <= DIFFERENCE_OPERATIONS
    if dense and few:
        distances = np.asarray(scipy.spatial.distance.cdist(X, Z, "sqeuclidean"))
        return distances, 1.01 * UNIT_ROUNDOFF * (features + 2) * distances + features * SMALLEST_NORMAL
    error = np.empty((X.shape[0], Z.shape[0]))
    return _squared_distances(X, Z, error), error


def _squared_distances(X: Data, Z: Data, error: Array | None) -> Array:
    same, dense = X is Z, not sparse.issparse(X) and not sparse.issparse(Z)
    center = Z.mean(axis=0) if dense and Z.shape[0] else 0.0
    centered = Z - center if dense else Z
    norms = squared_norms(centered)
    out, terms = np.empty((X.shape[0], Z.shape[0])), _terms(X, Z)
    for rows in row_blocks(*out.shape):
        block = X[rows] - center if dense else X[rows]
        sums = norms + squared_norms(block)[:, None]
        out[rows] = sums - 2.0 * dots(block, centered)
        cancelled = out[rows] <= CANCELLATION * sums
        if same:
            cancelled[np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)] = False
        out[rows][cancelled] = _from_differences(X[rows], Z, *np.nonzero(cancelled))
        if error is not None:  # (‖x‖ + ‖z‖)² ≤ 2 (‖x‖² + ‖z‖²); differences have a relative error
            operations = 1.01 * UNIT_ROUNDOFF * (terms + 12)
            error[rows] = operations * np.where(cancelled, out[rows], 2.0 * sums)
    if same:
        np.fill_diagonal(out, 0.0)
        if error is not None:
            np.fill_diagonal(error, 0.0)
    return out


def _from_differences(X: Data, Z: Data, i: np.ndarray, j: np.ndarray) -> Array:
    """Return ‖xᵢ − zⱼ‖² for pairs of indices, without cancellation."""
    blocks = row_blocks(len(i), X.shape[1])
    return np.concatenate([np.empty(0), *(squared_norms(X[i[some]] - Z[j[some]]) for some in blocks)])


def l1_distances(X: Data, Z: Data) -> Array:
    """‖xᵢ − zⱼ‖₁"""
    if not sparse.issparse(X) and not sparse.issparse(Z):
        return scipy.spatial.distance.cdist(X, Z, "cityblock")
    X, Z = sparse.csc_array(X), sparse.csc_array(Z)
    used = np.union1d(*(np.flatnonzero(np.diff(side.indptr)) for side in (X, Z)))
    out = np.zeros((X.shape[0], Z.shape[0]))
    for first in range(0, len(used), DENSE_FEATURES):
        features = used[first : first + DENSE_FEATURES]
        out += scipy.spatial.distance.cdist(X[:, features].toarray(), Z[:, features].toarray(), "cityblock")
    return out


def feature_columns(X: Data, Z: Data) -> Iterator[tuple[Array, Array]]:
    """Return the columns of X and Z, dense, one feature after the other."""
    if sparse.issparse(X) or sparse.issparse(Z):
        X, Z = sparse.csc_array(X), sparse.csc_array(Z)
        for j in range(X.shape[1]):
            yield X[:, [j]].toarray()[:, 0], Z[:, [j]].toarray()[:, 0]
    else:
        yield from zip(X.T, Z.T, strict=True)


def row_blocks(n: int, width: int) -> list[slice]:
    """Return slices of n rows such that a float64 block of this width has at most BLOCK_BYTES bytes."""
    height = max(1, BLOCK_BYTES // max(1, 8 * width))
    return [slice(first, min(n, first + height)) for first in range(0, n, height)]
