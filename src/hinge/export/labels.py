"""Labels of a classifier in the types that other programs have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_INT64 = 2**63 - 1


def plain_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels as an array of int64, float64, bool, or str (with dtype object)."""
    items = classes.tolist()
    kinds = {type(item) for item in items}
    if kinds == {bool}:
        return np.array(items, dtype=np.bool_)
    if kinds == {int} and max(items) <= LARGEST_INT64:
        return np.array(items, dtype=np.int64)
    if kinds == {float}:
        return np.array(items, dtype=np.float64)
    if kinds == {str}:
        return np.array(items, dtype=object)
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(
        f"labels of type {names} cannot be exported (the first is {items[0]!r}): train with labels that are all "
        "integers of 64 bits, all text, all floating-point numbers, or all booleans"
    )
