"""Probability of an inlier, from the ranks of decision values among those of the training samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

N_MARKS = 10  # number of marks, which divide the decision values into eleven bins
EXTREME_PROBABILITY = 0.001  # below the first mark; 1 − 0.001 above the last one


def density_marks(values: ArrayLike) -> Array | None:
    """Return ten ascending marks that divide decision values into bins of probabilities 0.1, 0.2, ...

    Half of the bins are below zero and half above. The marks are the midpoints between quantiles of the negative and
    of the positive decision values. Return None if there are fewer than five of either sign.

    Parameters
    ----------
    values : array-like of shape (n,)
        Decision values of the training samples.
    """
    f = np.sort(np.asarray(values, dtype=np.float64))
    negative = int(np.count_nonzero(f < 0))
    positive = len(f) - negative
    half = N_MARKS // 2
    if negative < half or positive < half:
        return None
    steps = np.arange(half)
    ends = np.concatenate([f[steps * negative // half], [0.0], f[negative - 1 + (steps + 1) * positive // half]])
    return np.asarray(0.5 * (ends[:-1] + ends[1:]))


def inlier_probability(values: ArrayLike, marks: Array) -> Array:
    """Return the probability of an inlier at each decision value, from the bin between the marks that contains it."""
    bins = np.searchsorted(marks, np.asarray(values, dtype=np.float64), side="right")
    return np.clip(bins / N_MARKS, EXTREME_PROBABILITY, 1.0 - EXTREME_PROBABILITY)
