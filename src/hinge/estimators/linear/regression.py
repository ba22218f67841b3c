"""`LinearSVR` and `LinearOneClassSVM`: one machine each."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hinge.control import captures_signals
from hinge.estimators.common.report import FitReport, rollback
from hinge.estimators.common.validation import TrainingData, one_column
from hinge.estimators.kernel.one_class import BOUNDARY_TOL
from hinge.estimators.linear.base import LinearMachine
from hinge.formulations import linear_one_class, linear_regression, without_half_space
from hinge.losses import Form
from hinge.problems import (
    Array,
    Certificate,
    LinearProblem,
    LinearSolution,
    Status,
    certify_linear,
    scaled,
)
from hinge.solvers import Monitor
from hinge.validation import check_number


class LinearSVR(RegressorMixin, LinearMachine):
    """Linear support vector regression, for many samples and many features.

    Minimises ½‖w‖² + Σ Cᵢ max(0, |yᵢ − ⟨w, xᵢ⟩ − b| − ε), or the squares of the losses, and stops when the relative
    duality gap is proven to be at most `tol`.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube in which errors are free.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"

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

    _loss_form: ClassVar[Form | None] = "residual"

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

    def _check_parameters(self) -> None:
        check_number("C", self.C, 0.0, open_low=True)
        check_number("epsilon", self.epsilon, 0.0)
        self._check_bias()
        super()._check_parameters()

    def _validate_y(self, y: Any, n: int, reset: bool) -> NDArray[Any]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = one_column(y)
        try:
            y = y.astype(np.float64, copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must hold numbers: {error}") from None
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; every sample needs a finite target")
        return y

    @captures_signals
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with targets y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            float32 and float64 arrays, CSR matrices and memory maps of them are used as they are. Of an array in memory
            that is mostly zeros the other values are kept in a row while `fit` runs, in at most half its memory.
            With more than 1,200 features in memory inner products of some samples may be kept: at most 285 MB a thread.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each sample; zero leaves it out.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight).conclude(self, tol_bounds_gap=True)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, callback: Monitor | None = None) -> FitReport:
        with rollback(self):
            data = self._validate(X, y, sample_weight)
            (solution,), report = self._train(data, [self._problem(data)], callback)
            self.coef_ = solution.weights
            self._set_function(self.coef_, np.array([solution.offset]))
        return report

    def _problem(self, data: TrainingData) -> LinearProblem:
        cost = scaled(data.weight, self.C)
        return linear_regression(
            data.X, data.y, cost, float(self.epsilon), self.loss, self._bias(), float(self.intercept_scaling)
        )

    def _certify(self, data: TrainingData) -> list[Certificate]:
        problem = self._problem(data)
        return [certify_linear(problem, self.coef_, float(self.intercept_[0]), self.dual_coef_[0, data.rows])]

    def predict(self, X: Any) -> Array:
        """The value of ⟨w, x⟩ + b at each row of X."""
        return self._decide(X).ravel()


class LinearOneClassSVM(OutlierMixin, LinearMachine):
    """The half space that holds most of the data: `OneClassSVM` with a linear kernel, for many samples.

    Minimises ½‖w‖² − νWρ + Σ wᵢ max(0, ρ − ⟨w, xᵢ⟩), W = Σ wᵢ.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        An upper bound on the fraction of training samples outside and a lower bound on that of support vectors.

    Where the origin lies so deep among the samples that every half space without it leaves more than a share ν of them
    out, the optimum is w = 0 and ρ = 0: the decision function is zero everywhere, nobody is an outlier, and a warning
    says so.

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        ``decision_function = score_samples - offset_``.

    Notes
    -----
    All other parameters and attributes are those of `LinearSVC`; `coef_` has shape (1, n_features).
    """

    def __init__(
        self,
        *,
        nu=0.5,
        tol=1e-4,
        solver="auto",
        max_iter=1000,
        max_time=None,
        cache_size="auto",
        warm_start=False,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.nu = nu
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("nu", self.nu, 0.0, 1.0, open_low=True)
        super()._check_parameters()

    def _validate_y(self, y: Any, n: int, reset: bool) -> NDArray[Any]:
        return np.ones(n)

    @captures_signals
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the half space where most of X lies.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each sample; zero leaves it out.

        Returns
        -------
        self
        """
        with rollback(self):
            data = self._validate(X, None, sample_weight)
            (solution,), report = self._train(data, [linear_one_class(data.X, data.weight, float(self.nu))])
            self.coef_ = solution.weights[None, :]
            self._set_function(self.coef_, np.array([solution.offset]))
            self.offset_ = 0.0 - self.intercept_
        report.conclude(self, tol_bounds_gap=True)
        if self.status_ is Status.SOLVED and not np.any(self.coef_):
            warnings.warn(
                f"No half space away from the origin holds a share of 1 − nu = {1 - self.nu:g} of the samples: the "
                "origin lies among them, and the decision function is zero everywhere. Do not centre the data, use a "
                "larger nu, or OneClassSVM with another kernel.",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _settled(self, problem: LinearProblem, solution: LinearSolution) -> LinearSolution:
        return without_half_space(problem, solution)

    def _certify(self, data: TrainingData) -> list[Certificate]:
        problem = linear_one_class(data.X, data.weight, float(self.nu))
        return [certify_linear(problem, self.coef_[0], float(self.intercept_[0]), self.dual_coef_[0, data.rows])]

    def decision_function(self, X: Any) -> Array:
        """⟨w, x⟩ − ρ: positive inside, negative outside, zero on the boundary (up to the rounding error of the sum)."""
        values = self._decide(X).ravel()
        values[np.abs(values) <= BOUNDARY_TOL * abs(self.offset_[0])] = 0.0
        return values

    def score_samples(self, X: Any) -> Array:
        """⟨w, x⟩, without the offset."""
        check_is_fitted(self)
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for inliers, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)
