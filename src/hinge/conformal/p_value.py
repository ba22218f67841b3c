"""The p-value of a candidate label as an exact step function of the label.     docs/math (526), (527)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.conformal.quantiles import lower_rank
from hinge.problems import Array

#: Differences of residuals below this multiple of their scale, or below their rounding errors, are ties. Ties count in
#: favor of the label.
TIE_TOL = 1e-11


@dataclass(frozen=True)
class PValue:
    """p(y) = (1 + number of closed intervals that contain y) / (n + 1).

    Attributes
    ----------
    n : int
        Number of training samples.
    starts, ends : ndarray
        Sorted ends of the intervals of labels for which the residual of a training sample is at least that of the new
        sample.
    tolerance : float
        Labels that differ by less are equal.
    """

    n: int
    starts: Array
    ends: Array
    tolerance: float

    def __call__(self, y: float) -> float:
        """Return the p-value of the label y."""
        started = np.searchsorted(self.starts, y + self.tolerance, side="right")
        ended = np.searchsorted(self.ends, y - self.tolerance, side="left")
        return float(1 + started - ended) / (self.n + 1)

    def region(self, alpha: float) -> Array:
        """Return the intervals of labels with p(y) > α, (n_intervals × 2), in ascending order."""
        needed = lower_rank(alpha, self.n)
        if needed == 0:
            return np.array([[-np.inf, np.inf]])
        points = np.concatenate([self.starts, self.ends])
        change = np.repeat([1, -1], [len(self.starts), len(self.ends)])
        order = np.lexsort([-change, points])  # closed intervals: starts before ends
        count = np.cumsum(change[order])
        before = count - change[order]
        low = points[order][(count >= needed) & (before < needed)]
        high = points[order][(count < needed) & (before >= needed)]
        if len(low) > 1:  # intervals that are separated by rounding errors only
            apart = low[1:] - high[:-1] > self.tolerance
            low, high = low[np.append(True, apart)], high[np.append(apart, True)]
        return np.stack([low, high], axis=1)


def p_value_of_pieces(ends: Array, residuals: Array, own: Array, rounding: Array, offset: float = 0.0) -> PValue:
    """Return the p-value from residuals that are linear between the labels `ends`.

    Parameters
    ----------
    ends : ndarray of shape (n_pieces, 2)
        Ascending; the end of a piece is the start of the next one. The order of the absolute residuals does not change
        before the first label and after the last one.
    residuals : ndarray of shape (n_pieces, 2, n)
        Residuals of the training samples at the ends of every piece.
    own : ndarray of shape (n_pieces, 2)
        Residual of the new sample.
    rounding : ndarray of shape (n_pieces,)
        Rounding errors of the residuals.
    offset : float, default=0.0
        Number that is added to all labels.
    """
    n = residuals.shape[2]
    scale = 1e-300 + float(np.abs(residuals).max(initial=0.0))
    u, v = residuals - own[:, :, None], residuals + own[:, :, None]
    roots = np.sort(np.stack([_root(u[:, 0], u[:, 1]), _root(v[:, 0], v[:, 1])], axis=1), axis=1)
    P = len(ends)
    s = np.concatenate([np.zeros((P, 1, n)), roots, np.ones((P, 1, n))], axis=1)  # ends of three parts of every piece
    middle = 0.5 * (s[:, :-1] + s[:, 1:])
    product = np.ones((P, 3, n))
    for w in (u, v):
        value = w[:, :1] + middle * (w[:, 1:] - w[:, :1])
        value[np.abs(value) <= TIE_TOL * scale + rounding[:, None, None]] = 0.0
        product *= value
    inside = (product >= 0).reshape(3 * P, n)
    length = (ends[:, 1] - ends[:, 0])[:, None, None]
    empty = ((s[:, 1:] - s[:, :-1]) * length <= 0).reshape(3 * P, n)
    inside = _fill(inside, empty)
    labels = ends[:, :1, None] + s * length
    left, right = labels[:, :-1].reshape(3 * P, n), labels[:, 1:].reshape(3 * P, n)
    outside = np.zeros((1, n), dtype=bool)
    begins = inside & ~np.vstack([outside, inside[:-1]])
    stops = inside & ~np.vstack([inside[1:], outside])
    left[0], right[-1] = -np.inf, np.inf
    tolerance = TIE_TOL * scale + float(np.spacing(abs(offset)))
    return PValue(n, np.sort(left[begins]) + offset, np.sort(right[stops]) + offset, tolerance)


def _root(start: Array, end: Array) -> Array:
    """The zero in (0, 1) of the linear function with these values at 0 and 1; 1 if it has no zero there."""
    crosses = (start < 0) != (end < 0)
    difference = np.where(crosses, start - end, 1.0)
    return np.where(crosses, np.clip(start / difference, 0.0, 1.0), 1.0)


def _fill(inside: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """Give parts of length zero the value of the part before; the first parts, that of the part after."""
    rows = np.arange(len(inside))[:, None]
    before = np.maximum.accumulate(np.where(empty, -1, rows), axis=0)
    after = np.minimum.accumulate(np.where(empty, len(inside), rows)[::-1], axis=0)[::-1]
    source = np.where(before >= 0, before, np.minimum(after, len(inside) - 1))
    return np.take_along_axis(inside, source, axis=0)
