"""Validation of arguments for estimators, path functions and recipes.

Only NumPy and SciPy are used, so that every package may import this module. What scikit-learn adds for estimators
(names of features, conversion of data frames) is in `hinge.estimators.common.validation`.

An error message gives the argument, its value, the reason and the remedy.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.matrices import check_sparse, column_names

Array = NDArray[np.float64]

#: Largest number of float64.
LARGEST = float(np.finfo(np.float64).max)


# ---- parameters -----------------------------------------------------------------------------------------------------


def check_number(
    name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False, finite: bool = True
) -> None:
    """Raise unless `value` is a number in [low, high], or in (low, high] with `open_low`.

    Infinity is accepted only if `finite` is False.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a number, not {type(value).__name__}")
    try:
        value = float(value)
    except OverflowError:
        raise too_large(name) from None
    inside = (value > low if open_low else value >= low) and value <= high and (np.isfinite(value) or not finite)
    if not inside:
        left, right = "(" if open_low else "[", "inf)" if finite and np.isinf(high) else f"{high:g}]"
        raise ValueError(f"{name}={value!r} must lie in {left}{low:g}, {right}")


def as_number(name: str, value: Any) -> float:
    """Return a real number as a float."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a number, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        raise too_large(name) from None


def too_large(name: str) -> ValueError:
    """Return the error for a number or an array that contains a number beyond the range of float64."""
    return ValueError(f"{name} is too large for a floating-point number; numbers must be below {LARGEST:.2g}")


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


def check_choice(name: str, value: Any, allowed: Collection[Any], other: str = "") -> None:
    """Raise unless `value` is one of the allowed values; `other` describes further ones that the caller accepts."""
    for option in allowed:
        if value is option or (isinstance(value, str) and value == option):
            return
    listed = ", ".join(map(repr, allowed)) + (f" or {other}" if other else "")
    close = (
        get_close_matches(value, [option for option in allowed if isinstance(option, str)], 1)
        if isinstance(value, str)
        else []
    )
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"{name}={value!r} must be {'one of ' if len(allowed) > 1 else ''}{listed}{hint}")


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
    try:
        usable = isfinite(cache_size) and cache_size > 0
    except OverflowError:
        raise too_large("cache_size") from None
    if not usable:
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
    given = X
    if sp.issparse(X):
        check_sparse(X, name)
        X = X.tocsr()
        if X.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: {name} must hold real numbers")
        X = X if X.dtype in dtypes else X.astype(dtypes[0])
    else:
        X = np.asarray(X)
        if X.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: {name} must hold real numbers")
        X = X if X.dtype in dtypes else as_floats(X, name, dtypes[0])
        X = np.ascontiguousarray(X) if X.ndim else X
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
    if not is_finite(X.data if sp.issparse(X) else X):
        raise ValueError(nonfinite(X, name, column_names(given)))
    return X


def as_rows(X: Any, name: str = "X") -> Any:
    """Return samples for a kernel function: arrays and sparse matrices unchanged, other sequences as object arrays."""
    if sp.issparse(X):
        check_sparse(X, name)
        return X
    if hasattr(X, "iloc"):
        X = X.to_numpy()
    if hasattr(X, "shape"):
        return X
    try:
        array = np.asarray(X)
    except ValueError:
        array = np.empty(0)
    if array.ndim >= 2 and array.dtype.kind in "fiub":
        return array
    samples = np.empty(len(X), dtype=object)
    samples[:] = list(X)
    return samples


def n_columns(X: Any) -> int:
    """Number of features; 0 for samples of a kernel function that have no columns."""
    return int(X.shape[1]) if len(X.shape) == 2 else 0


def as_floats(values: Any, name: str, dtype: Any = np.float64) -> NDArray[Any]:
    """Return an array of floats; the errors of the conversion name the argument."""
    try:
        return np.asarray(values, dtype=dtype)
    except OverflowError:
        raise too_large(f"a number in {name}") from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold numbers: {error}") from None


def nonfinite(X: Any, name: str, columns: NDArray[Any] | None = None) -> str:
    """Return the error message for samples that contain NaN or infinity."""
    if sp.issparse(X):
        X = X.tocoo()
        k = int(np.flatnonzero(~np.isfinite(X.data))[0])
        value, row, column = X.data[k], int(X.row[k]), int(X.col[k])
    else:
        row, column = map(int, np.argwhere(~np.isfinite(X))[0])
        value = X[row, column]
    label = repr(str(columns[column])) if columns is not None else column
    return (
        f"Input {name} contains {'NaN' if np.isnan(value) else 'infinity'} in row {row}, column {label}; every value "
        "must be a finite number: impute or remove missing values first"
    )


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
        y = as_floats(y, name)
    except TypeError as error:
        raise ValueError(str(error)) from None
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
            raise ValueError(f"Unknown label type: {name} is continuous. Labels are text, booleans or whole numbers")
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
    weight = as_floats(sample_weight, "sample_weight")
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
    array = as_floats(values, name)
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
    if np.ndim(value) and not is_pair(value):
        raise TypeError(
            f"{name} has shape {np.shape(value)}, but it must be one number, or a tuple (above, below), for all "
            "samples; SVR and IncrementalSVR.fit(side_weight=..., epsilon=...) accept values of single samples"
        )
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
    array = as_floats(value, name)
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


def check_both_sides(above: Array, below: Array | None) -> None:
    """Raise unless targets above and targets below f have a positive cost for some sample; None: equal costs."""
    if below is None:
        if not np.any(above > 0):
            raise ValueError("C is zero for all samples; give at least one sample a positive cost")
        return
    for column, side, cost in ((0, "above", above), (1, "below", below)):
        if not np.any(cost > 0):
            raise ValueError(
                f"C is zero for all targets {side} the function (its value or column {column}), and every function "
                f"that lies far enough {side} the targets would be optimal; give at least one sample a positive cost"
            )


def as_shown(name: str, value: Any) -> str:
    """Return ``name=value`` for an error message, or the shape of an array."""
    if is_pair(value) or np.ndim(value) == 0:
        return f"{name}={value!r}"
    return f"{name}, of shape {np.shape(value)},"
