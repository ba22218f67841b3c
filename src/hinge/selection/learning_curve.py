"""Learning curves by exact incremental training: the errors of all models while samples are added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from hinge.estimators import IncrementalSVC, IncrementalSVR
from hinge.problems import Array
from hinge.validation import as_samples, check_integer


@dataclass(frozen=True)
class LearningCurve:
    """Result of `learning_curve`.

    Attributes
    ----------
    sizes : ndarray of int
        Numbers of training samples, ascending.
    train_errors, validation_errors : ndarray of shape (n_orders, n_sizes)
        Error rates, or mean squared errors of regression, on the samples used so far and on the validation data. One
        row for each random order of the training samples.
    updates : int
        Number of exact updates in place of fits.

    Examples
    --------
    >>> from hinge.selection import learning_curve
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> curve = learning_curve(X[:100], y[:100], X[100:], y[100:], sizes=[10, 50, 100], orders=3, random_state=0)
    >>> curve.validation_errors.shape
    (3, 3)
    """

    sizes: NDArray[np.int64]
    train_errors: Array
    validation_errors: Array
    updates: int


def learning_curve(
    X: Any,
    y: ArrayLike,
    X_val: Any,
    y_val: ArrayLike,
    *,
    estimator: Any = None,
    sizes: ArrayLike | int = 20,
    orders: int = 5,
    random_state: Any = None,
) -> LearningCurve:
    """Compute training and validation errors for increasing numbers of training samples.

    The samples are added in random order. The first size is a fit, and every other one an update of the exact solution
    (`IncrementalSVC.update`), which takes much less time. All models are those that a fit on the same samples returns.

    Parameters
    ----------
    X, y : training data
    X_val, y_val : validation data
    estimator : IncrementalSVC or IncrementalSVR, optional
        By default ``IncrementalSVC()``. It is not changed. ``gamma="scale"`` is computed from all training samples.
    sizes : int or array-like of int, default=20
        Numbers of training samples, or how many of them; then they are equidistant on a logarithmic axis.
    orders : int, default=5
        Number of random orders.
    random_state : int, RandomState or None
        Orders of the samples. For classification, the first samples of an order contain every class.

    Returns
    -------
    LearningCurve

    Examples
    --------
    >>> from hinge import IncrementalSVC
    >>> from hinge.selection import learning_curve
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> model = IncrementalSVC(C=10.0, gamma=1.0)
    >>> curve = learning_curve(X[:100], y[:100], X[100:], y[100:], estimator=model, sizes=[10, 100], random_state=0)
    >>> bool(curve.validation_errors[:, 1].mean() < curve.validation_errors[:, 0].mean())
    True
    """
    model = IncrementalSVC() if estimator is None else estimator
    if not isinstance(model, IncrementalSVC | IncrementalSVR):
        raise TypeError(f"estimator={model!r} has no exact updates; pass an IncrementalSVC or IncrementalSVR")
    X, X_val, y, y_val = as_samples(X), as_samples(X_val), np.asarray(y), np.asarray(y_val)
    check_consistent_length(X, y)
    check_consistent_length(X_val, y_val)
    check_integer("orders", orders, 1)
    classes = np.unique(y) if is_classifier(model) else np.empty(0)
    counts = _sizes(sizes, max(2, len(classes)), len(y))
    model = clone(model)
    if model.gamma == "scale":
        variance = float(X.multiply(X).mean() - X.mean() ** 2) if hasattr(X, "multiply") else float(X.var())
        model.set_params(gamma=1.0 / (X.shape[1] * variance) if variance > 0 else 1.0)
    random = check_random_state(random_state)
    errors = np.empty((2, orders, len(counts)))
    for k in range(orders):
        order = _first_of_each_class(random.permutation(len(y)), y, classes)
        current = clone(model)
        previous = 0
        for column, size in enumerate(counts):
            new = order[previous:size]
            current = current.fit(X[new], y[new]) if previous == 0 else current.update(X[new], y[new])
            errors[0, k, column] = _error(current, X[order[:size]], y[order[:size]], len(classes) > 0)
            errors[1, k, column] = _error(current, X_val, y_val, len(classes) > 0)
            previous = size
    return LearningCurve(counts, errors[0], errors[1], orders * (len(counts) - 1))


def _sizes(sizes: Any, smallest: int, n: int) -> NDArray[np.int64]:
    """Return the numbers of training samples."""
    if np.ndim(sizes) == 0:
        check_integer("sizes", sizes, 1)
        low = min(n, max(smallest, 10))
        return np.unique(np.geomspace(low, n, int(sizes)).round().astype(np.int64))
    counts = np.unique(np.asarray(sizes))
    if counts.dtype.kind not in "iu" or len(counts) == 0 or counts[0] < smallest or counts[-1] > n:
        raise ValueError(
            f"sizes={np.asarray(sizes).tolist()} must be integers between {smallest} (one sample of each class) and "
            f"{n}, the number of training samples"
        )
    return counts.astype(np.int64)


def _first_of_each_class(order: NDArray[np.intp], y: Any, classes: Any) -> NDArray[np.intp]:
    """Move the first sample of each class to the start of the order."""
    first = [int(np.flatnonzero(y[order] == label)[0]) for label in classes]
    return np.concatenate([order[first], np.delete(order, first)]).astype(np.intp)


def _error(model: Any, X: Any, y: Any, labels: bool) -> float:
    predicted = model.predict(X)
    return float(np.mean(predicted != y) if labels else np.mean((predicted - y) ** 2))
