"""Linear support vector classification: `LinearSVC`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hinge.control import RunControl, effective_n_jobs
from hinge.estimators.common.probability import ProbabilityMixin
from hinge.estimators.common.progress import progress_callback
from hinge.estimators.common.report import FitReport, rollback
from hinge.estimators.common.rules import POSITIVE, Choice, ClassWeight, Flag, Rule
from hinge.estimators.common.validation import ClassificationData, check_parameters, signs_of
from hinge.estimators.linear.base import (
    INTERCEPT_RULES,
    LINEAR_RULES,
    LinearEstimator,
    LinearLoss,
    dense_weights,
)
from hinge.estimators.linear.probability import (
    PartSolution,
    calibrate_linear,
    check_in_memory,
    linear_probabilities,
)
from hinge.estimators.linear.training import (
    LinearSolver,
    initial_points,
    intercept_kind,
    make_l1_solver,
    make_solver,
    solve_all,
    store_functions,
    store_linear,
    train_linear,
    validate_linear_classification,
)
from hinge.formulations import linear_classification
from hinge.problems import (
    Array,
    Certificate,
    CrammerSingerProblem,
    LinearProblem,
    certify_crammer_singer,
    scaled,
)
from hinge.solvers import CoordinateDescent

#: Seconds per sample and class that are reserved for the certificate of the joint problem, and the largest share of the
#: remaining time.
CERTIFICATE_SECONDS, MAX_CERTIFICATE_SHARE = 4e-7, 0.6

#: Samples up to which the certificate is computed after the time limit too, because it takes a few milliseconds.
MAX_LATE_SAMPLES = 2_000


class LinearSVC(ProbabilityMixin, ClassifierMixin, LinearEstimator):
    r"""Linear support vector classification, for many samples and many features.

    Minimizes ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ(⟨w, xᵢ⟩ + b)), or the sum of the squared losses, and stops when the relative
    duality gap is proven to be at most `tol`. The intercept is free unless `penalize_intercept` is True. With
    ``penalty="l1"``, ‖w‖₁ replaces ½‖w‖², and most weights are exactly zero if C is small.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        "l1" needs a loss with a curvature (any but "hinge"), one problem per class, and ``solver="auto"`` or
        "descent". A penalized intercept then adds \|b\| / `intercept_scaling` to the objective.
    loss : str or hinge.losses.Loss, default="squared_hinge"
        "squared_hinge", "hinge", or another loss of the margin with a quadratic conjugate: "modified_huber",
        "huberized_hinge", "smoothed_hinge".
    dual : "auto" or bool, default="auto"
        The method, if `solver` is "auto", as in scikit-learn: True selects coordinate descent on the dual problem,
        False Newton's method on the primal problem.
    tol : float, default=1e-4
        Relative duality gap at which the solver stops: (primal − dual) / ((|primal| + |dual|) / 2). If the optimal
        value is below 1e-14 of the loss of w = 0 (a perfect fit with weights close to zero), it consists of rounding
        errors. Then a gap of that size is `SOLVED` as well, and `certificate_` shows the relative gap.
    C : float, default=1.0
        Cost of a margin error. Multiplied by class and sample weights.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One problem per class against the rest, or one problem for all classes, with the hinge loss of Crammer and
        Singer.
    fit_intercept : bool, default=True
    penalize_intercept : bool, default=False
        Whether the intercept is the weight of a constant feature with value `intercept_scaling`, as in LIBLINEAR.
    intercept_scaling : float, default=1.0
        The constant feature; not used unless `penalize_intercept` is True.
    class_weight : dict or "balanced", optional
    solver : {"auto", "descent", "newton"} or CoordinateDescent, default="auto"
        "newton" does not support files that are read in blocks, nor ``multi_class="crammer_singer"``.
    max_iter : int, default=1000
        Limit of epochs, Newton steps and interior-point steps together, for each problem; −1 for no limit. With an ℓ1
        penalty, descent on some features counts in units of a pass over X.
    max_time : float, optional
        Seconds for the whole fit. The best model found within this time is kept.
    cache_size : float or "auto", default="auto"
        Megabytes of X to hold in memory at a time, if X is a memory map of a file.
    warm_start : bool, default=False
        Whether to start from the last solution, scaled to the new C; with an ℓ1 penalty, from the last weights.
    n_jobs : int, optional
        Threads. Classes are trained in parallel, and so are passes over the samples. The result does not depend on it.
    verbose : bool, default=False
        Whether to show a progress line on standard error.
    random_state : int, RandomState or None, default=None
        Seed of the order of the samples; None is a fixed seed.
    probability : bool, default=False
        Whether `fit` also calibrates probabilities, on decision values of cross-validation: Platt's sigmoid for two
        classes; for more, temperature scaling with offsets or a sigmoid for every class, whichever has the smaller log
        loss on these values. `predict_proba` and `predict_log_proba` exist only if it is True.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_, n_iter_, n_features_in_
        As in scikit-learn.
    dual_coef_ : ndarray of shape (1 or n_classes, n_samples)
        The dual point, with signs: w = Σ dual_coef_ᵢ xᵢ at the optimum. With an ℓ1 penalty, \|Σ dual_coef_ᵢ xᵢ\| ≤ 1 in
        every feature, with equality where the weight is not zero.
    certificate_ : Certificate
        Primal and dual value, gap, relative gap and KKT violation; `certificates_` has one per problem.
    status_ : Status
    history_ : History
        The recorded iterations, as arrays; a list of them for several problems.

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

    _rules: ClassVar[Mapping[str, Rule]] = {
        "penalty": Choice(("l2", "l1")),
        "C": POSITIVE,
        "multi_class": Choice(("ovr", "crammer_singer")),
        "class_weight": ClassWeight(),
        "probability": Flag(),
        "loss": LinearLoss("margin"),
        **INTERCEPT_RULES,
        **LINEAR_RULES,
    }

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
        probability=False,
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
        self.probability = probability

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with labels y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            float32 and float64 arrays, CSR matrices and memory maps of them are used without a copy. If most values of
            an array in memory are zero, `fit` uses a compressed copy, which takes at most half the memory of X. With
            more than 1,200 features in memory, inner products of samples may be stored: at most 285 MB per thread.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each sample; zero leaves it out.

        Returns
        -------
        self
        """
        self._check_parameters()
        control = RunControl(self.max_time)
        with control.capture_signals():
            report = self._fit(X, y, sample_weight, control)
        report.conclude(self, tol_bounds_gap=True)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, control: RunControl) -> FitReport:
        """Train within the limits of `control`; valid parameters are assumed, and no warnings are issued."""
        with rollback(self):
            data = self._validate(X, y, sample_weight)
            if self.probability:
                check_in_memory(self, data.X)
            if self._is_joint(data.classes):
                report = self._fit_crammer_singer(data, control)
            else:
                solutions, report = train_linear(self, data, self._problems(data), control, self.dual)
                store_functions(self, data, solutions, report)
            if self.probability:
                report = calibrate_linear(self, data, self.dual_coef_[:, data.rows], report, control)
                report.store(self)
            else:
                self.__dict__.pop("calibration_", None)
        return report

    def _check_parameters(self) -> None:
        check_parameters(self, self._rules)
        if self.penalty != "l1":
            return
        combination = f"Unsupported set of arguments: penalty='l1', loss={self.loss!r}, dual={self.dual!r}"
        if self.multi_class == "crammer_singer":
            raise ValueError("penalty='l1' does not support multi_class='crammer_singer': use multi_class='ovr'")
        if self.loss == "hinge":
            raise ValueError(
                f"{combination}: the hinge loss has no curvature; use loss='squared_hinge', or LPSVC, which minimizes "
                "the l1 norm of its coefficients with the hinge loss by linear programming"
            )
        if not isinstance(self.dual, str) and self.dual:
            raise ValueError(f"{combination}: the l1 penalty needs the primal problem; use dual='auto' or dual=False")
        if self.solver not in ("auto", "descent"):
            raise ValueError(f"solver={self.solver!r} does not support penalty='l1': use solver='auto' or 'descent'")

    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> ClassificationData:
        return validate_linear_classification(self, X, y, sample_weight, reset)

    def _is_joint(self, classes: NDArray[Any]) -> bool:
        """Whether one problem contains all classes."""
        return bool(self.multi_class == "crammer_singer" and len(classes) > 2)

    def _costs(self, data: ClassificationData) -> Array:
        cost = scaled(data.weight, self.C)
        return cost if self.class_weight is None else cost * data.class_weight[np.searchsorted(data.classes, data.y)]

    def _problems(self, data: ClassificationData) -> list[LinearProblem]:
        """Class 1 against class 0, or every class against the rest."""
        cost, loss = self._costs(data), self.loss
        if self.multi_class == "crammer_singer":  # two classes, w_1 = -w_0 = w/2: docs/math (140)
            cost, loss = 2 * cost, "hinge"
        bias, scale, problems = intercept_kind(self), float(self.intercept_scaling), []
        for label in data.classes[1:] if len(data.classes) == 2 else data.classes:
            sign = signs_of(data.y, label, data.classes)
            problem = linear_classification(data.X, sign, cost, loss, bias, scale)
            problems.append(replace(problem, l1=True) if self.penalty == "l1" else problem)
        if self.penalty == "l1" and not np.min(problems[0].ridge) > 0:
            raise ValueError(f"loss={loss!r} has no curvature, which penalty='l1' needs; use loss='squared_hinge'")
        return problems

    # ---- all classes in one problem -----------------------------------------------------------------------------

    def _joint_problem(self, data: ClassificationData) -> CrammerSingerProblem:
        label, cost = np.searchsorted(data.classes, data.y).astype(np.int32), np.ascontiguousarray(self._costs(data))
        bias, scale = intercept_kind(self), float(self.intercept_scaling)
        return CrammerSingerProblem(data.X, label, cost, len(data.classes), bias, scale)

    def _fit_crammer_singer(self, data: ClassificationData, control: RunControl) -> FitReport:
        if self.solver == "newton":
            raise ValueError(
                "solver='newton' does not support multi_class='crammer_singer': use solver='auto' or 'descent', or "
                "multi_class='ovr'"
            )
        problem = self._joint_problem(data)
        starts = initial_points(self, data, len(data.classes)) if self.warm_start else [None]
        start = None if starts[0] is None else np.array(starts).T
        solver = make_solver(self, data.X)  # `dual` is not used, as in scikit-learn
        whole_run = control  # the certificate takes a pass over the samples
        control = control.reserving(CERTIFICATE_SECONDS * data.n * len(data.classes), MAX_CERTIFICATE_SHARE)
        with progress_callback(self) as show:
            solution = solver.solve_crammer_singer(problem, start, control.with_callback(control.callback or show))
        is_long = control.deadline is not None and data.n > MAX_LATE_SAMPLES
        certificate = solution.certificate(problem, whole_run.expired if is_long else lambda: False)
        report = FitReport.of([solution], [certificate], float(self.tol), of_gap=True)
        store_linear(self, data, solution.weights, solution.offset, solution.alpha.T, report)
        return report

    def _solve_part(self, data: ClassificationData, dual: Array, control: RunControl, tol: float) -> PartSolution:
        """Train on some of the samples from dual points of all samples, for cross-fitted decision values."""
        threads = effective_n_jobs(self.n_jobs)
        solver: LinearSolver
        if self.penalty == "l1":
            solver = replace(make_l1_solver(self, threads), tol=tol)
        else:
            solver = replace(make_solver(self, data.X, threads, self.dual), tol=tol)
        if self._is_joint(data.classes):
            assert isinstance(solver, CoordinateDescent)
            joint = solver.solve_crammer_singer(self._joint_problem(data), np.ascontiguousarray(dual.T), control)
            return PartSolution(joint.weights, joint.offset, [joint])
        problems, starts = self._problems(data), list(np.ascontiguousarray(dual))
        if self.penalty == "l1":
            starts = list(np.column_stack([dense_weights(self.coef_), self.intercept_]))
        solutions = solve_all(solver, problems, starts, min(threads, len(problems)), control)
        offsets = np.array([solution.offset for solution in solutions])
        return PartSolution(np.array([solution.weights for solution in solutions]), offsets, solutions)

    def _certificates(self, data: ClassificationData) -> list[Certificate]:
        if not self._is_joint(data.classes):
            return super()._certificates(data)
        dual = self.dual_coef_[:, data.rows].T
        return [certify_crammer_singer(self._joint_problem(data), dense_weights(self.coef_), self.intercept_, dual)]

    # ---- the fitted model ---------------------------------------------------------------------------------------

    def sparsify(self) -> Self:
        """Convert `coef_` to a CSR matrix, in place. It needs less memory if most weights are zero."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Convert `coef_` back to an array."""
        check_is_fitted(self)
        self.coef_ = dense_weights(self.coef_)
        return self

    def decision_function(self, X: Any) -> Array:
        """⟨w, x⟩ + b: positive for ``classes_[1]`` if there are two classes; otherwise one column per class."""
        values = self._decide(X)
        return values.ravel() if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the class with the largest decision value."""
        chosen = _winners(self._decide(X))
        return self.classes_[chosen]

    def _probabilities(self, X: Any) -> Array:
        values = self._decide(X)
        return linear_probabilities(self.calibration_, values, _winners(values))


def _winners(values: Array) -> NDArray[np.intp]:
    """Position of the predicted class of every row of decision values."""
    return (values[:, 0] > 0).astype(np.intp) if values.shape[1] == 1 else np.argmax(values, axis=1)
