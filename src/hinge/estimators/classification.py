"""`SVC` and `NuSVC`: one machine per pair of classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from hinge.estimators import parameters
from hinge.estimators.data import Data, everyone
from hinge.estimators.machine import KernelMachine, Machine
from hinge.formulations import BALANCES, CSVC, Formulation, equivalent_C, equivalent_nu
from hinge.formulations import NuSVC as NuSVCFormulation
from hinge.kernels import Kernel
from hinge.model import Expansion
from hinge.problems import Array, Status


class PairwiseClassifier(ClassifierMixin, KernelMachine):
    """One against one: a binary machine for every pair of classes, the first of the pair positive."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        parameters.flag("break_ties", self.break_ties)
        if isinstance(self.class_weight, dict):
            for label, weight in self.class_weight.items():
                parameters.number(f"class_weight[{label!r}]", weight, 0.0, open_low=True)
        elif self.class_weight is not None:
            parameters.choice("class_weight", self.class_weight, ("balanced",))

    def _validate_y(self, y: Any, n: int, reset: bool) -> NDArray[Any]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if hasattr(self, "classes_") and not reset and not np.isin(y, self.classes_).all():
            raise ValueError(f"y has labels that fit was not given; the classes are {list(self.classes_)}")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; every sample needs a label")
        return y

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
        with self._all_or_nothing():
            data = self._validate(X, y, sample_weight)
            self.classes_ = self._classes(data, y)
            self.class_weight_ = (
                np.ones(len(self.classes_))
                if self.class_weight is None
                else compute_class_weight(self.class_weight, classes=self.classes_, y=data.y)
            )
            machines = self._machines(data)
            kernel, expansions = self._train(data, machines, self._deadline())
            self._assemble_pairs(data, kernel, machines, expansions)
        return self._finish()

    def _classes(self, data: Data, y: Any) -> NDArray[Any]:
        classes = np.unique(data.y)
        if len(classes) < 2:
            everyone = np.unique(column_or_1d(y))
            if len(everyone) >= 2:
                raise ValueError(self._one_class_left(len(everyone)))
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class: every sample is "
                f"labelled {classes[0]!r}"
            )
        return classes

    def _one_class_left(self, n_classes: int) -> str:
        return (
            "Invalid input - all samples with positive weights belong to the same class; give some samples of "
            f"another of the {n_classes} classes a positive sample_weight"
        )

    def _members(self, data: Data) -> list[NDArray[np.intp]]:
        """Positions of every class among the kept samples."""
        return [np.flatnonzero(data.y == label) for label in self.classes_]

    def _machines(self, data: Data) -> list[Machine]:
        cost = self._costs(data)
        return [Machine(rows, self._formulation(sign, cost[everyone(rows)])) for rows, sign in self._pairs(data)]

    def _pairs(self, data: Data) -> list[tuple[NDArray[np.intp] | None, Array]]:
        """Samples and signs of every pair of classes; with two classes all samples, in their order: no copy."""
        if len(self.classes_) == 2:
            return [(None, np.where(data.y == self.classes_[0], 1.0, -1.0))]
        return [
            (np.concatenate([first, second]), np.repeat([1.0, -1.0], [len(first), len(second)]))
            for first, second in combinations(self._members(data), 2)
        ]

    def _costs(self, data: Data) -> Array:
        """Sample weight times class weight."""
        return data.weight * self.class_weight_[np.searchsorted(self.classes_, data.y)]

    def _formulation(self, sign: Array, cost: Array) -> Formulation:
        raise NotImplementedError

    def _assemble_pairs(
        self, data: Data, kernel: Kernel, machines: Sequence[Machine], expansions: Sequence[Expansion]
    ) -> None:
        """LIBSVM's layout: support vectors by class; in row r of `dual_coef_` the coefficients against the r-th of the
        other classes.  With two classes the signs are turned so that positive means `classes_[1]`."""
        members, n_classes = self._members(data), len(self.classes_)
        by_pair = np.zeros((data.n, len(machines)))
        for column, (machine, expansion) in enumerate(zip(machines, expansions, strict=True)):
            by_pair[everyone(machine.rows), column] = expansion.coefficients
        used: NDArray[np.bool_] = np.any(by_pair != 0, axis=1)
        counts = [int(used[rows].sum()) for rows in members]
        support = np.concatenate([rows[used[rows]] for rows in members])
        offsets = np.array([expansion.intercept for expansion in expansions])
        flip = -1.0 if n_classes == 2 else 1.0
        self._n_support = np.array(counts, dtype=np.int32)
        self._assemble(data, kernel, support, flip * by_pair[support], flip * offsets)
        self.intercept_ = flip * offsets
        layout = np.zeros((n_classes - 1, len(support)))
        starts = np.concatenate([[0], np.cumsum(counts)])
        for column, (first, second) in enumerate(combinations(range(n_classes), 2)):
            of_first, of_second = slice(*starts[first : first + 2]), slice(*starts[second : second + 2])
            layout[second - 1, of_first] = by_pair[support[of_first], column]
            layout[first, of_second] = by_pair[support[of_second], column]
        self.dual_coef_ = self._as_dual(flip * layout)
        self._margins = np.array([expansion.margin for expansion in expansions])

    def _expansions(self, data: Data, machines: Sequence[Machine]) -> list[Expansion]:
        by_pair = np.zeros((data.n, len(machines)))
        flip = -1.0 if len(self.classes_) == 2 else 1.0
        by_pair[np.searchsorted(data.rows, self.support_)] = flip * self.model_.coefficients
        offsets = flip * self.intercept_
        return [
            Expansion(by_pair[everyone(machine.rows), column], float(offsets[column]), float(self._margins[column]))
            for column, machine in enumerate(machines)
        ]

    def _n_machines(self) -> int:
        return len(self.classes_) * (len(self.classes_) - 1) // 2

    def _iterations(self, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        return counts

    def decision_function(self, X: Any) -> Array:
        """Signed distances: positive means ``classes_[1]`` with two classes.

        With more, one column per class (``decision_function_shape="ovr"``: votes and a confidence below ½) or one per
        pair of classes ("ovo", positive for the first of the pair).
        """
        values = self._decide(X)
        if len(self.classes_) == 2:
            return values.ravel()
        return self._per_class(values) if self.decision_function_shape == "ovr" else values

    def _per_class(self, values: Array) -> Array:
        return _ovr_decision_function(values < 0, -values, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: the class with most votes, ties to the first (by confidence with ``break_ties``)."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        values = self._decide(X)
        if len(self.classes_) == 2:
            return self.classes_[(values.ravel() > 0).astype(np.intp)]
        if self.break_ties:
            return self.classes_[np.argmax(self._per_class(values), axis=1)]
        votes = np.zeros((len(values), len(self.classes_)), dtype=np.int32)
        for column, (first, second) in enumerate(combinations(range(len(self.classes_)), 2)):
            votes[:, first] += values[:, column] > 0
            votes[:, second] += values[:, column] <= 0
        return self.classes_[np.argmax(votes, axis=1)]


class SVC(PairwiseClassifier):
    """C-support vector classification.

    Minimises ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ(⟨w, Φ(xᵢ)⟩ + b)) for every pair of classes, and says in `certificate_` how far
    from the minimum the answer can be at most.

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
    loss : {"hinge"}, default="hinge"
    solver : str or solver object, default="auto"
        "auto", "smo", "working_set", "interior_point", or an object of `hinge.solvers`, whose own options then count.
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
        Start from the last solution, rescaled to the new C.
    n_jobs : int, optional
        Threads.
    verbose : bool, default=False
        Show one line of progress on standard error.
    random_state : optional
        Not used; the answer is deterministic.

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
        The ν for which `NuSVC` gives the same function, one per pair (with class weights: given as its sample weights).

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

    _losses: ClassVar[tuple[str, ...]] = ("hinge",)

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

    def _check_parameters(self) -> None:
        parameters.number("C", self.C, 0.0, open_low=True, finite=False)
        super()._check_parameters()

    def _formulation(self, sign: Array, cost: Array) -> CSVC:
        return CSVC(sign, self.C * cost)

    def _assemble_pairs(
        self, data: Data, kernel: Kernel, machines: Sequence[Machine], expansions: Sequence[Expansion]
    ) -> None:
        super()._assemble_pairs(data, kernel, machines, expansions)
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
        parameters.number("nu", self.nu, 0.0, 1.0, open_low=True)
        parameters.choice("balance", self.balance, BALANCES)
        super()._check_parameters()

    def _one_class_left(self, n_classes: int) -> str:
        return "specified nu is infeasible: " + super()._one_class_left(n_classes)

    def _costs(self, data: Data) -> Array:
        """Sample weights only: class weights come in with `_reweighted`."""
        return data.weight

    def _formulation(self, sign: Array, cost: Array) -> NuSVCFormulation:
        return NuSVCFormulation(sign, cost, float(self.nu), self.balance)

    def _train(
        self, data: Data, machines: Sequence[Machine], deadline: float | None
    ) -> tuple[Kernel, list[Expansion]]:
        kernel, expansions = super()._train(data, machines, deadline)
        self.margin_ = np.array([expansion.margin for expansion in expansions])
        factor = [self._cost_factor(machine.formulation) for machine in machines]
        self.equivalent_C_ = np.array([f * equivalent_C(rho) for f, rho in zip(factor, self.margin_, strict=True)])
        if self.class_weight is None or self._error is not None or np.any(self.margin_ <= 0):
            return kernel, expansions
        status, iterations = self.status_, self.n_iter_
        kernel, expansions = super()._train(data, self._reweighted(data), deadline)
        self.status_, self.n_iter_ = max(status, self.status_), iterations + self.n_iter_
        return kernel, expansions

    def _cost_factor(self, formulation: Any) -> float:
        """What balance="min" multiplies all costs by."""
        return float(formulation.upper[0] / formulation.weight[0]) if self.balance == "min" else 1.0

    def _reweighted(self, data: Data) -> list[Machine]:
        """The equivalent C-machines, their costs multiplied by the class weights."""
        weights = self.class_weight_[np.searchsorted(self.classes_, data.y)]
        trained = zip(self._pairs(data), super()._machines(data), self.margin_, strict=True)
        return [
            Machine(rows, CSVC(sign, machine.formulation.upper * weights[everyone(rows)] / rho))
            for (rows, sign), machine, rho in trained
        ]

    def _trained_machines(self, data: Data) -> list[Machine]:
        if self.class_weight is None or np.any(self.margin_ <= 0):
            return self._machines(data)
        return self._reweighted(data)

    def _assemble_pairs(
        self, data: Data, kernel: Kernel, machines: Sequence[Machine], expansions: Sequence[Expansion]
    ) -> None:
        super()._assemble_pairs(data, kernel, machines, expansions)
        if np.any(self.margin_ <= 0) and self.status_ is Status.SOLVED:
            warnings.warn(
                f"nu={self.nu:g} is not above the smallest admissible value for this kernel (the margin is "
                f"{self.margin_.min():.2g}): the optimal decision function is constant. Use a larger nu or a richer "
                "kernel.",
                stacklevel=3,
            )
