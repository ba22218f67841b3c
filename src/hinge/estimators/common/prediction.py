"""Prediction with fitted kernel expansions: validation of X, decision values, and a check of the fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from hinge.control import effective_n_jobs
from hinge.estimators.common.validation import FLOATS, is_plain, validate_samples
from hinge.kernels import FunctionKernel, Precomputed
from hinge.matrices import check_column_names
from hinge.problems import Array
from hinge.validation import as_rows

#: Decision values of one-class estimators below this fraction of the offset are rounding errors and set to zero.
BOUNDARY_TOL = 1e-12


def decision_values(estimator: Any, X: Any, n_functions: int) -> Array:
    """Decision values of all functions of a fitted kernel estimator, (n_rows × n_functions)."""
    attributes = vars(estimator)
    if "model_" not in attributes:
        check_is_fitted(estimator)
    check_model(estimator, n_functions)
    model = estimator.model_
    plain = is_plain(X) and not isinstance(model.kernel, Precomputed) and "feature_names_in_" not in attributes
    if not plain or X.shape[1] != estimator.n_features_in_:
        X = prediction_samples(estimator, X)
    threads = effective_n_jobs(estimator.n_jobs) if X.shape[0] > 1 else 1  # the compiled core does not divide a row
    return model.decide(X, threads)


def prediction_samples(estimator: Any, X: Any) -> Any:
    """Validate samples for prediction; with a precomputed kernel, return the columns of the support vectors."""
    kernel = estimator.model_.kernel
    if isinstance(kernel, FunctionKernel):
        return as_rows(X)
    if isinstance(kernel, Precomputed):
        names = vars(estimator).get("feature_names_in_")
        if names is not None:
            width = np.shape(X)[1] if np.ndim(X) == 2 else 0
            check_column_names(X, names[estimator.support_] if width != len(names) else names)
        return _support_columns(X, estimator.support_, estimator.shape_fit_[0])
    X = validate_samples(estimator, X, kernel, reset=False)
    if sp.issparse(X) and not vars(estimator).get("_sparse", False):
        raise ValueError(f"cannot use sparse input in {type(estimator).__name__!r} trained on dense data")
    return X


def _support_columns(K: Any, support: Any, n_training: int) -> Array:
    """Kernel values with the support vectors, from those with all training samples or with the support vectors."""
    K = check_array(K, dtype=FLOATS, order="C")
    if K.shape[1] == n_training:
        return np.ascontiguousarray(K[:, support])
    if K.shape[1] == len(support):
        return K
    raise ValueError(
        f"X.shape[1] = {K.shape[1]} should be equal to {n_training}, the number of samples at training time (or to "
        f"{len(support)}, one column per support vector)"
    )


def check_model(estimator: Any, n_functions: int) -> None:
    """Raise a ValueError if the fitted attributes do not belong together.

    They may come from a file, and users can assign to them. Inconsistent shapes must not reach compiled code.
    """
    model, support, vectors = estimator.model_, estimator.support_, estimator.model_.vectors
    coefficients, intercept, count = model.coefficients, model.intercept, len(support)
    consistent = (
        np.shape(coefficients) == (count, n_functions)
        and np.shape(intercept) == (n_functions,)
        and coefficients.dtype == intercept.dtype == np.float64
        and len(estimator.intercept_) == n_functions
        and int(estimator._n_support.sum()) == count
        and support.dtype.kind == "i"
        and (count == 0 or (int(support.min()) >= 0 and int(support.max()) < estimator.shape_fit_[0]))
    )
    if consistent and not isinstance(model.kernel, Precomputed):
        shape = np.shape(vectors)
        consistent = shape[:1] == np.shape(estimator.support_vectors_)[:1] == (count,)
        consistent = consistent and (len(shape) != 2 or shape[1] == estimator.n_features_in_)
    if not consistent:
        raise ValueError(f"The internal representation of {type(estimator).__name__} was altered")
