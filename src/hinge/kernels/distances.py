"""Inner products and distances between the rows of two matrices, dense or CSR, in NumPy and float64.

Squared distances use ‖x − z‖² = ‖x‖² + ‖z‖² − 2x·z, dense ones after moving the origin to the mean of Z, so
that what cancels is of the size of the data's spread, not of its offset; where most of it cancels, the sum is
taken over differences instead.  Row blocks keep temporaries small.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from hinge.kernels.algebra import Array, Data

BLOCK_BYTES = 1 << 26  # of a temporary
NEAR = 1e-4  # of ‖x‖² + ‖z‖²: squared distances below it are summed from differences
FEATURES = 256  # of sparse samples made dense at a time


def as_float(X: Data, name: str = "X") -> Data:
    """X as a float64 array or CSR array of two dimensions."""
    if sparse.issparse(X):
        return sparse.csr_array(X, dtype=np.float64)
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (samples × features), got shape {X.shape}")
    return X


def pair(X: Data, Z: Data | None) -> tuple[Data, Data]:
    """Both sides of a kernel matrix, checked against each other; the same object if Z is left out."""
    X = as_float(X)
    Z = X if Z is None else as_float(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"X and Z must have the same features, got {X.shape[1]} and {Z.shape[1]}")
    return X, Z


def dots(X: Data, Z: Data) -> Array:
    """xᵢ·zⱼ"""
    product = X @ Z.T
    return product.toarray() if sparse.issparse(product) else np.asarray(product)


def squared_norms(X: Data) -> Array:
    """xᵢ·xᵢ"""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", X, X)


def squared_distances(X: Data, Z: Data) -> Array:
    """‖xᵢ − zⱼ‖²"""
    same, dense = X is Z, not sparse.issparse(X) and not sparse.issparse(Z)
    centre = Z.mean(axis=0) if dense and Z.shape[0] else 0.0
    moved = Z - centre if dense else Z
    norms = squared_norms(moved)
    out = np.empty((X.shape[0], Z.shape[0]))
    for rows in row_blocks(*out.shape):
        block = X[rows] - centre if dense else X[rows]
        sums = norms + squared_norms(block)[:, None]
        out[rows] = sums - 2.0 * dots(block, moved)
        near = out[rows] <= NEAR * sums
        if same:
            near[np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)] = False
        out[rows][near] = _from_differences(X[rows], Z, *np.nonzero(near))
    if same:
        np.fill_diagonal(out, 0.0)
    return out


def _from_differences(X: Data, Z: Data, i: np.ndarray, j: np.ndarray) -> Array:
    """‖xᵢ − zⱼ‖² for pairs of indices, without cancellation."""
    blocks = row_blocks(len(i), X.shape[1])
    return np.concatenate([np.empty(0), *(squared_norms(X[i[some]] - Z[j[some]]) for some in blocks)])


def l1_distances(X: Data, Z: Data) -> Array:
    """‖xᵢ − zⱼ‖₁"""
    if not sparse.issparse(X) and not sparse.issparse(Z):
        return cdist(X, Z, "cityblock")
    X, Z = sparse.csc_array(X), sparse.csc_array(Z)
    used = np.union1d(*(np.flatnonzero(np.diff(side.indptr)) for side in (X, Z)))
    out = np.zeros((X.shape[0], Z.shape[0]))
    for first in range(0, len(used), FEATURES):
        features = used[first : first + FEATURES]
        out += cdist(X[:, features].toarray(), Z[:, features].toarray(), "cityblock")
    return out


def row_blocks(n: int, width: int) -> list[slice]:
    """Slices of n rows such that a float64 block of the given width stays within BLOCK_BYTES."""
    height = max(1, BLOCK_BYTES // max(1, 8 * width))
    return [slice(first, min(n, first + height)) for first in range(0, n, height)]
