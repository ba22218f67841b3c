"""Rows of user data, whatever they are stored in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def take(X: Any, rows: NDArray[np.intp] | None) -> Any:
    """X[rows]; X itself, without a copy, when rows is None."""
    return X if rows is None else X[rows]


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
