"""Calibration of linear classifiers on cross-fitted decision values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hinge.calibration import OneVsRestSigmoids, PairwiseSigmoids, SoftmaxScaling, fit_one_vs_rest
from hinge.control import RunControl
from hinge.estimators.common.cross_fitting import N_FOLDS, N_FOLDS_OF_SEVERAL, fold_numbers
from hinge.estimators.common.memory_map import block_bytes
from hinge.estimators.common.probability import calibration_weight, warn_if_unfinished
from hinge.estimators.common.report import FitReport
from hinge.estimators.common.validation import ClassificationData
from hinge.model import LinearModel
from hinge.problems import Array, Status

#: Least relative gap of the problems of the folds: smaller errors of decision values do not change the calibration.
FOLD_GAP = 1e-3


@dataclass(frozen=True)
class PartSolution:
    """Functions trained on some of the samples, and the solutions from which they come."""

    weights: Array
    offsets: Array
    parts: Sequence[Any]


def check_in_memory(estimator: Any, X: Any) -> None:
    """Raise a ValueError if X is a memory map of a file that is read in blocks: the folds are copies of samples."""
    if block_bytes(X, estimator.cache_size):
        raise ValueError(
            "probability=True needs copies of the samples of every fold in memory, but X is a memory map of a file "
            "that is read in blocks; use probability=False and calibrate on other samples with "
            "CalibratedClassifierCV(FrozenEstimator(model)), a cache_size of more than twice the file, or X.copy()"
        )


def calibrate_linear(
    estimator: Any, data: ClassificationData, dual: Array, report: FitReport, control: RunControl
) -> FitReport:
    """Set `calibration_` of a linear classifier; return the report of the fit, with an interrupt if there was one.

    Parameters
    ----------
    estimator : LinearSVC
        `_solve_part(data, dual, control, tol)` trains on some of the samples.
    data : ClassificationData
    dual : ndarray of shape (n_functions, n_samples)
        The dual points on all samples, from which the folds start.
    report : FitReport
    control : RunControl
    """
    vars(estimator).pop("calibration_", None)
    if report.error is not None:
        return report
    label = np.searchsorted(data.classes, data.y)
    n_folds = N_FOLDS if len(dual) == 1 else N_FOLDS_OF_SEVERAL
    folds = fold_numbers(label, n_folds)
    values, statuses = np.zeros((data.n, len(dual))), list[Status]()
    for fold in range(n_folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if len(np.unique(label[train])) < 2:
            values[test] = _one_class_values(label[train], values.shape[1])
            continue
        part = replace(data, X=data.X[train], y=data.y[train], weight=data.weight[train], rows=train)
        solved = estimator._solve_part(part, dual[:, train], control, max(float(estimator.tol), FOLD_GAP))
        error = next((each.error for each in solved.parts if each.error is not None), None)
        if error is not None:
            return report.interrupted(error)
        statuses += [each.status for each in solved.parts]
        values[test] = LinearModel(solved.weights, solved.offsets).decide(data.X[test])
    warn_if_unfinished(statuses, estimator.max_time)
    estimator.calibration_ = fitted_calibration(values, label, calibration_weight(data))
    return report


def _one_class_values(label: Any, n_functions: int) -> Array:
    """Decision values if the other folds have one class only: its function is positive, the others are negative."""
    if n_functions == 1:
        return np.full(1, 1.0 if len(label) and label[0] == 1 else -1.0)
    return np.where(np.isin(np.arange(n_functions), label), 1.0, -1.0)


def fitted_calibration(
    values: Array, label: Any, weight: Array
) -> PairwiseSigmoids | SoftmaxScaling | OneVsRestSigmoids:
    """Platt's sigmoid for two classes; for more, temperature scaling with offsets or a sigmoid for every class."""
    if values.shape[1] == 1:  # positive values mean the second class
        return PairwiseSigmoids.fit([-values[:, 0]], [label == 0], [weight])
    return fit_one_vs_rest(values, label, weight)


def linear_probabilities(calibration: Any, values: Array, predicted: Any) -> Array:
    """Probabilities of all classes; that of the predicted class is the largest."""
    if values.shape[1] == 1:
        return calibration.probabilities(-values, predicted, 2)
    return calibration.probabilities(values, predicted)
