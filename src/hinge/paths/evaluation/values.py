"""Methods of paths that accept one value of the parameter or an array of values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from hinge.kernels import Kernel, Precomputed, expand
from hinge.paths.ties import Rounding
from hinge.problems import Array

#: Names of the argument that is the parameter of a path.
PARAMETERS = ("theta", "C", "lam", "value")


def for_values(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of a path accept an array of values of the parameter.

    Arrays and numbers that the method returns are stacked: the first axis of the result corresponds to the values. All
    other results are returned in a list.
    """
    names = list(inspect.signature(method).parameters)
    (name,) = [name for name in names if name in PARAMETERS]
    place = names.index(name)

    @wraps(method)
    def evaluate(*args: Any, **options: Any) -> Any:
        value = args[place] if place < len(args) else options.get(name)
        if value is None or np.ndim(value) == 0:
            return method(*args, **options)
        values = as_values(name, value)
        if place < len(args):
            return stacked([method(*args[:place], one, *args[place + 1 :], **options) for one in values])
        return stacked([method(*args, **{**options, name: one}) for one in values])

    return evaluate


def as_values(name: str, values: Any) -> Array:
    """Return values of a parameter as an array; it must have one dimension and at least one value."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"{name} is an array of shape {array.shape}: pass a number, or a one-dimensional array with at least one "
            "value"
        )
    return array


def stacked(results: list[Any]) -> Any:
    """Return numbers and arrays as one array with the results along the first axis, other results as a list."""
    if all(isinstance(result, float | int | np.ndarray | np.number) for result in results):
        return np.stack([np.asarray(result) for result in results])
    return results


def decision_values(
    kernel: Kernel, X: Any, Z: Any, beta: Array, offset: Any, rounding: Rounding | None = None
) -> Array:
    """Return Σ βᵢ k(zᵢ, x) + b at the rows x of X.

    With an array of shape (n_values, n_samples) as `beta`, the result has one row per value, and the kernel values are
    computed once for all of them. With `rounding`, values within their rounding errors are zero.
    """
    rows, offsets = np.atleast_2d(beta), np.atleast_1d(offset)
    products = X @ rows.T if isinstance(kernel, Precomputed) else expand(kernel, X, Z, rows.T)
    values = np.asarray(products).T + offsets[:, None]
    if rounding is not None:
        reach = rounding.reach(X)
        sizes = np.array([rounding.size(row) for row in rows])[:, None]
        values = np.where(np.abs(values) > rounding.bound(reach, sizes, offsets[:, None]), values, 0.0)
    return values[0] if np.ndim(beta) == 1 else np.ascontiguousarray(values)


def squared_norms(kernel: Kernel, X: Any, beta: Array) -> Array:
    """Return ‖w‖² = βᵀKβ of the expansions whose coefficients are the rows of `beta`."""
    products = X @ beta.T if isinstance(kernel, Precomputed) else expand(kernel, X, None, beta.T)
    return np.maximum(np.sum(beta * np.asarray(products).T, axis=1), 0.0)
