"""Exact effect of training samples on predictions.     docs/math (523)"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hinge.estimators import SVC, IncrementalSVC
from hinge.estimators.common.prediction import prediction_samples
from hinge.estimators.common.validation import ClassificationData, n_rows, take, validate_features
from hinge.estimators.incremental.removal import RemovalProblem
from hinge.estimators.incremental.updates import IncrementalEstimator
from hinge.estimators.kernel.base import DualEstimator
from hinge.kernels import Precomputed, expand
from hinge.paths.flip import Flip
from hinge.problems import Array

#: Largest difference of equal samples, relative to the largest feature: the rounding error of float32.
SAME_SAMPLE = 1e-6


def flip(
    model: Any, x: Any, X_train: Any, y_train: Any, sample_weight: Any = None, *, max_weight: float = 10.0
) -> Flip:
    """Smallest change of each training weight or label that changes the prediction of a two-class SVC at x.

    The same as `IncrementalSVC.flip`, for estimators that do not store their training samples.

    Parameters
    ----------
    model : SVC
        Fitted, with the hinge loss. `gamma` and class weights are not computed again.
    x : array-like of shape (n_features,) or (1, n_features)
    X_train, y_train, sample_weight
        The arguments of `fit`.
    max_weight : float, default=10.0
        Largest weight, relative to the present one.

    Returns
    -------
    Flip
        Samples of weight zero have no influence; their labels are not exchanged.

    Examples
    --------
    >>> import hinge
    >>> from hinge.inspection import flip
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(40, noise=0.3, random_state=0)
    >>> model = hinge.SVC(gamma=1.0, tol=1e-6).fit(X, y)
    >>> result = flip(model, [0.5, 0.25], X, y)
    >>> len(result.weight)
    40
    """
    if not isinstance(model, SVC | IncrementalSVC) or getattr(model, "loss", "hinge") != "hinge":
        raise TypeError(f"model={model!r} must be a fitted SVC with the hinge loss")
    check_is_fitted(model)
    _check_training_samples(model, X_train, y_train)
    class_weight = dict(zip(model.classes_.tolist(), model.class_weight_.tolist(), strict=True))
    same = IncrementalSVC(
        C=model.C, kernel=model.model_.kernel, class_weight=class_weight, cache_size=model.cache_size
    )
    found = same.fit(X_train, y_train, sample_weight).flip(x, max_weight=max_weight)
    if sample_weight is None or len(found.weight) == n_rows(X_train):
        return found
    n, rows = n_rows(X_train), np.flatnonzero(np.asarray(sample_weight) > 0)  # the others were left out
    weight, without, relabelled = np.full(n, np.nan), np.full(n, found.value), np.full(n, np.nan)
    weight[rows], without[rows], relabelled[rows] = found.weight, found.value_without, found.value_relabelled
    return Flip(found.value, weight, without, relabelled, found.max_weight)


def influence(model: Any, X: Any, X_train: Any = None, y_train: Any = None, sample_weight: Any = None) -> Array:
    """Compute the exact change of the decision values if each training sample is removed.

    Every sample is removed from the solution along a path; no approximation is made. Samples that are not support
    vectors have no influence, except in ν-regression and if the offset b is not unique, because all support vectors are
    at their bounds: b is the middle of its interval, which such samples may bound.

    Parameters
    ----------
    model : SVR, NuSVR, SVC with two classes, or their incremental variants
        A fitted estimator. `gamma` is not computed again without the sample.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples whose decision values are explained.
    X_train, y_train, sample_weight
        The arguments of `fit`. May be left out for IncrementalSVC and IncrementalSVR, which store them.

    Returns
    -------
    ndarray of shape (n_samples, n_train)
        Decision value without training sample i minus decision value with it. NaN if the model cannot be trained
        without it, because it is the only sample of its class; 0 for samples of weight zero.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVR
    >>> from hinge.inspection import influence
    >>> X = np.linspace(0, 1, 9)[:, None]; y = X[:, 0].copy(); y[4] = 3.0
    >>> model = SVR(C=1.0, gamma=1.0).fit(X, y)
    >>> int(np.abs(influence(model, X[4:5], X, y)).argmax())
    4
    """
    if not isinstance(model, DualEstimator):
        raise TypeError(f"model is a {type(model).__name__}; pass a fitted SVR, NuSVR, SVC or an incremental variant")
    if X_train is None:
        if not isinstance(model, IncrementalEstimator):
            raise ValueError(f"{type(model).__name__} does not store its training samples; pass X_train and y_train")
        X_train, y_train, sample_weight = model.training_data_
    else:
        check_is_fitted(model)
        _check_training_samples(model, X_train, y_train)
    unfitted = clone(model)
    if not isinstance(model.model_.kernel, Precomputed):
        unfitted.kernel = model.model_.kernel  # γ as it was fitted
    for name in ("_side", "_widths"):  # costs and tubes of single samples, which IncrementalSVR.fit was given
        if vars(model).get(name) is not None:
            setattr(unfitted, name, getattr(model, name))
    problem = RemovalProblem(unfitted, X_train, y_train, sample_weight)
    start, intercept = problem.beta, problem.intercept
    changes, shifts = np.zeros((problem.n, problem.n)), np.zeros(problem.n)
    data, single = problem.data, np.zeros(problem.n, dtype=bool)
    if isinstance(data, ClassificationData):
        labels, counts = np.unique(data.y, return_counts=True)
        single = np.isin(data.y, labels[counts == 1])
    changing = np.flatnonzero(~single & problem.changes)
    for solution in problem.without_each(changing):
        changes[:, solution.removed[0]] = solution.beta - start
        shifts[solution.removed] = solution.intercept - intercept
    X = prediction_samples(model, X) if not isinstance(problem.kernel, Precomputed) else np.asarray(X)
    if isinstance(problem.kernel, Precomputed):
        values = X[:, data.rows] @ changes
    else:
        used = np.flatnonzero(changes.any(axis=1))
        values = np.zeros((n_rows(X), problem.n))
        if len(used):
            values = expand(problem.kernel, X, take(data.X, used), np.ascontiguousarray(changes[used]))
    values = problem.sign * (values + shifts)
    values[:, single] = np.nan
    result = np.zeros((n_rows(X), n_rows(X_train)))
    result[:, data.rows] = values
    return result


def _check_training_samples(model: Any, X_train: Any, y_train: Any) -> None:
    """Raise if X_train and y_train are not the arguments of `fit`; the effects would be those on another model."""
    if isinstance(model, IncrementalEstimator):
        return  # updates change the number of samples
    n, fitted = n_rows(X_train), model.shape_fit_[0]
    if n != fitted:
        raise ValueError(f"X_train has {n} rows, but the model was fitted with {fitted}; pass the arguments of fit")
    if hasattr(model, "classes_"):
        labels = np.unique(np.asarray(y_train))
        if not np.isin(model.classes_, labels).all():
            raise ValueError(
                f"y_train has the classes {labels.tolist()}, but the model was fitted with {model.classes_.tolist()}; "
                "pass the arguments of fit"
            )
    if isinstance(model.model_.kernel, Precomputed):
        return
    vectors, rows = model.support_vectors_, take(validate_features(model, X_train, reset=False), model.support_)
    if sp.issparse(vectors) or sp.issparse(rows):
        vectors, rows = sp.csr_matrix(vectors), sp.csr_matrix(rows)
    if rows.shape[0] and abs(rows - vectors).max() > SAME_SAMPLE * abs(vectors).max():
        raise ValueError(
            "X_train at the positions model.support_ differs from the support vectors of the model; pass the arguments "
            "of fit, with the rows in the same order"
        )
