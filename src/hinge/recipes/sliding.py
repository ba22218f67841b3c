"""Sliding windows: exact models of the latest samples, with larger weights for newer ones.  Karasuyama 4.4.2, (421)"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hinge.estimators import IncrementalSVC, IncrementalSVR
from hinge.estimators.common.validation import ClassificationData, TrainingData, take, with_classes
from hinge.kernels import Kernel
from hinge.problems import Array
from hinge.validation import check_integer, check_number


def recency_weights(n: int, a: float = 3.0) -> Array:
    """Return weights 2 / (1 + exp(a − 2a i/n)) of samples i = 1 ... n, the newest last.           Karasuyama (4.28)

    They increase from 2/(1 + eᵃ) to 2/(1 + e⁻ᵃ). With a = 0 all weights are 1.

    Examples
    --------
    >>> from hinge.recipes import recency_weights
    >>> recency_weights(4).round(2)
    array([0.36, 1.  , 1.64, 1.91])
    """
    check_integer("n", n, 1)
    check_number("a", a, 0.0)
    return _weights(n, a)


def _weights(n: int, a: float) -> Array:
    if a == 0:  # faster
        return np.ones(n)
    return 2.0 * expit(a * (2.0 * np.arange(1, n + 1) / n - 1.0))


class _Sliding:
    """Sliding window of both estimators: all changes of one step are made along one path."""

    window: int | None
    recency: float
    class_weight: Any
    _y: NDArray[Any]
    _w: Array

    def _check_parameters(self) -> None:
        super()._check_parameters()  # type: ignore[misc]
        if self.window is not None:
            check_integer("window", self.window, 2)
        check_number("recency", self.recency, 0.0)

    def _validate(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True) -> TrainingData:
        data: TrainingData = super()._validate(X, y, sample_weight, kernel, reset)  # type: ignore[misc]
        if not reset:
            return data
        last = np.arange(data.n)[-(self.window or data.n) :]
        kept = take(data.X, last), data.y[last], recency_weights(len(last), self.recency), np.arange(len(last))
        if not isinstance(data, ClassificationData):
            return TrainingData(*kept)
        return with_classes(TrainingData(*kept), y, self.class_weight)

    def fit(self, X: Any, y: Any) -> Self:
        """Train on the last `window` rows of X, from scratch."""
        return super().fit(X, y)  # type: ignore[misc]

    def slide(self, X: Any, y: Any) -> Self:
        """Add new samples, remove the oldest ones and reduce the weights of the others, exactly and along one path.

        Parameters
        ----------
        X, y
            The new samples in their order.

        Returns
        -------
        self
            With the solution of a fit on the current samples of the window.
        """
        self._check_fitted()  # type: ignore[attr-defined]
        changed = self._check_changed_parameters()  # type: ignore[attr-defined]
        new: TrainingData = self._new_samples(X, y, None)  # type: ignore[attr-defined]
        size = self.window or len(self._y) + new.n
        last = slice(max(0, new.n - size), new.n)
        added = last.stop - last.start
        removed = max(0, len(self._y) + added - size)
        kept = len(self._y) - removed
        weight = _weights(kept + added, self.recency)
        new = TrainingData(new.X[last], new.y[last], weight[kept:], np.arange(added))
        labels = np.concatenate([self._y[removed:], new.y])
        self._check_remaining(labels, weight, "sliding the window")  # type: ignore[attr-defined]
        unchanged = not changed and bool((weight[:kept] == self._w[removed:]).all())
        new_weight = None if unchanged else np.concatenate([self._w[:removed], weight[:kept]])
        return self._change(new, np.arange(removed), new_weight)  # type: ignore[attr-defined]


class SlidingSVC(_Sliding, IncrementalSVC):  # type: ignore[misc]
    """Classification of a time series with a sliding window: exact, with larger weights for newer samples.

    Parameters
    ----------
    C, kernel, degree, gamma, coef0, class_weight, decision_function_shape, break_ties, cache_size, max_time, n_jobs
        As in `IncrementalSVC`.
    window : int or None, default=None
        Number of samples in the window; None for all.
    recency : float, default=3.0
        a of `recency_weights`; with 0 all samples of the window have the same weight.

    Notes
    -----
    All methods of `IncrementalSVC` are available; `partial_fit` is `slide`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.recipes import SlidingSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(130, 2)); y = X[:, 0] > np.linspace(-1, 1, 130)
    >>> model = SlidingSVC(C=10.0, gamma=0.5, window=100).fit(X[:100], y[:100])
    >>> model.slide(X[100:], y[100:]).n_samples_
    100
    >>> model.certificate_.relative_gap < 1e-9
    True
    """

    def __init__(
        self,
        *,
        C=1.0,
        window=None,
        recency=3.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        class_weight=None,
        decision_function_shape="ovr",
        break_ties=False,
        cache_size="auto",
        max_time=None,
        n_jobs=None,
    ):
        super().__init__(
            C=C, kernel=kernel, degree=degree, gamma=gamma, coef0=coef0, class_weight=class_weight,
            decision_function_shape=decision_function_shape, break_ties=break_ties, cache_size=cache_size,
            max_time=max_time, n_jobs=n_jobs,
        )  # fmt: skip
        self.window = window
        self.recency = recency

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:  # type: ignore[override]
        """Slide the window; the first call is `fit`. `classes` as in `IncrementalSVC.partial_fit`."""
        self._check_declared(y, classes)
        return self.slide(X, y) if hasattr(self, "classes_") else self.fit(X, y)


class SlidingSVR(_Sliding, IncrementalSVR):  # type: ignore[misc]
    """Regression of a time series with a sliding window: exact, with larger weights for newer samples.

    Parameters
    ----------
    C, epsilon, kernel, degree, gamma, coef0, cache_size, max_time, n_jobs
        As in `IncrementalSVR`.
    window, recency
        As in `SlidingSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.recipes import SlidingSVR
    >>> t = np.linspace(0, 20, 200)[:, None]
    >>> model = SlidingSVR(C=10.0, gamma=1.0, epsilon=0.01, window=50).fit(t[:50], np.sin(t[:50, 0]))
    >>> model = model.partial_fit(t[50:150], np.sin(t[50:150, 0]))
    >>> model.n_samples_, bool(abs(model.predict(t[149:150])[0] - np.sin(t[149, 0])) < 0.05)
    (50, True)
    """

    def __init__(
        self,
        *,
        C=1.0,
        epsilon=0.1,
        window=None,
        recency=3.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        cache_size="auto",
        max_time=None,
        n_jobs=None,
    ):
        super().__init__(
            C=C, epsilon=epsilon, kernel=kernel, degree=degree, gamma=gamma, coef0=coef0, cache_size=cache_size,
            max_time=max_time, n_jobs=n_jobs,
        )  # fmt: skip
        self.window = window
        self.recency = recency

    def partial_fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Slide the window; the first call is `fit`."""
        return self.slide(X, y) if hasattr(self, "model_") else self.fit(X, y)
