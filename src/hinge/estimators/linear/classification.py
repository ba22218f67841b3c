"""`LinearSVC`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from hinge.control import RunControl, captures_signals
from hinge.estimators.common.progress import progress_callback
from hinge.estimators.common.report import FitReport, rollback
from hinge.estimators.common.validation import TrainingData, check_known_labels, labels_of, one_column, signs_of
from hinge.estimators.linear.base import LinearMachine
from hinge.formulations import linear_classification
from hinge.losses import Form
from hinge.problems import (
    Array,
    Certificate,
    CrammerSingerProblem,
    LinearProblem,
    certify_crammer_singer,
    certify_linear,
    scaled,
)
from hinge.solvers import Monitor
from hinge.validation import check_choice, check_number


def _dense(weights: Any) -> Array:
    return weights.toarray() if sp.issparse(weights) else np.asarray(weights)


class LinearSVC(ClassifierMixin, LinearMachine):
    """Linear support vector classification, for many samples and many features.

    Minimises ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ(⟨w, xᵢ⟩ + b)), or the squares of the losses, and stops when the relative
    duality gap is proven to be at most `tol`. The intercept is free unless `penalize_intercept` asks for LIBLINEAR's.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    dual : "auto" or bool, default="auto"
        scikit-learn's name for the choice of method: True descends on the dual, False is Newton on the primal.
    tol : float, default=1e-4
        Relative duality gap at which to stop: (primal − dual) / ((|primal| + |dual|) / 2). Where the optimum itself is
        no more than rounding errors beside the losses of the zero function (below 1e-14 of them: a perfect fit with
        weights close to zero), no relative gap can be reached or has a meaning; there a gap of that size is `SOLVED`
        as well, and `certificate_` shows it as it is.
    C : float, default=1.0
        Price of an error. Multiplied by class and sample weights.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One machine per class against the rest, or one for all classes together (its loss is the hinge).
    fit_intercept : bool, default=True
    penalize_intercept : bool, default=False
        Whether the intercept is the weight of a constant feature `intercept_scaling`, as in LIBLINEAR.
    intercept_scaling : float, default=1.0
        The constant feature where `penalize_intercept`; else it has no meaning.
    class_weight : dict or "balanced", optional
    solver : {"auto", "descent", "newton"} or CoordinateDescent, default="auto"
        "newton" is none for files that are held in parts, nor for all classes together: an error says so.
    max_iter : int, default=1000
        Epochs, Newton steps and interior point steps per machine, all together; −1 for no limit.
    max_time : float, optional
        Seconds for the whole fit; the best model so far is kept.
    cache_size : float or "auto", default="auto"
        Where X is a memory map of a file: megabytes of it to hold at a time.
    warm_start : bool, default=False
        Start from the last solution, scaled to the new C.
    n_jobs : int, optional
        Threads: classes side by side, and passes over the samples. The answer does not depend on it.
    verbose : bool, default=False
        Show one line of progress on standard error.
    random_state : int, RandomState or None, default=None
        Seed of the order of the samples; None is always the same one.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_, n_iter_, n_features_in_
        As in scikit-learn.
    dual_coef_ : ndarray of shape (1 or n_classes, n_samples)
        The dual point: signed, so that w = Σ dual_coef_ᵢ xᵢ at the optimum.
    certificate_ : Certificate
        Primal and dual value, gap, relative gap, KKT violation; `certificates_` has one per machine.
    status_ : Status
    history_ : History
        What `verbose` shows, as arrays; a list of them for several machines.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from hinge import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(C=0.1).fit(scale(X), y)
    >>> bool(model.score(scale(X), y) > 0.97)
    True
    >>> model.certificate_.relative_gap <= 1e-4
    True
    """

    _loss_form: ClassVar[Form | None] = "margin"

    def __init__(
        self,
        penalty="l2",
        loss="squared_hinge",
        *,
        dual="auto",
        tol=1e-4,
        C=1.0,
        multi_class="ovr",
        fit_intercept=True,
        penalize_intercept=False,
        intercept_scaling=1,
        class_weight=None,
        solver="auto",
        max_iter=1000,
        max_time=None,
        cache_size="auto",
        warm_start=False,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.solver = solver
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if self.penalty != "l2":
            raise ValueError(
                f"Unsupported set of arguments: penalty={self.penalty!r}, loss={self.loss!r}, dual={self.dual!r}; "
                "linear machines of hinge have penalty='l2'"
            )
        check_number("C", self.C, 0.0, open_low=True)
        check_choice("multi_class", self.multi_class, ("ovr", "crammer_singer"))
        self._check_bias()
        if isinstance(self.class_weight, dict):
            for label, weight in self.class_weight.items():
                check_number(f"class_weight[{label!r}]", weight, 0.0, open_low=True)
        elif self.class_weight is not None:
            check_choice("class_weight", self.class_weight, ("balanced",))
        super()._check_parameters()

    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> TrainingData:
        data = super()._validate(X, y, sample_weight, reset)
        if not reset:
            check_known_labels(data.y, self.classes_)
        return data

    def _validate_y(self, y: Any, n: int, reset: bool) -> NDArray[Any]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = one_column(y)
        if y.dtype.kind not in "biuf" or not y.size:  # of numbers, `fit` asks the different labels
            check_classification_targets(y)
        return y

    @captures_signals
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with labels y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            float32 and float64 arrays, CSR matrices and memory maps of them are used as they are. Of an array in memory
            that is mostly zeros the other values are kept in a row while `fit` runs, in at most half its memory.
            With more than 1,200 features in memory inner products of some samples may be kept: at most 285 MB a thread.
        y : array-like of shape (n_samples,)
            Labels of any type.
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
            classes = labels_of(data.y)
            if classes.dtype.kind == "f" and not np.all(np.isfinite(classes) & (classes == np.floor(classes))):
                check_classification_targets(classes)
            if len(classes) < 2:
                raise ValueError(
                    f"The number of classes has to be greater than one; got {len(classes)} class: every sample with a "
                    f"positive weight is labelled {classes[0]!r}"
                )
            if hasattr(self, "classes_") and not np.array_equal(self.classes_, classes):
                self.__dict__.pop("dual_coef_", None)  # no warm start across labels
            self.classes_ = classes
            self.class_weight_ = (
                np.ones(len(classes))
                if self.class_weight is None
                else compute_class_weight(self.class_weight, classes=classes, y=data.y)
            )
            if self._together():
                report = self._fit_together(data, callback)
            else:
                solutions, report = self._train(data, self._problems(data), callback)
                weights = [solution.weights for solution in solutions]
                self.coef_ = weights[0][None, :] if len(weights) == 1 else np.array(weights)
                self._set_function(self.coef_, np.array([solution.offset for solution in solutions]))
        return report

    def _together(self) -> bool:
        return bool(self.multi_class == "crammer_singer" and len(self.classes_) > 2)

    def _method(self) -> str:
        if not self._together():
            return super()._method()
        if self.solver == "newton":
            raise ValueError(
                "solver='newton' is no method for multi_class='crammer_singer': use solver='auto' or 'descent', or "
                "multi_class='ovr'"
            )
        return self.solver  # `dual` has no meaning there, as in scikit-learn

    def _costs(self, data: TrainingData) -> Array:
        cost = scaled(data.weight, self.C)
        return cost if self.class_weight is None else cost * self.class_weight_[np.searchsorted(self.classes_, data.y)]

    def _problems(self, data: TrainingData) -> list[LinearProblem]:
        """Class 1 against class 0, or every class against the rest."""
        cost, loss = self._costs(data), self.loss
        if self.multi_class == "crammer_singer":  # w_1 = -w_0 = w/2: docs/math (140)
            cost, loss = 2 * cost, "hinge"
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return [
            linear_classification(
                data.X,
                signs_of(data.y, label, self.classes_),
                cost,
                loss,
                self._bias(),
                float(self.intercept_scaling),
            )
            for label in positive
        ]

    def _crammer_singer(self, data: TrainingData) -> CrammerSingerProblem:
        label, cost = np.searchsorted(self.classes_, data.y).astype(np.int32), np.ascontiguousarray(self._costs(data))
        return CrammerSingerProblem(
            data.X, label, cost, len(self.classes_), self._bias(), float(self.intercept_scaling)
        )

    def _fit_together(self, data: TrainingData, callback: Monitor | None) -> FitReport:
        problem = self._crammer_singer(data)
        starts = self._warm_starts(data, len(self.classes_))
        start = None if starts[0] is None else np.array(starts).T
        solver = self._solver(data.X, 1)
        with nullcontext(callback) if callback is not None else progress_callback(self) as show:
            solution = solver.solve_crammer_singer(problem, start, RunControl(self.max_time, show))
        report = FitReport.of([solution], [solution.certificate(problem)])
        report.store(self)
        self._keep(data, solution.alpha.T)
        self.coef_ = solution.weights
        self._set_function(self.coef_, solution.offset)
        return report

    def _certify(self, data: TrainingData) -> list[Certificate]:
        dual = self.dual_coef_[:, data.rows]
        if self._together():
            problem = self._crammer_singer(data)
            return [certify_crammer_singer(problem, _dense(self.coef_), self.intercept_, dual.T)]
        machines = zip(self._problems(data), _dense(self.coef_), self.intercept_, dual, strict=True)
        return [certify_linear(problem, w, float(b), beta) for problem, w, b, beta in machines]

    def sparsify(self) -> Self:
        """Turn `coef_` into a CSR matrix, in place; where most weights are zero it takes less memory."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Turn `coef_` back into an array."""
        check_is_fitted(self)
        self.coef_ = _dense(self.coef_)
        return self

    def decision_function(self, X: Any) -> Array:
        """⟨w, x⟩ + b: positive means ``classes_[1]`` with two classes; else one column per class."""
        values = self._decide(X)
        return values.ravel() if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the class with the largest decision value."""
        values = self.decision_function(X)
        chosen = (values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[chosen]
