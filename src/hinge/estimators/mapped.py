"""Arrays that are maps of files, and how much of them to hold at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.kernels import available_bytes, cache_bytes

#: "auto" holds at most so much of a file, and no more than a quarter of the free memory.
AUTO_BYTES = 256 << 20


def is_mapped(array: Any) -> bool:
    """Whether an array is a read-only map of a file: only then may its pages be given back."""
    while array is not None:
        if isinstance(array, np.memmap):
            return bool(array.mode == "r")
        array = getattr(array, "base", None)
    return False


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
