"""Groups of samples that are left out together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_groups(groups: Any, n: int) -> tuple[list[NDArray[np.intp]], NDArray[np.intp] | None]:
    """Return groups as lists of positions, and the order that restores that of the samples if `groups` are labels."""
    if isinstance(groups, list | tuple) and any(np.ndim(group) for group in groups):
        lists = [np.asarray(group, dtype=np.intp) for group in groups]
        for group in lists:
            if group.size == 0 or group.min() < 0 or group.max() >= n or len(np.unique(group)) != len(group):
                raise ValueError(f"groups must be lists of distinct positions between 0 and {n - 1}, and not empty")
        return lists, None
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups has shape {labels.shape}, but there are {n} samples; pass one label per sample")
    _, which = np.unique(labels, return_inverse=True)
    lists = [np.flatnonzero(which == g) for g in range(which.max() + 1)]
    order = np.empty(n, dtype=np.intp)
    order[np.concatenate(lists)] = np.arange(n)
    return lists, order
