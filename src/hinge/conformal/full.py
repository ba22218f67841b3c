"""Full conformal prediction: exact prediction sets from the solutions with the new sample.   docs/math (526)–(528)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from hinge.conformal.classification import ConformalClassifier
from hinge.conformal.label_path import LabelPaths
from hinge.conformal.p_value import PValue
from hinge.conformal.quantiles import check_levels
from hinge.conformal.samples import kernel_with_formula, sample_blocks
from hinge.estimators import SVR, IncrementalSVR
from hinge.estimators.common.prediction import prediction_samples
from hinge.estimators.common.validation import n_rows
from hinge.formulations import SVR as SVRFormulation
from hinge.problems import Array


class FullConformal(MetaEstimatorMixin, BaseEstimator):
    """Exact full conformal prediction sets of regression and classification.       Vovk et al. (2005), docs/math (526)

    For regression, the set contains every label y for which the residual of the new sample is not among the largest if
    the model is trained with it. The solution is followed while y moves over the real line, so that the set is computed
    exactly, for all levels at once and without a grid. For exchangeable samples it contains the new target with
    probability of at least 1 − α. For classification see `ConformalClassifier` with ``method="full"``.

    Parameters
    ----------
    estimator : SVR, IncrementalSVR, SVC or IncrementalSVC, optional
        Regression needs the ε-insensitive loss, an intercept and one value of ε. By default ``SVR()``.

    Attributes
    ----------
    estimator_ : estimator
        Fitted on the training samples.

    Notes
    -----
    ``gamma="scale"`` is computed from the training samples without the new sample. Pass a number for γ if the guarantee
    must hold exactly. If all support vectors of a solution are at their bounds, the offset b is not unique, and the
    middle of its interval is used.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVR
    >>> from hinge.conformal import FullConformal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(60, 1)); y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> model = FullConformal(SVR(C=10.0, gamma=0.5)).fit(X, y)
    >>> [len(intervals) for intervals in model.predict_set(X[:2], alpha=0.1)]
    [1, 1]
    """

    def __init__(self, estimator=None):
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(SVR() if self.estimator is None else self.estimator).input_tags
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with targets y. New samples have weight 1."""
        estimator = clone(SVR() if self.estimator is None else self.estimator)
        self._classifier: ConformalClassifier | None = None
        if is_classifier(estimator):
            if sample_weight is not None:
                raise ValueError("sample_weight is not supported for classifiers; leave it out")
            self._classifier = ConformalClassifier(estimator, method="full").fit(X, y)
            self.estimator_, self.classes_ = self._classifier.estimator_, self._classifier.classes_
            self.n_features_in_ = self.estimator_.n_features_in_
            return self
        if not isinstance(estimator, SVR | IncrementalSVR):
            raise TypeError(
                f"estimator is a {type(estimator).__name__}; full conformal prediction needs SVR, IncrementalSVR, SVC "
                "or IncrementalSVC. Use JackknifePlus for other regressors"
            )
        kernel = kernel_with_formula(estimator)
        estimator.fit(X, y, sample_weight)
        data = estimator._validate(X, y, sample_weight, kernel, reset=False)
        (subproblem,) = estimator._subproblems(data)
        formulation: Any = subproblem.formulation
        plain = isinstance(formulation, SVRFormulation) and formulation.bias and np.ndim(formulation.epsilon) == 0
        if not plain or np.ndim(estimator.C) or not np.isfinite(estimator.C) or formulation.epsilon_star is not None:
            raise ValueError(
                "full conformal regression needs loss='epsilon_insensitive', fit_intercept=True, one finite value of C "
                "and one value of epsilon; use JackknifePlus for other losses"
            )
        self.estimator_ = estimator
        self.n_features_in_ = estimator.n_features_in_
        self._data, self._kernel = data, estimator.model_.kernel
        self._epsilon = float(formulation.epsilon)
        (expansion,) = estimator._expansions(data, [subproblem])
        self._beta = expansion.coefficients
        return self

    def predict(self, X: Any) -> Array:
        """Predictions of the estimator that is fitted on the training samples."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def p_value_functions(self, X: Any) -> list[PValue]:
        """Return the p-value of every row of X as an exact step function of its label."""
        check_is_fitted(self)
        if self._classifier is not None:
            raise TypeError("the estimator is a classifier, which has no p-values of numbers; use predict_set")
        X = prediction_samples(self.estimator_, X)
        data, estimator = self._data, self.estimator_
        found: list[PValue] = []
        for new in sample_blocks(X):
            paths = LabelPaths.open(
                self._kernel, data.X, data.y, estimator.C * data.weight, self._epsilon, self._beta, new,
                float(estimator.C), cache_size=estimator.cache_size,
            )  # fmt: skip
            found += [paths.p_value(t) for t in range(n_rows(new))]
        return found

    def p_values(self, X: Any, y: Any) -> Array:
        """Return the p-value of each target or label y at the rows of X, which is uniform or larger."""
        if getattr(self, "_classifier", None) is not None:
            p, y = self._classifier.p_values(X), np.asarray(y).ravel()  # type: ignore[union-attr]
            if len(y) != len(p):
                raise ValueError(f"y has {len(y)} values, but X has {len(p)} rows")
            if not np.isin(y, self.classes_).all():
                raise ValueError(f"y has labels that are not among the classes {self.classes_.tolist()}")
            return p[np.arange(len(p)), np.searchsorted(self.classes_, y)]
        functions, y = self.p_value_functions(X), np.asarray(y, dtype=np.float64).ravel()
        if len(y) != len(functions):
            raise ValueError(f"y has {len(y)} values, but X has {len(functions)} rows")
        if not np.isfinite(y).all():
            raise ValueError("y contains NaN or infinity; pass finite labels")
        return np.array([function(label) for function, label in zip(functions, y, strict=True)])

    def predict_set(self, X: Any, alpha: float | Sequence[float] = 0.1) -> Any:
        """Return the prediction set of each row.

        For regression: a list with an array (n_intervals × 2) of disjoint closed intervals for each row, or, for a
        sequence of levels, a list of such arrays. A set is the real line if α is below 1 / (n + 1), and it may be
        unbounded if the other samples together cannot balance the new one, because their weights sum to at most 1. For
        classification: as `ConformalClassifier.predict_set`.
        """
        check_is_fitted(self)
        if self._classifier is not None:
            return self._classifier.predict_set(X, alpha)
        levels, single = check_levels(alpha)
        sets = [[function.region(level) for level in levels] for function in self.p_value_functions(X)]
        return [each[0] for each in sets] if single else sets

    def predict_interval(self, X: Any, alpha: float | Sequence[float] = 0.1) -> Array:
        """Return the smallest interval that contains the prediction set, (n, 2) or (n, 2, n_levels); NaN if empty."""
        levels, single = check_levels(alpha)
        sets = [[function.region(level) for level in levels] for function in self.p_value_functions(X)]
        hulls = [[(region[0, 0], region[-1, 1]) if len(region) else (np.nan, np.nan) for region in row] for row in sets]
        intervals = np.array(hulls, dtype=np.float64).reshape(len(sets), len(levels), 2).transpose(0, 2, 1)
        return intervals[:, :, 0] if single else intervals
