"""How many unlabelled samples are positive: what the machine says, less the error it is known to make.  (470)–(473)"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hinge.problems import Array

#: Parts into which the labelled samples are dealt; each is looked at by the machine of the others.
FOLDS = 10


def deal(y: Array, folds: int = FOLDS) -> list[NDArray[np.intp]]:
    """Groups of positions with both classes in the shares they have; none if a class has one sample only.

    The samples of each class are dealt out in their order, so that neighbours (of a series, say) are apart.
    """
    sides = [np.flatnonzero(y > 0), np.flatnonzero(y <= 0)]
    folds = min(folds, *(len(side) for side in sides))
    return [np.concatenate([side[k::folds] for side in sides]) for k in range(folds)] if folds > 1 else []


def correction(y: Array, scores: Array, weight: Array) -> float:
    """What to add to the share of positives that a machine predicts.                       docs/math (470)–(472)

    Parameters
    ----------
    y, scores, weight : ndarray
        Labels ±1 of labelled samples, what a machine that has not seen them says, and their weights.

    Returns
    -------
    float
        The positives that are missed less the negatives that are taken for positive, as a share, shrunk by the part of
        its square that chance explains. Zero where chance explains all of it (McNemar's statistic is at most 1), and
        where as many positives as there are, those with the largest scores, would not make fewer errors.
    """
    positive, said = y > 0, scores > 0
    missed = positive.astype(float) - said
    total = float(np.sum(weight))
    mean = float(weight @ missed) / total
    chance = float(np.sum((weight * missed) ** 2)) / total**2
    balanced = np.zeros(len(y), dtype=bool)
    balanced[np.argsort(-scores, kind="stable")[: np.count_nonzero(positive)]] = True
    if mean == 0 or weight @ (balanced != positive) >= weight @ (said != positive):
        return 0.0
    return mean * max(0.0, 1.0 - chance / mean**2)
