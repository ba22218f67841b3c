"""p-values of novelty detectors.      docs/math (528)"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, OutlierMixin, clone, is_classifier, is_regressor
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from hinge.conformal.label_addition import SampleAddition
from hinge.conformal.quantiles import check_level, lower_rank
from hinge.conformal.samples import (
    check_calibration_size,
    check_folds,
    indexable,
    kernel_with_formula,
    sample_blocks,
    select_rows,
)
from hinge.conformal.scores import count_at_least
from hinge.estimators import OneClassSVM
from hinge.estimators.common.prediction import prediction_samples
from hinge.estimators.common.validation import n_rows
from hinge.estimators.kernel.one_class import OneClassEstimator
from hinge.problems import Array
from hinge.validation import check_choice


class ConformalDetector(MetaEstimatorMixin, OutlierMixin, BaseEstimator):
    """Novelty detection with p-values.

    If new samples follow the distribution of the training samples, the probability that the p-value of one of them is
    at most α is at most α, so that `predict` has at most this rate of false alarms on average ("inductive" and "full";
    2α for "cross").

    Parameters
    ----------
    estimator : novelty detector, optional
        With `decision_function`, larger for inliers. By default ``OneClassSVM(nu=0.1)``.
    method : {"inductive", "cross", "full"}, default="inductive"
        As in `ConformalClassifier`. "full" adds every new sample to the exact solution, with weight 1; it needs
        OneClassSVM or IncrementalOneClassSVM.
    alpha : float, default=0.05
        Level of `predict`.
    calibration_size, cv, random_state
        As in `ConformalClassifier`.

    Attributes
    ----------
    estimator_ : novelty detector
        Fitted on the training part ("inductive") or on all samples.
    offset_ : float
        ``decision_function = score_samples - offset_``, where `score_samples` are the p-values.

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
        check_choice("method", self.method, ("inductive", "cross", "full"))
        check_level(self.alpha)
        estimator = self._estimator()
        if is_classifier(estimator) or is_regressor(estimator) or not hasattr(estimator, "decision_function"):
            raise TypeError(
                f"estimator is a {type(estimator).__name__}, which is not a novelty detector with decision_function; "
                "use OneClassSVM, or ConformalClassifier for classifiers"
            )
        X = indexable(X)
        n = n_rows(X)
        if self.method == "full":
            self._fit_full(X)
            return self
        if self.method == "inductive":
            size = check_calibration_size(self.calibration_size, n)
            split = ShuffleSplit(1, test_size=size, random_state=self.random_state)
        else:
            check_folds(self.cv, n)
            split = KFold(self.cv, shuffle=True, random_state=self.random_state)
        self._calibrated = []
        for train, test in split.split(np.empty(n)):
            model = clone(self._estimator()).fit(select_rows(X, train))
            self._calibrated.append((model, _scores(model, select_rows(X, test))))
        inductive = self.method == "inductive"
        self.estimator_ = self._calibrated[0][0] if inductive else clone(self._estimator()).fit(X)
        self.n_features_in_ = self.estimator_.n_features_in_
        return self

    def _fit_full(self, X: Any) -> None:
        estimator = clone(self._estimator())
        if not isinstance(estimator, OneClassEstimator):
            raise TypeError(
                f"estimator={estimator!r} cannot be used with method='full', which needs OneClassSVM or "
                "IncrementalOneClassSVM; use method='cross'"
            )
        kernel = kernel_with_formula(estimator)
        self.estimator_ = estimator.fit(X)
        self._data = estimator._validate(X, None, None, kernel, reset=False)
        self.n_features_in_ = estimator.n_features_in_

    def _calibration_size(self) -> int:
        if self.method == "full":
            return self._data.n
        return sum(len(calibration) for _, calibration in self._calibrated)

    @property
    def offset_(self) -> float:
        """The middle between the largest p-value of outliers, at most `alpha`, and the smallest one of inliers."""
        check_is_fitted(self)
        size = self._calibration_size()
        return (lower_rank(self.alpha, size) + 0.5) / (size + 1)

    def score_samples(self, X: Any) -> Array:
        """The p-values."""
        return self.p_values(X)

    def decision_function(self, X: Any) -> Array:
        """p-values minus `offset_`: negative if the p-value is at most `alpha`."""
        return self.p_values(X) - self.offset_

    def p_values(self, X: Any) -> Array:
        """Return the p-value of each row under the hypothesis that it is an inlier."""
        check_is_fitted(self)
        if self.method == "full":
            return self._full_p_values(prediction_samples(self.estimator_, X))
        X = indexable(X)
        counts, size = np.zeros(n_rows(X)), 0
        for model, calibration in self._calibrated:
            counts += count_at_least(calibration, _scores(model, X))
            size += len(calibration)
        return (1.0 + counts) / (1.0 + size)

    def _full_p_values(self, X: Any) -> Array:
        data, estimator, found = self._data, self.estimator_, []
        for new in sample_blocks(X):
            addition = SampleAddition(
                estimator.model_.kernel, data.X, data.weight, float(estimator.nu), new, estimator.cache_size
            )
            found += [addition.p_value(t) for t in range(n_rows(new))]
        return np.array(found)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """−1 if the p-value is at most `alpha`, +1 otherwise."""
        return np.where(self.decision_function(X) > 0, 1, -1).astype(np.intp)


def _scores(detector: Any, X: Any) -> Array:
    """Nonconformity scores: large for outliers."""
    return -np.asarray(detector.decision_function(X), dtype=np.float64)
