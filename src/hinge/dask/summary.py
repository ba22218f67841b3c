"""Summary of a training set: numbers of samples, features and classes, reduced over the partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from hinge.dask.blocks import Block
from hinge.problems import Array

MAX_CLASSES = 10_000  # more labels are an error: y is probably a target of a regression


@dataclass(frozen=True)
class Summary:
    """Sums over the samples of some partitions.

    Attributes
    ----------
    rows, n : int
        Number of rows, and of samples with positive weight.
    features : int
    sparse : bool
    feature_sum : ndarray of shape (features,)
    labels : ndarray
        The distinct labels in sorted order, and `counts`, the number of samples of each.
    names : tuple of str or None
        Columns of a DataFrame.
    """

    rows: int
    n: int
    features: int
    sparse: bool
    feature_sum: Array
    labels: NDArray[Any]
    counts: NDArray[np.int64]
    names: tuple[str, ...] | None

    def merge(self, other: Summary) -> Summary:
        """Return the summary of both sets of partitions."""
        if self.features != other.features:
            raise ValueError(
                f"partitions of X have {self.features} and {other.features} features; all need the same number "
                "(read_libsvm and other readers have a parameter n_features)"
            )
        if self.names != other.names:
            raise ValueError(f"partitions of X have different columns: {self.names} and {other.names}")
        labels, index = np.unique(np.concatenate([self.labels, other.labels]), return_inverse=True)
        if len(labels) > MAX_CLASSES:
            raise ValueError(f"y has more than {MAX_CLASSES} distinct labels; for real targets use LinearSVR")
        counts = np.bincount(index, weights=np.concatenate([self.counts, other.counts])).astype(np.int64)
        return Summary(
            self.rows + other.rows, self.n + other.n, self.features, self.sparse or other.sparse,
            self.feature_sum + other.feature_sum, labels, counts, self.names,
        )  # fmt: skip

    def class_weights(self, class_weight: Any) -> Array:
        """Return one weight per class, as scikit-learn defines them."""
        if class_weight is None:
            return np.ones(len(self.labels))
        if isinstance(class_weight, str):  # "balanced"
            return self.n / (len(self.labels) * self.counts.astype(np.float64))
        return np.asarray(compute_class_weight(class_weight, classes=self.labels, y=self.labels))


def summarize(index: int, block: Block, argument: bool) -> list[Summary | None]:
    """Summarize a block; the labels are counted if `argument` is True. None if the partition has no rows."""
    if block.rows == 0:
        return [None]
    labels, counts = np.unique(block.y if argument else block.y[:0], return_counts=True)
    feature_sum = np.asarray(block.X.sum(axis=0), dtype=np.float64).ravel()
    return [
        Summary(
            block.rows, block.n, int(block.X.shape[1]), sp.issparse(block.X), feature_sum, labels, counts, block.names
        )
    ]
