"""`IncrementalSVC` and `IncrementalSVR`: exact after every sample that comes, goes, or changes its weight."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hinge.estimators.common.report import rollback
from hinge.estimators.common.training import Subproblem, store_expansion
from hinge.estimators.common.validation import ClassificationData, TrainingData, class_labels, real_targets, take
from hinge.estimators.incremental.updates import IncrementalMachine, as_groups
from hinge.estimators.kernel.one_vs_one import KernelClassifier, class_values, pair_subproblems, store_pairs
from hinge.estimators.kernel.regression import KernelRegressor, store_single
from hinge.formulations import CSVC
from hinge.formulations import SVR as SVRFormulation
from hinge.kernels import Kernel, expand
from hinge.model import Expansion
from hinge.paths.window import Window
from hinge.problems import Array
from hinge.validation import check_choice, check_flag, check_number


class IncrementalSVC(IncrementalMachine, KernelClassifier):
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
        Seconds for one update, or for leaving out; what takes longer does not happen.
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
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        check_flag("break_ties", self.break_ties)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with labels y, from scratch."""
        with rollback(self):
            self._check_parameters()
            kernel = self._make_kernel()
            data = self._validate(X, y, sample_weight, kernel)
            self.classes_, self.class_weight_ = data.classes, data.class_weight
            kernel = self._begin(data, kernel)
            self._betas: dict[str, Array] = {}
            self._assemble_windows(kernel)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add samples; the first call is `fit`.

        `classes` may be left out, and then new classes may come at any time; where it is given, as scikit-learn asks
        for, labels of `y` and those known already must be among them.
        """
        self._check_announced(y, classes)
        if not hasattr(self, "classes_"):
            return self.fit(X, y, sample_weight)
        return self.update(X, y, sample_weight)

    def _check_announced(self, y: Any, classes: Any) -> None:
        if classes is None:
            return
        announced = np.asarray(classes).ravel()
        known = [*np.asarray(y).ravel().tolist(), *getattr(self, "classes_", np.empty(0)).tolist()]
        strange = sorted(set(known) - set(announced.tolist()), key=str)
        if strange:
            raise ValueError(
                f"y or an earlier call has labels that classes={announced.tolist()} does not: {strange[:5]}. Add them, "
                "or leave classes out: new ones may come at any time"
            )

    def _check_left(self, y: NDArray[Any], weight: Array, what: str) -> None:
        few = slice(-64, None)
        if set(self.classes_.tolist()) <= set(y[few][weight[few] > 0].tolist()):
            return
        there = y[weight > 0]
        for label in self.classes_:
            if not (there == label).any():
                raise ValueError(
                    f"{what} would leave no sample of class {label!r} with a positive weight; keep one, or fit "
                    "again without this class"
                )

    # ---- one window per pair ----------------------------------------------------------------------------------

    def _members_of(self, first: Any, second: Any) -> NDArray[np.intp] | None:
        """Samples of two classes; None where there are no others."""
        return None if len(self.classes_) == 2 else np.flatnonzero((self._y == first) | (self._y == second))

    def _window(self, first: Any, second: Any, kernel: Kernel) -> Window:
        """The machine of a pair of classes; `first` is positive."""
        windows = getattr(self, "_windows", None) or {}
        key = _key(first, second)
        if key not in windows:
            rows = self._members_of(first, second)
            sign = np.where(take(self._y, rows) == first, 1.0, -1.0)
            cost = self.C * take(self._w * self.class_weight_[np.searchsorted(self.classes_, self._y)], rows)
            windows[key] = self._open(kernel, rows, sign, cost, self._betas.get(key))
            self._windows = windows
        return windows[key]

    def _assemble_windows(self, kernel: Kernel) -> None:
        if len(self.classes_) == 2:
            self._assemble_two(kernel, *self.classes_)
            return
        pairs = list(combinations(self.classes_, 2))
        windows = [self._window(*pair, kernel) for pair in pairs]
        expansions = [Expansion(window.beta, window.intercept) for window in windows]
        samples = [self._members_of(*pair) for pair in pairs]
        self._betas = {_key(*pair): found.coefficients for pair, found in zip(pairs, expansions, strict=True)}
        store_pairs(self, self._data(), self.classes_, kernel, samples, expansions)
        self._finished(windows)

    def _assemble_two(self, kernel: Kernel, first: Any, second: Any) -> None:
        """The same for two classes, by signs: an update of few events should not take long to be laid out."""
        window = self._window(first, second, kernel)
        beta = window.beta
        mine, others = np.flatnonzero(beta > 0), np.flatnonzero(beta < 0)
        support = np.concatenate([mine, others])
        layout, offsets = -beta[support][None, :], np.array([-window.intercept])
        counts = [len(mine), len(others)]
        store_expansion(self, self._data(), kernel, support, counts, layout.T.copy(), offsets, layout)
        self._betas = {_key(first, second): beta}
        self._margins = np.ones(1)
        self._finished([window])

    def _validate_y(self, y: Any, n: int) -> NDArray[Any]:
        return class_labels(type(self).__name__, y, n)

    def _subproblems(self, data: ClassificationData) -> list[Subproblem]:
        return pair_subproblems(data, data.cost(), lambda sign, cost: CSVC(sign, self.C * cost))

    def _carry_out(self, new: TrainingData | None, gone: NDArray[np.intp], weight: Array | None) -> None:
        kernel = self.model_.kernel
        before = self.classes_
        windows = {pair: self._window(*pair, kernel) for pair in combinations(before, 2)}
        members = {pair: self._members_of(*pair) for pair in windows}
        if new is not None and not set(new.y.tolist()) <= set(before.tolist()):
            self.classes_ = np.unique(np.concatenate([before, new.y]))
            balanced = np.ones(len(self.classes_))
            balanced[np.searchsorted(self.classes_, before)] = self.class_weight_
            self.class_weight_ = balanced
        alone = len(self.classes_) == 2
        for (first, second), window in windows.items():
            rows = members[first, second]
            arguments: dict[str, Any] = {"forget": _inside(gone, rows)}
            if weight is not None:
                arguments["reweight"] = take(self._weighed(weight, self._y), rows)
            if new is not None:
                mine = None if alone else np.flatnonzero((new.y == first) | (new.y == second))
                arguments["X"], arguments["y"] = take(new.X, mine), np.where(take(new.y, mine) == first, 1.0, -1.0)
                arguments["cost"] = take(self._weighed(new.weight, new.y), mine)
            window.update(**arguments)
        self._keep(new, gone, weight, next(iter(windows.values())) if alone else None)
        self._assemble_windows(kernel)

    def _weighed(self, weight: Array, y: NDArray[Any]) -> Array:
        """C times sample weight times class weight."""
        if self.class_weight is None:
            return self.C * weight
        return self.C * (weight * self.class_weight_[np.searchsorted(self.classes_, y)])

    def leave_out(self, groups: Any) -> Any:
        """Decision values of every left-out group, by removal; the model stays as it is.

        Parameters
        ----------
        groups : array-like of shape (n_samples,), or list of arrays of positions
            Which group each sample belongs to; or the groups themselves.

        Returns
        -------
        ndarray or list of ndarray
            What `decision_function` of the model without the group says about the samples of the group: in the order of
            the samples if `groups` was one array, a list otherwise.
        """
        check_is_fitted(self)
        lists, order = as_groups(groups, len(self._y))
        kernel, pairs = self.model_.kernel, list(combinations(self.classes_, 2))
        for group in lists:
            rest = np.ones(len(self._y), dtype=bool)
            rest[group] = False
            self._check_left(self._y[rest], self._w[rest], "leaving out a group")
        columns = []
        for pair in pairs:
            window, rows = self._window(*pair, kernel), self._members_of(*pair)
            window.max_time = self.max_time
            inside = [_inside(group, rows) for group in lists]
            if rows is None:
                columns.append([-v for v in window.leave_out(inside)[0]])
            else:
                columns.append(self._leave_out_of_pair(window, rows, lists, inside))
        values = [np.stack([column[g] for column in columns], axis=1) for g in range(len(lists))]
        if len(pairs) == 1:
            shaped = [v[:, 0] for v in values]
        else:
            by_pair = self.decision_function_shape == "ovo"
            shaped = [v if by_pair else class_values(v, self.classes_) for v in values]
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


class IncrementalSVR(IncrementalMachine, KernelRegressor):
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
        check_number("epsilon", self.epsilon, 0.0)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with targets y, from scratch."""
        with rollback(self):
            self._check_parameters()
            kernel = self._make_kernel()
            data = self._validate(X, y, sample_weight, kernel)
            kernel = self._begin(data, kernel)
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

    def _validate_y(self, y: Any, n: int) -> NDArray[Any]:
        return real_targets(type(self).__name__, y, n)

    def _subproblems(self, data: TrainingData) -> list[Subproblem]:
        return [Subproblem(None, SVRFormulation(data.y, self.C * data.weight, float(self.epsilon)))]

    def _window(self, kernel: Kernel) -> Window:
        windows = getattr(self, "_windows", None) or {}
        if "" not in windows:
            options = dict(task="regression", epsilon=float(self.epsilon))
            windows[""] = self._open(kernel, None, self._y, self.C * self._w, self._beta, **options)
            self._windows = windows
        return windows[""]

    def _assemble_window(self, kernel: Kernel) -> None:
        window = self._window(kernel)
        self._beta = window.beta
        store_single(self, self._data(), kernel, Expansion(self._beta, window.intercept, tube=float(self.epsilon)))
        self._finished([window])

    def _carry_out(self, new: TrainingData | None, gone: NDArray[np.intp], weight: Array | None) -> None:
        kernel = self.model_.kernel
        arguments: dict[str, Any] = {"forget": gone}
        if weight is not None:
            arguments["reweight"] = self.C * weight
        if new is not None:
            arguments.update(X=new.X, y=new.y, cost=self.C * new.weight)
        window = self._window(kernel)
        window.update(**arguments)
        self._keep(new, gone, weight, window)
        self._assemble_window(kernel)

    def leave_out(self, groups: Any) -> Any:
        """Predictions of every left-out group, by removal; the model stays.  See `IncrementalSVC.leave_out`."""
        check_is_fitted(self)
        lists, order = as_groups(groups, len(self._y))
        for group in lists:
            self._check_left(np.delete(self._y, group), np.delete(self._w, group), "leaving out a group")
        window = self._window(self.model_.kernel)
        window.max_time = self.max_time
        values = window.leave_out(lists)[0]
        return values if order is None else np.concatenate(values)[order]


def _inside(positions: NDArray[np.intp], rows: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """Where these samples are among `rows`, which are all where it is None."""
    return positions if rows is None else np.flatnonzero(np.isin(rows, positions))


@lru_cache(typed=True)
def _key(first: Any, second: Any) -> str:
    return f"{first!r} | {second!r}"
