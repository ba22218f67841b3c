"""Views of the samples for the compiled core. User arrays are never changed, and copied only if necessary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hinge import _core
from hinge.kernels.algebra import Data
from hinge.matrices import check_sparse


@dataclass(frozen=True)
class SampleView:
    """Samples as an array or CSR matrix (``data``) and as an object of the compiled core (``native``)."""

    data: Data
    native: _core.Samples

    @property
    def n(self) -> int:
        return self.data.shape[0]


def is_mapped(array: Any) -> bool:
    """Whether an array is a read-only memory map of a file. Pages of other arrays must not be released."""
    while array is not None:
        if isinstance(array, np.memmap):
            return bool(array.mode == "r")
        array = getattr(array, "base", None)
    return False


def view(X: Data, mapped: bool = False, threads: int = 1) -> SampleView:
    """Return a view of X without a copy if X is a C-contiguous float32 or float64 array or canonical CSR.

    If `mapped`, the arrays must be read-only memory maps of files; their pages are released while they are checked. In
    other memory, releasing pages would destroy the data.
    """
    if sparse.issparse(X):
        if not mapped:  # SciPy would read the whole file at once; the core checks the order of indices in parts
            X = canonical(X)
        index = X.indices.dtype  # use this type for indptr too: indptr is shorter and cheaper to convert
        if X.nnz > np.iinfo(index).max:
            index = np.result_type(X.indices, X.indptr)
        indices, indptr = X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False)
        if mapped:
            _check_mapped(X.data, indices)
        return SampleView(X, _core.Samples.csr(X.data, indices, indptr, X.shape[1], mapped, threads))
    X = contiguous(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (samples × features), got shape {X.shape}")
    if mapped:
        _check_mapped(X)
    return SampleView(X, _core.Samples.dense(X))


def _check_mapped(*parts: np.ndarray) -> None:
    if not all(is_mapped(part) for part in parts):
        raise ValueError(
            "block_bytes > 0 needs samples in read-only memory maps of files: pass np.memmap(..., mode='r') with "
            "float32 or float64 in C order, or CSR of such arrays (see hinge.io.map_libsvm), or use block_bytes=0"
        )


def all_finite(X: Data, threads: int = 1) -> bool:
    """Whether all stored values of X, an array or CSR matrix of floats, are finite."""
    values = X.data.reshape(1, -1) if sparse.issparse(X) else X
    return bool(_core.Samples.dense(contiguous(values)).finite(threads))


def contiguous(X: object) -> np.ndarray:
    """Return X in C order as float32 or float64; other types are converted to float64."""
    X = np.asarray(X)
    return np.ascontiguousarray(X, dtype=X.dtype.type if X.dtype in (np.float32, np.float64) else np.float64)


def canonical(X: Data) -> Data:
    """Return X as float32 or float64 CSR with sorted indices and no duplicates; X itself if it already is."""
    if not vars(X).get("_has_canonical_format"):  # SciPy would follow invalid indices; the core checks all others
        check_sparse(X)
    csr = X.tocsr()
    if csr.dtype not in (np.float32, np.float64):
        csr = csr.astype(np.float64)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr
