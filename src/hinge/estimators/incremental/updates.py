"""What machines that learn and forget share: the samples that are there, and changes that happen or do not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import is_
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from hinge.estimators.common.report import rollback
from hinge.estimators.common.validation import TrainingData, is_plain, n_rows, take, validate_samples
from hinge.estimators.kernel.base import DualEstimator
from hinge.kernels import FunctionKernel, Kernel, Precomputed, check_cache_size, make_kernel
from hinge.paths.window import Window, stack
from hinge.problems import Array, Certificate, Status
from hinge.validation import check_number, check_sample_weight

#: What a fitted model is made of; C is not among them, since weights can follow it.
FIXED = {"kernel", "degree", "gamma", "coef0", "epsilon", "class_weight"}


class IncrementalMachine(DualEstimator):
    """What both share: the samples that are there, a window for every machine, and changes that happen or do not."""

    _X: Any
    _y: NDArray[Any]
    _w: Array
    _windows: dict[str, Window] | None

    #: Rebuilt from the samples and coefficients when it is missing (after loading a file).
    _transient: ClassVar[tuple[str, ...]] = ("_windows", "_checked")

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        return {key: value for key, value in state.items() if key not in self._transient}

    def _check_parameters(self) -> None:
        check_number("C", self.C, 0.0, open_low=True)
        check_number("degree", self.degree, 0.0)
        check_number("coef0", self.coef0, -np.inf)
        if self.max_time is not None:
            check_number("max_time", self.max_time, 0.0, open_low=True)
        check_cache_size(self.cache_size)
        kernel = self._make_kernel()
        if isinstance(kernel, Precomputed):
            raise ValueError("kernel='precomputed' has no rows for later samples; use a kernel of the samples")
        if kernel.psd is False:
            raise ValueError(f"kernel={self.kernel!r} is not positive semidefinite: updates need a convex problem")

    def _check_there(self) -> None:
        """`check_is_fitted`, which takes long to say yes."""
        if not hasattr(self, "model_"):
            check_is_fitted(self)

    def _check_changed_parameters(self) -> bool:
        """The same for an update: what has not been set anew since was looked at before.  Whether C was changed."""
        names = _parameters(type(self))  # type: ignore[arg-type]
        now = [getattr(self, name) for name in names]
        before = vars(self).get("_checked", now)  # after loading a file they are what they were
        if before is not now and all(map(is_, now, before)):
            return False
        self._check_parameters()
        was = dict(zip(names, before, strict=True))
        changed = {name for name, value in zip(names, now, strict=True) if not _same(value, was[name])}
        for name in sorted(changed & FIXED):
            raise ValueError(
                f"{name}={getattr(self, name)!r} was {was[name]!r} when the model was fitted, and updates cannot "
                "change it: set it back, or call fit"
            )
        for window in (getattr(self, "_windows", None) or {}).values():
            window.max_time = self.max_time
        if "C" in changed:
            return True  # until an update has followed it
        self._checked = now
        return False

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
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """Primal and dual value and their gap, computed from the data when asked for."""
        return self.certify(self._X, self._y, self._w)

    def _new_samples(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        if self._plain_like_mine(X):
            y = self._validate_y(y, len(X))
            if len(y) != len(X):
                check_consistent_length(X, y)
        else:
            X = validate_samples(self, X, self.model_.kernel, reset=False)
            y = self._validate_y(y, n_rows(X))
            if len(y) != n_rows(X):
                check_consistent_length(X, y)
            if hasattr(X, "astype"):
                X = X.astype(self._X.dtype, copy=False)
        n = n_rows(X)
        weight = check_sample_weight(sample_weight, n)
        rows = np.arange(n) if sample_weight is None else np.flatnonzero(weight > 0)
        if len(rows) == n:
            return TrainingData(X, y, weight, rows)
        return TrainingData(take(X, rows), y[rows], weight[rows], rows)

    def _plain_like_mine(self, X: Any) -> bool:
        """Whether X is an array like that of the samples that are there, to which nothing needs to be done."""
        mine = self._X
        same = type(X) is np.ndarray and type(mine) is np.ndarray and X.dtype == mine.dtype and mine.ndim == 2
        return same and not hasattr(self, "feature_names_in_") and is_plain(X) and X.shape[1] == mine.shape[1]

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
        self._check_there()
        self._check_changed_parameters()
        weight = check_sample_weight(sample_weight, len(self._y))
        self._check_left(self._y, weight, "reweight")
        return self._change(None, np.empty(0, dtype=np.intp), weight)

    def update(self, X: Any = None, y: Any = None, sample_weight: Any = None, *, forget: ArrayLike = ()) -> Self:
        """Add samples and remove others along one path.

        Parameters
        ----------
        X, y, sample_weight
            Samples to add, behind those that are there; nothing when left out. Those of weight zero are not added.
        forget : array-like of int
            Positions of samples to remove.
        """
        self._check_there()
        changed = self._check_changed_parameters()
        new = None if X is None else self._new_samples(X, y, sample_weight)
        gone = self._positions(forget)
        stay = self._others(gone)
        left = self._y[stay] if new is None else np.concatenate([self._y[stay], new.y])
        weight = self._w[stay] if new is None else np.concatenate([self._w[stay], new.weight])
        self._check_left(left, weight, "forget")
        return self._change(new, gone, self._w if changed else None)

    def _check_left(self, y: NDArray[Any], weight: Array, what: str) -> None:
        raise NotImplementedError

    def _change(self, new: TrainingData | None, gone: NDArray[np.intp], weight: Array | None) -> Self:
        try:
            with rollback(self):
                self._carry_out(new, gone, weight)
        except BaseException:
            self._windows = None  # some may be ahead of others: the samples are as they were, rebuild from them
            raise
        if weight is not None:  # all costs are those of C as it is now
            self._checked = [getattr(self, name) for name in _parameters(type(self))]  # type: ignore[arg-type]
        return self

    def _carry_out(self, new: TrainingData | None, gone: NDArray[np.intp], weight: Array | None) -> None:
        raise NotImplementedError

    def _others(self, gone: NDArray[np.intp]) -> NDArray[np.intp] | slice:
        """Positions that stay; a slice where the first ones go: no copy."""
        n = len(self._y)
        if len(gone) == 0 or gone[-1] == len(gone) - 1:  # ascending, and all different
            return slice(len(gone), n)
        stay = np.ones(n, dtype=bool)
        stay[gone] = False
        return np.flatnonzero(stay)

    def _keep(
        self, new: TrainingData | None, gone: NDArray[np.intp], weight: Array | None, window: Window | None
    ) -> None:
        """The samples after a change; where `window` has all of them together they are there already."""
        stay, w = self._others(gone), self._w if weight is None else weight
        X = None if window is None else window.samples()
        if X is None:
            X = self._X[stay] if len(gone) else self._X
            if new is not None:
                X = stack(X, new.X)
            elif isinstance(stay, slice) and len(gone) and hasattr(X, "copy"):  # a view would keep what was forgotten
                X = X.copy()
        y, w = self._y[stay], w[stay]
        if new is not None:
            y, w = np.concatenate([y, new.y]), np.concatenate([w, new.weight])
        self._X, self._y, self._w = X, y, w
        self.shape_fit_ = (len(y), *self.shape_fit_[1:])

    def _data(self) -> TrainingData:
        return TrainingData(self._X, self._y, self._w, np.arange(len(self._y)))

    def _open(self, kernel: Kernel, rows: Any, y: Array, cost: Array, beta: Array | None, **options: Any) -> Window:
        X = self._X if rows is None else take(self._X, rows)
        return Window(kernel, X, y, cost, beta=beta, cache_size=self.cache_size, max_time=self.max_time, **options)

    def _make_kernel(self) -> Kernel:
        return make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)

    def _begin(self, data: TrainingData, kernel: Kernel) -> Kernel:
        """Own copies of the samples, and the kernel with its width fixed for good."""
        self._X = data.X.copy() if hasattr(data.X, "copy") else data.X
        self._y, self._w = np.array(data.y), data.weight.copy()
        self.shape_fit_ = (len(self._y), *self.shape_fit_[1:])
        self._windows = None
        self._checked = [getattr(self, name) for name in _parameters(type(self))]  # type: ignore[arg-type]
        return kernel if isinstance(kernel, FunctionKernel) else kernel.resolve(data.X, data.weight)

    def _finished(self, windows: Sequence[Window]) -> None:
        self.status_ = Status.SOLVED
        self.fit_status_ = 0
        events = np.array([w.counts.events for w in windows], dtype=np.int32)
        self.n_iter_ = events if hasattr(self, "classes_") else int(events[0])


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, str | int | float) and type(a) is type(b) and a == b)


@lru_cache
def _parameters(kind: type) -> tuple[str, ...]:
    return tuple(kind._get_param_names())  # type: ignore[attr-defined]


def as_groups(groups: Any, n: int) -> tuple[list[NDArray[np.intp]], NDArray[np.intp] | None]:
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
