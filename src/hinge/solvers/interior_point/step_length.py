"""Longest step that keeps slacks and multipliers positive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hinge.problems import Array

Mask = NDArray[np.bool_]


def max_step(
    values: tuple[Array, Array, Array, Array],
    direction: tuple[Array, Array, Array, Array],
    has_lower: Mask,
    has_upper: Mask,
    fraction: float,
) -> float:
    """Return `fraction` of the longest step with nonnegative slacks s, t and multipliers z, w; at most 1.

    Parameters
    ----------
    values : tuple of ndarray
        (s, t, z, w).
    direction : tuple of ndarray
        (dx, dμ, dz, dw); the slacks change by dx and −dx.
    has_lower, has_upper : ndarray of bool
        Variables with a finite bound.
    fraction : float
    """
    s, t, z, w = values
    dx, _, dz, dw = direction
    limit = 1.0 / fraction
    for value, change, used in ((s, dx, has_lower), (t, -dx, has_upper), (z, dz, has_lower), (w, dw, has_upper)):
        decreasing = used & (change < 0)
        limit = min(limit, float(np.min(value[decreasing] / -change[decreasing], initial=np.inf)))
    return min(1.0, fraction * limit)
