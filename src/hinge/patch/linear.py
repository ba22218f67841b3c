"""`LinearSVC` and `LinearSVR` of scikit-learn, trained by hinge in place of LIBLINEAR.

The intercept is the weight of a constant feature with the value `intercept_scaling`, and is penalized, as in LIBLINEAR.
An ℓ1 penalty is not replaced: it is trained by LIBLINEAR.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import svm
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm._base import _get_liblinear_solver_type
from sklearn.svm._classes import _validate_dual_parameter
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from hinge import estimators
from hinge.control import RunControl
from hinge.estimators.common.report import FitReport, rollback
from hinge.estimators.common.validation import ClassificationData
from hinge.estimators.linear.training import intercept_kind, store_functions, train_linear
from hinge.formulations import linear_classification
from hinge.problems import Array, Certificate, LinearProblem, Status, scaled

#: Warning of scikit-learn for a fit that the iteration limit ended.
NOT_CONVERGED = "Liblinear failed to converge, increase the number of iterations."


class OneVsRestSVC(estimators.LinearSVC):
    """`hinge.LinearSVC` with the class weights of LIBLINEAR.

    In one-vs-rest classification LIBLINEAR multiplies the costs of the class by its weight, and not those of the rest.
    A class weight may be zero: the problem then has no samples of this class.
    """

    def _fit(self, X: Any, y: Any, sample_weight: Any, control: RunControl) -> FitReport:
        if self.class_weight is None or self.multi_class == "crammer_singer":
            return super()._fit(X, y, sample_weight, control)
        with rollback(self):
            data = self._validate(X, y, sample_weight)
            rows, problems = self._weighted_problems(data)
            parts, report = train_linear(self, data, problems, control, self.dual)
            solutions = []
            for used, part in zip(rows, parts, strict=True):
                beta = np.zeros(data.n)
                beta[used] = part.beta
                solutions.append(replace(part, beta=beta))
            store_functions(self, data, solutions, report)
        return report

    def _weighted_problems(self, data: ClassificationData) -> tuple[list[NDArray[np.intp]], list[LinearProblem]]:
        """The samples of every problem, those with positive costs, and the problems."""
        binary = len(data.classes) == 2
        cost, rows, problems = scaled(data.weight, self.C), [], []
        bias, scale = intercept_kind(self), float(self.intercept_scaling)
        for label, weight in list(zip(data.classes, data.class_weight, strict=True))[int(binary) :]:
            rest = data.class_weight[0] if binary else 1.0
            weighted = np.where(data.y == label, weight, rest) * cost
            used = np.flatnonzero(weighted > 0)
            sign = 2.0 * (data.y[used] == label) - 1.0
            rows.append(used)
            problems.append(linear_classification(data.X[used], sign, weighted[used], self.loss, bias, scale))
        return rows, problems


class LiblinearReplacement(BaseEstimator):
    """Methods that call hinge in place of LIBLINEAR.

    Attributes
    ----------
    hinge_ : estimator
        The fitted estimator of hinge.
    certificate_ : Certificate
    status_ : Status
    """

    hinge_: Any
    certificate_: Certificate
    status_: Status
    coef_: Array
    intercept_: Any
    n_iter_: int

    def _validated(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Array | None]:
        """X, y and the weights of the samples; those that are not positive leave samples out, as in LIBLINEAR."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", accept_large_sparse=False
        )
        if sample_weight is None:
            return X, y, None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if not np.any(weights > 0):
            raise ValueError("Sample weights must contain at least one positive number.")
        return X, y, np.maximum(weights, 0.0)

    def _check_combination(self, X: Any, penalty: str, multi_class: str) -> None:
        """Raise a ValueError if LIBLINEAR does not support the combination of penalty, loss and `dual`."""
        dual = _validate_dual_parameter(self.dual, self.loss, penalty, multi_class, X)
        _get_liblinear_solver_type(multi_class, penalty, self.loss, dual)

    def _train(self, model: Any, X: Any, y: Any, weights: Array | None) -> None:
        """Fit the estimator of hinge, and set the fitted attributes that all linear estimators have."""
        control = RunControl(None)
        with control.capture_signals():
            report = model._fit(X, y, weights, control)
        if report.error is not None:
            raise report.error
        self.hinge_, self.certificate_, self.status_ = model, model.certificate_, model.status_
        self.coef_, self.n_iter_ = model.coef_, int(model.n_iter_)
        self.intercept_ = model.intercept_ if self.fit_intercept else 0.0
        if self.status_ is not Status.SOLVED:
            warnings.warn(NOT_CONVERGED, ConvergenceWarning, stacklevel=4)

    def _common_parameters(self) -> dict[str, Any]:
        names = ("C", "tol", "loss", "dual", "max_iter", "fit_intercept", "intercept_scaling", "verbose")
        common = {name: getattr(self, name) for name in names}
        return {**common, "penalize_intercept": True, "random_state": self.random_state}


class LinearSVC(LiblinearReplacement, svm.LinearSVC):
    __doc__ = svm.LinearSVC.__doc__

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model according to the given training data; see `sklearn.svm.LinearSVC.fit`."""
        if self.penalty == "l1":
            for name in ("hinge_", "certificate_", "status_"):
                self.__dict__.pop(name, None)
            return super().fit(X, y, sample_weight)
        X, y, weights = self._validated(X, y, sample_weight)
        check_classification_targets(y)
        self._check_combination(X, self.penalty, self.multi_class)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_[0]!r}"
            )
        by_class = None if self.class_weight is None else self._weights_by_class(y, weights)
        model = OneVsRestSVC(multi_class=self.multi_class, class_weight=by_class, **self._common_parameters())
        self._train(model, X, y, weights)
        self.classes_ = model.classes_
        return self

    def _weights_by_class(self, y: NDArray[Any], weights: Array | None) -> dict[Any, float]:
        accepted = signature(compute_class_weight).parameters  # older versions ignore the sample weights
        options = {"sample_weight": weights} if "sample_weight" in accepted else {}
        values = compute_class_weight(self.class_weight, classes=self.classes_, y=y, **options)
        return dict(zip(self.classes_.tolist(), np.maximum(values, 0.0).tolist(), strict=True))


class LinearSVR(LiblinearReplacement, svm.LinearSVR):
    __doc__ = svm.LinearSVR.__doc__

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model according to the given training data; see `sklearn.svm.LinearSVR.fit`."""
        X, y, weights = self._validated(X, y, sample_weight)
        self._check_combination(X, "l2", "ovr")
        self._train(estimators.LinearSVR(epsilon=self.epsilon, **self._common_parameters()), X, y, weights)
        return self
