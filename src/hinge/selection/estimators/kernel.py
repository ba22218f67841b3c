"""`SVCCV` and `SVRCV`: kernel estimators that choose their parameters by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from hinge.estimators import SVC, SVR
from hinge.kernels import make_kernel
from hinge.selection.estimators.base import CrossValidatedClassifier, CrossValidatedEstimator, given_values, grid_values

#: Powers of ten of the default grids: C relative to the scale of the targets, and γ relative to γ = "scale".
C_POWERS, GAMMA_POWERS = (-1.5, 3.0), (-2.0, 1.0)

#: ε of the default grid, relative to the standard deviation of the targets.
RELATIVE_EPSILON = 0.1

#: Names of the kernels whose formula contains γ.
WITH_GAMMA = ("rbf", "poly", "sigmoid", "laplacian")


def _kernel_axes(estimator: Any, template: Any, X: Any, cost_scale: float) -> dict[str, Any]:
    """Values of C and, if the kernel has one, γ."""
    kernel = template.kernel
    axes: dict[str, Any] = {"C": grid_values("Cs", estimator.Cs, C_POWERS, cost_scale)}
    if isinstance(kernel, str) and kernel in WITH_GAMMA:
        made = make_kernel(kernel, degree=template.degree, gamma="scale", coef0=template.coef0)
        resolved: Any = made.resolve(X, None)
        axes["gamma"] = grid_values("gammas", estimator.gammas, GAMMA_POWERS, float(resolved.gamma))
    return axes


class SVCCV(CrossValidatedClassifier):
    """`SVC` with C and γ chosen by cross-validation.

    Parameters
    ----------
    Cs : int or sequence of floats, default=10
        The values of C, or their number: then from 0.03 to 1000, with equal ratios.
    gammas : int or sequence of floats, default=10
        The values of γ, or their number: then from 0.01 to 10 times γ = "scale". Not used by kernels without γ.
    cv : int, splitter or iterable of (train, test), default=5
    scoring : str or callable, optional
        Accuracy by default; see `hinge.selection.grid`.
    max_time : float, optional
        Seconds for the search and the final fit. The search starts with subsets of the samples, so that useful
        parameters are found early.
    n_jobs : int, optional
        Threads.
    verbose : bool, default=False
        Whether progress is shown on standard error.
    kernel, degree, coef0, loss, class_weight, tol, cache_size, decision_function_shape, break_ties, probability
        As in `SVC`.

    Attributes
    ----------
    C_, gamma_ : float
        The best parameters.
    best_score_, best_params_, best_estimator_, cv_results_
        As in `GridSearchCV`.
    result_ : GridResult
        The result of the search; `hinge.plotting.GridDisplay.from_result(result_)` plots it.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from hinge import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SVCCV(Cs=4, gammas=4)).fit(X, y)
    >>> bool(model[-1].best_score_ > 0.95)
    True
    """

    def __init__(
        self,
        Cs=10,
        gammas=10,
        *,
        cv=5,
        scoring=None,
        max_time=None,
        n_jobs=None,
        verbose=False,
        kernel="rbf",
        degree=3,
        coef0=0.0,
        loss="hinge",
        class_weight=None,
        tol=1e-3,
        cache_size="auto",
        decision_function_shape="ovr",
        break_ties=False,
        probability=False,
    ):
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.probability = probability

    def _template(self) -> Any:
        return SVC(
            kernel=self.kernel, degree=self.degree, coef0=self.coef0, loss=self.loss, class_weight=self.class_weight,
            tol=self.tol, cache_size=self.cache_size, decision_function_shape=self.decision_function_shape,
            break_ties=self.break_ties, probability=self.probability, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _axes(self, template: Any, X: Any, y: Any) -> dict[str, Any]:
        return _kernel_axes(self, template, X, 1.0)

    @property
    def gamma_(self) -> Any:
        """The best γ; "scale" if the kernel has none."""
        return self.best_estimator_.gamma


class SVRCV(RegressorMixin, CrossValidatedEstimator):
    """`SVR` with C, γ and ε chosen by cross-validation.

    Parameters
    ----------
    Cs : int or sequence of floats, default=10
        The values of C, or their number: then from 0.03 to 1000 times the standard deviation of y, with equal ratios.
    gammas : int or sequence of floats, default=10
        As in `SVCCV`.
    epsilons : float or sequence of floats, optional
        The values of ε; by default a tenth of the standard deviation of y.
    cv, scoring, max_time, n_jobs, verbose
        As in `SVCCV`; the default score is R².
    kernel, degree, coef0, loss, sigma, p, tol, cache_size
        As in `SVR`.

    Attributes
    ----------
    C_, gamma_, epsilon_ : float
        The best parameters.
    best_score_, best_params_, best_estimator_, cv_results_, result_, n_features_in_, feature_names_in_
        As in `SVCCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hinge import SVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SVRCV(Cs=4, gammas=3).fit(X, y)
    >>> bool(model.best_score_ > 0.4)
    True
    """

    def __init__(
        self,
        Cs=10,
        gammas=10,
        epsilons=None,
        *,
        cv=5,
        scoring=None,
        max_time=None,
        n_jobs=None,
        verbose=False,
        kernel="rbf",
        degree=3,
        coef0=0.0,
        loss="epsilon_insensitive",
        sigma=1.0,
        p=2.0,
        tol=1e-3,
        cache_size="auto",
    ):
        self.Cs = Cs
        self.gammas = gammas
        self.epsilons = epsilons
        self.cv = cv
        self.scoring = scoring
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.sigma = sigma
        self.p = p
        self.tol = tol
        self.cache_size = cache_size

    def _template(self) -> Any:
        return SVR(
            kernel=self.kernel, degree=self.degree, coef0=self.coef0, loss=self.loss, sigma=self.sigma, p=self.p,
            tol=self.tol, cache_size=self.cache_size, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _axes(self, template: Any, X: Any, y: Any) -> dict[str, Any]:
        deviation = float(np.std(y)) or 1.0
        epsilons: Any = RELATIVE_EPSILON * deviation if self.epsilons is None else self.epsilons
        axes = _kernel_axes(self, template, X, deviation)
        return {**axes, "epsilon": given_values("epsilons", epsilons)}

    @property
    def gamma_(self) -> Any:
        """The best γ; "scale" if the kernel has none."""
        return self.best_estimator_.gamma

    @property
    def epsilon_(self) -> float:
        """The best ε."""
        return float(self.best_params_["epsilon"])
