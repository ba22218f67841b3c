"""Test, then train: every sample is first predicted, then learned."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prequential:
    """How a learner did on a stream.

    Attributes
    ----------
    predictions : ndarray
        What the model said of each sample before it learned it.
    losses : ndarray
        1 for a wrong label and 0 for a right one, or the size of the error |y − prediction|.
    skipped : int
        Samples at the start that were learned without a prediction: there was no model yet.
    seconds : float
    """

    predictions: NDArray[Any]
    losses: Array
    skipped: int
    seconds: float

    @property
    def mean(self) -> float:
        """The mean loss: the share of errors, or the mean absolute error."""
        return float(np.mean(self.losses[self.skipped :]))

    @property
    def accuracy(self) -> float:
        """1 − mean: of classifiers."""
        return 1.0 - self.mean

    def curve(self, window: int = 1000) -> Array:
        """The mean loss over the last `window` samples (or as many as there were), at every time."""
        if window < 1:
            raise ValueError(f"window={window!r} must be at least 1")
        total = np.concatenate([[0.0], np.cumsum(self.losses[self.skipped :])])
        end = np.arange(1, len(total))
        start = np.maximum(end - window, 0)
        return (total[end] - total[start]) / (end - start)


def prequential(model: Any, X: Any, y: Any, *, classes: Any = None, batch: int = 1) -> Prequential:
    """Predict each sample, then learn it.

    Parameters
    ----------
    model : estimator
        An online machine of hinge, which does this at full speed; or anything with `partial_fit` and `predict`. It is
        changed: afterwards it has learned all of X. One that has begun goes on: a stream may come in parts.
    X, y
        The stream, in its order. For a detector of novelties y says what is to be expected, +1, and what is not, −1; it
        does not learn from it.
    classes : array-like, optional
        All labels, for a classifier that has not begun; those of `y` if left out.
    batch : int, default=1
        For other estimators: samples that are predicted together and then learned together.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import OnlineSVC
    >>> from hinge.online import prequential
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2)); y = np.hypot(X[:, 0], X[:, 1]) > 1.2
    >>> result = prequential(OnlineSVC(gamma=1.0), X, y)
    >>> result.accuracy > 0.9
    True
    """
    if batch < 1:
        raise ValueError(f"batch={batch!r} must be at least 1")
    X, truth = X if hasattr(X, "shape") else np.asarray(X), np.asarray(y)
    if truth.ndim != 1 or truth.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and y has shape {truth.shape}; one target per row is needed")
    kind = _kind(model)
    known = {}
    if kind == "classifier" and not (classes is None and _has_begun(model)):
        known = {"classes": np.unique(truth) if classes is None else classes}
    began = time.perf_counter()
    if hasattr(model, "predict_then_learn"):
        predictions, skipped = model.predict_then_learn(X, y, **known), 0
    else:
        predictions, skipped = _by_batches(model, X, truth, known, batch)
    seconds = time.perf_counter() - began
    labels = kind in ("classifier", "outlier_detector")
    losses = (predictions != truth).astype(np.float64) if labels else np.abs(truth - predictions)
    return Prequential(predictions, losses, skipped, seconds)


def _by_batches(model: Any, X: Any, y: NDArray[Any], known: dict[str, Any], batch: int) -> tuple[NDArray[Any], int]:
    parts: list[NDArray[Any]] = []
    skipped = 0
    for first in range(0, len(y), batch):
        rows = slice(first, first + batch)
        if first == 0 and not _has_begun(model):  # nothing is known: these count as learned only
            parts.append(y[rows].copy())
            skipped = len(parts[0])
        else:
            parts.append(np.asarray(model.predict(X[rows])))
        model.partial_fit(X[rows], y[rows], **(known if first == 0 else {}))
    return np.concatenate(parts), skipped


def _has_begun(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):  # TypeError: no estimator of scikit-learn's kind, which cannot be asked
        return False
    return True


def _kind(model: Any) -> str | None:
    """"classifier", "outlier_detector", "regressor", ... as the model says of itself."""
    tags = getattr(model, "__sklearn_tags__", None)
    return getattr(model, "_estimator_type", None) if tags is None else tags().estimator_type
