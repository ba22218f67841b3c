"""Jackknife+ and CV+: prediction intervals from models without some samples.   docs/math (521)–(525)"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from hinge.conformal.quantiles import check_levels, lower_rank, order_statistic, upper_rank
from hinge.conformal.samples import check_folds, check_regressor, indexable, select_rows
from hinge.estimators import SVR
from hinge.estimators.common.prediction import prediction_samples
from hinge.estimators.common.validation import n_rows, take
from hinge.estimators.incremental.removal import RemovalProblem, check_path_regressor
from hinge.kernels import Precomputed, expand
from hinge.problems import Array
from hinge.validation import check_choice, check_flag

#: Entries of the matrix of predictions by all models that are computed at a time.
MAX_BLOCK_ENTRIES = 1 << 22


class _LeaveOutIntervals(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Base of `JackknifePlus` and `CVPlus`: one model for each group of samples that is left out."""

    estimator: Any
    method: str
    asymmetric: bool
    scale: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._estimator()).input_tags
        return tags

    def _estimator(self) -> Any:
        return SVR() if self.estimator is None else self.estimator

    @abstractmethod
    def _groups(self, n: int) -> list[NDArray[np.intp]]:
        """Return the positions of the samples of every group."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator, and the models without the samples of each group.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit` of the estimator. Samples of weight zero are left out. The guarantee holds for equal weights.
        """
        check_choice("method", self.method, ("path", "refit"))
        check_flag("asymmetric", self.asymmetric)
        if self.scale is not None and not callable(self.scale):
            raise TypeError(f"scale={self.scale!r} must be a function of X that returns one positive value per row")
        self.estimator_ = clone(self._estimator())
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_.fit(X, y, **weight)
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        fit = self._fit_paths if self.method == "path" else self._fit_again
        X, y, fitted = fit(X, y, sample_weight)
        residuals = y - fitted
        self.residuals_ = residuals if self.scale is None else residuals / self._scales(X)
        self.left_out_predictions_ = fitted
        return self

    # ---- models without samples -----------------------------------------------------------------------------------

    def _fit_paths(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        """Remove every group from the exact solution; store the coefficients of all models."""
        check_path_regressor(self._estimator())
        problem = RemovalProblem(clone(self._estimator()), X, y, sample_weight)
        groups = self._groups(problem.n)
        everything = np.arange(problem.n)
        unchanged = problem.without(everything[:0])
        betas, intercepts, values = [unchanged.beta], [unchanged.intercept], problem.values_at(everything)
        self._model_of = np.zeros(problem.n, dtype=np.intp)
        changing = [group for group in groups if problem.changes[group].any()]
        single = changing and all(len(group) == 1 for group in changing)
        solutions = problem.without_each(np.concatenate(changing)) if single else map(problem.without, changing)
        for solution in solutions:
            self._model_of[solution.removed] = len(betas)
            values[solution.removed] = solution.values
            betas.append(solution.beta)
            intercepts.append(solution.intercept)
        coefficients = np.array(betas)
        used = np.flatnonzero(coefficients.any(axis=0))
        data, self._kernel = problem.data, problem.kernel
        self._coefficients = np.ascontiguousarray(coefficients[:, used].T)
        self._intercepts, self._columns = np.array(intercepts), data.rows[used]
        self._vectors = None if isinstance(self._kernel, Precomputed) else take(data.X, used)
        self._models: list[Any] | None = None
        return data.X, data.y, values

    def _decide(self, X: Any) -> Array:
        if self._vectors is None:
            return X[:, self._columns] @ self._coefficients + self._intercepts
        return expand(self._kernel, X, self._vectors, self._coefficients) + self._intercepts

    def _fit_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        """Fit a clone of the estimator without each group."""
        check_regressor(self._estimator())
        y = np.asarray(y, dtype=np.float64)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        positive = np.flatnonzero(weight > 0)
        X, y, weight = select_rows(indexable(X), positive), y[positive], weight[positive]
        groups = self._groups(len(y))
        self._model_of, self._models = np.zeros(len(y), dtype=np.intp), []
        values = np.empty(len(y))
        for k, group in enumerate(groups):
            rest = np.setdiff1d(np.arange(len(y)), group)
            arguments = {} if sample_weight is None else {"sample_weight": weight[rest]}
            model = clone(self._estimator()).fit(select_rows(X, rest), y[rest], **arguments)
            values[group] = model.predict(select_rows(X, group))
            self._models.append(model)
            self._model_of[group] = k
        return X, y, values

    def _predictions(self, X: Any) -> Array:
        """Predictions of all models, (n_rows × n_models)."""
        if self._models is None:
            return self._decide(X)
        return np.stack([model.predict(X) for model in self._models], axis=1)

    # ---- prediction -------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """Predictions of the estimator that is fitted on all samples."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_interval(self, X: Any, alpha: float | Sequence[float] = 0.1) -> Array:
        """Return prediction intervals.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        alpha : float or sequence of float
            The intervals cover about 1 − α of new targets; at least 1 − 2α is guaranteed (see the class).

        Returns
        -------
        ndarray of shape (n_samples, 2), or (n_samples, 2, n_levels) for a sequence of levels
            Lower and upper ends. They are infinite if α is below 1 / (n + 1). NaN for empty intervals, which are
            possible if α exceeds 1/2.
        """
        check_is_fitted(self)
        levels, single = check_levels(alpha)
        if self._models is None:
            X = X if isinstance(self._kernel, Precomputed) else prediction_samples(self.estimator_, X)
        X = indexable(X)
        n = n_rows(X)
        intervals = np.empty((n, 2, len(levels)))
        scale = np.ones(n) if self.scale is None else self._scales(X)
        for rows in _blocks(n, len(self.residuals_)):
            intervals[rows] = self._intervals(self._predictions(select_rows(X, rows)), scale[rows], levels)
        return intervals[:, :, 0] if single else intervals

    def _intervals(self, predictions: Array, scale: Array, levels: list[float]) -> Array:
        """Intervals of rows from the predictions of all models.                            docs/math (522), (525)"""
        centers, n = predictions[:, self._model_of], len(self.residuals_)
        result = np.empty((len(centers), 2, len(levels)))
        if self.asymmetric:
            low = high = centers + scale[:, None] * self.residuals_
        else:
            widths = scale[:, None] * np.abs(self.residuals_)
            low, high = centers - widths, centers + widths
        for k, alpha in enumerate(levels):
            share = 0.5 * alpha if self.asymmetric else alpha
            result[:, 0, k] = order_statistic(low, lower_rank(share, n))
            result[:, 1, k] = order_statistic(high, upper_rank(share, n))
        empty = result[:, 0] > result[:, 1]
        return np.where(empty[:, None], np.nan, result)

    def _scales(self, X: Any) -> Array:
        scale = np.asarray(self.scale(X), dtype=np.float64).ravel()
        if len(scale) != n_rows(X) or not (np.isfinite(scale).all() and (scale > 0).all()):
            raise ValueError("scale(X) must return one positive, finite value for each row of X")
        return scale


class JackknifePlus(_LeaveOutIntervals):
    """Prediction intervals from exact leave-one-out models.   Barber et al. (2021), docs/math (522)

    Every sample is removed from the exact solution along a short path, instead of n fits. For exchangeable samples the
    intervals contain a new target with probability of at least 1 − 2α, for every distribution and sample size. Typical
    coverage is 1 − α.

    Parameters
    ----------
    estimator : SVR, NuSVR or IncrementalSVR, optional
        With a loss whose conjugate is quadratic: all losses of `SVR`, "polynomial" and "piecewise_polynomial" with p =
        2 only. Any regressor with ``method="refit"``. By default ``SVR()``.
    method : {"path", "refit"}, default="path"
        Remove samples along paths, or fit a clone of the estimator n times.
    asymmetric : bool, default=False
        Whether the two ends are computed from signed residuals, at α/2 each. Use it for skewed noise.
    scale : callable, optional
        A function σ(X) with one positive value for each row. Residuals are divided by it, and widths multiplied, so
        that intervals are wide where the noise is. It must not depend on the training targets.

    Attributes
    ----------
    estimator_ : estimator
        Fitted on all samples.
    residuals_ : ndarray
        Leave-one-out residuals of the samples with positive weight, divided by `scale`.
    left_out_predictions_ : ndarray
        Predictions of each sample by the model without it.

    Notes
    -----
    ``gamma="scale"`` is computed once from all samples, also for the models without a sample. Pass a number for γ if
    the guarantee must hold exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVR
    >>> from hinge.conformal import JackknifePlus
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(100, 1)); y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=100)
    >>> model = JackknifePlus(SVR(C=10.0, gamma=0.5)).fit(X, y)
    >>> model.predict_interval(X[:3], alpha=[0.1, 0.2]).shape
    (3, 2, 2)
    """

    def __init__(self, estimator=None, *, method="path", asymmetric=False, scale=None):
        self.estimator = estimator
        self.method = method
        self.asymmetric = asymmetric
        self.scale = scale

    def _groups(self, n: int) -> list[NDArray[np.intp]]:
        if n < 2:
            raise ValueError(f"X has {n} sample of positive weight; jackknife+ needs at least 2")
        return [np.array([i]) for i in range(n)]


class CVPlus(_LeaveOutIntervals):
    """Prediction intervals from the models of cross-validation.   Barber et al. (2021), docs/math (525)

    The samples of each fold are removed from the exact solution along one path. For exchangeable samples the coverage
    is at least 1 − 2α − min(2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)) for K folds of equal size.
    Typical coverage is 1 − α.

    Parameters
    ----------
    estimator, method, asymmetric, scale
        As in `JackknifePlus`.
    cv : int, default=10
        Number of folds.
    shuffle : bool, default=True
        Whether samples are assigned to folds at random. Disable it only if the samples are in random order.
    random_state : int, RandomState or None

    Attributes
    ----------
    estimator_, residuals_, left_out_predictions_
        As in `JackknifePlus`; the models leave out folds.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVR
    >>> from hinge.conformal import CVPlus, coverage
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(160, 1)); y = X[:, 0] ** 2 + 0.2 * rng.normal(size=160)
    >>> model = CVPlus(SVR(C=10.0), random_state=0).fit(X[:80], y[:80])
    >>> intervals = model.predict_interval(X[80:], alpha=0.1)
    >>> intervals.shape, bool(coverage(y[80:], intervals) >= 0.8)
    ((80, 2), True)
    """

    def __init__(
        self, estimator=None, *, cv=10, shuffle=True, random_state=None, method="path", asymmetric=False, scale=None
    ):
        self.estimator = estimator
        self.cv = cv
        self.shuffle = shuffle
        self.random_state = random_state
        self.method = method
        self.asymmetric = asymmetric
        self.scale = scale

    def _groups(self, n: int) -> list[NDArray[np.intp]]:
        check_folds(self.cv, n)
        folds = KFold(self.cv, shuffle=self.shuffle, random_state=self.random_state if self.shuffle else None)
        return [test for _, test in folds.split(np.empty(n))]


def _blocks(n: int, columns: int) -> list[NDArray[np.intp]]:
    size = max(1, MAX_BLOCK_ENTRIES // max(1, columns))
    return [np.arange(k, min(k + size, n)) for k in range(0, n, size)]
