"""Exact updates of fitted kernel estimators: samples are added, removed or reweighted along the path of the solution.

An estimator stores its training samples and one `Window` for each subproblem. A window follows the solution while costs
move from their old to their new values. An update that raises an exception does not change the estimator. Updates from
several threads are applied one after another; a prediction must not run at the same time as an update.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from operator import is_
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from hinge import solvers
from hinge.estimators.common.description.forecast import data_shape
from hinge.estimators.common.exclusive import exclusive
from hinge.estimators.common.report import EXACT_TOL, confirmed_status, rollback
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, POSITIVE, Rule
from hinge.estimators.common.validation import TrainingData, is_plain, n_rows, take, validate_samples
from hinge.estimators.kernel.base import DualEstimator
from hinge.kernels import FunctionKernel, Kernel, Precomputed, make_kernel
from hinge.paths.window import Window, stack
from hinge.problems import Array, Certificate, Status
from hinge.validation import check_sample_weight

#: Rules of the parameters that all incremental estimators have.
INCREMENTAL_RULES: dict[str, Rule] = {
    "C": POSITIVE,
    **KERNEL_RULES,
    **{name: LIMIT_RULES[name] for name in ("max_time", "cache_size", "n_jobs")},
}

#: Number of samples up to which `fit` computes the certificate, in order to warn. Updates take less time than that.
MAX_CHECKED_SAMPLES = 2_000

#: Parameters that an update cannot change. C is not among them: the costs move to its new value.
FIXED_PARAMETERS = {"kernel", "degree", "gamma", "coef0", "epsilon", "nu", "class_weight"}


def require_samples(X: Any) -> None:
    """Raise a ValueError if `partial_fit` got no samples; `update` without samples only removes some."""
    if X is None:
        raise ValueError("X is None, but partial_fit needs samples; call forget to remove samples only")


class IncrementalEstimator(DualEstimator):
    """Base class of `IncrementalSVC`, `IncrementalSVR` and `IncrementalOneClassSVM`."""

    #: Rules of the parameters, by name.
    _rules: ClassVar[Mapping[str, Rule]]

    #: The training samples, their labels or targets, and their weights.
    _X: Any
    _y: NDArray[Any]
    _w: Array

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> solvers.Explanation:
        """Explain the method for `hinge.solvers.explain`. The estimator is not changed."""
        self._check_parameters()
        n, _ = data_shape(X, y)
        classes = len(np.unique(np.asarray(y))) if is_classifier(self) else 2
        problems = classes * (classes - 1) // 2
        reasons = (
            f"{n} samples: all are added to the exact solution at once, along a path of their weights",
            "every update follows the path of the exact solution from the previous one",
        )
        difference = "updates need the exact solution, its active set and the inverse of the margin matrix"
        return solvers.explain_method("parametric_active_set", reasons, n, problems, difference)

    #: The windows of the subproblems. They are built from the samples and coefficients when they are needed.
    _windows: dict[str, Window] | None = None

    #: The certificate of the model, if it was computed after the last update.
    _certificate: Certificate | None = None

    #: Attributes that are not written to model files: the windows, the parameters at the last check, the certificate.
    _transient: ClassVar[tuple[str, ...]] = ("_windows", "_checked", "_certificate")

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        return {key: value for key, value in state.items() if key not in self._transient}

    # ---- what differs between the estimators --------------------------------------------------------------------

    @abstractmethod
    def _validate_y(self, y: Any, n: int) -> NDArray[Any]:
        """Validate the labels or targets of new samples."""

    @abstractmethod
    def _check_remaining(self, y: NDArray[Any], weight: Array, operation: str) -> None:
        """Raise a ValueError if samples with these labels and weights are not sufficient for a model."""

    @abstractmethod
    def _apply_update(
        self, added: TrainingData | None, removed: NDArray[np.intp], weight: Array | None, **options: Any
    ) -> None:
        """Update all windows, then the stored samples and the model; `weight` are new weights of the old samples."""

    # ---- parameters ---------------------------------------------------------------------------------------------

    def _make_kernel(self) -> Kernel:
        kernel = make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        if isinstance(kernel, Precomputed):
            raise ValueError("kernel='precomputed' has no rows for later samples; use a kernel of the samples")
        if kernel.psd is False:
            raise ValueError(f"kernel={self.kernel!r} is not positive semidefinite: updates need a convex problem")
        return kernel

    def _check_changed_parameters(self) -> bool:
        """Check the parameters that were set after the last check; return whether C is one of them."""
        names = _parameters(type(self))  # type: ignore[arg-type]
        now = [getattr(self, name) for name in names]
        last = vars(self).get("_checked", now)  # unknown if the estimator was loaded from a file
        if last is not now and all(map(is_, now, last)):
            return False
        self._check_parameters()
        fitted = dict(zip(names, last, strict=True))
        changed = {name for name, value in zip(names, now, strict=True) if not _same(value, fitted[name])}
        for name in sorted(changed & FIXED_PARAMETERS):
            raise ValueError(
                f"{name}={getattr(self, name)!r} was {fitted[name]!r} when the model was fitted, and updates cannot "
                "change it: set it back, or call fit"
            )
        for window in (self._windows or {}).values():
            window.max_time = self.max_time
        if "C" in changed:
            return True  # until an update has moved the costs
        self._checked = now
        return False

    def _remember_parameters(self) -> None:
        self._checked = [getattr(self, name) for name in _parameters(type(self))]  # type: ignore[arg-type]

    # ---- training samples ---------------------------------------------------------------------------------------

    def _check_loaded(self) -> None:
        """Raise a ValueError if the attributes that were read from a file do not belong together."""
        super()._check_loaded()
        if "_X" not in vars(self):  # an estimator of another kind that shares this class, such as a sliding one
            return
        n = n_rows(self._X)
        consistent = (
            np.shape(self._y) == np.shape(self._w) == (n,)
            and self.shape_fit_[0] == n
            and self._w.dtype == np.float64
            and bool(np.isfinite(self._w).all() and np.all(self._w >= 0))
        )
        if consistent and isinstance(vars(self).get("classes_"), np.ndarray):
            classes = self.classes_
            consistent = bool(np.isin(self._y, classes).all()) and np.shape(self.class_weight_) == np.shape(classes)
        if not consistent:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    def _check_fitted(self) -> None:
        """Raise a NotFittedError before `fit`; faster than `check_is_fitted` for fitted estimators."""
        if not hasattr(self, "model_"):
            check_is_fitted(self)

    @property
    def n_samples_(self) -> int:
        """Number of training samples after the last update."""
        check_is_fitted(self)
        return len(self._y)

    @property
    def training_data_(self) -> tuple[Any, NDArray[Any], Array]:
        """(X, y, sample_weight) of the training samples after the last update, in the order of their positions."""
        check_is_fitted(self)
        return self._X, self._y, self._w

    @property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """Primal value, dual value and gap, computed from the data at the first access after an update."""
        if self._certificate is None:
            self._certificate = self.certify(self._X, self._y, self._w)
        return self._certificate

    @property
    def status_(self) -> Status:
        """SOLVED if `certificate_` confirms that the solution of the last update is exact, NUMERICAL otherwise."""
        return confirmed_status(Status.SOLVED, [self.certificate_], EXACT_TOL)

    @property
    def fit_status_(self) -> int:
        """0 if `status_` is SOLVED, else 1."""
        return int(self.status_ is not Status.SOLVED)

    def _store_events(self, events: Any) -> None:
        """Set the number of events of the last update; its certificate is not known yet."""
        self.n_iter_, self._certificate = events, None

    def _warn_unless_exact(self) -> None:
        """Warn after `fit` if rounding errors prevented an exact solution."""
        if len(self._y) <= MAX_CHECKED_SAMPLES and self.status_ is not Status.SOLVED:
            warnings.warn(
                f"Rounding errors prevent an exact solution: the relative duality gap is "
                f"{self.certificate_.relative_gap:.2g}. Pre-process your data with StandardScaler or MinMaxScaler, or "
                "use a smaller C",
                ConvergenceWarning,
                stacklevel=3,
            )

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from the training data: those of `training_data_`, or the arguments of `fit`.

        `fit` leaves out samples of weight zero, and so does this method.

        Parameters
        ----------
        X, y, sample_weight
            The training samples.
        """
        check_is_fitted(self)
        if sample_weight is not None and len(sample_weight) != self.n_samples_:
            kept = np.flatnonzero(np.asarray(sample_weight) > 0)
            if len(kept) == self.n_samples_:
                X, sample_weight = _safe_indexing(X, kept), _safe_indexing(sample_weight, kept)
                y = None if y is None else _safe_indexing(y, kept)
        return super().certify(X, y, sample_weight)

    def _data(self) -> TrainingData:
        return TrainingData(self._X, self._y, self._w, np.arange(len(self._y)))

    def _new_samples(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        """Validate samples to add, and leave out those of weight zero."""
        if self._needs_no_conversion(X):
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

    def _needs_no_conversion(self, X: Any) -> bool:
        """Whether X is an array of the same type and number of features as the training samples."""
        mine = self._X
        same = type(X) is np.ndarray and type(mine) is np.ndarray and X.dtype == mine.dtype and mine.ndim == 2
        return same and not hasattr(self, "feature_names_in_") and is_plain(X) and X.shape[1] == mine.shape[1]

    def _positions(self, forget: Any) -> NDArray[np.intp]:
        """Return the positions of samples to remove, sorted and without duplicates."""
        if isinstance(forget, tuple) and not forget:  # the default: only samples are added
            return np.empty(0, dtype=np.intp)
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
        invalid = (index < -n) | (index >= n)
        if invalid.any():
            position = int(index[invalid][0])
            raise IndexError(f"forget has the position {position}, but there are {n} samples (0 to {n - 1})")
        return np.unique(index % n).astype(np.intp)

    def _remaining(self, removed: NDArray[np.intp]) -> NDArray[np.intp] | slice:
        """Return an index of the samples that remain; a slice, which copies nothing, if the first ones are removed."""
        n = len(self._y)
        if len(removed) == 0 or removed[-1] == len(removed) - 1:  # positions are sorted and distinct
            return slice(len(removed), n)
        remains = np.ones(n, dtype=bool)
        remains[removed] = False
        return np.flatnonzero(remains)

    def _store_first_samples(self, data: TrainingData, kernel: Kernel) -> Kernel:
        """Store copies of the samples; return the kernel with its parameters resolved."""
        self._X = data.X.copy() if hasattr(data.X, "copy") else data.X
        self._y, self._w = np.array(data.y), data.weight.copy()
        self.shape_fit_ = (len(self._y), *self.shape_fit_[1:])
        self._windows = None
        self._remember_parameters()
        return kernel if isinstance(kernel, FunctionKernel) else kernel.resolve(data.X, data.weight)

    def _store_samples(
        self, added: TrainingData | None, removed: NDArray[np.intp], weight: Array | None, window: Window | None
    ) -> None:
        """Store the samples after an update; `window` is one that contains all samples, if there is one."""
        remaining, w = self._remaining(removed), self._w if weight is None else weight
        X = None if window is None else window.samples()
        if X is None:
            X = self._X[remaining] if len(removed) else self._X
            if added is not None:
                X = stack(X, added.X)
            elif isinstance(remaining, slice) and len(removed) and hasattr(X, "copy"):
                X = X.copy()  # a view would keep the memory of the removed samples
        y, w = self._y[remaining], w[remaining]
        if added is not None:
            y, w = np.concatenate([y, added.y]), np.concatenate([w, added.weight])
        self._X, self._y, self._w = X, y, w
        self.shape_fit_ = (len(y), *self.shape_fit_[1:])

    # ---- updates ------------------------------------------------------------------------------------------------

    def forget(self, positions: ArrayLike) -> Self:
        """Remove samples. The result is that of training without them.

        Parameters
        ----------
        positions : array-like of int
            Positions of the samples. The positions of later samples decrease.
        """
        return self.update(forget=positions)

    @exclusive
    def reweight(self, sample_weight: ArrayLike) -> Self:
        """Change the weights of the samples. The result is that of training with the new weights.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples_,)
            Zero or positive. A sample of weight zero has no influence, but is stored and can be reweighted again.
        """
        self._check_fitted()
        self._check_changed_parameters()
        weight = check_sample_weight(sample_weight, len(self._y))
        self._check_remaining(self._y, weight, "reweight")
        return self._change(None, np.empty(0, dtype=np.intp), weight)

    @exclusive
    def update(self, X: Any = None, y: Any = None, sample_weight: Any = None, *, forget: ArrayLike = ()) -> Self:
        """Add samples and remove others along one path.

        Parameters
        ----------
        X, y, sample_weight
            Samples to add after the present ones; none by default. Samples of weight zero are not added.
        forget : array-like of int
            Positions of samples to remove.
        """
        self._check_fitted()
        cost_changed = self._check_changed_parameters()
        added = None if X is None else self._new_samples(X, y, sample_weight)
        return self._exchange(added, forget, cost_changed)

    def _exchange(self, added: TrainingData | None, forget: ArrayLike, cost_changed: bool) -> Self:
        """Add and remove samples; with `cost_changed` the costs of the others move to the present C."""
        removed = self._positions(forget)
        index = self._remaining(removed)
        labels = self._y[index] if added is None else np.concatenate([self._y[index], added.y])
        weight = self._w[index] if added is None else np.concatenate([self._w[index], added.weight])
        self._check_remaining(labels, weight, "forget")
        return self._change(added, removed, self._w if cost_changed else None)

    def _change(
        self, added: TrainingData | None, removed: NDArray[np.intp], weight: Array | None, **options: Any
    ) -> Self:
        """Apply an update, or leave the estimator unchanged if it fails."""
        try:
            with rollback(self):
                self._apply_update(added, removed, weight, **options)
        except BaseException:
            self._windows = None  # some windows may have been updated; they are built again from the samples
            raise
        if weight is not None:  # all costs belong to the present C
            self._remember_parameters()
        return self

    def _open_window(
        self, kernel: Kernel, rows: Any, y: Array, cost: Array, beta: Array | None, **options: Any
    ) -> Window:
        X = take(self._X, rows)
        return Window(kernel, X, y, cost, beta=beta, cache_size=self.cache_size, max_time=self.max_time, **options)


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, str | int | float | tuple) and type(a) is type(b) and a == b)


@lru_cache
def _parameters(kind: type) -> tuple[str, ...]:
    return tuple(kind._get_param_names())  # type: ignore[attr-defined]
