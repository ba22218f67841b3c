"""The functions of a fitted estimator as sums of kernel expansions and linear functions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from hinge import estimators
from hinge.estimators.common.validation import validate_features
from hinge.estimators.kernel.classification import KernelClassifier
from hinge.estimators.linear.base import LinearEstimator
from hinge.estimators.online.base import OnlineEstimator
from hinge.estimators.semiparametric.functions import additive_model
from hinge.kernels import FunctionKernel, Precomputed
from hinge.model import DictionaryModel, KernelModel, LinearModel, PartlyLinearModel
from hinge.problems import Array


@dataclass(frozen=True)
class Functions:
    """f(x) = Σ kernel expansions + weights·x + intercept, with one column of coefficients per function.

    Attributes
    ----------
    parts : tuple of KernelModel
        Dense float64 support vectors and coefficients. Their intercepts are zero.
    weights : ndarray of shape (n_functions, n_features)
    intercept : ndarray of shape (n_functions,)
    names : ndarray or None
        The class, or the pair of classes, of every function; None for one function.
    """

    parts: tuple[KernelModel, ...]
    weights: Array
    intercept: Array
    names: NDArray[Any] | None

    @property
    def n_functions(self) -> int:
        """Number of functions."""
        return len(self.intercept)

    def values(self, X: Array, threads: int = 1) -> Array:
        """Return the values of all functions, (n_rows × n_functions)."""
        values = X @ self.weights.T + self.intercept
        for part in self.parts:
            values += part.decide(X, threads)
        return values


def functions_of(model: Any, output: str = "classes") -> Functions:
    """Return the functions of a fitted estimator of hinge.

    `output` is "classes" or "pairs". For classifiers with one function per pair of classes and more than two classes,
    "classes" stands for the mean over the pairs with a class, positive for the class.
    """
    if isinstance(model, Pipeline):
        raise TypeError(
            "model is a Pipeline; pass its last step and transformed samples: "
            "shapley_values(model[-1], model[:-1].transform(X), model[:-1].transform(background))"
        )
    fitted = _fitted_model(model)
    d = model.n_features_in_
    parts, weights = _parts(fitted, d)
    intercept = np.array(fitted.intercept, dtype=np.float64).ravel()
    if isinstance(model, estimators.OnlineNoveltyDetector):
        intercept = intercept - model.offset_
    names = getattr(model, "classes_", None)
    if names is None or len(intercept) == 1:
        return Functions(parts, weights, intercept, None)
    if not isinstance(model, KernelClassifier):
        return Functions(parts, weights, intercept, names)
    pairs = list(combinations(range(len(names)), 2))
    if output == "pairs":
        labels = np.empty(len(pairs), dtype=object)
        labels[:] = list(combinations(names.tolist(), 2))
        return Functions(parts, weights, intercept, labels)
    mixing = np.zeros((len(pairs), len(names)))
    for row, (i, j) in enumerate(pairs):
        mixing[row, i], mixing[row, j] = 1.0, -1.0
    mixing /= len(names) - 1
    mixed = tuple(_kernel_part(part.kernel, part.vectors, part.coefficients @ mixing) for part in parts)
    return Functions(mixed, mixing.T @ weights, intercept @ mixing, names)


def _fitted_model(model: Any) -> KernelModel | DictionaryModel | LinearModel | PartlyLinearModel:
    module, modules = type(model).__module__, [base.__module__ for base in type(model).__mro__]
    if not (isinstance(model, BaseEstimator) and any(name.startswith("hinge.") for name in modules)):
        raise TypeError(
            f"model is a {type(model).__name__} of {module}; pass a fitted estimator of hinge, such as SVC or SVR"
        )
    check_is_fitted(model)
    if isinstance(model, OnlineEstimator):
        return model._learner.model()
    if isinstance(model, LinearEstimator):
        return model._model()
    if hasattr(model, "function_coef_"):
        return additive_model(model)
    if "model_" not in vars(model):
        raise TypeError(
            f"model is a {type(model).__name__}, which has no decision function; pass a classifier or a regressor"
        )
    return model.model_


def _parts(model: Any, d: int) -> tuple[tuple[KernelModel, ...], Array]:
    """Return kernel expansions with nonzero coefficients, and the weights of linear functions."""
    n = len(np.ravel(model.intercept))
    if isinstance(model, LinearModel):
        weights: Any = model.weights
        return (), np.asarray(weights.toarray() if sp.issparse(weights) else weights, dtype=np.float64).reshape(n, d)
    if isinstance(model, PartlyLinearModel):
        return _parts(model.expansion, d)[0], _parts(model.linear, d)[1]
    if isinstance(model, DictionaryModel):
        found = [_parts(part, d)[0] for part in model.parts if len(part.coefficients)]
        return tuple(part for parts in found for part in parts), np.zeros((n, d))
    if isinstance(model.kernel, Precomputed | FunctionKernel):
        kind = "precomputed kernel" if isinstance(model.kernel, Precomputed) else "kernel that is a Python function"
        raise ValueError(
            f"a {kind} has no formula over the features, so the model cannot be explained by features; train with a "
            "kernel of hinge.kernels, for example kernel='rbf'"
        )
    used = np.flatnonzero(np.any(model.coefficients != 0, axis=1))
    if len(used) == 0:
        return (), np.zeros((n, d))
    vectors = model.vectors[used]
    vectors = np.ascontiguousarray(vectors.toarray() if sp.issparse(vectors) else vectors, dtype=np.float64)
    return (_kernel_part(model.kernel, vectors, model.coefficients[used]),), np.zeros((n, d))


def _kernel_part(kernel: Any, vectors: Array, coefficients: Array) -> KernelModel:
    coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)
    return KernelModel(kernel, vectors, coefficients, np.zeros(coefficients.shape[1]))


def dense_samples(model: Any, name: str, X: Any) -> Array:
    """Validate samples for a fitted estimator; return them as a dense float64 array."""
    if np.ndim(X) == 1 and not sp.issparse(X):
        raise ValueError(f"{name} has one dimension; pass a two-dimensional array, for example {name}.reshape(1, -1)")
    X = validate_features(model, X, reset=False, dtype=np.float64)
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)
