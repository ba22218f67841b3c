"""Scores that svm-train and svm-predict print."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def accuracy(y: Array, predictions: Array) -> float:
    """Share of correct predictions."""
    return float(np.count_nonzero(y == predictions) / len(y))


def regression_scores(y: Array, predictions: Array) -> tuple[float, float]:
    """Mean squared error and squared correlation coefficient; the latter is NaN if either array is constant."""
    n = len(y)
    error = float(np.square(predictions - y).sum() / n)
    sp, sy = float(predictions.sum()), float(y.sum())
    covariance = n * float(predictions @ y) - sp * sy
    variances = (n * float(predictions @ predictions) - sp * sp) * (n * float(y @ y) - sy * sy)
    return error, covariance * covariance / variances if variances else float("nan")
