"""Nonconformity scores of classifiers: large if a sample does not conform to a label.      docs/math (528)"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from hinge.estimators.common.prediction import decision_values
from hinge.estimators.kernel.classification import KernelClassifier
from hinge.problems import Array

#: Scores that differ by less than this share of the largest one are equal. Ties count in favor of the new sample.
TIE_TOL = 1e-9


def class_scores(classifier: Any, X: Any) -> Array:
    """Scores of all labels, (n_rows × n_classes).

    With decision values for pairs of classes: minus the smallest decision value for the label. Otherwise the largest
    decision value (or probability) of the other classes minus that of the label.
    """
    n_classes = len(classifier.classes_)
    if isinstance(classifier, KernelClassifier) and n_classes > 2:
        values = decision_values(classifier, X, n_classes * (n_classes - 1) // 2)
        smallest = np.full((len(values), n_classes), np.inf)
        for column, (first, second) in enumerate(combinations(range(n_classes), 2)):
            smallest[:, first] = np.minimum(smallest[:, first], values[:, column])
            smallest[:, second] = np.minimum(smallest[:, second], -values[:, column])
        return -smallest
    if hasattr(classifier, "decision_function"):
        values = np.asarray(classifier.decision_function(X), dtype=np.float64)
    elif hasattr(classifier, "predict_proba"):
        values = np.asarray(classifier.predict_proba(X), dtype=np.float64)
    else:
        raise TypeError(
            f"estimator is a {type(classifier).__name__}, which has neither decision_function nor predict_proba; use "
            "another classifier"
        )
    if values.ndim == 1:
        return np.stack([values, -values], axis=1)
    others = np.empty_like(values)
    for c in range(n_classes):
        others[:, c] = np.delete(values, c, axis=1).max(axis=1)
    return others - values


def count_at_least(calibration: Array, scores: Array, rounding: float = 0.0) -> Array:
    """For every score, the number of calibration scores that are at least as large, up to rounding errors."""
    ordered = np.sort(calibration)
    tolerance = rounding + TIE_TOL * (np.abs(ordered).max(initial=0.0) + np.abs(scores))
    return (len(ordered) - np.searchsorted(ordered, scores - tolerance, side="left")).astype(np.float64)
