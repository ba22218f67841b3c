"""Estimate of the share of positive unlabeled samples: the predicted share, corrected for the bias.  (470)–(473)"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hinge.problems import Array

FOLDS = 10  # number of folds of the cross-validation on the labeled samples


def stratified_folds(y: Array, folds: int = FOLDS) -> list[NDArray[np.intp]]:
    """Divide positions into folds with the same shares of both classes; an empty list if a class has one sample only.

    Consecutive samples of a class are put into different folds, because neighbours (of a time series, say) are similar.
    """
    sides = [np.flatnonzero(y > 0), np.flatnonzero(y <= 0)]
    folds = min(folds, *(len(side) for side in sides))
    return [np.concatenate([side[k::folds] for side in sides]) for k in range(folds)] if folds > 1 else []


def share_correction(y: Array, scores: Array, weight: Array) -> float:
    """Return the correction of the share of positives that a classifier predicts.                docs/math (470)–(472)

    Parameters
    ----------
    y, scores, weight : ndarray
        Labels ±1 of labeled samples, their cross-validated decision values, and their weights.

    Returns
    -------
    float
        The share of false negatives minus that of false positives, multiplied by a shrinkage factor for its variance.
        Zero if the variance explains the difference (McNemar's statistic is at most 1), or if a threshold with the
        right number of positives would not reduce the number of errors.
    """
    positive, predicted = y > 0, scores > 0
    difference = positive.astype(float) - predicted
    total = float(np.sum(weight))
    mean = float(weight @ difference) / total
    variance = float(np.sum((weight * difference) ** 2)) / total**2
    balanced = np.zeros(len(y), dtype=bool)
    balanced[np.argsort(-scores, kind="stable")[: np.count_nonzero(positive)]] = True
    if mean == 0 or weight @ (balanced != positive) >= weight @ (predicted != positive):
        return 0.0
    return mean * max(0.0, 1.0 - variance / mean**2)
