"""Scores of one split from its decision values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, r2_score
from sklearn.utils.multiclass import _ovr_decision_function

from hinge.problems import Array
from hinge.selection.folds import votes

Scorer = Callable[..., Any]


class ClassifierOfSplit(ClassifierMixin, BaseEstimator):
    """Classifier for scorers: its decision values at the test samples of a split are given."""

    def __init__(self, classes: Any = None, values: Any = None, shape: str = "ovr", break_ties: bool = False) -> None:
        self.classes, self.values, self.shape, self.break_ties = classes, values, shape, break_ties

    @property
    def classes_(self) -> NDArray[Any]:
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> Array:
        """Return the result for the test samples; X is ignored."""
        if len(self.classes) == 2:
            return -self.values[0]
        return self._per_class() if self.shape == "ovr" else self.values.T

    def _per_class(self) -> Array:
        return _ovr_decision_function(self.values.T < 0, -self.values.T, len(self.classes))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the result for the test samples; X is ignored."""
        if self.break_ties and len(self.classes) > 2:
            return self.classes[np.argmax(self._per_class(), axis=1)]
        return self.classes[votes(self.values, len(self.classes))]


class RegressorOfSplit(RegressorMixin, BaseEstimator):
    """Regressor for scorers: its predictions at the test samples of a split are given."""

    def __init__(self, values: Any = None) -> None:
        self.values = values

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Array:
        """Return the result for the test samples; X is ignored."""
        return self.values


def scorer_of(scoring: Any) -> Scorer | None:
    """Return a scorer; None for the score of the estimator."""
    if scoring is None or callable(scoring):
        return scoring
    if isinstance(scoring, str):
        return get_scorer(scoring)
    raise ValueError(
        f"scoring={scoring!r} must be None, a name or a function; for several scores use "
        "sklearn.model_selection.GridSearchCV"
    )


def classification_scores(
    values: Array, classes: NDArray[Any], X: Any, y: NDArray[Any], scorer: Scorer | None, shape: str, break_ties: bool
) -> Array:
    """Return one score for every cost; values: pairs × costs × samples."""
    if scorer is None and not (break_ties and len(classes) > 2):
        return np.mean(classes[votes(values, len(classes))] == y, axis=1)
    models = (ClassifierOfSplit(classes, values[:, c], shape, break_ties) for c in range(values.shape[1]))
    return np.array([m.score(X, y) if scorer is None else scorer(m, X, y) for m in models], dtype=np.float64)


def regression_scores(values: Array, X: Any, y: NDArray[Any], scorer: Scorer | None) -> Array:
    """Return one score for every cost; values: 1 × costs × samples."""
    if scorer is None:
        return np.array([r2_score(y, row) for row in values[0]])
    return np.array([scorer(RegressorOfSplit(row), X, y) for row in values[0]], dtype=np.float64)
