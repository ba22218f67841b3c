"""Probabilities whose largest class is the predicted class.

Predictions are made from decision values, probabilities from a calibration of these values. Near the boundary the two
can disagree. The functions of this module return the closest probabilities that agree with the predictions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Share that is added to the probability of the predicted class if another class has the same one: there are no ties.
TIE_SHARE = 1e-9


def agree_two_classes(p: Array, values: Array) -> Array:
    """Return max(p, ½ + δ) for the probability p of the predicted class.                          docs/math (740)

    δ < 1e-9 increases with the absolute decision value. The probability of a class is therefore strictly increasing
    in its decision value also where p < ½ is replaced.
    """
    size = np.abs(values)
    return np.maximum(p, 0.5 + TIE_SHARE * (1e-3 + size / (1.0 + size)))


def agree(p: Array, predicted: NDArray[np.intp]) -> Array:
    """Project probabilities onto those whose largest class is the predicted one.                  docs/math (741)

    The projection replaces the probabilities of the predicted class and of all classes above it by their mean. This is
    the nearest point in the Euclidean norm.

    Parameters
    ----------
    p : ndarray of shape (n_samples, n_classes)
    predicted : ndarray of int
        Position of the predicted class of every sample.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.calibration import agree
    >>> agree(np.array([[0.5, 0.1, 0.4]]), np.array([2])).round(6).tolist()
    [[0.45, 0.1, 0.45]]
    """
    p = np.array(p, dtype=np.float64)
    own = p[np.arange(len(p)), predicted]
    others = p.copy()
    others[np.arange(len(p)), predicted] = -np.inf
    conflict = np.flatnonzero(others.max(axis=1) >= own)
    if len(conflict) == 0:
        return p
    rows = np.arange(len(conflict))
    above = -np.sort(-others[conflict], axis=1)[:, :-1]  # the other classes, descending
    means = (own[conflict, None] + np.cumsum(above, axis=1)) / np.arange(2, p.shape[1] + 1)
    following = np.column_stack([above[:, 1:], np.full(len(rows), -np.inf)])
    # the mean of the smallest pool whose mean is not below any other class
    level = means[rows, np.argmax(means >= following, axis=1)]
    projected = np.minimum(p[conflict], level[:, None])
    projected[rows, predicted[conflict]] = level * (1.0 + TIE_SHARE)
    p[conflict] = projected / projected.sum(axis=1, keepdims=True)
    return p
