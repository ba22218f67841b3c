"""Linear estimators as LIBLINEAR models, and LIBLINEAR models as linear estimators."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from hinge.estimators import LinearOneClassSVM, LinearSVC, LinearSVR
from hinge.estimators.linear.base import dense_weights
from hinge.io.libsvm_models.kernel_estimators import integer_labels
from hinge.io.libsvm_models.liblinear import CLASSIFIERS, ONE_CLASS, LiblinearModel

#: Loss of every type, and the type that is written for a loss. Files do not state other losses.
LOSSES = {
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    "MCSVM_CS": "hinge",
    "L1R_L2LOSS_SVC": "squared_hinge",
    "L2R_L2LOSS_SVR": "squared_epsilon_insensitive",
    "L2R_L2LOSS_SVR_DUAL": "squared_epsilon_insensitive",
    "L2R_L1LOSS_SVR_DUAL": "epsilon_insensitive",
}

#: Tolerance of the dual point that certifies a loaded model.
DUAL_TOL = 1e-8


def record_of(estimator: Any) -> LiblinearModel:
    """Return the LIBLINEAR model of a fitted estimator."""
    check_is_fitted(estimator)
    weights = np.atleast_2d(dense_weights(estimator.coef_))
    intercept = np.atleast_1d(np.asarray(estimator.intercept_, dtype=np.float64))
    if isinstance(estimator, LinearOneClassSVM):
        return LiblinearModel(ONE_CLASS, weights, intercept, -1.0)
    bias = -1.0
    if estimator.fit_intercept:
        bias = float(estimator.intercept_scaling) if estimator.penalize_intercept else 1.0
    if isinstance(estimator, LinearSVR):
        is_absolute = estimator.loss == "epsilon_insensitive"
        return LiblinearModel("L2R_L1LOSS_SVR_DUAL" if is_absolute else "L2R_L2LOSS_SVR", weights, intercept, bias)
    labels = integer_labels(estimator.classes_)
    if len(labels) == 2:  # positive values mean the second class, which is written first
        labels = labels[::-1]
    if estimator.multi_class == "crammer_singer":
        if len(labels) == 2:  # one weight vector for each class
            weights, intercept = np.concatenate([weights, -weights]) / 2, np.concatenate([intercept, -intercept]) / 2
        return LiblinearModel("MCSVM_CS", weights, intercept, bias, labels)
    if estimator.penalty == "l1":
        return LiblinearModel("L1R_L2LOSS_SVC", weights, intercept, bias, labels)
    kind = "L2R_L1LOSS_SVC_DUAL" if estimator.loss == "hinge" else "L2R_L2LOSS_SVC_DUAL"
    return LiblinearModel(kind, weights, intercept, bias, labels)


def estimator_of(record: LiblinearModel, parameters: dict[str, Any]) -> Any:
    """Return a fitted estimator without a dual point; `parameters` are those that the file does not contain."""
    settings: dict[str, Any] = {}
    if record.solver_type != ONE_CLASS:
        settings = {"loss": LOSSES[record.solver_type], "fit_intercept": record.bias > 0}
        if record.bias > 0:
            settings |= {"penalize_intercept": True, "intercept_scaling": record.bias}
    cls: Any = LinearSVC if record.solver_type in CLASSIFIERS else LinearSVR
    if record.solver_type == "L1R_L2LOSS_SVC":
        settings["penalty"] = "l1"
    if record.solver_type == "MCSVM_CS":
        settings["multi_class"] = "crammer_singer"
    cls = LinearOneClassSVM if record.solver_type == ONE_CLASS else cls
    estimator = cls(**{**settings, **parameters})
    estimator._check_parameters()
    weights, intercept = record.weights, record.intercept
    if record.labels is not None:
        order = np.argsort(record.labels)
        estimator.classes_ = record.labels[order]
        if len(order) > 2:
            weights, intercept = weights[order], intercept[order]
        else:  # one function, positive for the second of the sorted classes
            sign = 1.0 if order[0] == 1 else -1.0
            of_first, of_second = (weights[0], intercept[0]), (-weights[0], -intercept[0])
            if len(weights) == 2:
                of_first = weights[0] - weights[1], intercept[0] - intercept[1]
                of_second = weights[1] - weights[0], intercept[1] - intercept[0]
            w, b = of_first if sign > 0 else of_second
            weights, intercept = w[None, :] + 0.0, np.array([b]) + 0.0
        weight = estimator.class_weight if isinstance(estimator.class_weight, dict) else None
        estimator.class_weight_ = compute_class_weight(weight, classes=estimator.classes_, y=estimator.classes_)
    estimator.coef_ = weights[0] if isinstance(estimator, LinearSVR) else np.ascontiguousarray(weights)
    estimator.intercept_ = intercept
    if isinstance(estimator, LinearOneClassSVM):
        estimator.offset_ = 0.0 - intercept
    estimator.n_features_in_ = weights.shape[1]
    estimator._n_seen, estimator._fit_cost = 0, float(getattr(estimator, "C", 1.0))
    estimator.dual_coef_ = np.zeros((len(weights), 0))
    return estimator


def complete(estimator: Any, X: Any, y: Any) -> None:
    """Set the dual point of a loaded estimator.

    The file contains the primal point only. Every feasible dual point bounds the optimum from below, and the bound is
    best at the optimum: the problem is solved with the parameters of the estimator, and the dual point is kept.
    """
    solved = clone(estimator).set_params(tol=min(estimator.tol, DUAL_TOL), max_iter=-1, verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a dual point of lower accuracy is valid: the certificate shows its gap
        solved.fit(X) if y is None else solved.fit(X, y)
    for name in ("dual_coef_", "_n_seen", "_fit_cost", "class_weight_", "n_features_in_", "feature_names_in_"):
        if hasattr(solved, name):
            setattr(estimator, name, getattr(solved, name))
