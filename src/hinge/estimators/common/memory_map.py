"""Arrays that are maps of files, and how much of them to hold at a time."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.kernels import available_bytes, cache_bytes
from hinge.kernels.samples import is_mapped

#: "auto" holds at most so much of a file, and no more than a quarter of the free memory.
AUTO_BYTES = 256 << 20


#: Values of a mapped array to look at between two returns of its pages.
CHECKED_VALUES = 1 << 22


def mapped_parts(X: Any) -> tuple[Any, ...] | None:
    """The arrays of X if X is mapped from files in a form that needs no conversion, else None."""
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
    """Refuse NaN and infinity, looking at some megabytes of a mapped array at a time and giving them back."""
    flat = values.reshape(-1)
    for first in range(0, flat.size, CHECKED_VALUES):
        if not np.isfinite(flat[first : first + CHECKED_VALUES]).all():
            raise ValueError("Input X contains NaN or infinity; machines need finite features")
        _give_back(values)


def _give_back(array: Any) -> None:
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "_mmap", None) or getattr(array, "base", None)
    if array is not None and hasattr(mmap, "MADV_DONTNEED"):
        array.madvise(mmap.MADV_DONTNEED)


def block_bytes(X: Any, cache_size: float | str) -> int:
    """Bytes of X to hold at a time; 0 where X is in memory, or its file is no larger than that."""
    parts = (X.data, X.indices) if sp.issparse(X) else (X,)
    if not all(is_mapped(part) for part in parts):
        return 0
    if isinstance(cache_size, str):
        budget = min(AUTO_BYTES, available_bytes() // 4)
    else:
        budget = cache_bytes(cache_size)
    budget = max(1 << 16, budget // 2)  # the system reads ahead, and threads hold a part each
    return 0 if sum(part.nbytes for part in parts) <= budget else budget
