"""Adaptive conformal intervals for streams of samples that are not exchangeable.      docs/math (530)"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from hinge.conformal.quantiles import check_level, lower_rank, upper_rank
from hinge.conformal.samples import check_regressor, indexable, select_rows
from hinge.estimators import IncrementalSVR
from hinge.estimators.common.validation import n_rows
from hinge.problems import Array
from hinge.validation import check_integer, check_number


@dataclass(frozen=True)
class IntervalHistory:
    """Intervals of a stream and the targets that were observed after them.

    Attributes
    ----------
    lower, upper : ndarray
        Ends of the intervals; infinite while few scores are known, NaN for the empty interval.
    y : ndarray
        Targets.
    alpha : ndarray
        Level with which each interval was computed.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.conformal import AdaptiveIntervals
    >>> from hinge.recipes import SlidingSVR
    >>> rng = np.random.default_rng(0)
    >>> t = np.linspace(0, 10, 120)[:, None]; y = np.sin(t[:, 0]) + 0.1 * rng.normal(size=120)
    >>> model = AdaptiveIntervals(SlidingSVR(window=40), alpha=0.1).fit(t[:40], y[:40]).partial_fit(t[40:], y[40:])
    >>> type(model.history_).__name__, len(model.history_.y)
    ('IntervalHistory', 80)
    """

    lower: Array
    upper: Array
    y: Array
    alpha: Array

    @property
    def covered(self) -> np.ndarray:
        """Whether each target is in its interval."""
        return (self.lower <= self.y) & (self.y <= self.upper)

    def coverage(self, window: int | None = None) -> Array:
        """Share of covered targets over time: of all steps so far, or of the last `window` steps."""
        if window is not None:
            check_integer("window", window, 1)
        total = np.concatenate([[0.0], np.cumsum(self.covered)])
        steps = np.arange(1, len(total))
        first = np.zeros_like(steps) if window is None else np.maximum(steps - window, 0)
        return (total[steps] - total[first]) / (steps - first)


class AdaptiveIntervals(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Prediction intervals for a stream, with a level that follows the errors.      Gibbs and Candès (2021), (530)

    Every new sample is predicted, its interval is recorded, and only then the sample is learned. The scores are the
    residuals of these predictions. After T steps the share of targets outside their intervals differs from α by at most
    (max(α, 1 − α) + rate) / (rate T), for every sequence of samples.

    Parameters
    ----------
    estimator : regressor with `partial_fit`
        IncrementalSVR, SlidingSVR, OnlineSVR or any other. By default ``IncrementalSVR()``.
    alpha : float, default=0.1
        Share of targets that may be outside.
    rate : float, default=0.02
        Change of the level after an error. Larger values react faster, with intervals whose widths vary more. 0 keeps
        the level constant; there is then no guarantee without exchangeability.
    memory : int or None, default=500
        Number of latest scores that determine the width; None for all.

    Attributes
    ----------
    estimator_ : regressor
    alpha_ : float
        Current level; below 0 the interval is the real line, above 1 it is empty.
    scores_ : ndarray
        Latest absolute residuals.
    history_ : IntervalHistory
        Intervals and targets of all samples that were learned after `fit`.

    Notes
    -----
    If the estimator has the method `leave_out` (IncrementalSVR, SlidingSVR), the first scores are exact leave-one-out
    residuals of the samples of `fit`. Otherwise the first intervals are infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.conformal import AdaptiveIntervals
    >>> from hinge.recipes import SlidingSVR
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0, 20, 300)[:, None]; y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> model = AdaptiveIntervals(SlidingSVR(C=10.0, gamma=1.0, window=60), alpha=0.1).fit(X[:60], y[:60])
    >>> bool(0.8 < model.partial_fit(X[60:], y[60:]).history_.coverage()[-1] < 1)
    True
    """

    def __init__(self, estimator=None, *, alpha=0.1, rate=0.02, memory=500):
        self.estimator = estimator
        self.alpha = alpha
        self.rate = rate
        self.memory = memory

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._estimator()).input_tags
        return tags

    def _estimator(self) -> Any:
        return IncrementalSVR() if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Train on the first samples."""
        check_level(self.alpha)
        check_number("rate", self.rate, 0.0)
        if self.memory is not None:
            check_integer("memory", self.memory, 1)
        estimator = clone(self._estimator())
        check_regressor(estimator)
        if not hasattr(estimator, "partial_fit"):
            raise TypeError(
                f"estimator is a {type(estimator).__name__}, which has no partial_fit; use IncrementalSVR, SlidingSVR "
                "or OnlineSVR"
            )
        self.estimator_ = estimator.fit(X, y)
        self.n_features_in_ = estimator.n_features_in_
        self.alpha_ = float(self.alpha)
        self._scores: deque[float] = deque(maxlen=self.memory)
        if hasattr(estimator, "leave_out") and estimator.n_samples_ > 1:
            _, targets, _ = estimator.training_data_
            self._scores.extend(np.abs(targets - estimator.leave_out(np.arange(len(targets)))).tolist())
        self._records: list[tuple[float, float, float, float]] = []
        return self

    @property
    def scores_(self) -> Array:
        """Latest absolute residuals."""
        check_is_fitted(self)
        return np.array(self._scores)

    @property
    def history_(self) -> IntervalHistory:
        """Intervals and targets of all samples that were learned after `fit`."""
        check_is_fitted(self)
        return IntervalHistory(*np.array(self._records, dtype=np.float64).reshape(-1, 4).T.copy())

    def predict(self, X: Any) -> Array:
        """Predictions of the current model."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def half_width(self) -> float:
        """Half the width of the next interval; ∞ for the real line, NaN for the empty interval."""
        check_is_fitted(self)
        n = len(self._scores)
        if self.alpha_ > 1.0:
            return float("nan")
        if self.alpha_ <= 0.0 or lower_rank(self.alpha_, n) == 0:
            return float("inf")
        rank = upper_rank(self.alpha_, n)
        return float(np.partition(self.scores_, rank - 1)[rank - 1]) if rank > 0 else 0.0

    def predict_interval(self, X: Any) -> Array:
        """Return intervals at the current level, (n_samples, 2). `partial_fit` updates the level."""
        center, width = self.predict(X), self.half_width()
        return np.stack([center - width, center + width], axis=1)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Predict, compare and learn the samples one after the other; the first call is `fit`."""
        if not hasattr(self, "estimator_"):
            return self.fit(X, y)
        X, y = indexable(X), np.asarray(y, dtype=np.float64).ravel()
        if n_rows(X) != len(y):
            raise ValueError(f"y has {len(y)} values, but X has {n_rows(X)} rows")
        if not np.isfinite(y).all():
            raise ValueError("y contains NaN or infinity; every sample needs a finite target")
        for k in range(len(y)):
            row = select_rows(X, slice(k, k + 1))
            center, width, target = float(self.estimator_.predict(row)[0]), self.half_width(), float(y[k])
            lower, upper = center - width, center + width
            self.estimator_.partial_fit(row, y[k : k + 1])  # first: a sample that is rejected leaves no trace
            self._records.append((lower, upper, target, self.alpha_))
            self.alpha_ += self.rate * (self.alpha - (not lower <= target <= upper))
            self._scores.append(abs(target - center))
        return self
