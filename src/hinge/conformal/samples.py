"""Rows of samples that scikit-learn accepts: arrays, sparse matrices, DataFrames and nested sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def indexable(X: Any) -> Any:
    """Return X if its rows can be selected, and otherwise as an array."""
    return X if hasattr(X, "shape") else np.asarray(X)


def select_rows(X: Any, rows: NDArray[np.intp] | slice) -> Any:
    """Return the rows at these positions, as the same type."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
