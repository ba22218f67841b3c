"""Prequential evaluation: every sample is first predicted, then learned."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.validation import as_rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prequential:
    """Prequential losses of an estimator on a stream.

    Attributes
    ----------
    predictions : ndarray
        The prediction for each sample before it was learned.
    losses : ndarray
        1 for a wrong label and 0 for a right one, or the absolute error |y − prediction|.
    skipped : int
        Number of samples at the start that were learned without a prediction, because there was no model yet.
    seconds : float

    Examples
    --------
    >>> import hinge
    >>> from hinge.online import prequential
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> result = prequential(hinge.OnlineSVC(gamma=1.0), X, y, classes=[0, 1])
    >>> len(result.losses) + result.skipped, bool(result.mean < 0.2)
    (500, True)
    """

    predictions: NDArray[Any]
    losses: Array
    skipped: int
    seconds: float

    @property
    def mean(self) -> float:
        """Mean loss: the error rate, or the mean absolute error."""
        return float(np.mean(self.losses[self.skipped :]))

    @property
    def accuracy(self) -> float:
        """1 − mean, the accuracy of a classifier."""
        return 1.0 - self.mean

    def curve(self, window: int = 1000) -> Array:
        """Return the mean loss over the last `window` samples, or all samples so far, at every time."""
        if window < 1:
            raise ValueError(f"window={window!r} must be at least 1")
        total = np.concatenate([[0.0], np.cumsum(self.losses[self.skipped :])])
        end = np.arange(1, len(total))
        start = np.maximum(end - window, 0)
        return (total[end] - total[start]) / (end - start)


def prequential(model: Any, X: Any, y: Any, *, classes: Any = None, batch: int = 1) -> Prequential:
    """Predict each sample of a stream, then learn it.

    Parameters
    ----------
    model : estimator
        An online estimator of hinge, which does this in compiled code, or any estimator with `partial_fit` and
        `predict`. It is updated with all of X. A fitted estimator is updated further, so that a stream can be passed
        in parts.
    X, y
        The stream, in its order. For novelty detection y is +1 for inliers and −1 for novelties; it is used for the
        losses only.
    classes : array-like, optional
        All labels, for a classifier that is not fitted; by default those of `y`.
    batch : int, default=1
        Number of samples that other estimators predict together and then learn together.

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
    X, truth = as_rows(X), np.asarray(y)
    if truth.ndim != 1 or truth.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and y has shape {truth.shape}; one target per row is needed")
    kind = _estimator_type(model)
    options = {}
    if kind == "classifier" and not (classes is None and _is_fitted(model)):
        options = {"classes": np.unique(truth) if classes is None else classes}
    start = time.perf_counter()
    if hasattr(model, "predict_then_learn"):
        predictions, skipped = model.predict_then_learn(X, y, **options), 0
    else:
        predictions, skipped = _by_batches(model, X, truth, options, batch)
    seconds = time.perf_counter() - start
    labels = kind in ("classifier", "outlier_detector")
    losses = (predictions != truth).astype(np.float64) if labels else np.abs(truth - predictions)
    return Prequential(predictions, losses, skipped, seconds)


def _by_batches(model: Any, X: Any, y: NDArray[Any], options: dict[str, Any], batch: int) -> tuple[NDArray[Any], int]:
    parts: list[NDArray[Any]] = []
    skipped = 0
    for first in range(0, len(y), batch):
        rows = slice(first, first + batch)
        if first == 0 and not _is_fitted(model):  # no prediction: the targets are stored, and the samples skipped
            parts.append(y[rows].copy())
            skipped = len(parts[0])
        else:
            parts.append(np.asarray(model.predict(X[rows])))
        model.partial_fit(X[rows], y[rows], **(options if first == 0 else {}))
    return np.concatenate(parts), skipped


def _is_fitted(model: Any) -> bool:
    """Whether the model is fitted, by the conventions of scikit-learn."""
    is_fitted, tags = (getattr(model, name, None) for name in ("__sklearn_is_fitted__", "__sklearn_tags__"))
    if tags is not None and not tags().requires_fit:
        return True
    if is_fitted is not None:
        return bool(is_fitted())
    return hasattr(model, "fit") and any(name.endswith("_") and not name.startswith("__") for name in vars(model))


def _estimator_type(model: Any) -> str | None:
    """Return "classifier", "outlier_detector", "regressor", ... from the tags of the model."""
    tags = getattr(model, "__sklearn_tags__", None)
    return getattr(model, "_estimator_type", None) if tags is None else tags().estimator_type
