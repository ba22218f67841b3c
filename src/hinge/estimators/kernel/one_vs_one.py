"""One-vs-one classification with more than two classes: pairs of classes, the layout of LIBSVM, votes.

The first class of a pair is positive in its subproblem.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import _ovr_decision_function

from hinge.estimators.common.validation import TrainingData
from hinge.model import Expansion
from hinge.problems import Array


def class_pairs(y: NDArray[Any], classes: NDArray[Any]) -> list[tuple[NDArray[np.intp], Array]]:
    """Samples and signs of every pair of classes."""
    return [
        (np.concatenate([first, second]), np.repeat([1.0, -1.0], [len(first), len(second)]))
        for first, second in combinations(class_members(y, classes), 2)
    ]


def class_members(y: NDArray[Any], classes: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Positions of the samples of every class."""
    return [np.flatnonzero(y == label) for label in classes]


def libsvm_layout(
    data: TrainingData,
    classes: NDArray[Any],
    rows: Sequence[NDArray[np.intp] | None],
    expansions: Sequence[Expansion],
) -> tuple[NDArray[np.intp], list[int], Array, Array]:
    """Arrange the functions of all pairs as LIBSVM does.

    Returns
    -------
    support : ndarray of int
        Positions of the support vectors, ordered by class.
    counts : list of int
        Number of support vectors of every class.
    coefficients : ndarray of shape (n_support_vectors, n_pairs)
    layout : ndarray of shape (n_classes - 1, n_support_vectors)
        `dual_coef_`: row r holds the coefficients of the functions against the r-th of the other classes.
    """
    members, n_classes = class_members(data.y, classes), len(classes)
    used = np.zeros(data.n, dtype=bool)
    of_pair: list[tuple[NDArray[np.intp], Array]] = []  # of every pair: support vectors, coefficients
    for index, expansion in zip(rows, expansions, strict=True):
        inside = np.flatnonzero(expansion.coefficients)
        positions = inside if index is None else index[inside]
        of_pair.append((positions, expansion.coefficients[inside]))
        used[positions] = True
    counts = [int(used[positions].sum()) for positions in members]
    support = np.concatenate([positions[used[positions]] for positions in members])
    place = np.empty(data.n, dtype=np.intp)
    place[support] = np.arange(len(support))
    class_of = np.repeat(np.arange(n_classes), counts)
    coefficients = np.zeros((len(support), len(rows)))
    layout = np.zeros((n_classes - 1, len(support)))
    for column, (first, second) in enumerate(combinations(range(n_classes), 2)):
        at, values = place[of_pair[column][0]], of_pair[column][1]
        coefficients[at, column] = values
        layout[np.where(class_of[at] == first, second - 1, first), at] = values
    return support, counts, coefficients, layout


def class_values(values: Array, classes: NDArray[Any]) -> Array:
    """Votes of every class plus a confidence below ½, from the decision values of all pairs."""
    return _ovr_decision_function(values < 0, -values, len(classes))


def votes(values: Array, n_classes: int) -> NDArray[np.floating]:
    """Number of pairs that every class wins, as a matrix product of integers that are exact in float32."""
    first, second = np.triu_indices(n_classes, 1)
    pairs = np.arange(len(first))
    gains = np.zeros((len(pairs), n_classes), dtype=np.float32)  # change of the votes by a positive value
    gains[pairs, first], gains[pairs, second] = 1.0, -1.0
    return (values > 0).astype(np.float32) @ gains + np.arange(n_classes)  # class k is the second of k pairs
