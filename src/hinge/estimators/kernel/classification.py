"""Kernel classifiers, and `SVC`.

An estimator with k classes has a subproblem for each of the k(k − 1)/2 pairs of classes, whose first class is positive.
With two classes the decision function is minus the function of the subproblem, so that positive values mean
``classes_[1]``: the label sign is −1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hinge.calibration import PairwiseSigmoids
from hinge.control import RunControl
from hinge.estimators.common.prediction import decision_values
from hinge.estimators.common.probability import ProbabilityMixin, calibrate_pairs
from hinge.estimators.common.reduced_model import basis_coefficients
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import (
    KERNEL_RULES,
    LIMIT_RULES,
    SOLVER_RULES,
    Choice,
    ClassWeight,
    Flag,
    Number,
    Rule,
)
from hinge.estimators.common.training import (
    Settings,
    Subproblem,
    Trained,
    check_separable,
    resolve_loss,
    store_expansion,
    train,
)
from hinge.estimators.common.validation import ClassificationData, TrainingData, row_index, validate_classification
from hinge.estimators.kernel.base import DualEstimator
from hinge.estimators.kernel.one_vs_one import class_pairs, class_values, libsvm_layout, votes
from hinge.formulations import CSVC, ConvexLoss, Formulation, equivalent_nu
from hinge.kernels import Kernel
from hinge.lowrank import LowRankAccess
from hinge.model import Expansion
from hinge.problems import Array

CLASSIFIER_RULES: dict[str, Rule] = {
    "decision_function_shape": Choice(("ovr", "ovo")),
    "break_ties": Flag(),
    "class_weight": ClassWeight(),
}


def pair_subproblems(
    data: ClassificationData, cost: Array, formulation: Callable[[Array, Array], Formulation]
) -> list[Subproblem]:
    """The subproblem of every pair of classes; with two classes, of all samples in their order.

    Parameters
    ----------
    data : ClassificationData
    cost : ndarray
        One value per sample.
    formulation : callable
        (signs of the samples, their costs) → formulation.
    """
    if len(data.classes) == 2:
        return [Subproblem(None, formulation(np.where(data.y == data.classes[0], 1.0, -1.0), cost))]
    return [Subproblem(rows, formulation(sign, cost[rows])) for rows, sign in class_pairs(data.y, data.classes)]


def label_sign(classes: NDArray[Any]) -> float:
    """−1 for two classes, whose decision function is minus the function of the subproblem; 1 otherwise."""
    return -1.0 if len(classes) == 2 else 1.0


def store_classifier(estimator: Any, data: ClassificationData, trained: Trained) -> None:
    """Set the fitted attributes of a trained classifier."""
    rows: list[NDArray[np.intp] | None] = []
    for subproblem in trained.subproblems:
        rows.append(subproblem.rows)
    if trained.basis is None:
        store_pairs(estimator, data, data.classes, trained.kernel, rows, trained.expansions)
        vars(estimator).pop("approximation_", None)
    else:
        store_basis_pairs(estimator, data, data.classes, trained.kernel, rows, trained.expansions, trained.basis)
        estimator.approximation_ = trained.approximation


def store_pairs(
    estimator: Any,
    data: TrainingData,
    classes: NDArray[Any],
    kernel: Kernel,
    rows: Sequence[NDArray[np.intp] | None],
    expansions: Sequence[Expansion],
) -> None:
    """Set the fitted attributes from the function of every pair of classes; support vectors are ordered by class."""
    sign = label_sign(classes)
    if len(classes) == 2:
        beta = expansions[0].coefficients
        inside = np.flatnonzero(beta)
        first = data.y[inside] == classes[0]
        support = np.concatenate([inside[first], inside[~first]])
        n_first = int(np.count_nonzero(first))
        counts = [n_first, len(inside) - n_first]
        coefficients = sign * beta[support][:, None]
        layout = coefficients.T.copy()
    else:
        support, counts, coefficients, layout = libsvm_layout(data, classes, rows, expansions)
    intercept, margins = np.empty(len(expansions)), np.empty(len(expansions))
    for k, expansion in enumerate(expansions):
        intercept[k], margins[k] = expansion.intercept, expansion.margin
    store_expansion(estimator, data, kernel, support, counts, coefficients, sign * intercept, layout)
    estimator._margins = margins
    vars(estimator).pop("_dual_points", None)


def store_basis_pairs(
    estimator: Any,
    data: TrainingData,
    classes: NDArray[Any],
    kernel: Kernel,
    rows: Sequence[NDArray[np.intp] | None],
    expansions: Sequence[Expansion],
    basis: LowRankAccess,
) -> None:
    """Set the fitted attributes if the functions are expansions in the basis of a factor LLᵀ.

    All pairs share the basis functions: `dual_coef_` has one row per pair.
    """
    sign = label_sign(classes)
    labels = np.searchsorted(classes, data.y[basis.origin.basis])
    order = np.argsort(labels, kind="stable")
    coefficients = sign * basis_coefficients(basis, rows, expansions)[order]
    intercept = sign * np.array([expansion.intercept for expansion in expansions])
    counts = np.bincount(labels, minlength=len(classes))
    layout = np.ascontiguousarray(coefficients.T)
    store_expansion(estimator, data, kernel, basis.origin.basis[order], counts, coefficients, intercept, layout)
    estimator._margins = np.array([expansion.margin for expansion in expansions])
    estimator._dual_points = [expansion.coefficients for expansion in expansions]


class KernelClassifier(ClassifierMixin, DualEstimator):
    """Base class of the one-vs-one classifiers: a binary subproblem for every pair of classes."""

    classes_: NDArray[Any]
    class_weight_: Array
    _margins: Array

    def _validate(
        self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True
    ) -> ClassificationData:
        return validate_classification(self, X, y, sample_weight, kernel, self.class_weight, reset)

    def _expansions(self, data: TrainingData, subproblems: Sequence[Subproblem]) -> list[Expansion]:
        sign = self._label_sign()
        if self._dual_points is None:
            beta = np.zeros((data.n, len(subproblems)))
            beta[np.searchsorted(data.rows, self.support_)] = sign * self.model_.coefficients
            parts = [beta[row_index(subproblem.rows), k] for k, subproblem in enumerate(subproblems)]
        else:
            parts = self._dual_points
        values = zip(parts, sign * self.intercept_, self._margins, strict=True)
        return [Expansion(part, float(intercept), float(margin)) for part, intercept, margin in values]

    def _label_sign(self) -> float:
        return label_sign(self.classes_)

    def _n_functions(self) -> int:
        return len(self.classes_) * (len(self.classes_) - 1) // 2

    def decision_function(self, X: Any) -> Array:
        """Decision values: positive values mean ``classes_[1]`` with two classes.

        With more classes, one column per class (``decision_function_shape="ovr"``: votes and a confidence below ½) or
        one per pair of classes ("ovo", positive for the first of the pair).
        """
        check_is_fitted(self)
        values = decision_values(self, X, self._n_functions())
        if len(self.classes_) == 2:
            return values.ravel()
        return class_values(values, self.classes_) if self.decision_function_shape == "ovr" else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the class with most votes.

        Ties are resolved in favor of the first class, or by confidence with ``break_ties``.
        """
        if "classes_" not in vars(self):
            check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        n_classes = len(self.classes_)
        values = decision_values(self, X, n_classes * (n_classes - 1) // 2)
        return self.classes_[self._winners(values)]

    def _winners(self, values: Array) -> NDArray[np.intp]:
        """Position of the predicted class of every row of decision values."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return (values.ravel() > 0).astype(np.intp)
        by_class = class_values(values, self.classes_) if self.break_ties else votes(values, n_classes)
        return np.argmax(by_class, axis=1)


class CalibratedClassifier(ProbabilityMixin, KernelClassifier):
    """Base class of the one-vs-one classifiers with a parameter `probability`."""

    calibration_: PairwiseSigmoids

    @property
    def probA_(self) -> Array:
        """A of Platt's sigmoid 1 / (1 + exp(A f + B)) of every pair of classes, as in scikit-learn."""
        return self._sigmoids().A

    @property
    def probB_(self) -> Array:
        """B of Platt's sigmoid of every pair of classes."""
        return self._sigmoids().B

    def _sigmoids(self) -> PairwiseSigmoids:
        if "calibration_" not in vars(self):
            raise AttributeError("probA_ and probB_ are set by fit with probability=True")
        return self.calibration_

    def _probabilities(self, X: Any) -> Array:
        n_classes = len(self.classes_)
        values = decision_values(self, X, self._n_functions())
        predicted = self._winners(values)
        return self.calibration_.probabilities(self._label_sign() * values, predicted, n_classes)

    def _fold_subproblems(self, data: ClassificationData) -> list[Subproblem]:
        """The subproblems of some of the samples, for cross-fitted decision values."""
        return self._subproblems(data)


class SVC(CalibratedClassifier):
    """C-support vector classification.

    Minimizes ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ(⟨w, Φ(xᵢ)⟩ + b)), or the same with another loss, for every pair of classes.
    `certificate_` bounds the distance of the solution from the minimum.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a margin error. Multiplied by class and sample weights.
    kernel : str, callable or hinge.kernels.Kernel, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "bspline", "precomputed", a function of two sets of samples, or
        a kernel object such as ``RBF(0.5) + 2 * Linear()``.
    degree : int, default=3
        Degree of "poly" and "bspline".
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width. "scale" is 1 / (n_features · X.var()), with the sample weights in the variance.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    loss : str or hinge.losses.Loss, default="hinge"
        Loss as a function of the margin m = y f(x): "hinge", max(0, 1 − m); "squared_hinge", its square;
        "modified_huber", this square for m ≥ −1 and −4m below; "huberized_hinge", "smoothed_hinge",
        "logistic", "exponential"; an object of `hinge.losses`, or any object with the methods ``value``,
        ``derivative`` and ``conjugate``.
    solver : str or solver object, default="auto"
        "auto", "smo", "working_set", "chunking", "interior_point", "low_rank_interior_point", "newton", "lagrangian",
        "gradient_descent", "adatron", or an object of `hinge.solvers`, which keeps its own tolerance and limits.
    shrinking : bool, default=True
    tol : float, default=1e-3
        Largest KKT violation. To stop on the duality gap: ``solver=SMO(tol=1e-4, stop="gap")``.
    max_iter : int, default=-1
        Iterations per pair of classes; −1 for no limit.
    max_time : float, optional
        Seconds for the whole fit. If they do not suffice, the best model so far is kept, with a warning.
    cache_size : float or "auto", default="auto"
        Megabytes for kernel rows; "auto" is a fraction of the free memory.
    class_weight : dict or "balanced", optional
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
    break_ties : bool, default=False
    warm_start : bool or "rescale", default=False
        Start from the last solution: clipped to the new C, or multiplied by C′/C with "rescale" (LwK 10.1.2). Clones,
        such as those of `GridSearchCV`, share their solutions within a process.
    n_jobs : int, optional
        Number of threads.
    verbose : bool, default=False
        Show one line of progress on standard error.
    random_state : optional
        Not used: the result is deterministic.
    fit_intercept : bool, default=True
        Whether the function has an offset b. Without it there is no equality constraint, and solvers change one
        variable at a time. This suits kernels that contain a constant, such as the RBF kernel.
    probability : bool, default=False
        Whether `fit` also calibrates probabilities, on decision values of cross-validation: Platt's sigmoid for every
        pair of classes, and pairwise coupling. `predict_proba` and `predict_log_proba` exist only if it is True.

    Attributes
    ----------
    certificate_ : Certificate
        Primal and dual value, gap, relative gap and KKT violation; `certificates_` has one per pair of classes.
    status_ : Status
    history_ : History
        Recorded iterations, as arrays; a list of histories for several pairs.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_
        As in scikit-learn.
    calibration_ : hinge.calibration.PairwiseSigmoids
        Only with ``probability=True``; `probA_` and `probB_` are its coefficients.
    equivalent_nu_ : ndarray
        The ν for which `NuSVC` gives the same function, one per pair. Class weights must be passed to `NuSVC` as sample
        weights. Only for the hinge loss with an intercept.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=10).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    >>> model.certificate_.relative_gap < 1e-3
    True
    """

    _loss_form = ("margin", "hinge")
    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": Number(0.0, open_low=True, finite=False),
        "fit_intercept": Flag(),
        "probability": Flag(),
        **LIMIT_RULES,
        **KERNEL_RULES,
        **SOLVER_RULES,
        **CLASSIFIER_RULES,
    }

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        loss="hinge",
        solver="auto",
        shrinking=True,
        tol=1e-3,
        max_iter=-1,
        max_time=None,
        cache_size="auto",
        class_weight=None,
        decision_function_shape="ovr",
        break_ties=False,
        warm_start=False,
        n_jobs=None,
        verbose=False,
        random_state=None,
        fit_intercept=True,
        probability=False,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.loss = loss
        self.solver = solver
        self.shrinking = shrinking
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.probability = probability

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with labels y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            float32 and float64 arrays and CSR matrices are used as they are, without a copy. Kernel values for
            ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each sample; zero leaves it out.

        Returns
        -------
        self
        """
        settings = Settings.of(self)
        control = RunControl(self.max_time)
        with control.capture_signals(), rollback(self):
            data = validate_classification(self, X, y, sample_weight, settings.kernel, self.class_weight)
            self.classes_, self.class_weight_ = data.classes, data.class_weight
            trained = train(self, data, self._subproblems(data), settings, control)
            if np.isinf(self.C):
                check_separable(trained.report.status)
            store_classifier(self, data, trained)
            self._store_equivalent_nu(trained)
            report = trained.report
            if self.probability:
                report = calibrate_pairs(self, data, trained, settings, control)
            else:
                self.__dict__.pop("calibration_", None)
            report.store(self, n_iter=np.array(report.iterations, dtype=np.int32))
        report.conclude(self, settings.solver.max_iter)
        return self

    def _subproblems(self, data: ClassificationData) -> list[Subproblem]:
        loss, bias = resolve_loss(self, *self._loss_form), bool(self.fit_intercept)
        if loss is None:
            return pair_subproblems(data, data.cost(), lambda sign, cost: CSVC(sign, self.C * cost, bias))
        return pair_subproblems(data, data.cost(), lambda sign, cost: ConvexLoss(sign, self.C * cost, loss, bias))

    def _store_equivalent_nu(self, trained: Trained) -> None:
        """Set `equivalent_nu_` for the hinge loss with an intercept."""
        values = []
        for subproblem, expansion in zip(trained.subproblems, trained.expansions, strict=True):
            if isinstance(subproblem.formulation, CSVC) and self.fit_intercept:
                values.append(equivalent_nu(np.abs(expansion.coefficients), subproblem.formulation.cost))
        if values:
            self.equivalent_nu_ = np.array(values)
        else:
            self.__dict__.pop("equivalent_nu_", None)
