"""Linear one-class classification: `LinearOneClassSVM`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from hinge.control import RunControl
from hinge.estimators.common.prediction import BOUNDARY_TOL
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import Number, Rule
from hinge.estimators.common.validation import TrainingData, check_parameters, no_targets
from hinge.estimators.linear.base import LINEAR_RULES, LinearEstimator
from hinge.estimators.linear.training import store_functions, train_linear, validate_linear
from hinge.formulations import linear_one_class, without_half_space
from hinge.problems import Array, LinearProblem, Status


class LinearOneClassSVM(OutlierMixin, LinearEstimator):
    """Half space that contains most of the data: `OneClassSVM` with a linear kernel, for many samples.

    Minimizes ½‖w‖² − νWρ + Σ wᵢ max(0, ρ − ⟨w, xᵢ⟩), W = Σ wᵢ.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        An upper bound on the fraction of training samples outside and a lower bound on that of support vectors.

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        ``decision_function = score_samples - offset_``.

    Notes
    -----
    If every half space without the origin excludes more than a fraction ν of the samples, the optimum is w = 0 and
    ρ = 0. The decision function is then zero everywhere, all samples are inliers, and `fit` warns.

    All other parameters and attributes are those of `LinearSVC`; `coef_` has shape (1, n_features).

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> X = 3 + np.random.default_rng(0).normal(size=(500, 4))
    >>> model = hinge.LinearOneClassSVM(nu=0.1).fit(X)
    >>> bool(np.mean(model.predict(X) == -1) <= 0.1)
    True
    >>> model.predict(np.zeros((1, 4)))
    array([-1])
    """

    _rules: ClassVar[Mapping[str, Rule]] = {"nu": Number(0.0, 1.0, open_low=True), **LINEAR_RULES}

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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the half space that contains most of X.

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
        check_parameters(self, self._rules)
        control = RunControl(self.max_time)
        with control.capture_signals(), rollback(self):
            data = self._validate(X, None, sample_weight)
            solutions, report = train_linear(self, data, self._problems(data), control, correct=without_half_space)
            store_functions(self, data, solutions, report)
            self.offset_ = 0.0 - self.intercept_
        report.conclude(self, tol_bounds_gap=True)
        if report.status is Status.SOLVED and not np.any(self.coef_):
            warnings.warn(
                f"No half space without the origin contains a fraction of 1 − nu = {1 - self.nu:g} of the samples: the "
                "origin lies among them, and the decision function is zero everywhere. Do not center the data, use a "
                "larger nu, or OneClassSVM with another kernel.",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> TrainingData:
        return validate_linear(self, X, y, sample_weight, no_targets, reset)

    def _problems(self, data: TrainingData) -> list[LinearProblem]:
        return [linear_one_class(data.X, data.weight, float(self.nu))]

    def decision_function(self, X: Any) -> Array:
        """⟨w, x⟩ − ρ: positive inside, negative outside; zero on the boundary, up to the rounding error of the sum."""
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
