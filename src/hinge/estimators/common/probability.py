"""Probabilities of classifiers: the methods `predict_proba` and `predict_log_proba`, and their calibration."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hinge.calibration import PairwiseSigmoids
from hinge.control import RunControl
from hinge.estimators.common.cross_fitting import cross_fit
from hinge.estimators.common.report import FitReport
from hinge.estimators.common.training import Settings, Trained
from hinge.estimators.common.validation import ClassificationData, row_index
from hinge.problems import Array, Status


def has_probability(estimator: Any) -> bool:
    """Whether an estimator has probability methods; the AttributeError names the parameter."""
    if not estimator.probability:
        raise AttributeError(
            f"predict_proba is not available when probability=False; use {type(estimator).__name__}(probability=True)"
        )
    return True


class ProbabilityMixin(ABC):
    """Methods of estimators with a parameter `probability`. They exist only if it is True.

    An estimator defines `_probabilities(X)`; its `fit` sets `calibration_`.
    """

    @available_if(has_probability)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class, one column per class in the order of ``classes_``.

        The class with the largest probability is the one that `predict` returns.
        """
        check_calibrated(self)
        return self._probabilities(X)

    @available_if(has_probability)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @abstractmethod
    def _probabilities(self, X: Any) -> Array:
        """Return the probability of every class."""


def check_calibrated(estimator: Any) -> None:
    """Raise a NotFittedError if the estimator has no calibration."""
    check_is_fitted(estimator)
    if "calibration_" not in vars(estimator):
        raise NotFittedError(
            f"This {type(estimator).__name__} was fitted with probability=False, or its calibration was interrupted; "
            "call fit with probability=True before methods that return probabilities"
        )


def calibrate_pairs(
    estimator: Any, data: ClassificationData, trained: Trained, settings: Settings, control: RunControl
) -> FitReport:
    """Set `calibration_` of a one-vs-one classifier; return the report of the fit, with an interrupt if there was one.

    Class weights act as in training: the probabilities are those of the weighted distribution.
    """
    vars(estimator).pop("calibration_", None)
    if trained.report.error is not None:
        return trained.report
    fitted = cross_fit(estimator._fold_subproblems, data, trained, settings, control)
    if fitted.error is not None:
        return trained.report.interrupted(fitted.error)
    warn_if_unfinished([solution.status for solution in fitted.solutions], estimator.max_time)
    weight, first, weights = calibration_weight(data), [], []
    for subproblem in trained.subproblems:
        rows = row_index(subproblem.rows)
        formulation: Any = subproblem.formulation
        first.append(formulation.y > 0)
        weights.append(weight[rows])
    estimator.calibration_ = PairwiseSigmoids.fit(fitted.values, first, weights)
    return trained.report


def calibration_weight(data: ClassificationData) -> Array:
    """Sample weight times class weight, with the sum of the sample weights."""
    cost = data.cost()
    return cost * (float(np.sum(data.weight)) / float(np.sum(cost)))


def warn_if_unfinished(statuses: Sequence[Status], max_time: float | None) -> None:
    """Warn if the time limit ended the problems of some folds."""
    count = sum(status is Status.TIME_LIMIT for status in statuses)
    if count:
        warnings.warn(
            f"max_time={max_time} s ended {count} of {len(statuses)} problems of the cross-validation for "
            "probabilities: they are less accurate. Allow more time, or use probability=False.",
            ConvergenceWarning,
            stacklevel=4,
        )
