"""Kernel values that are not finite: overflow, and fractional powers of negative numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

#: Largest number of pairs of samples for which the base of a fractional power is computed in advance.
MAX_CHECKED_PAIRS = 50_000_000

#: Rows that are multiplied with all samples at a time.
BLOCK_ROWS = 512


def not_finite_error() -> ValueError:
    """Return the error of a run in which a kernel value was not finite."""
    return ValueError(
        "kernel values of these data are not finite. Scale the data, for example with StandardScaler, and use a kernel "
        "that is defined for all pairs of samples: for kernel='poly' an integer degree"
    )


def check_fractional_powers(kernel: Any, X: Any) -> None:
    """Raise a ValueError if a fractional power of a negative number is needed."""
    for gamma, coef0, degree in _fractional_powers(kernel):
        _check_base(X, gamma, coef0, degree)


def _fractional_powers(kernel: Any) -> list[tuple[float, float, float]]:
    """Return (γ, c₀, d) of the polynomial kernels with a fractional degree d that the kernel consists of."""
    found = []
    for node in kernel.nodes() or ():
        if node.name == "polynomial" and not float(node.degree).is_integer():
            found.append((node.gamma, node.coef0, node.degree))
    return found


def _check_base(X: Any, gamma: float, coef0: float, degree: float) -> None:
    """Raise a ValueError if γ x·z + c₀ is negative for a pair of samples. Of large data only some rows are checked."""
    values = X.data if sp.issparse(X) else X
    if coef0 >= 0 and np.min(values, initial=0.0) >= 0:
        return
    n = X.shape[0]
    step = max(1, -(-n * n // MAX_CHECKED_PAIRS))
    rows = np.arange(0, n, step)
    smallest = np.inf
    for first in range(0, len(rows), BLOCK_ROWS):
        products = X[rows[first : first + BLOCK_ROWS]] @ X.T
        smallest = min(smallest, float(products.min()))
    base = gamma * smallest + coef0
    if base < 0:
        raise ValueError(
            f"degree={degree:g} is not an integer, and gamma * <x, z> + coef0 is as small as {base:.3g} for these "
            f"data: its power is not defined. Use an integer degree, increase coef0 by {-base:.3g} or more, or scale "
            "the features to [0, 1], for example with MinMaxScaler"
        )
