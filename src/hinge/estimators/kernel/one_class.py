"""`OneClassSVM`: the support of a distribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.metaestimators import available_if

from hinge.calibration import RankedScores
from hinge.control import RunControl
from hinge.estimators.common.cross_fitting import cross_fit
from hinge.estimators.common.prediction import BOUNDARY_TOL, decision_values
from hinge.estimators.common.probability import (
    ProbabilityMixin,
    check_calibrated,
    has_probability,
    warn_if_unfinished,
)
from hinge.estimators.common.report import FitReport, rollback
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, SOLVER_RULES, Flag, Number, Rule
from hinge.estimators.common.training import Settings, Subproblem, Trained, train
from hinge.estimators.common.validation import TrainingData, no_targets, validate_training_data
from hinge.estimators.kernel.regression import SingleFunctionEstimator, store_function
from hinge.formulations import OneClass
from hinge.kernels import Kernel
from hinge.problems import Array


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


class OneClassSVM(ProbabilityMixin, OneClassEstimator):
    """One-class support vector machine: f is positive on most of the data and negative far from them.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Upper bound on the fraction of training samples outside the region, and lower bound on the fraction of support
        vectors.
    probability : bool, default=False
        Whether `fit` also ranks the training samples by decision values of cross-validation. `p_values`,
        `predict_proba` and `predict_log_proba` exist only if it is True.

    Attributes
    ----------
    offset_ : float
        ``decision_function = score_samples - offset_``.
    calibration_ : hinge.calibration.RankedScores
        Only with ``probability=True``.

    Notes
    -----
    All other parameters and attributes are those of `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = hinge.OneClassSVM(nu=0.1, gamma=0.1).fit(X)
    >>> bool(np.mean(model.predict(X) == -1) <= 0.1)
    True
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "nu": Number(0.0, 1.0, open_low=True),
        "probability": Flag(),
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
        probability=False,
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
        self.probability = probability

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
            report = trained.report
            if self.probability:
                report = self._rank(data, trained, settings, control)
            else:
                self.__dict__.pop("calibration_", None)
            report.store(self)
        report.conclude(self, settings.solver.max_iter)
        return self

    # ---- p-values and probabilities -----------------------------------------------------------------------------

    def _rank(self, data: TrainingData, trained: Trained, settings: Settings, control: RunControl) -> FitReport:
        """Set `calibration_`; return the report of the fit, with an interrupt if there was one."""
        self.__dict__.pop("calibration_", None)
        if trained.report.error is not None:
            return trained.report
        total = float(np.sum(data.weight))

        def build(part: TrainingData) -> list[Subproblem]:
            weight = part.weight * (total / float(np.sum(part.weight)))  # the decision function is proportional to it
            return [Subproblem(None, OneClass(weight, float(self.nu)))]

        fitted = cross_fit(build, data, trained, settings, control)
        if fitted.error is not None:
            return trained.report.interrupted(fitted.error)
        warn_if_unfinished([solution.status for solution in fitted.solutions], self.max_time)
        self.calibration_ = RankedScores.fit(fitted.values[0])
        return trained.report

    @available_if(has_probability)
    def p_values(self, X: Any) -> Array:
        """Return the p-value of every row: small if it is unlike the training samples.

        p(x) = (1 + number of training samples with a decision value of at most f(x)) / (n + 1), where the values of the
        training samples are those of models that were trained without them.
        """
        check_calibrated(self)
        return self.calibration_.p_values(self.decision_function(X))

    def _probabilities(self, X: Any) -> Array:
        return self.calibration_.probabilities(self.decision_function(X))
