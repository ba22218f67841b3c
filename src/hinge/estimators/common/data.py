"""Rows of user data, whatever they are stored in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from hinge.kernels.samples import all_finite
from hinge.problems import Array


@dataclass(frozen=True)
class Data:
    """Validated training data.  `rows` are the original indices of the samples kept (weight above zero)."""

    X: Any
    y: NDArray[Any]
    weight: Array
    rows: NDArray[np.intp]

    @property
    def n(self) -> int:
        """Number of samples kept."""
        return len(self.rows)


def is_plain(X: Any, n_features: int, threads: int = 1) -> bool:
    """Whether X is what validation would make of it: samples in C order, floats, finite."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "fd"
        and X.dtype.isnative
        and X.flags.c_contiguous
        and X.shape[0] > 0
        and X.shape[1] == n_features
        and all_finite(X, threads)
    )


def one_column(y: Any) -> NDArray[Any]:
    """y as an array of one dimension; y itself where it is one."""
    plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufSU"
    return y if plain else column_or_1d(y, warn=True)


def labels_of(y: NDArray[Any]) -> NDArray[Any]:
    """The different labels, sorted; without sorting all of them where they are two numbers."""
    if y.dtype.kind in "iuf" and y.size:
        low, high = y.min(), y.max()
        if low < high and np.count_nonzero(y == low) + np.count_nonzero(y == high) == y.size:
            return np.array([low, high])
    return np.unique(y)


def signs_of(y: NDArray[Any], label: Any, classes: NDArray[Any]) -> Array:
    """1 where y is this label, −1 elsewhere; y itself where it says just that."""
    if y.dtype == np.float64 and len(classes) == 2 and tuple(classes) == (-1.0, 1.0) and label == 1.0:
        return y
    return 2.0 * (y == label) - 1.0


def take(X: Any, rows: NDArray[np.intp] | None) -> Any:
    """X[rows]; X itself, without a copy, when rows is None."""
    return X if rows is None else X[rows]


def everyone(rows: NDArray[np.intp] | None) -> NDArray[np.intp] | slice:
    """An index for the samples of a machine: None stands for all."""
    return slice(None) if rows is None else rows


def check_known(y: NDArray[Any], classes: NDArray[Any]) -> None:
    """Of a fitted machine: labels of samples whose weight is zero were left out then, and are now."""
    if not np.isin(y, classes).all():
        raise ValueError(f"y has labels that fit was not given; the classes are {list(classes)}")


def rows_of(X: Any) -> Any:
    """Samples for a kernel function: arrays and sparse matrices as they are, a list of anything as an array of it."""
    if hasattr(X, "iloc"):
        X = X.to_numpy()
    if hasattr(X, "shape"):
        return X
    try:
        array = np.asarray(X)
    except ValueError:
        array = np.empty(0)
    if array.ndim >= 2 and array.dtype.kind in "fiub":
        return array
    samples = np.empty(len(X), dtype=object)
    samples[:] = list(X)
    return samples


def length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
