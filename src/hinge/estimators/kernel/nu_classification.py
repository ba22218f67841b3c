"""ν-classification: `NuSVC`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from hinge.control import RunControl
from hinge.estimators.common.probability import calibrate_pairs
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, SOLVER_RULES, Choice, Flag, Number, Rule
from hinge.estimators.common.training import Settings, Subproblem, Trained, train
from hinge.estimators.common.validation import ClassificationData, row_index, validate_classification
from hinge.estimators.kernel.classification import (
    CLASSIFIER_RULES,
    CalibratedClassifier,
    pair_subproblems,
    store_classifier,
)
from hinge.formulations import BALANCES, CSVC, equivalent_C
from hinge.formulations import NuSVC as NuSVCFormulation
from hinge.kernels import Kernel
from hinge.problems import Status


class NuSVC(CalibratedClassifier):
    """ν-support vector classification.

    ν is an upper bound on the fraction of margin errors and a lower bound on the fraction of support vectors.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        With classes of unequal size the largest admissible value is 2 min(m₊, m₋) / m; larger values are rejected
        before any kernel value is computed.
    balance : {None, "class", "min"}, default=None
        "class" gives both classes of a pair the same total cost, "min" raises all costs to those of the smaller class.
        With either, every ν up to 1 is admissible (ν tutorial §8).
    class_weight : dict or "balanced", optional
        ν determines C = 1/ρ without class weights. The class weights then multiply this C, as in `SVC`, in a second
        stage of training. (As bounds of the ν-dual they would change the admissible ν instead of the boundary.)
    probability : bool, default=False
        As in `SVC`. The models of cross-validation are those of the equivalent C-classification, because ν may not be
        admissible without some of the samples.

    Attributes
    ----------
    margin_ : ndarray
        ρ of every pair; coefficients and intercept are divided by it, as in LIBSVM.
    equivalent_C_ : ndarray
        The C for which `SVC` gives the same function, one per pair; for ``balance="class"``, `SVC` needs
        ``class_weight="balanced"`` as well.

    Notes
    -----
    If ρ is not positive, ν is below the smallest admissible value for this kernel. The optimal function is then
    constant, and a warning is issued. All other parameters and attributes are those of `SVC`.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.25, random_state=0)
    >>> model = hinge.NuSVC(nu=0.2, gamma=1.0).fit(X, y)
    >>> model.status_.name, bool(model.n_support_.sum() >= 0.2 * 200)
    ('SOLVED', True)
    >>> round(float(model.equivalent_C_[0]), 2)
    5.05
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "nu": Number(0.0, 1.0, open_low=True),
        "balance": Choice(BALANCES),
        "probability": Flag(),
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
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.balance = balance
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
            data = self._validate(X, y, sample_weight, settings.kernel)
            self.classes_, self.class_weight_ = data.classes, data.class_weight
            trained = train(self, data, self._subproblems(data), settings, control)
            self._store_margins(trained)
            if self._is_reweighted() and trained.report.error is None:
                reweighted = partial(train, self, data, self._trained_subproblems(data), settings, control)
                trained = _second_stage(trained, control.unless_interrupted(reweighted), control)
            store_classifier(self, data, trained)
            report = trained.report
            if self.probability:
                report = calibrate_pairs(self, data, trained, settings, control)
            else:
                self.__dict__.pop("calibration_", None)
            report.store(self, n_iter=np.array(report.iterations, dtype=np.int32))
        self._warn_if_constant()
        report.conclude(self, settings.solver.max_iter)
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
        reweighted = []
        for subproblem, rho in zip(subproblems, self.margin_, strict=True):
            formulation: Any = subproblem.formulation
            cost = formulation.upper * weights[row_index(subproblem.rows)] / rho
            reweighted.append(Subproblem(subproblem.rows, CSVC(formulation.y, cost)))
        return reweighted

    def _fold_subproblems(self, data: ClassificationData) -> list[Subproblem]:
        """The equivalent C-classification of some of the samples. Pairs with ρ ≤ 0 have C = 0: a constant function."""
        C = iter(np.where(self.margin_ > 0, self.equivalent_C_, 0.0))
        return pair_subproblems(data, data.cost(), lambda sign, cost: CSVC(sign, next(C) * cost))

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

    If an interrupt arrived before the solver of the second stage started, the result of the first stage is kept.
    """
    if second is None:
        return replace(first, report=first.report.interrupted(control.interrupt))
    iterations = [a + b for a, b in zip(first.report.iterations, second.report.iterations, strict=True)]
    status = max(first.report.status, second.report.status)
    return replace(second, report=replace(second.report, status=status, iterations=iterations))
