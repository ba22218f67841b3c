"""Base of the kernels with a parameter γ, which may be "scale" or "auto": its value then depends on the data."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from numbers import Real
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from hinge.kernels.algebra import Array, Data, Kernel
from hinge.kernels.distances import pair
from hinge.matrices import check_sparse
from hinge.validation import too_large

Gamma: TypeAlias = float | Literal["scale", "auto"]

MAX_UNBLOCKED_SIZE = 1 << 20  # entries of X beyond which its variance is computed in blocks of rows
VARIANCE_ROWS = 1024  # rows per block
ROUNDING = 16 * float(np.finfo(np.float64).eps)  # relative differences below this are rounding errors


class GammaKernel(Kernel):
    """Base of the kernels with a parameter γ."""

    gamma: Gamma

    def __post_init__(self) -> None:
        check_gamma(self.gamma)

    def resolve(self, X: Data, weight: Array | None = None) -> Kernel:
        if type(self.gamma) is float:  # already resolved
            return self  # type: ignore[return-value]
        return replace(self, gamma=_resolve_gamma(self.gamma, X, weight))  # type: ignore[type-var]

    @property
    def _gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise ValueError(f"gamma={self.gamma!r} depends on the data: call kernel.resolve(X) first")
        return float(self.gamma)


class DistanceKernel(GammaKernel):
    """Base of the kernels of a distance, which are 1 at x = z."""

    def diag(self, X: Data) -> Array:
        shape: tuple[int, ...] = getattr(X, "shape", ())  # only the number of samples matters
        return np.ones(shape[0] if len(shape) == 2 else pair(X, None)[0].shape[0])


def check_real(name: str, value: object) -> None:
    """Raise unless `value` is a finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a number, not {type(value).__name__}")
    try:
        finite = isfinite(value)
    except OverflowError:
        raise too_large(name) from None
    if not finite:
        raise ValueError(f"{name}={value!r} must be finite")


def check_gamma(gamma: object) -> None:
    """Raise unless `gamma` is "scale", "auto" or a nonnegative number."""
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            raise ValueError(f"gamma={gamma!r} must be 'scale', 'auto' or a number of at least 0")
        return
    if type(gamma) is not float or not isfinite(gamma):
        check_real("gamma", gamma)
    if gamma < 0:  # type: ignore[operator]
        raise ValueError(f"gamma={gamma!r} must be 'scale', 'auto' or a number of at least 0")


def _resolve_gamma(gamma: Gamma, X: Data, weight: Array | None) -> float:
    """Return the value of γ for X, with scikit-learn's definitions of "scale" and "auto".

    "scale" is 1/(d·Var X), where the variance is taken over all entries, or 1 if all entries are equal; "auto" is 1/d.
    Each row counts with its weight, so that an integer weight has the same effect as repeating the row.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    uniform = weight is None or bool(np.all(weight == weight[0]))
    if sparse.issparse(X):
        check_sparse(X)
        X = sparse.csr_array(X, dtype=np.float64)
        means, squares = X.sum(axis=1) / X.shape[1], X.multiply(X).sum(axis=1) / X.shape[1]
        square, mean = float(np.average(squares, weights=weight)), float(np.average(means, weights=weight))
        variance = _unless_rounding(square - mean * mean, ROUNDING * square)  # a power would raise if it overflows
    else:
        variance = _variance(np.asarray(X), None if uniform else weight)
    if not np.isfinite(variance):
        raise ValueError(
            "gamma='scale' needs the variance of X, which overflows: The dual coefficients or intercepts are not "
            "finite for such data. Scale X, for example with StandardScaler, or pass a number for gamma"
        )
    return float(1.0 / (X.shape[1] * variance)) if variance != 0 else 1.0


def _variance(X: Array, weight: Array | None) -> float:
    """Return the weighted variance of all entries, computed in float64 and in blocks, without a copy of X."""
    if weight is None and X.size <= MAX_UNBLOCKED_SIZE:
        rounding = ROUNDING * float(X.mean(dtype=np.float64))
        return _unless_rounding(float(X.var(dtype=np.float64)), rounding * rounding)
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    blocks = [slice(k, k + VARIANCE_ROWS) for k in range(0, len(X), VARIANCE_ROWS)]
    total = float(w.sum()) * X.shape[1]
    mean = sum(float(w[b] @ X[b].sum(axis=1, dtype=np.float64)) for b in blocks) / total
    variance = sum(float(w[b] @ ((X[b].astype(np.float64) - mean) ** 2).sum(axis=1)) for b in blocks) / total
    return _unless_rounding(variance, ROUNDING * mean * ROUNDING * mean)


def _unless_rounding(variance: float, rounding: float) -> float:
    """Return 0 for a variance that is within the rounding error of equal entries."""
    return 0.0 if variance <= rounding < np.inf else variance
