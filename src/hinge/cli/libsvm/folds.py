"""Folds of cross-validation, with the random numbers that svm-train uses on Linux.

svm-train calls ``rand()`` of the C library without setting a seed. With the same numbers, the folds and therefore the
printed accuracies and the coefficients of probabilities are the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]

LONG_LAG, SHORT_LAG = 31, 3  # of the additive generator of the GNU C library
DISCARDED = 310  # first values of the generator, which ``srand`` discards


class CRandom:
    """``rand()`` of the GNU C library with the seed 1, the default: xᵢ = xᵢ₋₃ + xᵢ₋₃₁ mod 2³², without the last bit."""

    def __init__(self) -> None:
        state = [1]
        for _ in range(LONG_LAG - 1):
            state.append(16807 * state[-1] % 2147483647)
        self._state = deque(state[SHORT_LAG:] + state[:SHORT_LAG], maxlen=LONG_LAG)
        for _ in range(DISCARDED):
            self()

    def __call__(self) -> int:
        """Return the next number, from 0 to 2³¹ − 1."""
        value = (self._state[-SHORT_LAG] + self._state[0]) & 0xFFFFFFFF
        self._state.append(value)
        return value >> 1

    def shuffle(self, rows: Rows) -> Rows:
        """Return the rows in random order, by the exchanges of svm-train."""
        items, n = rows.tolist(), len(rows)
        for i in range(n):
            j = i + self() % (n - i)
            items[i], items[j] = items[j], items[i]
        return np.array(items, dtype=np.intp)


def group_classes(y: NDArray[np.float64]) -> tuple[list[int], list[Rows]]:
    """Labels in the order of their first appearance, and the rows of each class.

    Labels are truncated to integers. The labels −1 and 1 are always in the order 1, −1.
    """
    whole = y.astype(np.int64)
    labels, first = np.unique(whole, return_index=True)
    ordered = labels[np.argsort(first)].tolist()
    if ordered == [-1, 1]:
        ordered = [1, -1]
    return ordered, [np.flatnonzero(whole == label) for label in ordered]


def plain_folds(n: int, n_folds: int, random: CRandom) -> list[Rows]:
    """Random folds of nearly equal size."""
    order = random.shuffle(np.arange(n))
    return [order[k * n // n_folds : (k + 1) * n // n_folds] for k in range(n_folds)]


def stratified_folds(groups: Sequence[Rows], n_folds: int, random: CRandom) -> list[Rows]:
    """Random folds with nearly the same number of samples of every class."""
    orders = [random.shuffle(group) for group in groups]
    folds = []
    for k in range(n_folds):
        parts = [order[k * len(order) // n_folds : (k + 1) * len(order) // n_folds] for order in orders]
        folds.append(np.concatenate(parts))
    return folds


def complement(folds: Sequence[Rows], k: int) -> Rows:
    """The samples of all folds but one, in their order."""
    return np.concatenate([*folds[:k], *folds[k + 1 :], np.empty(0, dtype=np.intp)])
