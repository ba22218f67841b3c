"""Classification with exact updates: `IncrementalSVC`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hinge.estimators.common.exclusive import exclusive
from hinge.estimators.common.prediction import prediction_samples
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import Rule
from hinge.estimators.common.training import Subproblem, store_expansion
from hinge.estimators.common.validation import ClassificationData, TrainingData, class_labels, n_rows, take
from hinge.estimators.incremental.groups import as_groups
from hinge.estimators.incremental.updates import INCREMENTAL_RULES, IncrementalEstimator, require_samples
from hinge.estimators.kernel.classification import CLASSIFIER_RULES, KernelClassifier, pair_subproblems, store_pairs
from hinge.estimators.kernel.one_vs_one import class_values
from hinge.formulations import CSVC
from hinge.kernels import Kernel, expand
from hinge.model import Expansion
from hinge.paths.flip import Flip, FlipSearch
from hinge.paths.window import Window
from hinge.problems import Array
from hinge.validation import check_number

#: Number of recent samples that are searched for all classes. If a class is missing there, all samples are searched.
RECENT_SAMPLES = 64


class IncrementalSVC(IncrementalEstimator, KernelClassifier):
    """C-support vector classification with exact updates.             Karasuyama ch. 3

    Samples are added, removed and reweighted by following the solution while their costs change. The result is that of
    `SVC` trained on the same samples, up to rounding errors. Several samples can be changed along one path.

    Parameters
    ----------
    C, kernel, degree, gamma, coef0, class_weight, decision_function_shape, break_ties
        As in `SVC`. ``gamma="scale"`` and ``class_weight="balanced"`` are computed from the samples of `fit`.
    cache_size : float or "auto"
        Megabytes for kernel rows.
    max_time : float, optional
        Seconds for one update, or for `leave_out`. A call that takes longer raises a TimeoutError and has no effect.
    n_jobs : int, optional
        Threads for prediction.

    Attributes
    ----------
    n_samples_ : int
        Number of training samples.
    training_data_ : tuple
        (X, y, sample_weight) of the training samples.
    certificate_ : Certificate
        Computed from the training samples at each access.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in `SVC`.
    n_iter_ : ndarray
        Number of events on the path of the last update, for each pair of classes.

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

    _rules: ClassVar[Mapping[str, Rule]] = {**INCREMENTAL_RULES, **CLASSIFIER_RULES}

    #: Coefficients of every pair of classes, from which its window is built after loading a file.
    _betas: dict[str, Array]

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

    @exclusive
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with labels y, from scratch."""
        self._check_parameters()
        kernel = self._make_kernel()
        with rollback(self):
            data = self._validate(X, y, sample_weight, kernel)
            self.classes_, self.class_weight_, self._betas = data.classes, data.class_weight, {}
            self._store_model(self._store_first_samples(data, kernel))
        self._warn_unless_exact()
        return self

    @exclusive
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add samples; the first call is `fit`.

        `classes` is optional, as new classes can be added at any time. If it is given, as scikit-learn requires, it
        must contain the labels of `y` and all earlier labels.
        """
        require_samples(X)
        self._check_declared(y, classes)
        if not hasattr(self, "classes_"):
            return self.fit(X, y, sample_weight)
        return self.update(X, y, sample_weight)

    def _check_declared(self, y: Any, classes: Any) -> None:
        """Raise a ValueError if a label of `y` or of an earlier call is not in `classes`, unless that is None."""
        if classes is None:
            return
        declared = np.asarray(classes).ravel()
        known = [*np.asarray(y).ravel().tolist(), *vars(self).get("classes_", np.empty(0)).tolist()]
        undeclared = sorted(set(known) - set(declared.tolist()), key=str)
        if undeclared:
            raise ValueError(
                f"y or an earlier call has labels that classes={declared.tolist()} does not contain: {undeclared[:5]}. "
                "Add them, or leave classes out: new classes can be added at any time"
            )

    def _validate_y(self, y: Any, n: int) -> NDArray[Any]:
        return class_labels(type(self).__name__, y, n)

    def _check_remaining(self, y: NDArray[Any], weight: Array, operation: str) -> None:
        recent = slice(-RECENT_SAMPLES, None)
        if set(self.classes_.tolist()) <= set(y[recent][weight[recent] > 0].tolist()):
            return
        labels = y[weight > 0]
        for label in self.classes_.tolist():
            if not (labels == label).any():
                raise ValueError(
                    f"{operation} would leave no sample of class {label!r} with a positive weight; keep one, or fit "
                    "again without this class"
                )

    # ---- one window for each pair of classes --------------------------------------------------------------------

    def _pair_rows(self, first: Any, second: Any) -> NDArray[np.intp] | None:
        """Positions of the samples of two classes; None if there are no other classes."""
        return None if len(self.classes_) == 2 else np.flatnonzero((self._y == first) | (self._y == second))

    def _window(self, first: Any, second: Any, kernel: Kernel) -> Window:
        """The window of a pair of classes, of which `first` is positive."""
        windows, key = self._windows or {}, _key(first, second)
        if key not in windows:
            rows = self._pair_rows(first, second)
            sign = np.where(take(self._y, rows) == first, 1.0, -1.0)
            cost = self.C * take(self._w * self.class_weight_[np.searchsorted(self.classes_, self._y)], rows)
            windows[key] = self._open_window(kernel, rows, sign, cost, self._betas.get(key))
            self._windows = windows
        return windows[key]

    def _subproblems(self, data: ClassificationData) -> list[Subproblem]:
        return pair_subproblems(data, data.cost(), lambda sign, cost: CSVC(sign, self.C * cost))

    def _store_model(self, kernel: Kernel) -> None:
        """Set the fitted attributes from the windows."""
        if len(self.classes_) == 2:
            windows = [self._store_two_classes(kernel, *self.classes_)]
        else:
            pairs = list(combinations(self.classes_, 2))
            windows = [self._window(*pair, kernel) for pair in pairs]
            expansions = [Expansion(window.beta, window.intercept) for window in windows]
            rows = [self._pair_rows(*pair) for pair in pairs]
            self._betas = {_key(*pair): each.coefficients for pair, each in zip(pairs, expansions, strict=True)}
            store_pairs(self, self._data(), self.classes_, kernel, rows, expansions)
        self._store_events(np.array([window.counts.events for window in windows], dtype=np.int32))

    def _store_two_classes(self, kernel: Kernel, first: Any, second: Any) -> Window:
        """Set the attributes for two classes, given by the signs of β, which is faster than `store_pairs`."""
        window = self._window(first, second, kernel)
        beta = window.beta
        positive, negative = (beta > 0).nonzero()[0], (beta < 0).nonzero()[0]
        support = np.concatenate([positive, negative])
        dual_coef, intercept = -beta[support][None, :], np.array([-window.intercept])
        counts = [len(positive), len(negative)]
        store_expansion(self, self._data(), kernel, support, counts, dual_coef.T.copy(), intercept, dual_coef)
        self._betas = {_key(first, second): beta}
        self._margins = np.ones(1)
        return window

    def _apply_update(
        self, added: TrainingData | None, removed: NDArray[np.intp], weight: Array | None, **options: Any
    ) -> None:
        kernel = self.model_.kernel
        windows = {pair: self._window(*pair, kernel) for pair in combinations(self.classes_, 2)}
        pair_rows = {pair: self._pair_rows(*pair) for pair in windows}
        if added is not None and not set(added.y.tolist()) <= set(self.classes_.tolist()):
            self._add_classes(added.y)
        two_classes = len(self.classes_) == 2
        for (first, second), window in windows.items():
            rows = pair_rows[first, second]
            arguments: dict[str, Any] = {"forget": _positions_in(rows, removed)}
            if weight is not None:
                arguments["reweight"] = take(self._costs(weight, self._y), rows)
            if added is not None:
                members = None if two_classes else np.flatnonzero((added.y == first) | (added.y == second))
                arguments["X"] = take(added.X, members)
                arguments["y"] = np.where(take(added.y, members) == first, 1.0, -1.0)
                arguments["cost"] = take(self._costs(added.weight, added.y), members)
            window.update(**arguments)
        self._store_samples(added, removed, weight, next(iter(windows.values())) if two_classes else None)
        self._store_model(kernel)

    def _add_classes(self, y: NDArray[Any]) -> None:
        """Add the labels of `y` to the classes, with class weight 1."""
        classes = np.unique(np.concatenate([self.classes_, y]))
        class_weight = np.ones(len(classes))
        class_weight[np.searchsorted(classes, self.classes_)] = self.class_weight_
        self.classes_, self.class_weight_ = classes, class_weight

    def _costs(self, weight: Array, y: NDArray[Any]) -> Array:
        """C times sample weight times class weight."""
        if self.class_weight is None:
            return self.C * weight
        return self.C * (weight * self.class_weight_[np.searchsorted(self.classes_, y)])

    # ---- changes that change a prediction -------------------------------------------------------------------------

    def flip(self, x: Any, *, max_weight: float = 10.0) -> Flip:
        """Smallest change of each training weight or label that changes the prediction at x.

        The weight of each sample is changed along the exact path of the solution, up and down, and its label is
        exchanged; it then has the weight of the other class. The model itself is not changed. A sample whose small
        change of weight changes a prediction that is wrong may be mislabelled.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
        max_weight : float, default=10.0
            Largest weight, relative to the present one.

        Returns
        -------
        Flip
            With `weight`, `value_without`, `value_relabelled`, `relabel` and `ranking`.
        """
        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise ValueError(f"flip needs two classes, but the model has {len(self.classes_)}; train on two of them")
        check_number("max_weight", max_weight, 1.0)
        x = x if np.ndim(x) != 1 or sp.issparse(x) else np.reshape(x, (1, -1))
        x = prediction_samples(self, x)
        if n_rows(x) != 1:
            raise ValueError(f"x has {n_rows(x)} rows; pass one sample")
        positive = self._y == self.classes_[1]
        other = np.where(positive, self.classes_[0], self.classes_[1])
        search = FlipSearch(
            self.model_.kernel, self._X, np.where(positive, 1.0, -1.0), self._costs(self._w, self._y),
            self._costs(self._w, other), None, x, self.cache_size,
        )  # fmt: skip
        return search.search(float(max_weight))

    # ---- leaving groups out -------------------------------------------------------------------------------------

    def leave_out(self, groups: Any) -> Any:
        """Decision values of every group by the model without the group. The model itself is not changed.

        Parameters
        ----------
        groups : array-like of shape (n_samples,), or list of arrays of positions
            The group of each sample, or the positions of the samples of each group.

        Returns
        -------
        ndarray or list of ndarray
            `decision_function` of the model without a group, at the samples of the group: in the order of the samples
            if `groups` is one array, otherwise a list with one array per group.
        """
        check_is_fitted(self)
        lists, order = as_groups(groups, len(self._y))
        kernel, pairs = self.model_.kernel, list(combinations(self.classes_, 2))
        for group in lists:
            remains = np.ones(len(self._y), dtype=bool)
            remains[group] = False
            self._check_remaining(self._y[remains], self._w[remains], "leaving out a group")
        columns = []
        for pair in pairs:
            window, rows = self._window(*pair, kernel), self._pair_rows(*pair)
            window.max_time = self.max_time
            if rows is None:
                columns.append([-values for values in window.leave_out(lists)[0]])
            else:
                columns.append([self._leave_out_of_pair(window, rows, group) for group in lists])
        values = [np.stack([column[g] for column in columns], axis=1) for g in range(len(lists))]
        if len(pairs) == 1:
            shaped = [v[:, 0] for v in values]
        else:
            by_pair = self.decision_function_shape == "ovo"
            shaped = [v if by_pair else class_values(v, self.classes_) for v in values]
        return shaped if order is None else np.concatenate(shaped)[order]

    def _leave_out_of_pair(self, window: Window, rows: NDArray[np.intp], group: NDArray[np.intp]) -> Array:
        """Values of the function of a pair without a group, at all samples of the group, also of other classes."""
        beta, intercept = window.without(_positions_in(rows, group))
        support = np.flatnonzero(beta)
        values = expand(self.model_.kernel, take(self._X, group), take(self._X, rows[support]), beta[support])
        return values + intercept


def _positions_in(rows: NDArray[np.intp] | None, positions: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where these samples are among `rows`; None stands for all samples."""
    return positions if rows is None else np.flatnonzero(np.isin(rows, positions))


@lru_cache(typed=True)
def _key(first: Any, second: Any) -> str:
    """Name of a pair of classes in model files."""
    return f"{first!r} | {second!r}"
