"""p-values of novelty detectors.      docs/math (528)"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, OutlierMixin, clone
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from hinge.conformal.quantiles import lower_rank
from hinge.conformal.samples import indexable, select_rows
from hinge.conformal.scores import count_at_least
from hinge.estimators import OneClassSVM
from hinge.estimators.common.validation import n_rows
from hinge.problems import Array
from hinge.validation import check_choice, check_integer, check_number


class ConformalDetector(MetaEstimatorMixin, OutlierMixin, BaseEstimator):
    """Novelty detection with p-values.

    If new samples follow the distribution of the training samples, at most a share α of them has a p-value of at most
    α: `predict` has at most this rate of false alarms ("inductive"; 2α for "cross").

    Parameters
    ----------
    estimator : novelty detector, optional
        With `decision_function`, larger for inliers. By default ``OneClassSVM(nu=0.1)``.
    method : {"inductive", "cross"}, default="inductive"
        As in `ConformalClassifier`.
    alpha : float, default=0.05
        Level of `predict`.
    calibration_size, cv, random_state
        As in `ConformalClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.conformal import ConformalDetector
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> detector = ConformalDetector(random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.0], [8.0, 8.0]])
    array([ 1, -1])
    """

    def __init__(
        self, estimator=None, *, method="inductive", alpha=0.05, calibration_size=0.25, cv=5, random_state=None
    ):
        self.estimator = estimator
        self.method = method
        self.alpha = alpha
        self.calibration_size = calibration_size
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._estimator()).input_tags
        return tags

    def _estimator(self) -> Any:
        return OneClassSVM(nu=0.1) if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the detector and compute the scores of the calibration samples; y is ignored."""
        check_choice("method", self.method, ("inductive", "cross"))
        check_number("alpha", self.alpha, 0.0, 1.0)
        X = indexable(X)
        n = n_rows(X)
        if self.method == "inductive":
            check_number("calibration_size", self.calibration_size, 0.0, open_low=True)
            split = ShuffleSplit(1, test_size=self.calibration_size, random_state=self.random_state)
        else:
            check_integer("cv", self.cv, 2)
            split = KFold(self.cv, shuffle=True, random_state=self.random_state)
        self._calibrated = []
        for train, test in split.split(np.empty(n)):
            model = clone(self._estimator()).fit(select_rows(X, train))
            values = model.decision_function(select_rows(X, test))
            self._calibrated.append((model, -np.asarray(values, dtype=np.float64)))
        inductive = self.method == "inductive"
        self.estimator_ = self._calibrated[0][0] if inductive else clone(self._estimator()).fit(X)
        self.n_features_in_ = self.estimator_.n_features_in_
        return self

    def decision_function(self, X: Any) -> Array:
        """Decision values of `estimator_`."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    def p_values(self, X: Any) -> Array:
        """Return the p-value of each row under the hypothesis that it is an inlier."""
        check_is_fitted(self)
        counts, size = np.zeros(n_rows(X)), 0
        for model, calibration in self._calibrated:
            counts += count_at_least(calibration, -np.asarray(model.decision_function(X), dtype=np.float64))
            size += len(calibration)
        return (1.0 + counts) / (1.0 + size)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """−1 if the p-value is at most `alpha`, +1 otherwise."""
        p = self.p_values(X)
        size = sum(len(calibration) for _, calibration in self._calibrated)
        return np.where(np.rint(p * (size + 1)) > lower_rank(self.alpha, size), 1, -1).astype(np.intp)
