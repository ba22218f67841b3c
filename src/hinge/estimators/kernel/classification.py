"""`SVC` and `NuSVC`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from hinge.control import RunControl
from hinge.estimators.common.report import rollback
from hinge.estimators.common.training import Subproblem, Trained, check_bounded, train
from hinge.estimators.common.validation import (
    KERNEL_RULES,
    LIMIT_RULES,
    SOLVER_RULES,
    Choice,
    ClassificationData,
    Flag,
    Number,
    Rule,
    row_index,
    validate_classification,
)
from hinge.estimators.kernel.base import resolve_loss
from hinge.estimators.kernel.one_vs_one import (
    CLASSIFIER_RULES,
    KernelClassifier,
    class_pairs,
    pair_subproblems,
    store_one_vs_one,
)
from hinge.formulations import BALANCES, CSVC, ConvexLoss, equivalent_C, equivalent_nu
from hinge.formulations import NuSVC as NuSVCFormulation
from hinge.kernels import Kernel
from hinge.problems import Status


class SVC(KernelClassifier):
    """C-support vector classification.

    Minimises ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ(⟨w, Φ(xᵢ)⟩ + b)), or with another loss, for every pair of classes, and says in
    `certificate_` how far from the minimum the answer can be at most.

    Parameters
    ----------
    C : float, default=1.0
        Price of a margin error. Multiplied by class and sample weights.
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
        What a margin m = y f(x) costs: "hinge", max(0, 1 − m); "squared_hinge", its square; "modified_huber", that
        square for m ≥ −1 and −4m below; "huberized_hinge", "logistic", "exponential"; an object of `hinge.losses`, or
        any object with the methods ``value``, ``derivative`` and ``conjugate``.
    solver : str or solver object, default="auto"
        "auto", "smo", "working_set", "chunking", "interior_point", "low_rank_interior_point", "newton", "lagrangian",
        "gradient_descent", "adatron", or an object of `hinge.solvers`, whose own options then count.
    shrinking : bool, default=True
    tol : float, default=1e-3
        Largest violation of the optimality conditions. To stop on the gap: ``solver=SMO(tol=1e-4, stop="gap")``.
    max_iter : int, default=-1
        Steps per pair of classes; −1 for no limit.
    max_time : float, optional
        Seconds for the whole fit; the best model so far is kept.
    cache_size : float or "auto", default="auto"
        Megabytes for kernel rows; "auto" is a share of the free memory.
    class_weight : dict or "balanced", optional
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
    break_ties : bool, default=False
    warm_start : bool, default=False
        Start from the last solution. Clones, as `GridSearchCV` makes them, share it within a process.
    n_jobs : int, optional
        Threads.
    verbose : bool, default=False
        Show one line of progress on standard error.
    random_state : optional
        Not used; the answer is deterministic.
    fit_intercept : bool, default=True
        Whether the function has an offset b. Without one there is no equality constraint, and solvers move one variable
        at a time; fit for kernels that contain a constant, such as the RBF kernel.

    Attributes
    ----------
    certificate_ : Certificate
        Primal and dual value, gap, relative gap, KKT violation; `certificates_` has one per pair of classes.
    status_ : Status
    history_ : History
        What `verbose` shows, as arrays; a list of them for several pairs.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_
        As in scikit-learn.
    equivalent_nu_ : ndarray
        The ν for which `NuSVC` gives the same function, one per pair (with class weights: given as its sample weights);
        for the hinge loss with an intercept only.

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

    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": Number(0.0, open_low=True, finite=False),
        "fit_intercept": Flag(),
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
        settings = self._settings()
        control = RunControl(self.max_time)
        with control.capture_signals(), rollback(self):
            data = validate_classification(self, X, y, sample_weight, settings.kernel, self.class_weight)
            self.classes_, self.class_weight_ = data.classes, data.class_weight
            trained = train(self, data, self._subproblems(data), settings, control)
            check_bounded(trained.report.status, self.C)
            store_one_vs_one(self, data, trained)
            self._store_equivalent_nu(trained)
            trained.report.store(self, n_iter=np.array(trained.report.iterations, dtype=np.int32))
        trained.report.conclude(self, settings.solver.max_iter)
        return self

    def _subproblems(self, data: ClassificationData) -> list[Subproblem]:
        loss, bias = resolve_loss(self, "margin", "hinge"), bool(self.fit_intercept)
        if loss is None:
            return pair_subproblems(data, data.cost(), lambda sign, cost: CSVC(sign, self.C * cost, bias))
        return pair_subproblems(data, data.cost(), lambda sign, cost: ConvexLoss(sign, self.C * cost, loss, bias))

    def _store_equivalent_nu(self, trained: Trained) -> None:
        """Set `equivalent_nu_` for the hinge loss with an intercept."""
        formulations: list[Any] = [subproblem.formulation for subproblem in trained.subproblems]
        if self.fit_intercept and all(isinstance(each, CSVC) for each in formulations):
            pairs = zip(trained.expansions, formulations, strict=True)
            self.equivalent_nu_ = np.array([equivalent_nu(np.abs(e.coefficients), f.cost) for e, f in pairs])
        else:
            self.__dict__.pop("equivalent_nu_", None)


class NuSVC(KernelClassifier):
    """ν-support vector classification: ν bounds the share of margin errors from above, of support vectors from below.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        With classes of unequal size the largest admissible value is 2 min(m₊, m₋) / m; a larger one is refused before
        any kernel is computed.
    balance : {None, "class", "min"}, default=None
        "class" weighs both classes of a pair alike, "min" raises all costs to those of the smaller class; with either,
        every ν up to 1 is admissible (ν tutorial §8).

    class_weight : dict or "balanced", optional
        ν fixes C = 1/ρ without them; then the class weights multiply this C, as in `SVC`.  (As bounds of the ν-dual
        they would change the admissible ν instead of the boundary.)

    Attributes
    ----------
    margin_ : ndarray
        ρ of every pair; coefficients and intercept are divided by it, as in LIBSVM.
    equivalent_C_ : ndarray
        The C for which `SVC` gives the same function, one per pair; with ``balance="class"`` together with
        ``class_weight="balanced"``.

    Notes
    -----
    Where ρ is not positive, ν is below the smallest admissible value for this kernel: the optimal function is constant,
    and a warning says so.  All other parameters and attributes are those of `SVC`.
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "nu": Number(0.0, 1.0, open_low=True),
        "balance": Choice(BALANCES),
        **LIMIT_RULES,
        **KERNEL_RULES,
        **SOLVER_RULES,
        **CLASSIFIER_RULES,
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
        class_weight=None,
        decision_function_shape="ovr",
        break_ties=False,
        warm_start=False,
        n_jobs=None,
        verbose=False,
        random_state=None,
        balance=None,
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
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.balance = balance

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
        settings = self._settings()
        control = RunControl(self.max_time)
        with control.capture_signals(), rollback(self):
            data = self._validate(X, y, sample_weight, settings.kernel)
            self.classes_, self.class_weight_ = data.classes, data.class_weight
            trained = train(self, data, self._subproblems(data), settings, control)
            self._store_margins(trained)
            if self._is_reweighted() and trained.report.error is None:
                reweighted = partial(train, self, data, self._trained_subproblems(data), settings, control)
                trained = _second_stage(trained, control.unless_interrupted(reweighted), control)
            store_one_vs_one(self, data, trained)
            trained.report.store(self, n_iter=np.array(trained.report.iterations, dtype=np.int32))
        self._warn_if_constant()
        trained.report.conclude(self, settings.solver.max_iter)
        return self

    def _validate(
        self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True
    ) -> ClassificationData:
        infeasible = "specified nu is infeasible: "
        return validate_classification(self, X, y, sample_weight, kernel, self.class_weight, reset, infeasible)

    def _subproblems(self, data: ClassificationData) -> list[Subproblem]:
        nu, balance = float(self.nu), self.balance
        return pair_subproblems(data, data.weight, lambda sign, weight: NuSVCFormulation(sign, weight, nu, balance))

    def _store_margins(self, trained: Trained) -> None:
        """Set `margin_` and `equivalent_C_`."""
        self.margin_ = np.array([expansion.margin for expansion in trained.expansions])
        formulations: list[Any] = [subproblem.formulation for subproblem in trained.subproblems]
        # balance="min" multiplies all costs by the same factor
        factors = [float(f.upper[0] / f.weight[0]) if self.balance == "min" else 1.0 for f in formulations]
        self.equivalent_C_ = np.array([f * equivalent_C(rho) for f, rho in zip(factors, self.margin_, strict=True)])

    def _is_reweighted(self) -> bool:
        """Whether class weights multiply the costs of the equivalent C-classification in a second stage."""
        return self.class_weight is not None and not np.any(self.margin_ <= 0)

    def _trained_subproblems(self, data: ClassificationData) -> list[Subproblem]:
        """With class weights: the equivalent C-classification, with its costs multiplied by the class weights."""
        subproblems = self._subproblems(data)
        if not self._is_reweighted():
            return subproblems
        weights = data.class_weight[np.searchsorted(data.classes, data.y)]
        signs = [sign for _, sign in class_pairs(data.y, data.classes)]
        return [
            Subproblem(each.rows, CSVC(sign, each.formulation.upper * weights[row_index(each.rows)] / rho))
            for each, sign, rho in zip(subproblems, signs, self.margin_, strict=True)
        ]

    def _warn_if_constant(self) -> None:
        if np.any(self.margin_ <= 0) and self.status_ is Status.SOLVED:
            warnings.warn(
                f"nu={self.nu:g} is not above the smallest admissible value for this kernel (the margin is "
                f"{self.margin_.min():.2g}): the optimal decision function is constant. Use a larger nu or a richer "
                "kernel.",
                stacklevel=3,
            )


def _second_stage(first: Trained, second: Trained | None, control: RunControl) -> Trained:
    """The second of two stages of training, with the status and the iterations of both.

    If an interrupt came before the second stage began to solve, the result of the first one is kept.
    """
    if second is None:
        return replace(first, report=first.report.interrupted(control.interrupt))
    iterations = [a + b for a, b in zip(first.report.iterations, second.report.iterations, strict=True)]
    status = max(first.report.status, second.report.status)
    return replace(second, report=replace(second.report, status=status, iterations=iterations))
