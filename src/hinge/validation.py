"""Validation of arguments for estimators, path functions and recipes.

Only NumPy and SciPy are used, so that every package may import this module. What scikit-learn adds for estimators
(names of features, conversion of data frames) is in `hinge.estimators.common.validation`.

An error message gives the argument, its value, the reason and the remedy.
"""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Relative difference of K[i, j] and K[j, i] that is attributed to rounding.
SYMMETRY_TOL = 1e-5

#: Eigenvalues of a kernel matrix above minus this share of its largest value times its size are rounding errors.
EIGENVALUE_TOL = 1e-10

#: Number of samples up to which a precomputed matrix is checked for negative eigenvalues.
MAX_EIGENVALUE_SIZE = 3000

#: Rows of a matrix that are compared with its transpose at a time, to avoid a copy of the matrix.
SYMMETRY_BLOCK = 512


# ---- parameters -----------------------------------------------------------------------------------------------------


def check_number(
    name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False, finite: bool = True
) -> None:
    """Raise unless `value` is a number in [low, high], or in (low, high] with `open_low`.

    Infinity is accepted only if `finite` is False.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a number, not {type(value).__name__}")
    value = float(value)
    inside = (value > low if open_low else value >= low) and value <= high and (np.isfinite(value) or not finite)
    if not inside:
        left, right = "(" if open_low else "[", "inf)" if finite and np.isinf(high) else f"{high:g}]"
        raise ValueError(f"{name}={value!r} must lie in {left}{low:g}, {right}")


def check_range(name: str, low: Any, high: Any, *, open_low: bool = True) -> tuple[float, float]:
    """Return the parameters name_min and name_max; they are finite, ascending, and not negative.

    With `open_low` they must not be zero.
    """
    check_number(f"{name}_min", low, 0.0, open_low=open_low)
    check_number(f"{name}_max", high, 0.0, open_low=open_low)
    low, high = float(low), float(high)
    if not low < high:
        hint = "; exchange them" if low > high else ""
        raise ValueError(f"{name}_min={low!r} must be below {name}_max={high!r}{hint}")
    return low, high


def check_integer(name: str, value: Any, low: int) -> None:
    """Raise unless `value` is an integer of at least `low`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} must be an integer, not {type(value).__name__}")
    if value < low:
        raise ValueError(f"{name}={value!r} must be at least {low}")


def check_choice(name: str, value: Any, allowed: Collection[Any]) -> None:
    """Raise unless `value` is one of the allowed values."""
    for option in allowed:
        if value is option or (isinstance(value, str) and value == option):
            return
    raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}")


def check_flag(name: str, value: Any) -> None:
    """Raise unless `value` is True or False; 0 and 1 are accepted."""
    if not isinstance(value, bool | np.bool_ | Integral):
        raise TypeError(f"{name}={value!r} must be True or False, not {type(value).__name__}")
    if value not in (0, 1):
        raise ValueError(f"{name}={value!r} must be True or False")


def check_cache_size(cache_size: float | str) -> None:
    """Raise unless `cache_size` is "auto" or a positive number of megabytes."""
    reason = f"cache_size must be 'auto' or a positive number of megabytes, got {cache_size!r}"
    if isinstance(cache_size, str):
        if cache_size != "auto":
            raise ValueError(reason)
        return
    if isinstance(cache_size, bool) or not isinstance(cache_size, Real):
        raise TypeError(reason)
    if not (isfinite(cache_size) and cache_size > 0):
        raise ValueError(reason)


# ---- arrays ---------------------------------------------------------------------------------------------------------


def as_samples(X: Any, name: str = "X", *, dtypes: tuple[Any, ...] = (np.float64,), min_samples: int = 1) -> Any:
    """Return X as a finite 2-D array in C order, or as a CSR matrix.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Used without a copy if it has one of the dtypes and the right layout.
    name : str
        The name of the argument in error messages.
    dtypes : tuple of dtypes
        Accepted dtypes; others are converted to the first one.
    min_samples : int
        The least number of rows.
    """
    if sp.issparse(X):
        if X.format in ("csr", "csc"):
            X.check_format(full_check=True)  # invalid indices must not reach compiled code
        X = X.tocsr()
        X = X if X.dtype in dtypes else X.astype(dtypes[0])
        values = X.data
    else:
        X = np.asarray(X)
        if X.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: {name} must hold real numbers")
        if X.dtype not in dtypes:
            try:
                X = X.astype(dtypes[0])
            except (TypeError, ValueError) as error:
                raise type(error)(f"{name} must hold numbers: {error}") from None
        X = np.ascontiguousarray(X) if X.ndim else X
        values = X
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: {name} has shape {X.shape}. Reshape your data: "
            f"{name}.reshape(-1, 1) for one feature, {name}.reshape(1, -1) for one sample"
        )
    if X.shape[0] < min_samples:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) while a minimum of {min_samples} is required: {name} has shape "
            f"{X.shape}"
        )
    if X.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) while a minimum of 1 is required: {name} has shape {X.shape}")
    check_finite(values, name)
    return X


def check_finite(values: NDArray[Any], name: str) -> None:
    """Raise if an array of floats contains NaN or infinity."""
    if not is_finite(values):
        reason = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(f"Input {name} contains {reason}; every value must be a finite number")


def is_finite(values: NDArray[Any]) -> bool:
    """Whether all values are finite.

    The sum is computed first: it takes no memory, and it is finite for most finite arrays.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def as_vector(y: Any, name: str = "y") -> NDArray[Any]:
    """Return y as a 1-D array; an array with one column is accepted."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"{name} should be a 1d array, got an array of shape {y.shape} instead")
    return np.ascontiguousarray(y)


def as_targets(y: Any, name: str = "y") -> Array:
    """Return y as a 1-D array of finite float64 numbers."""
    y = as_vector(y, name)
    try:
        y = y.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None
    if not np.isfinite(y).all():
        raise ValueError(f"Input {name} contains NaN or infinity; every sample needs a finite target")
    return y


def as_labels(y: Any, name: str = "y") -> NDArray[Any]:
    """Return y as a 1-D array of class labels: text, booleans or whole numbers."""
    y = as_vector(y, name)
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ValueError(f"Input {name} contains NaN or infinity; every sample needs a label")
        if not np.all(y == np.rint(y)):
            raise ValueError(
                f"Unknown label type: {name} is continuous. Labels are text, booleans or whole numbers"
            )
    return y


def check_same_length(X: Any, y: Any) -> None:
    """Raise if X and y have different numbers of samples."""
    n, m = int(X.shape[0]), len(y)
    if n != m:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n}, {m}]")


def check_sample_weight(sample_weight: Any, n: int) -> Array:
    """Return sample weights as an array: ones if None; no weight is negative, and not all are zero."""
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


def check_per_sample(name: str, values: Any, n: int, *, nonnegative: bool = True) -> Array:
    """Return a parameter with one value per sample as an array; values are finite, and not negative by default."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold numbers: {error}") from None
    if array.shape != (n,):
        raise ValueError(
            f"{name} has shape {array.shape}, but X has {n} samples; pass one number, or one for each sample"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite for every sample, but it contains NaN or infinity")
    if nonnegative and np.any(array < 0):
        count = int(np.sum(array < 0))
        raise ValueError(f"{name} must be zero or positive, and finite, for every sample; {count} values are negative")
    return array


def is_pair(value: Any) -> bool:
    """Whether a parameter is a pair (above, below): a tuple of two numbers."""
    return isinstance(value, tuple) and len(value) == 2 and all(np.ndim(part) == 0 for part in value)


def check_pair(name: str, value: Any, *, open_low: bool = False, finite: bool = True) -> None:
    """Raise unless `value` is a number, or a tuple of two numbers (above, below); none is negative."""
    parts = zip((f"{name}[0]", f"{name}[1]"), value, strict=True) if is_pair(value) else [(name, value)]
    for label, part in parts:
        check_number(label, part, 0.0, open_low=open_low, finite=finite)


def check_sides(name: str, value: Any, n: int, *, finite: bool = True) -> tuple[Any, Any]:
    """Return the values of a parameter for targets above and below f; the second is None if they are equal.

    Parameters
    ----------
    name : str
    value : number, pair or array-like
        A tuple of two numbers (above, below) for all samples; one number for each sample, shape (n,); or two for each
        sample, shape (n, 2), with the columns (above, below).
    n : int
        Number of samples.
    finite : bool
        Whether infinity is rejected.
    """
    if np.ndim(value) == 0:
        check_number(name, value, 0.0, finite=finite)
        return float(value), None
    if is_pair(value):
        check_pair(name, value, finite=finite)
        return float(value[0]), float(value[1])
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold numbers: {error}") from None
    if array.shape not in ((n,), (n, 2)):
        raise ValueError(
            f"{name} has shape {array.shape}, but X has {n} samples; pass one number, a tuple (above, below), one "
            f"number for each sample, or an array of shape ({n}, 2) with the columns (above, below)"
        )
    if np.isnan(array).any() or (finite and np.isinf(array).any()):
        raise ValueError(f"{name} must be finite for every sample, but it contains NaN or infinity")
    if np.any(array < 0):
        count = int(np.sum(array < 0))
        raise ValueError(f"{name} must be zero or positive, and finite, for every sample; {count} values are negative")
    if array.ndim == 1:
        return array, None
    return np.ascontiguousarray(array[:, 0]), np.ascontiguousarray(array[:, 1])


def check_both_sides(above: Array, below: Array) -> None:
    """Raise unless targets above and targets below f have a positive cost for some sample."""
    for column, side, cost in ((0, "above", above), (1, "below", below)):
        if not np.any(cost > 0):
            raise ValueError(
                f"C is zero for all targets {side} the function (its value or column {column}), and every function "
                f"that lies far enough {side} the targets would be optimal; give at least one sample a positive cost"
            )


def check_symmetric(K: NDArray[Any]) -> None:
    """Raise unless K is a square matrix that is symmetric up to rounding."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"Precomputed matrix must be a square matrix. Input is a {K.shape[0]}x{K.shape[1]} matrix.")
    if not is_symmetric(K):
        raise ValueError(
            "Precomputed matrix must be symmetric: K[i, j] and K[j, i] differ. Pass (K + K.T) / 2 if they "
            "differ by rounding only"
        )


def check_positive_semidefinite(K: NDArray[Any]) -> None:
    """Raise a ValueError if a symmetric matrix of moderate size has an eigenvalue below zero, up to rounding."""
    n = len(K)
    if not 0 < n <= MAX_EIGENVALUE_SIZE:
        return
    scale = float(np.max(np.abs(np.diagonal(K)), initial=0.0))
    slack = EIGENVALUE_TOL * n * max(scale, float(np.max(np.abs(K))))
    shifted = np.array(K, dtype=np.float64)
    shifted[np.diag_indices(n)] += slack
    try:
        np.linalg.cholesky(shifted)
        return
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(shifted)[0]) - slack
    if smallest < -slack:
        raise ValueError(
            f"the precomputed matrix is not positive semidefinite: its smallest eigenvalue is {smallest:.3g}, and the "
            "problem is not convex. Add a multiple of the identity to the matrix, or set its negative eigenvalues to "
            "zero"
        )


def is_symmetric(K: NDArray[Any]) -> bool:
    """Whether a square matrix is symmetric up to rounding, compared block by block without a copy of the matrix."""
    allowed = SYMMETRY_TOL * float(np.max(np.abs(np.diagonal(K)), initial=0.0))
    for first in range(0, len(K), SYMMETRY_BLOCK):
        rows = slice(first, first + SYMMETRY_BLOCK)
        difference = np.abs(K[rows, first:] - K[first:, rows].T)
        if np.any(difference > np.maximum(allowed, SYMMETRY_TOL * np.abs(K[rows, first:]))):
            return False
    return True
