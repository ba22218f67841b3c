"""`IncrementalSVC` and `IncrementalSVR`: exact after every sample that comes, goes, or changes its weight."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from hinge.estimators import parameters
from hinge.estimators.data import Data, check_weight, length, take
from hinge.estimators.machine import KernelMachine, Machine
from hinge.estimators.pairs import PairwiseClassifier
from hinge.estimators.single import Regressor
from hinge.formulations import CSVC
from hinge.formulations import SVR as SVRFormulation
from hinge.kernels import FunctionKernel, Kernel, Precomputed, check_cache_size, expand
from hinge.model import Expansion
from hinge.paths.window import Window, stack
from hinge.problems import Array, Certificate, Status


class IncrementalMachine(KernelMachine):
    """What both share: the samples that are there, a window for every machine, and changes that happen or do not."""

    #: Rebuilt from the samples and coefficients when it is missing (after loading a file).
    _transient: ClassVar[tuple[str, ...]] = ("_windows",)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        return {key: value for key, value in state.items() if key not in self._transient}

    def _check_parameters(self) -> None:
        parameters.number("C", self.C, 0.0, open_low=True)
        parameters.number("degree", self.degree, 0.0)
        parameters.number("coef0", self.coef0, -np.inf)
        if self.max_time is not None:
            parameters.number("max_time", self.max_time, 0.0, open_low=True)
        check_cache_size(self.cache_size)
        kernel = self._make_kernel()
        if isinstance(kernel, Precomputed):
            raise ValueError("kernel='precomputed' has no rows for samples that come later; use a kernel of the samples")
        if kernel.psd is False:
            raise ValueError(f"kernel={self.kernel!r} is not positive semidefinite: exact updates need a convex problem")

    # ---- the samples that are there ---------------------------------------------------------------------------

    @property
    def n_samples_(self) -> int:
        """Number of samples that the model is trained on now."""
        check_is_fitted(self)
        return len(self._y)

    @property
    def training_data_(self) -> tuple[Any, NDArray[Any], Array]:
        """(X, y, sample_weight) that the model is trained on now, in the order of their positions."""
        check_is_fitted(self)
        return self._X, self._y, self._w

    @property
    def certificate_(self) -> Certificate:
        """Primal and dual value and their gap, computed from the data when asked for."""
        return self.certify(self._X, self._y, self._w)

    def _new_samples(self, X: Any, y: Any, sample_weight: Any) -> Data:
        X, y = self._validate_arrays(X, y, reset=False)
        weight = check_weight(sample_weight, length(X))
        rows = np.flatnonzero(weight > 0)
        return Data(take(X, rows), y[rows], weight[rows], rows)

    def _positions(self, forget: Any) -> NDArray[np.intp]:
        n = len(self._y)
        index = np.atleast_1d(np.asarray(forget))
        if index.size == 0:
            return np.empty(0, dtype=np.intp)
        if index.dtype == bool:
            if index.shape != (n,):
                raise ValueError(f"forget is a mask of shape {index.shape}, but there are {n} samples")
            index = np.flatnonzero(index)
        if index.ndim != 1 or index.dtype.kind not in "iu":
            raise TypeError(f"forget must hold positions of samples (integers), got {index.dtype}")
        bad = (index < -n) | (index >= n)
        if bad.any():
            raise IndexError(f"forget has the position {int(index[bad][0])}, but there are {n} samples (0 to {n - 1})")
        return np.unique(index % n).astype(np.intp)

    # ---- changes ----------------------------------------------------------------------------------------------

    def forget(self, positions: ArrayLike) -> Self:
        """Remove samples, exactly: afterwards the model is what training without them gives.

        Parameters
        ----------
        positions : array-like of int
            Positions among the samples that are there; those behind them move up.
        """
        return self.update(forget=positions)

    def reweight(self, sample_weight: ArrayLike) -> Self:
        """Change the weights of the samples that are there, exactly.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples_,)
            Zero or positive; a sample of weight zero stays, without influence, and can be given weight again.
        """
        check_is_fitted(self)
        weight = check_weight(sample_weight, len(self._y))
        self._check_left(self._y, weight, "reweight")
        return self._change(None, np.empty(0, dtype=np.intp), weight)

    def update(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, forget: ArrayLike = ()
    ) -> Self:
        """Add samples and remove others along one path.

        Parameters
        ----------
        X, y, sample_weight
            Samples to add, behind those that are there; nothing when left out.
        forget : array-like of int
            Positions of samples to remove.
        """
        check_is_fitted(self)
        self._check_parameters()
        new = None if X is None else self._new_samples(X, y, sample_weight)
        gone = self._positions(forget)
        stay = np.setdiff1d(np.arange(len(self._y)), gone)
        left = self._y[stay] if new is None else np.concatenate([self._y[stay], new.y])
        weight = self._w[stay] if new is None else np.concatenate([self._w[stay], new.weight])
        self._check_left(left, weight, "forget")
        return self._change(new, gone, None)

    def _check_left(self, y: NDArray[Any], weight: Array, what: str) -> None:
        raise NotImplementedError

    def _change(self, new: Data | None, gone: NDArray[np.intp], weight: Array | None) -> Self:
        try:
            with self._all_or_nothing():
                self._carry_out(new, gone, weight)
        except BaseException:
            self._windows = None  # some may be ahead of others: the samples are as they were, rebuild from them
            raise
        return self

    def _carry_out(self, new: Data | None, gone: NDArray[np.intp], weight: Array | None) -> None:
        raise NotImplementedError

    def _keep(self, new: Data | None, gone: NDArray[np.intp], weight: Array | None) -> NDArray[np.intp]:
        """The samples after a change; returns the positions that stay."""
        stay = np.setdiff1d(np.arange(len(self._y)), gone)
        w = self._w if weight is None else weight
        X = take(self._X, stay) if len(gone) else self._X
        self._y, self._w = self._y[stay], w[stay]
        if new is not None:
            X = stack(X, new.X.astype(X.dtype) if hasattr(new.X, "astype") else new.X)
            self._y, self._w = np.concatenate([self._y, new.y]), np.concatenate([self._w, new.weight])
        self._X = X
        self.shape_fit_ = (len(self._y), *self.shape_fit_[1:])
        return stay

    def _data(self) -> Data:
        return Data(self._X, self._y, self._w, np.arange(len(self._y)))

    def _open(self, kernel: Kernel, rows: Any, y: Array, cost: Array, beta: Array | None, **options: Any) -> Window:
        X = self._X if rows is None else take(self._X, rows)
        return Window(
            kernel, X, y, cost, beta=beta, cache_size=self.cache_size, max_time=self.max_time, **options
        )

    def _begin(self, data: Data) -> Kernel:
        """Own copies of the samples, and the kernel with its width fixed for good."""
        self._X = data.X.copy() if hasattr(data.X, "copy") else data.X
        self._y, self._w = np.array(data.y), data.weight.copy()
        self.shape_fit_ = (len(self._y), *self.shape_fit_[1:])
        self._windows = None
        kernel = self._make_kernel()
        return kernel if isinstance(kernel, FunctionKernel) else kernel.resolve(data.X, data.weight)

    def _finished(self, windows: Sequence[Window]) -> None:
        self.status_ = Status.SOLVED
        self.fit_status_ = 0
        self.n_iter_ = self._iterations(np.array([w.counts.events for w in windows], dtype=np.int32))


class IncrementalSVC(IncrementalMachine, PairwiseClassifier):
    """C-support vector classification that is exact after every update.             Karasuyama ch. 3

    Samples are added, removed and reweighted by following the solution while their costs move; the result is what
    `SVC` trained on the same samples gives, to rounding. Several samples move together along one path.

    Parameters
    ----------
    C, kernel, degree, gamma, coef0, class_weight, decision_function_shape, break_ties
        As in `SVC`. The kernel's width is fixed by the first samples; so are class weights "balanced".
    cache_size : float or "auto"
        Megabytes for kernel rows.
    max_time : float, optional
        Seconds for one update; an update that takes longer does not happen.
    n_jobs : int, optional
        Threads for prediction.

    Attributes
    ----------
    n_samples_ : int
    training_data_ : tuple
        (X, y, sample_weight) of the samples that are there.
    certificate_ : Certificate
        Computed from the data when asked for.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in `SVC`.
    n_iter_ : ndarray
        Events on the path of the last update, per pair of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import IncrementalSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)); y = X[:, 0] > 0.3 * rng.normal(size=60)
    >>> model = IncrementalSVC(C=10.0, gamma=1.0).fit(X[:40], y[:40])
    >>> model.partial_fit(X[40:], y[40:]).forget([0, 3]).n_samples_
    58
    >>> model.certificate_.relative_gap < 1e-9
    True
    """

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        class_weight=None,
        decision_function_shape="ovr",
        break_ties=False,
        cache_size="auto",
        max_time=None,
        n_jobs=None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.cache_size = cache_size
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        IncrementalMachine._check_parameters(self)
        parameters.choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        parameters.flag("break_ties", self.break_ties)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with labels y, from scratch."""
        with self._all_or_nothing():
            data = self._validate(X, y, sample_weight)
            self.classes_ = self._classes(data, y)
            self.class_weight_ = (
                np.ones(len(self.classes_))
                if self.class_weight is None
                else compute_class_weight(self.class_weight, classes=self.classes_, y=data.y)
            )
            kernel = self._begin(data)
            self._betas: dict[str, Array] = {}
            self._assemble_windows(kernel)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add samples; the first call is `fit`.  `classes` is accepted for scikit-learn's sake and not needed."""
        if not hasattr(self, "classes_"):
            return self.fit(X, y, sample_weight)
        return self.update(X, y, sample_weight)

    def _validate_y(self, y: Any, n: int, reset: bool) -> NDArray[Any]:
        return super()._validate_y(y, n, reset=True)  # new classes may come at any time

    def _check_left(self, y: NDArray[Any], weight: Array, what: str) -> None:
        for label in self.classes_:
            if not np.any(weight[y == label] > 0):
                raise ValueError(
                    f"{what} would leave no sample of class {label!r} with a positive weight; keep one, or fit again without "
                    "this class"
                )

    # ---- one window per pair ----------------------------------------------------------------------------------

    def _members_of(self, first: Any, second: Any) -> NDArray[np.intp]:
        return np.flatnonzero((self._y == first) | (self._y == second))

    def _window(self, first: Any, second: Any, kernel: Kernel) -> Window:
        """The machine of a pair of classes; `first` is positive."""
        if getattr(self, "_windows", None) is None:
            self._windows = {}
        key = _key(first, second)
        if key not in self._windows:
            rows = self._members_of(first, second)
            sign = np.where(self._y[rows] == first, 1.0, -1.0)
            cost = self.C * self._costs(self._data())[rows]
            rows = None if len(rows) == len(self._y) else rows
            self._windows[key] = self._open(kernel, rows, sign, cost, self._betas.get(key))
        return self._windows[key]

    def _assemble_windows(self, kernel: Kernel) -> None:
        data = self._data()
        machines = self._machines(data)
        pairs = list(combinations(self.classes_, 2))
        windows = [self._window(*pair, kernel) for pair in pairs]
        expansions = []
        for machine, window, pair in zip(machines, windows, pairs, strict=True):
            everyone = np.zeros(data.n)
            everyone[self._members_of(*pair)] = window.beta
            coefficients = everyone if machine.rows is None else everyone[machine.rows]
            expansions.append(Expansion(coefficients, window.intercept))
        self._betas = {_key(*pair): window.beta for pair, window in zip(pairs, windows, strict=True)}
        self._assemble_pairs(data, kernel, machines, expansions)
        self._finished(windows)

    def _formulation(self, sign: Array, cost: Array) -> CSVC:
        return CSVC(sign, self.C * cost)

    def _carry_out(self, new: Data | None, gone: NDArray[np.intp], weight: Array | None) -> None:
        kernel = self.model_.kernel
        before = self.classes_
        windows = {pair: self._window(*pair, kernel) for pair in combinations(before, 2)}
        members = {pair: self._members_of(*pair) for pair in windows}
        if new is not None and not np.isin(new.y, before).all():
            self.classes_ = np.unique(np.concatenate([before, new.y]))
            balanced = np.ones(len(self.classes_))
            balanced[np.searchsorted(self.classes_, before)] = self.class_weight_
            self.class_weight_ = balanced
        for (first, second), window in windows.items():
            rows = members[first, second]
            arguments: dict[str, Any] = {"forget": np.flatnonzero(np.isin(rows, gone))}
            if weight is not None:
                arguments["reweight"] = self.C * (weight * self._class_weight_of(self._y))[rows]
            if new is not None:
                mine = np.flatnonzero((new.y == first) | (new.y == second))
                arguments["X"], arguments["y"] = take(new.X, mine), np.where(new.y[mine] == first, 1.0, -1.0)
                arguments["cost"] = self.C * (new.weight * self._class_weight_of(new.y))[mine]
            window.update(**arguments)
        self._keep(new, gone, weight)
        self._assemble_windows(kernel)

    def _class_weight_of(self, y: NDArray[Any]) -> Array:
        return self.class_weight_[np.searchsorted(self.classes_, y)]

    def leave_out(self, groups: Any) -> Any:
        """Decision values of every left-out group, by removal; the model stays as it is.

        Parameters
        ----------
        groups : array-like of shape (n_samples_,), or list of arrays of positions
            Which group each sample belongs to; or the groups themselves.

        Returns
        -------
        ndarray or list of ndarray
            What `decision_function` of the model without the group says about the samples of the group: in the order of
            the samples if `groups` was one array, a list otherwise.
        """
        check_is_fitted(self)
        lists, order = _groups(groups, len(self._y))
        kernel, pairs = self.model_.kernel, list(combinations(self.classes_, 2))
        for group in lists:
            rest = np.ones(len(self._y), dtype=bool)
            rest[group] = False
            self._check_left(self._y[rest], self._w[rest], "leaving out a group")
        columns = []
        for pair in pairs:
            window, rows = self._window(*pair, kernel), self._members_of(*pair)
            inside = [np.flatnonzero(np.isin(rows, group)) for group in lists]
            if len(pairs) == 1:
                columns.append([-v for v in window.leave_out(inside)[0]])
            else:
                columns.append(self._leave_out_of_pair(window, rows, lists, inside))
        values = [np.stack([column[g] for column in columns], axis=1) for g in range(len(lists))]
        shaped = [v[:, 0] if len(pairs) == 1 else v if self.decision_function_shape == "ovo" else self._per_class(v)
                  for v in values]  # fmt: skip
        return shaped if order is None else np.concatenate(shaped)[order]

    def _leave_out_of_pair(
        self, window: Window, rows: NDArray[np.intp], groups: list[NDArray[np.intp]], inside: list[NDArray[np.intp]]
    ) -> list[Array]:
        """Values at all samples of each group, also those of other classes than the pair's."""
        found = []
        for group, mine in zip(groups, inside, strict=True):
            beta, intercept = window.without(mine)
            support = np.flatnonzero(beta)
            values = expand(self.model_.kernel, take(self._X, group), take(self._X, rows[support]), beta[support])
            found.append(values + intercept)
        return found


class IncrementalSVR(IncrementalMachine, Regressor):
    """ε-support vector regression that is exact after every update.                 Karasuyama §3.5

    Parameters
    ----------
    C, epsilon, kernel, degree, gamma, coef0
        As in `SVR`. The kernel's width is fixed by the first samples.
    cache_size, max_time, n_jobs
        As in `IncrementalSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import IncrementalSVR
    >>> X = np.linspace(0, 6, 50)[:, None]; y = np.sin(X[:, 0])
    >>> model = IncrementalSVR(C=10.0, epsilon=0.05, gamma=1.0).fit(X[:30], y[:30])
    >>> model.update(X[30:], y[30:], forget=range(10)).n_samples_
    40
    """

    def __init__(
        self,
        *,
        C=1.0,
        epsilon=0.1,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        cache_size="auto",
        max_time=None,
        n_jobs=None,
    ):
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cache_size = cache_size
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parameters.number("epsilon", self.epsilon, 0.0)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with targets y, from scratch."""
        with self._all_or_nothing():
            data = self._validate(X, y, sample_weight)
            kernel = self._begin(data)
            self._beta: Array | None = None
            self._assemble_window(kernel)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add samples; the first call is `fit`."""
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_weight)
        return self.update(X, y, sample_weight)

    def _check_left(self, y: NDArray[Any], weight: Array, what: str) -> None:
        if not np.any(weight > 0):
            raise ValueError(f"{what} would leave no sample with a positive weight; keep one")

    def _formulation(self, data: Data) -> SVRFormulation:
        return SVRFormulation(data.y, self.C * data.weight, float(self.epsilon))

    def _window(self, kernel: Kernel) -> Window:
        if getattr(self, "_windows", None) is None:
            window = self._open(
                kernel, None, self._y, self.C * self._w, self._beta, task="regression", epsilon=float(self.epsilon)
            )
            self._windows = {"": window}
        return self._windows[""]

    def _assemble_window(self, kernel: Kernel) -> None:
        window = self._window(kernel)
        self._beta = window.beta
        self._assemble_single(self._data(), kernel, Expansion(self._beta, window.intercept, tube=float(self.epsilon)))
        self._finished([window])

    def _carry_out(self, new: Data | None, gone: NDArray[np.intp], weight: Array | None) -> None:
        kernel = self.model_.kernel
        arguments: dict[str, Any] = {"forget": gone}
        if weight is not None:
            arguments["reweight"] = self.C * weight
        if new is not None:
            arguments.update(X=new.X, y=new.y, cost=self.C * new.weight)
        self._window(kernel).update(**arguments)
        self._keep(new, gone, weight)
        self._assemble_window(kernel)

    def leave_out(self, groups: Any) -> Any:
        """Predictions of every left-out group, by removal; the model stays as it is.  See `IncrementalSVC.leave_out`."""
        check_is_fitted(self)
        lists, order = _groups(groups, len(self._y))
        for group in lists:
            self._check_left(np.delete(self._y, group), np.delete(self._w, group), "leaving out a group")
        values = self._window(self.model_.kernel).leave_out(lists)[0]
        return values if order is None else np.concatenate(values)[order]


def _key(first: Any, second: Any) -> str:
    return f"{first!r} | {second!r}"


def _groups(groups: Any, n: int) -> tuple[list[NDArray[np.intp]], NDArray[np.intp] | None]:
    """Groups as lists of positions; and, if they were labels, the order that puts their samples back."""
    if isinstance(groups, list | tuple) and any(np.ndim(group) for group in groups):
        lists = [np.asarray(group, dtype=np.intp) for group in groups]
        for group in lists:
            if group.size == 0 or group.min() < 0 or group.max() >= n or len(np.unique(group)) != len(group):
                raise ValueError(f"groups must be lists of different positions between 0 and {n - 1}, none empty")
        return lists, None
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups has shape {labels.shape}, but there are {n} samples; pass one label per sample")
    _, which = np.unique(labels, return_inverse=True)
    lists = [np.flatnonzero(which == g) for g in range(which.max() + 1)]
    order = np.empty(n, dtype=np.intp)
    order[np.concatenate(lists)] = np.arange(n)
    return lists, order
