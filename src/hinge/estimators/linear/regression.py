"""Linear support vector regression: `LinearSVR`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from hinge.control import RunControl
from hinge.estimators.common.report import FitReport, rollback
from hinge.estimators.common.rules import Rule, Sides
from hinge.estimators.common.validation import TrainingData, check_parameters, real_targets
from hinge.estimators.linear.base import INTERCEPT_RULES, LINEAR_RULES, LinearEstimator, LinearLoss
from hinge.estimators.linear.training import intercept_kind, store_linear, train_linear, validate_linear
from hinge.formulations import linear_regression
from hinge.problems import Array, LinearProblem, scaled
from hinge.validation import as_shown, check_both_sides, check_sides


class LinearSVR(RegressorMixin, LinearEstimator):
    """Linear support vector regression, for many samples and many features.

    Minimizes ½‖w‖² + Σ Cᵢ max(0, |yᵢ − ⟨w, xᵢ⟩ − b| − ε), or the sum of the squared losses, and stops when the relative
    duality gap is proven to be at most `tol`.

    Parameters
    ----------
    C : float, tuple (C, C*), or array-like of shape (n_samples,) or (n_samples, 2), default=1.0
        Cost of an error outside the tube: one number for all samples, or one for each sample given to `fit`. A tuple of
        two numbers, or two columns, contain the costs of targets above the tube, y − f > ε, and of targets below it,
        f − y > ε*; for "epsilon_insensitive" only. One of the two may be zero for single samples.
    epsilon : float or tuple (ε, ε*), default=0.0
        Half the width of the tube within which errors cost nothing. A tuple contains the width above f and below f; for
        "epsilon_insensitive" only. For one width per sample use ``SVR(kernel="linear")``.
    loss : str or hinge.losses.Loss, default="epsilon_insensitive"
        "epsilon_insensitive", "squared_epsilon_insensitive", or another loss of the residual with a quadratic
        conjugate: "laplace", "gaussian", "huber" (with σ = 1; pass ``Huber(sigma)`` for other values).

    Notes
    -----
    All other parameters and attributes are those of `LinearSVC`; `coef_` has shape (n_features,).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hinge import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(C=100, epsilon=10).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-4
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": Sides(positive=True, per_sample=True),
        "epsilon": Sides(),
        "loss": LinearLoss("residual"),
        **INTERCEPT_RULES,
        **LINEAR_RULES,
    }

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-4,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        penalize_intercept=False,
        intercept_scaling=1.0,
        dual="auto",
        solver="auto",
        max_iter=1000,
        max_time=None,
        cache_size="auto",
        warm_start=False,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.solver = solver
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with targets y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            float32 and float64 arrays, CSR matrices and memory maps of them are used without a copy. If most values of
            an array in memory are zero, `fit` uses a compressed copy, which takes at most half the memory of X. With
            more than 1,200 features in memory, inner products of samples may be stored: at most 285 MB per thread.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each sample; zero leaves it out.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        control = RunControl(self.max_time)
        with control.capture_signals():
            report = self._fit(X, y, sample_weight, control)
        report.conclude(self, tol_bounds_gap=True)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, control: RunControl) -> FitReport:
        """Train within the limits of `control`; valid parameters are assumed, and no warnings are issued."""
        with rollback(self):
            data = self._validate(X, y, sample_weight)
            (solution,), report = train_linear(self, data, self._problems(data), control, self.dual)
            store_linear(self, data, solution.weights, np.array([solution.offset]), solution.beta[None, :], report)
        return report

    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> TrainingData:
        return validate_linear(self, X, y, sample_weight, real_targets, reset)

    def _problems(self, data: TrainingData) -> list[LinearProblem]:
        bias, scale = intercept_kind(self), float(self.intercept_scaling)
        C, C_star = (
            part[data.rows] if isinstance(part, np.ndarray) else part for part in check_sides("C", self.C, self._n_seen)
        )
        cost, cost_star = _costs(data.weight, C), None if C_star is None else _costs(data.weight, C_star)
        check_both_sides(cost, cost_star)
        if C_star is None and not isinstance(self.epsilon, tuple):
            return [linear_regression(data.X, data.y, cost, float(self.epsilon), self.loss, bias, scale)]
        if not isinstance(self.loss, str) or self.loss != "epsilon_insensitive":
            name, value = ("epsilon", self.epsilon) if C_star is None else ("C", self.C)
            raise ValueError(
                f"{as_shown(name, value)} has different values above and below the function, which loss={self.loss!r} "
                "does not support; use loss='epsilon_insensitive'"
            )
        cost_star = cost if cost_star is None else cost_star
        epsilon, star = self.epsilon if isinstance(self.epsilon, tuple) else (self.epsilon, self.epsilon)
        return [linear_regression(data.X, data.y, cost, float(epsilon), self.loss, bias, scale, cost_star, float(star))]

    def predict(self, X: Any) -> Array:
        """The value of ⟨w, x⟩ + b at each row of X."""
        return self._decide(X).ravel()


def _costs(weight: Array, C: float | Array) -> Array:
    """Return C times the weights; without memory for every sample if both are the same for all samples."""
    return C * weight if isinstance(C, np.ndarray) else scaled(weight, C)
