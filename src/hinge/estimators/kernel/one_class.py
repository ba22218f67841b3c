"""`OneClassSVM`: the support of a distribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from hinge.control import RunControl
from hinge.estimators.common.prediction import decision_values
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, SOLVER_RULES, Number, Rule
from hinge.estimators.common.training import Settings, Subproblem, train
from hinge.estimators.common.validation import TrainingData, no_targets, validate_training_data
from hinge.estimators.kernel.regression import SingleFunctionEstimator, store_function
from hinge.formulations import OneClass
from hinge.kernels import Kernel
from hinge.problems import Array

#: Decision values below this fraction of the offset are rounding errors and set to zero.
BOUNDARY_TOL = 1e-12


class OneClassEstimator(OutlierMixin, SingleFunctionEstimator):
    """Base class of the one-class estimators with a kernel: no targets, predictions +1 and −1."""

    offset_: Array

    def _validate(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True) -> TrainingData:
        return validate_training_data(self, X, None, sample_weight, kernel, no_targets, reset)

    def _subproblems(self, data: TrainingData) -> list[Subproblem]:
        return [Subproblem(None, OneClass(data.weight, float(self.nu)))]

    def decision_function(self, X: Any) -> Array:
        """Signed distance: positive inside, negative outside, zero on the boundary.

        Values below the rounding error of their sum are set to zero. Support vectors on the boundary are therefore
        inliers, independently of the order of summation.
        """
        values = decision_values(self, X, 1).ravel()
        values[np.abs(values) <= BOUNDARY_TOL * abs(self.offset_[0])] = 0.0
        return values

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if np.shape(self.offset_) != (1,) or self.offset_.dtype != np.float64:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    def score_samples(self, X: Any) -> Array:
        """Σ αᵢ k(xᵢ, x), without the offset."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for inliers, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)


class OneClassSVM(OneClassEstimator):
    """One-class support vector machine: f is positive on most of the data and negative far from them.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Upper bound on the fraction of training samples outside the region, and lower bound on the fraction of support
        vectors.

    Attributes
    ----------
    offset_ : float
        ``decision_function = score_samples - offset_``.

    Notes
    -----
    All other parameters and attributes are those of `SVC`.
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "nu": Number(0.0, 1.0, open_low=True),
        **LIMIT_RULES,
        **KERNEL_RULES,
        **SOLVER_RULES,
    }

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        solver="auto",
        shrinking=True,
        tol=1e-3,
        max_iter=-1,
        max_time=None,
        cache_size="auto",
        warm_start=False,
        n_jobs=None,
        verbose=False,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.solver = solver
        self.shrinking = shrinking
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the region that contains most samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each sample; zero leaves it out.

        Returns
        -------
        self
        """
        settings = Settings.of(self)
        control = RunControl(self.max_time)
        with control.capture_signals(), rollback(self):
            data = self._validate(X, y, sample_weight, settings.kernel)
            trained = train(self, data, self._subproblems(data), settings, control)
            store_function(self, data, trained)
            self.offset_ = -self.intercept_
            trained.report.store(self)
        trained.report.conclude(self, settings.solver.max_iter)
        return self
