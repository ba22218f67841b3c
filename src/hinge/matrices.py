"""Structure of matrices: indices of sparse matrices, names of columns, and properties of kernel matrices.

Only NumPy and SciPy are used, so that every package may import this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

#: Relative difference of K[i, j] and K[j, i] that is attributed to rounding.
SYMMETRY_TOL = 1e-5

#: An eigenvalue of an n × n kernel matrix K is a rounding error if it is above −EIGENVALUE_TOL · n · max |K[i, j]|.
EIGENVALUE_TOL = 1e-10

#: Number of samples up to which a precomputed matrix is checked for negative eigenvalues.
MAX_EIGENVALUE_SIZE = 3000

#: Rows of a matrix that are compared with its transpose at a time, to avoid a copy of the matrix.
SYMMETRY_BLOCK = 512


# ---- sparse matrices ------------------------------------------------------------------------------------------------


def check_sparse(X: Any, name: str = "X") -> None:
    """Raise a ValueError if the index arrays of a sparse matrix do not fit its shape.

    SciPy and the compiled core do not check them: invalid indices would read or write outside the arrays.
    """
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: {name} is a sparse array of shape {X.shape}; pass one "
            "with samples as rows"
        )
    if X.format in ("csr", "csc", "bsr"):
        reason = _compressed_flaw(X)
    elif X.format == "coo":
        reason = _index_flaw(X.row, X.shape[0], "row") or _index_flaw(X.col, X.shape[1], "column")
        reason = reason or ("" if len(X.row) == len(X.col) == len(X.data) else "its arrays have different lengths")
    else:
        reason = ""  # the other formats are converted by Python code, which checks the indices
    if reason:
        raise ValueError(f"{name} is a damaged sparse matrix: {reason}. Build it again from its data")


def _compressed_flaw(X: Any) -> str:
    """Return what is wrong with the arrays of a CSR, CSC or BSR matrix; an empty string if nothing is."""
    block = X.blocksize if X.format == "bsr" else (1, 1)
    rows, columns = (size // length for size, length in zip(X.shape, block, strict=True))
    if X.format == "csc":
        rows, columns = columns, rows
    data, indices, indptr = X.data, X.indices, X.indptr
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i" or indices.ndim != 1 or indptr.ndim != 1:
        return "indices and indptr must be vectors of integers"
    if len(indptr) != rows + 1:
        return f"indptr has {len(indptr)} entries, but {rows + 1} are needed"
    if indptr[0] != 0:
        return f"indptr[0] is {indptr[0]}, but it must be 0"
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if len(falls):
        i = int(falls[0]) + 1
        return f"indptr[{i}] is {indptr[i]}, below indptr[{i - 1}], which is {indptr[i - 1]}"
    count = int(indptr[-1])
    if count > len(indices) or count > len(data):
        return f"indptr ends with {count}, but there are {len(indices)} indices and {len(data)} values"
    return _index_flaw(indices[:count], columns, "row" if X.format == "csc" else "column")


def _index_flaw(indices: NDArray[Any], size: int, what: str) -> str:
    if len(indices) == 0 or (indices.min() >= 0 and indices.max() < size):
        return ""
    k = int(np.flatnonzero((indices < 0) | (indices >= size))[0])
    return f"the {what} index {indices[k]} (entry {k}) is outside [0, {size})"


# ---- names of columns -----------------------------------------------------------------------------------------------


def column_names(X: Any) -> NDArray[Any] | None:
    """Return the column names of a data frame as text; None for other data, and if not all names are text."""
    columns = getattr(X, "columns", None)
    if columns is None or sp.issparse(X) or not all(isinstance(name, str) for name in columns):
        return None
    return np.array(list(columns), dtype=object)


def check_column_names(X: Any, names: NDArray[Any] | None, name: str = "X") -> None:
    """Raise a ValueError if a data frame has other column names than the training data, or another order."""
    given = column_names(X)
    if given is None or names is None or np.array_equal(given, names):
        return
    if len(given) == len(names) and set(given) == set(names):
        k = int(np.flatnonzero(given != names)[0])
        raise ValueError(
            f"the columns of {name} have another order than those of the training data: column {k} is {given[k]!r}, "
            f"not {names[k]!r}. Reorder them by name"
        )
    if len(given) == len(names):
        k = next(i for i, value in enumerate(given) if value not in set(names))
        raise ValueError(f"{name} has the column {given[k]!r}, which the training data did not have")


def check_kernel_names(K: Any) -> None:
    """Raise a ValueError if rows and columns of a kernel matrix with names are in different orders."""
    names, index = column_names(K), getattr(K, "index", None)
    if names is None or index is None or not all(isinstance(name, str) for name in index):
        return
    rows = np.array(list(index), dtype=object)
    if len(rows) == len(names) and set(rows) == set(names) and not np.array_equal(rows, names):
        raise ValueError(
            "the rows and columns of the precomputed matrix have the same names in different orders: reorder the "
            "columns by the names of the rows, K = K[K.index]"
        )


# ---- kernel matrices ------------------------------------------------------------------------------------------------


def check_symmetric(K: NDArray[Any]) -> None:
    """Raise unless K is a square matrix that is symmetric up to rounding."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"Precomputed matrix must be a square matrix. Input is a {K.shape[0]}x{K.shape[1]} matrix.")
    if not is_symmetric(K):
        raise ValueError(
            "Precomputed matrix must be symmetric: K[i, j] and K[j, i] differ. Pass (K + K.T) / 2 if they "
            "differ by rounding only"
        )


def check_positive_semidefinite(K: NDArray[Any]) -> None:
    """Raise a ValueError if a symmetric matrix of moderate size has an eigenvalue below zero, up to rounding."""
    n = len(K)
    if not 0 < n <= MAX_EIGENVALUE_SIZE:
        return
    scale = float(np.max(np.abs(np.diagonal(K)), initial=0.0))
    slack = EIGENVALUE_TOL * n * max(scale, float(np.max(np.abs(K))))
    shifted = np.array(K, dtype=np.float64)
    shifted[np.diag_indices(n)] += slack
    try:
        np.linalg.cholesky(shifted)
        return
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(shifted)[0]) - slack
    if smallest < -slack:
        raise ValueError(
            f"the precomputed matrix is not positive semidefinite: its smallest eigenvalue is {smallest:.3g}, and the "
            "problem is not convex. Add a multiple of the identity to the matrix, or set its negative eigenvalues to "
            "zero"
        )


def is_symmetric(K: NDArray[Any]) -> bool:
    """Whether a square matrix is symmetric up to rounding, compared block by block without a copy of the matrix."""
    allowed = SYMMETRY_TOL * float(np.max(np.abs(np.diagonal(K)), initial=0.0))
    for first in range(0, len(K), SYMMETRY_BLOCK):
        rows = slice(first, first + SYMMETRY_BLOCK)
        difference = np.abs(K[rows, first:] - K[first:, rows].T)
        if np.any(difference > np.maximum(allowed, SYMMETRY_TOL * np.abs(K[rows, first:]))):
            return False
    return True
