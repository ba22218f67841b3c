"""`SVC` and `NuSVC`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from hinge.control import RunControl
from hinge.estimators.common.data import Data, everyone
from hinge.estimators.kernel.base import Subproblem
from hinge.estimators.kernel.one_vs_one import PairwiseClassifier
from hinge.formulations import BALANCES, CSVC, ConvexLoss, Formulation, equivalent_C, equivalent_nu
from hinge.formulations import NuSVC as NuSVCFormulation
from hinge.kernels import Kernel
from hinge.losses import MARGIN_LOSSES, Loss
from hinge.model import Expansion
from hinge.problems import Array, Status
from hinge.validation import check_choice, check_flag, check_number


class SVC(PairwiseClassifier):
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

    _losses: ClassVar[dict[str, type[Loss]]] = MARGIN_LOSSES

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

    def _check_parameters(self) -> None:
        check_number("C", self.C, 0.0, open_low=True, finite=False)
        check_flag("fit_intercept", self.fit_intercept)
        super()._check_parameters()

    def _formulation(self, sign: Array, cost: Array) -> Formulation:
        if self._has_own_loss():
            return CSVC(sign, self.C * cost, bool(self.fit_intercept))
        return ConvexLoss(sign, self.C * cost, self._make_loss(), bool(self.fit_intercept))

    def _assemble_pairs(
        self, data: Data, kernel: Kernel, machines: Sequence[Subproblem], expansions: Sequence[Expansion]
    ) -> None:
        super()._assemble_pairs(data, kernel, machines, expansions)
        if not self._has_own_loss() or not self.fit_intercept:
            return
        costs = [machine.formulation.upper for machine in machines]
        pairs = zip(expansions, costs, strict=True)
        self.equivalent_nu_ = np.array([equivalent_nu(np.abs(e.coefficients), cost) for e, cost in pairs])


class NuSVC(PairwiseClassifier):
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

    def _check_parameters(self) -> None:
        check_number("nu", self.nu, 0.0, 1.0, open_low=True)
        check_choice("balance", self.balance, BALANCES)
        super()._check_parameters()

    def _one_class_left(self, n_classes: int) -> str:
        return "specified nu is infeasible: " + super()._one_class_left(n_classes)

    def _costs(self, data: Data) -> Array:
        """Sample weights only: class weights come in with `_reweighted`."""
        return data.weight

    def _formulation(self, sign: Array, cost: Array) -> NuSVCFormulation:
        return NuSVCFormulation(sign, cost, float(self.nu), self.balance)

    def _train(
        self, data: Data, machines: Sequence[Subproblem], control: RunControl
    ) -> tuple[Kernel, list[Expansion]]:
        kernel, expansions = super()._train(data, machines, control)
        self.margin_ = np.array([expansion.margin for expansion in expansions])
        factor = [self._cost_factor(machine.formulation) for machine in machines]
        self.equivalent_C_ = np.array([f * equivalent_C(rho) for f, rho in zip(factor, self.margin_, strict=True)])
        if self.class_weight is None or self._error is not None or np.any(self.margin_ <= 0):
            return kernel, expansions
        first = dict(vars(self))
        try:
            kernel, expansions = super()._train(data, self._reweighted(data), control)
        except BaseException as error:
            if error is not control.interrupt:
                raise
            self.__dict__.update(first)  # it came before the second one had begun
            self.status_, self._error = Status.INTERRUPTED, error
            return kernel, expansions
        self.status_, self.n_iter_ = max(first["status_"], self.status_), first["n_iter_"] + self.n_iter_
        return kernel, expansions

    def _cost_factor(self, formulation: Any) -> float:
        """What balance="min" multiplies all costs by."""
        return float(formulation.upper[0] / formulation.weight[0]) if self.balance == "min" else 1.0

    def _reweighted(self, data: Data) -> list[Subproblem]:
        """The equivalent C-machines, their costs multiplied by the class weights."""
        weights = self.class_weight_[np.searchsorted(self.classes_, data.y)]
        trained = zip(self._pairs(data), super()._machines(data), self.margin_, strict=True)
        return [
            Subproblem(rows, CSVC(sign, machine.formulation.upper * weights[everyone(rows)] / rho))
            for (rows, sign), machine, rho in trained
        ]

    def _trained_machines(self, data: Data) -> list[Subproblem]:
        if self.class_weight is None or np.any(self.margin_ <= 0):
            return self._machines(data)
        return self._reweighted(data)

    def _assemble_pairs(
        self, data: Data, kernel: Kernel, machines: Sequence[Subproblem], expansions: Sequence[Expansion]
    ) -> None:
        super()._assemble_pairs(data, kernel, machines, expansions)
        if np.any(self.margin_ <= 0) and self.status_ is Status.SOLVED:
            warnings.warn(
                f"nu={self.nu:g} is not above the smallest admissible value for this kernel (the margin is "
                f"{self.margin_.min():.2g}): the optimal decision function is constant. Use a larger nu or a richer "
                "kernel.",
                stacklevel=3,
            )
