"""Levels, and order statistics of conformal prediction.     docs/math (521), (522)"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from hinge.problems import Array
from hinge.validation import as_number

#: Largest denominator of the fraction that represents a level. 0.1 is then 1/10, and not a number slightly above it.
MAX_DENOMINATOR = 10**6


def check_levels(alpha: Any) -> tuple[list[float], bool]:
    """Return the levels and whether `alpha` is one number."""
    single = np.ndim(alpha) == 0
    levels = [alpha] if single else list(np.asarray(alpha).tolist())
    if not levels:
        raise ValueError("alpha is empty; pass a number between 0 and 1, or several")
    return [check_level(level) for level in levels], single


def check_level(alpha: Any) -> float:
    """Return one level; raise unless it lies strictly between 0 and 1."""
    level = as_number("alpha", alpha)
    if not 0.0 < level < 1.0:
        raise ValueError(f"alpha={alpha!r} must lie strictly between 0 and 1; 0.1 stands for a level of 90 %")
    return level


def upper_rank(alpha: float, n: int) -> int:
    """⌈(1 − α)(n + 1)⌉, exactly for decimal α.                                                       (521)"""
    return ceil((1 - _fraction(alpha)) * (n + 1))


def lower_rank(alpha: float, n: int) -> int:
    """⌊α(n + 1)⌋, exactly for decimal α.                                                             (521)"""
    return floor(_fraction(alpha) * (n + 1))


def _fraction(alpha: float) -> Fraction:
    return Fraction(alpha).limit_denominator(MAX_DENOMINATOR)


def order_statistic(values: Array, rank: int) -> Array:
    """The rank-th smallest value of every row, counted from 1; −∞ for rank 0 and ∞ beyond the number of columns."""
    if rank < 1:
        return np.full(len(values), -np.inf)
    if rank > values.shape[1]:
        return np.full(len(values), np.inf)
    return np.partition(values, rank - 1, axis=1)[:, rank - 1]


def coverage(y: Any, intervals: Any) -> Any:
    """Share of targets inside their intervals; one value for each level of `intervals`, (n, 2) or (n, 2, n_levels).

    Examples
    --------
    >>> from hinge.conformal import coverage
    >>> coverage([1.0, 2.0, 3.0, 4.0], [[0.0, 2.0], [0.0, 1.0], [2.0, 4.0], [3.0, 5.0]])
    0.75
    """
    y, intervals = np.asarray(y, dtype=np.float64), np.asarray(intervals, dtype=np.float64)
    if intervals.ndim not in (2, 3) or intervals.shape[:2] != (len(y), 2):
        raise ValueError(f"intervals has shape {intervals.shape}, but y has {len(y)} values; pass (n, 2) or (n, 2, k)")
    targets = y.reshape(-1, *[1] * (intervals.ndim - 2))
    inside = (intervals[:, 0] <= targets) & (targets <= intervals[:, 1])
    share = inside.mean(axis=0)
    return float(share) if intervals.ndim == 2 else share
