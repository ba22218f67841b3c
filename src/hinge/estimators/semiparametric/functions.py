"""Unpenalized functions ψⱼ of semiparametric estimators: validation, values, and the model with both parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hinge.control import effective_n_jobs
from hinge.estimators.common.prediction import check_model, prediction_samples
from hinge.estimators.common.rules import Rule
from hinge.estimators.common.training import Subproblem
from hinge.formulations import Semiparametric, SemiparametricExpansion, independent_functions
from hinge.kernels import FunctionKernel, Kernel, Precomputed
from hinge.model import Expansion, LinearModel, PartlyLinearModel
from hinge.problems import Array
from hinge.validation import as_floats

FUNCTIONS = ("constant", "linear", "quadratic")


@dataclass(frozen=True)
class Functions:
    """Rule of the parameter `functions`: a name, or a Python function of X."""

    def check(self, name: str, value: Any) -> None:
        if not callable(value) and not (isinstance(value, str) and value in FUNCTIONS):
            choices = ", ".join(map(repr, FUNCTIONS))
            raise ValueError(f"{name}={value!r} must be one of {choices}, or a function of X that returns a matrix")


FUNCTION_RULES: dict[str, Rule] = {"functions": Functions()}


def function_values(functions: str | Callable[[Any], Any], X: Any, kernel: Kernel) -> Array:
    """Return ψⱼ(xᵢ) at the rows of X, one column for each function."""
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    if functions == "constant":
        return np.ones((n, 1))
    if isinstance(kernel, Precomputed):
        raise ValueError(
            f"functions={functions!r} needs the samples, but kernel='precomputed' passes kernel values; use "
            "functions='constant' or another kernel"
        )
    if callable(functions):
        values = as_floats(functions(X), "functions(X)")
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != n or values.shape[1] == 0:
            raise ValueError(
                f"functions(X) has shape {np.shape(values)}, but one row for each of the {n} samples is needed, with "
                "one column for each function"
            )
    else:
        if isinstance(kernel, FunctionKernel) or np.ndim(X) != 2:
            raise ValueError(f"functions={functions!r} needs samples with features; pass a function of X instead")
        features = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        columns = [np.ones((n, 1)), features]
        if functions == "quadratic":
            first, second = np.triu_indices(features.shape[1])
            columns.append(features[:, first] * features[:, second])
        values = np.hstack(columns)
    if not np.isfinite(values).all():
        raise ValueError(f"the values of functions={functions!r} at X are not finite; scale X, or use other functions")
    return values


def semiparametric_subproblems(
    inner: Sequence[Subproblem], values: Array
) -> tuple[list[Subproblem], NDArray[np.bool_]]:
    """Add the functions to subproblems with all samples; return also which functions are linearly independent."""
    used = independent_functions(values)
    functions = np.ascontiguousarray(values[:, used])
    return [Subproblem(None, Semiparametric(part.formulation, functions)) for part in inner], used


def store_function_coef(estimator: Any, expansions: Sequence[Expansion], used: NDArray[np.bool_]) -> None:
    """Set `function_coef_`, with zeros for functions that depend on others."""
    coef = np.zeros((len(expansions), len(used)))
    for row, expansion in zip(coef, expansions, strict=True):
        assert isinstance(expansion, SemiparametricExpansion)
        row[used] = expansion.weights
    if not np.isfinite(coef).all():
        raise ValueError("The coefficients of the functions are not finite. Scale X and y")
    estimator.function_coef_ = coef


def independent_coef(estimator: Any, values: Array) -> Array:
    """Return the columns of `function_coef_` that belong to linearly independent functions with these `values`."""
    coef = estimator.function_coef_
    if coef.shape[1] != values.shape[1]:
        raise ValueError(
            f"function_coef_ has {coef.shape[1]} columns, but functions={estimator.functions!r} are {values.shape[1]}: "
            "a parameter was changed; fit again"
        )
    return np.ascontiguousarray(coef[:, independent_functions(values)])


def additive_model(estimator: Any) -> PartlyLinearModel:
    """Return the kernel expansion and the functions as one model; the functions must be linear."""
    if estimator.functions not in ("constant", "linear"):
        raise TypeError(
            f"a model with functions={estimator.functions!r} has no form as a kernel expansion plus a linear function, "
            "which explanations need; train with functions='constant' or 'linear'"
        )
    return linear_part(estimator)


def linear_part(estimator: Any) -> PartlyLinearModel:
    """Return the kernel expansion, the constant and the linear functions as one model, without products of features."""
    coef, d = estimator.function_coef_, estimator.n_features_in_
    weights = np.zeros((len(coef), d)) if estimator.functions == "constant" else coef[:, 1 : d + 1]
    return PartlyLinearModel(
        estimator.model_, LinearModel(np.ascontiguousarray(weights), np.ascontiguousarray(coef[:, 0]))
    )


def semiparametric_values(estimator: Any, X: Any, n_functions: int) -> Array:
    """Decision values of a fitted semiparametric estimator, (n_rows × n_functions)."""
    check_is_fitted(estimator)
    check_model(estimator, n_functions)
    coef = estimator.function_coef_
    if np.ndim(coef) != 2 or len(coef) != n_functions or coef.dtype != np.float64:
        raise ValueError(f"The internal representation of {type(estimator).__name__} was altered")
    X = prediction_samples(estimator, X)
    values = function_values(estimator.functions, X, estimator.model_.kernel)
    if values.shape[1] != coef.shape[1]:
        raise ValueError(
            f"functions(X) has {values.shape[1]} columns, but it had {coef.shape[1]} at fit; it must return the same "
            "functions"
        )
    decided: Array = estimator.model_.decide(X, effective_n_jobs(estimator.n_jobs)) + values @ coef.T
    return decided


