"""Memory-mapped samples: validation in blocks, and the size of the blocks that are held in memory."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.kernels import available_bytes, cache_bytes
from hinge.kernels.samples import is_mapped

#: cache_size="auto" holds at most this much of a file in memory, and at most the free memory divided by AUTO_DIVISOR.
MAX_AUTO_BYTES = 256 << 20
AUTO_DIVISOR = 4

#: Smallest block.
MIN_BLOCK_BYTES = 1 << 16

#: Values that `check_finite` reads before it releases their pages.
CHECKED_VALUES = 1 << 22


def mapped_parts(X: Any) -> tuple[Any, ...] | None:
    """Return the arrays of X if they are maps of files that need no conversion, and None otherwise."""
    parts: tuple[Any, ...]
    if sp.issparse(X):
        if X.format != "csr":
            return None
        whole = X.dtype in (np.float32, np.float64) and X.indices.dtype in (np.int32, np.int64)
        parts = (X.data, X.indices)
    else:
        parts = (X,)
        whole = isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64) and X.ndim == 2
        whole = whole and X.flags.c_contiguous
    return parts if whole and all(is_mapped(part) for part in parts) else None


def check_finite(values: Any) -> None:
    """Raise if a mapped array contains NaN or infinity; its pages are released after every block."""
    flat = values.reshape(-1)
    for first in range(0, flat.size, CHECKED_VALUES):
        if not np.isfinite(flat[first : first + CHECKED_VALUES]).all():
            raise ValueError("Input X contains NaN or infinity; every feature must be a finite number")
        _release_pages(values)


def _release_pages(array: Any) -> None:
    """Let the system reuse the memory of the pages of a mapped array that were read."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "_mmap", None) or getattr(array, "base", None)
    if array is not None and hasattr(mmap, "MADV_DONTNEED"):
        array.madvise(mmap.MADV_DONTNEED)


def block_bytes(X: Any, cache_size: float | str) -> int:
    """Return the bytes of a mapped X to hold in memory at a time; 0 if X is in memory or fits into this budget."""
    parts = (X.data, X.indices) if sp.issparse(X) else (X,)
    if not all(is_mapped(part) for part in parts):
        return 0
    if isinstance(cache_size, str):
        budget = min(MAX_AUTO_BYTES, available_bytes() // AUTO_DIVISOR)
    else:
        budget = cache_bytes(cache_size)
    budget = max(MIN_BLOCK_BYTES, budget // 2)  # half is for read-ahead and for the parts of other threads
    return 0 if sum(part.nbytes for part in parts) <= budget else budget
