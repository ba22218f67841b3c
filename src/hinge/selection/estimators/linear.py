"""`LinearSVCCV` and `LinearSVRCV`: linear estimators that choose their parameters by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from hinge.estimators import LinearSVC, LinearSVR
from hinge.problems import Array
from hinge.selection.estimators.base import CrossValidatedClassifier, CrossValidatedEstimator, given_values, grid_values

#: Powers of ten of the default grid: C relative to 1 / mean squared norm of the samples.
C_POWERS = (-4.0, 2.0)


class LinearSVCCV(CrossValidatedClassifier):
    """`LinearSVC` with C chosen by cross-validation.

    Parameters
    ----------
    Cs : int or sequence of floats, default=10
        The values of C, or their number: then from 1e-4 to 100 divided by the mean squared norm of the samples.
    cv, scoring, max_time, n_jobs, verbose
        As in `SVCCV`.
    loss, multi_class, fit_intercept, class_weight, tol, max_iter, probability, penalty
        As in `LinearSVC`.

    Attributes
    ----------
    C_ : float
        The best C.
    coef_, intercept_
        Of the best estimator.
    best_score_, best_params_, best_estimator_, cv_results_, result_, classes_, n_features_in_, feature_names_in_
        As in `SVCCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import LinearSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(LinearSVCCV(Cs=5).fit(X, y).best_score_ > 0.9)
    True
    """

    def __init__(
        self,
        Cs=10,
        *,
        cv=5,
        scoring=None,
        max_time=None,
        n_jobs=None,
        verbose=False,
        loss="squared_hinge",
        multi_class="ovr",
        fit_intercept=True,
        class_weight=None,
        tol=1e-4,
        max_iter=1000,
        probability=False,
        penalty="l2",
    ):
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.loss = loss
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.probability = probability
        self.penalty = penalty

    def _template(self) -> Any:
        return LinearSVC(
            loss=self.loss, multi_class=self.multi_class, fit_intercept=self.fit_intercept,
            class_weight=self.class_weight, tol=self.tol, max_iter=self.max_iter, probability=self.probability,
            n_jobs=self.n_jobs, penalty=self.penalty,
        )  # fmt: skip

    def _axes(self, template: Any, X: Any, y: Any) -> dict[str, Any]:
        return {"C": grid_values("Cs", self.Cs, C_POWERS, _linear_scale(X))}

    @property
    def coef_(self) -> Any:
        """Weights of the best estimator."""
        return self._found("coef_").best_estimator_.coef_

    @property
    def intercept_(self) -> Array:
        """Intercepts of the best estimator."""
        return self._found("intercept_").best_estimator_.intercept_


class LinearSVRCV(RegressorMixin, CrossValidatedEstimator):
    """`LinearSVR` with C and ε chosen by cross-validation.

    Parameters
    ----------
    Cs : int or sequence of floats, default=10
        As in `LinearSVCCV`, times the standard deviation of y.
    epsilons : float or sequence of floats, default=0.0
        The values of ε.
    cv, scoring, max_time, n_jobs, verbose
        As in `SVRCV`.
    loss, fit_intercept, tol, max_iter
        As in `LinearSVR`.

    Attributes
    ----------
    C_, epsilon_ : float
        The best parameters.
    coef_, intercept_
        Of the best estimator.
    best_score_, best_params_, best_estimator_, cv_results_, result_, n_features_in_, feature_names_in_
        As in `SVCCV`.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(200, 5, noise=1.0, random_state=0)
    >>> model = hinge.LinearSVRCV(Cs=3).fit(X, y)
    >>> round(model.score(X, y), 3), sorted(model.best_params_)
    (1.0, ['C', 'epsilon'])
    """

    def __init__(
        self,
        Cs=10,
        epsilons=0.0,
        *,
        cv=5,
        scoring=None,
        max_time=None,
        n_jobs=None,
        verbose=False,
        loss="epsilon_insensitive",
        fit_intercept=True,
        tol=1e-4,
        max_iter=1000,
    ):
        self.Cs = Cs
        self.epsilons = epsilons
        self.cv = cv
        self.scoring = scoring
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _template(self) -> Any:
        return LinearSVR(
            loss=self.loss, fit_intercept=self.fit_intercept, tol=self.tol, max_iter=self.max_iter, n_jobs=self.n_jobs
        )

    def _axes(self, template: Any, X: Any, y: Any) -> dict[str, Any]:
        scale = _linear_scale(X) * (float(np.std(y)) or 1.0)
        epsilons = given_values("epsilons", self.epsilons)
        return {"C": grid_values("Cs", self.Cs, C_POWERS, scale), "epsilon": epsilons}

    @property
    def epsilon_(self) -> float:
        """The best ε."""
        return float(self.best_params_["epsilon"])

    @property
    def coef_(self) -> Any:
        """Weights of the best estimator."""
        return self._found("coef_").best_estimator_.coef_

    @property
    def intercept_(self) -> Array:
        """Intercept of the best estimator."""
        return self._found("intercept_").best_estimator_.intercept_


def _linear_scale(X: Any) -> float:
    """1 / mean squared norm of the samples: with C proportional to it, the scale of the features does not matter."""
    total = float(np.sum(np.square(X.data if hasattr(X, "indptr") else X, dtype=np.float64)))
    return X.shape[0] / total if total > 0 else 1.0
