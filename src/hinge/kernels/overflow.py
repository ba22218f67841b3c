"""Kernel values that are not finite: they are rejected before training."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

#: Kernel values of float32 samples above this may overflow, because they are computed in single precision.
MAX_SINGLE_VALUE = 1e36

#: Largest number of pairs of samples for which the base of a fractional power is computed in advance.
MAX_CHECKED_PAIRS = 50_000_000

#: Rows that are multiplied with all samples at a time.
BLOCK_ROWS = 512


def check_kernel_values(access: Any) -> None:
    """Raise a ValueError if kernel values overflow, or if a fractional power of a negative number is needed.

    The diagonal of a positive semidefinite kernel bounds all its values.
    """
    diagonal = access.diagonal()
    if not np.isfinite(diagonal).all():
        raise ValueError(
            "kernel values of these data are not finite: they overflow. Scale the data, for example with StandardScaler"
        )
    data = access.X if hasattr(access, "X") else getattr(access, "data", None)
    single = getattr(data, "dtype", None) == np.float32
    largest = float(np.max(np.abs(diagonal), initial=0.0))
    if single and largest > MAX_SINGLE_VALUE:
        raise ValueError(
            f"kernel values of up to {largest:.2g} overflow in single precision, in which those of float32 data are "
            "computed. Scale the data, for example with StandardScaler, or pass float64 data"
        )
    for gamma, coef0, degree in _fractional_powers(access.kernel):
        _check_base(data, gamma, coef0, degree)


def not_finite_error() -> ValueError:
    """The error of a run in which a kernel value was not finite."""
    return ValueError(
        "kernel values of these data are not finite. Scale the data, for example with StandardScaler, and use a kernel "
        "that is defined for all pairs of samples: for kernel='poly' an integer degree"
    )


def _fractional_powers(kernel: Any) -> list[tuple[float, float, float]]:
    """Return (γ, c₀, d) of the polynomial kernels with a fractional degree d that the kernel consists of."""
    found = []
    for node in kernel.nodes() or ():
        if node.name == "polynomial" and not float(node.degree).is_integer():
            found.append((node.gamma, node.coef0, node.degree))
    return found


def _check_base(X: Any, gamma: float, coef0: float, degree: float) -> None:
    """Raise a ValueError if γ x·z + c₀ is negative for a pair of samples; of large data, some rows are checked."""
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
