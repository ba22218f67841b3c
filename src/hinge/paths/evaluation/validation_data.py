"""Validation of the data on which a path computes its error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.problems import Array
from hinge.validation import as_labels, as_rows, as_targets, check_same_length, check_sample_weight


def check_validation_data(
    X: Any, y: Any, sample_weight: Any, classes: NDArray[Any] | None
) -> tuple[Any, NDArray[Any], Array]:
    """Return X with rows, labels or targets, and weights; at least one sample.

    `classes`: the labels that y may have; None if it holds targets. The values of X are checked with its kernel.
    """
    X, y = as_rows(X), as_targets(y) if classes is None else as_labels(y)
    check_same_length(X, y)
    if len(y) == 0:
        raise ValueError("X and y have no samples; the error needs at least one")
    unknown = np.zeros(len(y), dtype=bool) if classes is None else ~np.isin(y, classes)
    if classes is not None and unknown.any():
        raise ValueError(f"y has the label {y[unknown].tolist()[0]!r}; the classes of the path are {classes.tolist()}")
    return X, y, check_sample_weight(sample_weight, len(y))
