"""Samples as the compiled core reads them: the user's own arrays wherever they can be used, never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hinge import _core
from hinge.kernels.algebra import Data


@dataclass(frozen=True)
class SampleView:
    """The samples as array or CSR (``data``) and the compiled core's view on the same memory (``native``)."""

    data: Data
    native: _core.Samples

    @property
    def n(self) -> int:
        return self.data.shape[0]


def is_mapped(array: Any) -> bool:
    """Whether an array is a read-only map of a file: only then may its pages be given back."""
    while array is not None:
        if isinstance(array, np.memmap):
            return bool(array.mode == "r")
        array = getattr(array, "base", None)
    return False


def view(X: Data, mapped: bool = False, threads: int = 1) -> SampleView:
    """A view on C-contiguous float32 or float64 arrays and canonical CSR as they are; on a copy of others.

    `mapped`: the arrays are read-only maps of files, whose pages are given back while they are checked. A ValueError
    where they are not: of other memory, nothing would come back.
    """
    if sparse.issparse(X):
        if not mapped:  # scipy would look at all of a file at once; the core checks its order in parts
            X = canonical(X)
        index = X.indices.dtype  # indptr is the shorter one: where it fits, indices are not copied
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
            "samples that are held in parts must be read-only maps of files, used as they are: give np.memmap(..., "
            "mode='r') in float32 or float64 and C order, or CSR of such arrays (hinge.io.map_libsvm makes them), or "
            "hold all samples (block_bytes=0)"
        )


def all_finite(X: Data, threads: int = 1) -> bool:
    """Whether every stored value of X, an array or CSR of floats, is a number."""
    values = X.data.reshape(1, -1) if sparse.issparse(X) else X
    return bool(_core.Samples.dense(contiguous(values)).finite(threads))


def contiguous(X: object) -> np.ndarray:
    """float32 or float64, C order; float64 if X was anything else."""
    X = np.asarray(X)
    return np.ascontiguousarray(X, dtype=X.dtype.type if X.dtype in (np.float32, np.float64) else np.float64)


def canonical(X: Data) -> Data:
    """CSR with sorted indices and no duplicates, float32 or float64; X itself if it is that already."""
    csr = X.tocsr()
    if csr.dtype not in (np.float32, np.float64):
        csr = csr.astype(np.float64)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr
