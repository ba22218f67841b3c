"""Prediction and scores per partition. Predictions remain on the workers, and only sums are sent to the client."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask.base import compute
from dask.delayed import delayed

from hinge.dask.blocks import as_column, as_samples, column_tasks, row_tasks


def map_rows(estimator: Any, method: str, X: Any, columns: int = 0) -> da.Array:
    """Return the results of a method on all partitions as a Dask array.

    Parameters
    ----------
    estimator : estimator of hinge
    method : str
    X : dask Array or DataFrame
    columns : int
        Number of columns of the result; 0 for one dimension.
    """
    sizes = X.chunks[0] if isinstance(X, da.Array) else None
    shared = delayed(estimator, pure=False)
    dtype = estimator.classes_.dtype if method == "predict" and hasattr(estimator, "classes_") else np.dtype(float)
    parts = []
    for i, task in enumerate(row_tasks(X, "X")):
        size = np.nan if sizes is None else sizes[i]
        shape = (size, columns) if columns else (size,)
        values = delayed(apply_method, pure=True)(shared, method, task, columns)
        parts.append(da.from_delayed(values, shape=shape, dtype=dtype))
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def apply_method(estimator: Any, method: str, X: Any, columns: int) -> Any:
    """Apply a method to the rows of a partition, which may be empty."""
    samples, names = as_samples(X)
    expected = vars(estimator).get("feature_names_in_")
    if names is not None and expected is not None and list(names) != list(expected):
        raise ValueError(f"X has the columns {list(names)}, but the model was trained with {list(expected)}")
    if samples.shape[0] == 0:
        return np.zeros((0, columns) if columns else 0)
    plain = copy.copy(estimator)  # the argument is shared by all tasks
    vars(plain).pop("feature_names_in_", None)  # the columns have been converted to an array
    return getattr(plain, method)(samples)


@dataclass(frozen=True)
class Moments:
    """Weight, weighted mean and sum of squared deviations of y, and weighted sum of a loss."""

    weight: float
    mean: float
    deviation: float
    loss: float

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of samples; Chan's formula."""
        weight = self.weight + other.weight
        if weight == 0:
            return self
        difference = other.mean - self.mean
        deviation = self.deviation + other.deviation + difference**2 * self.weight * other.weight / weight
        return Moments(weight, self.mean + difference * other.weight / weight, deviation, self.loss + other.loss)


def classification_score(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Weighted share of correctly predicted labels."""
    total = _moments(estimator, X, y, sample_weight, "labels")
    return total.loss / total.weight if total.weight else float("nan")


def regression_score(estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """R²: one minus the ratio of the squared errors and the squared deviations from the mean."""
    total = _moments(estimator, X, y, sample_weight, "numbers")
    if total.deviation == 0:
        return 1.0 if total.loss == 0 else 0.0
    return 1.0 - total.loss / total.deviation


def _moments(estimator: Any, X: Any, y: Any, sample_weight: Any, targets: Any) -> Moments:
    rows, shared = row_tasks(X, "X"), delayed(estimator, pure=False)
    columns = (column_tasks(y, "y", X, len(rows)), column_tasks(sample_weight, "sample_weight", X, len(rows)))
    parts = [delayed(score_block)(shared, *each, targets) for each in zip(rows, *columns, strict=True)]
    total = Moments(0.0, 0.0, 0.0, 0.0)
    for part in compute(*parts):
        total = total.merge(part)
    return total


def score_block(estimator: Any, X: Any, y: Any, sample_weight: Any, targets: Any) -> Moments:
    """Return the moments of one partition; the loss is 1 for a correct label, or a squared error."""
    predicted = apply_method(estimator, "predict", X, 0)
    n = len(predicted)
    if n == 0:
        return Moments(0.0, 0.0, 0.0, 0.0)
    truth = as_column(y, targets)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).ravel()
    total = float(np.sum(weight))
    if targets == "labels":
        return Moments(total, 0.0, 0.0, float(np.sum(weight * (predicted == truth))))
    mean = float(np.sum(weight * truth)) / total if total else 0.0
    deviation = float(np.sum(weight * (truth - mean) ** 2))
    return Moments(total, mean, deviation, float(np.sum(weight * (truth - predicted) ** 2)))
