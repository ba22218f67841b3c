"""Rows of user data, whatever they are stored in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from hinge.kernels import is_symmetric
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


def check_weight(sample_weight: Any, n: int) -> Array:
    """Sample weights as an array: ones when None; never negative, not all zero."""
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"sample_weight must hold numbers: {error}") from None
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight and X have incompatible shapes: sample_weight has shape {weight.shape}, "
            f"but X has {n} samples; pass one weight per sample"
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity; weights must be finite numbers")
    if not np.any(weight > 0):
        raise ValueError(
            "Invalid input - all samples have zero or negative weights: sample_weight must be positive somewhere"
        )
    if np.any(weight < 0):
        raise ValueError(
            f"sample_weight has {int(np.sum(weight < 0))} negative values; weights must be zero or positive "
            "(zero leaves a sample out)"
        )
    return weight


def one_for_each(name: str, values: Any, n: int) -> Array:
    """A parameter with a value for each sample: finite, none of them negative."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold numbers: {error}") from None
    if found.shape != (n,):
        raise ValueError(f"{name} has shape {found.shape}, but X has {n} samples; pass one number, or one for each")
    if not np.isfinite(found).all() or np.any(found < 0):
        raise ValueError(f"{name} must be zero or positive, and finite, for every sample")
    return found


def check_symmetric(K: Array) -> None:
    """K is a square matrix, and symmetric up to rounding."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"Precomputed matrix must be a square matrix. Input is a {K.shape[0]}x{K.shape[1]} matrix.")
    if not is_symmetric(K):
        raise ValueError(
            "Precomputed matrix must be symmetric: K[i, j] and K[j, i] differ. Pass (K + K.T) / 2 if they "
            "differ by rounding only"
        )


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
