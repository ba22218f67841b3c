"""Regression with exact updates: `IncrementalSVR`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from hinge.estimators.common.exclusive import exclusive
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import Rule, Sides
from hinge.estimators.common.training import Subproblem
from hinge.estimators.common.validation import TrainingData, real_targets
from hinge.estimators.incremental.groups import as_groups
from hinge.estimators.incremental.updates import INCREMENTAL_RULES, IncrementalEstimator, require_samples
from hinge.estimators.kernel.regression import KernelRegressor, store_single
from hinge.formulations import SVR as SVRFormulation
from hinge.kernels import Kernel
from hinge.model import Expansion
from hinge.paths.window import Window, sides
from hinge.problems import Array
from hinge.validation import as_floats, check_both_sides, check_sample_weight, check_sides


@dataclass(frozen=True)
class RegressionSamples(TrainingData):
    """Samples with factors of the costs above and below f, and with tube widths, (n, 2); None if not given."""

    side: Array | None
    tube: Array | None


def check_side_weight(side_weight: Any, n: int) -> Array:
    """Return factors of the costs above and below f; at least one of each column is positive."""
    side = as_floats(side_weight, "side_weight")
    if side.shape != (n, 2):
        raise ValueError(
            f"side_weight has shape {side.shape}, but X has {n} samples; pass an array of shape ({n}, 2) with the "
            "columns (above, below)"
        )
    if not np.isfinite(side).all() or np.any(side < 0):
        raise ValueError("side_weight must be zero or positive, and finite, for every sample")
    return np.array(side)  # a copy, which later changes of the argument do not reach


def check_tube(epsilon: Any, n: int) -> Array:
    """Return tube widths above and below f, (n, 2)."""
    above, below = check_sides("epsilon", epsilon, n)
    return np.column_stack([np.broadcast_to(part, n) for part in (above, above if below is None else below)])


def _joined(values: Array | None, remaining: Any, added: Array | None) -> Array | None:
    """Return the values of the remaining samples and of the added ones."""
    if values is None:
        return None
    return values[remaining] if added is None else np.concatenate([values[remaining], added])


class IncrementalSVR(IncrementalEstimator, KernelRegressor):
    """ε-support vector regression with exact updates.                 Karasuyama §3.5

    Parameters
    ----------
    C, epsilon, kernel, degree, gamma, coef0
        As in `SVR`. C and epsilon are numbers, or tuples of two numbers for targets above and below the function; the
        methods take other values for single samples. ``gamma="scale"`` is computed from the samples of `fit`.
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

    _rules: ClassVar[Mapping[str, Rule]] = {**INCREMENTAL_RULES, "C": Sides(positive=True), "epsilon": Sides()}

    #: Coefficients of the function, from which its window is built after loading a file.
    _beta: Array | None

    #: Factors of the costs above and below the function, and tube widths, (n, 2); None if no sample has its own.
    _side: Array | None = None
    _widths: Array | None = None

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

    @exclusive
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, side_weight: Any = None, epsilon: Any = None
    ) -> Self:
        """Train on X with targets y, from scratch.

        Parameters
        ----------
        X, y, sample_weight
            As in `SVR`.
        side_weight : array-like of shape (n_samples, 2), optional
            Multiplies the costs of each sample for targets above the function (first column) and below it (second
            column): Cᵢ = C · weightᵢ · side_weightᵢ₀, Cᵢ* = C* · weightᵢ · side_weightᵢ₁.
        epsilon : float, tuple (ε, ε*) or array-like of shape (n_samples,) or (n_samples, 2), optional
            Half widths of the tube at these samples, above and below the function; the parameter `epsilon` by default.
        """
        self._check_parameters()
        kernel = self._make_kernel()
        with rollback(self):
            data = self._validate(X, y, sample_weight, kernel)
            n = self.shape_fit_[0]
            self._side = None if side_weight is None else check_side_weight(side_weight, n)[data.rows]
            if self._side is not None:
                check_both_sides(*self._costs(data.weight, self._side).T)
            self._widths = None if epsilon is None else check_tube(epsilon, n)[data.rows]
            self._beta = None
            self._store_model(self._store_first_samples(data, kernel))
        self._warn_unless_exact()
        return self

    @exclusive
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, side_weight: Any = None, epsilon: Any = None
    ) -> Self:
        """Add samples; the first call is `fit`."""
        require_samples(X)
        options = {"side_weight": side_weight, "epsilon": epsilon}
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_weight, **options)
        return self.update(X, y, sample_weight, **options)

    @exclusive
    def update(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        forget: ArrayLike = (),
        side_weight: Any = None,
        epsilon: Any = None,
    ) -> Self:
        """Add samples and remove others along one path.

        Parameters
        ----------
        X, y, sample_weight, side_weight, epsilon
            Samples to add after the present ones, as in `fit`; none by default. Samples of weight zero are not added.
        forget : array-like of int
            Positions of samples to remove.
        """
        self._check_fitted()
        cost_changed = self._check_changed_parameters()
        if X is None:
            for name, value in (("side_weight", side_weight), ("epsilon", epsilon)):
                if value is not None:
                    raise ValueError(f"{name} belongs to new samples, but X is None; use reweight for the present ones")
            return self._exchange(None, forget, cost_changed)
        added = self._new_samples(X, y, sample_weight)
        n = len(y)
        side = None if side_weight is None else check_side_weight(side_weight, n)[added.rows]
        tube = None if epsilon is None else check_tube(epsilon, n)[added.rows]
        samples = RegressionSamples(added.X, added.y, added.weight, added.rows, side, tube)
        return self._exchange(samples, forget, cost_changed)

    @exclusive
    def reweight(
        self, sample_weight: ArrayLike | None = None, *, side_weight: Any = None, epsilon: Any = None
    ) -> Self:
        """Change the weights or tubes of the samples. The result is that of training with the new values.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,), optional
            Zero or positive. A sample of weight zero has no influence, but is stored and can be reweighted again.
        side_weight, epsilon : optional
            As in `fit`, for the present samples. Values that are not given do not change.
        """
        self._check_fitted()
        self._check_changed_parameters()
        n = len(self._y)
        weight = self._w if sample_weight is None else check_sample_weight(sample_weight, n)
        self._check_remaining(self._y, weight, "reweight")
        side = None if side_weight is None else check_side_weight(side_weight, n)
        tube = None if epsilon is None else check_tube(epsilon, n)
        return self._change(None, np.empty(0, dtype=np.intp), weight, side=side, tube=tube)

    def _validate_y(self, y: Any, n: int) -> NDArray[Any]:
        return real_targets(type(self).__name__, y, n)

    def _check_remaining(self, y: NDArray[Any], weight: Array, operation: str) -> None:
        if not np.any(weight > 0):
            raise ValueError(f"{operation} would leave no sample with a positive weight; keep one")

    def _subproblems(self, data: TrainingData) -> list[Subproblem]:
        side = None if self._side is None else self._side[data.rows]
        tube = self._tube_widths() if self._widths is None else self._widths[data.rows]
        cost, cost_star = sides(self._costs(data.weight, side), 1)
        epsilon, epsilon_star = sides(tube, 0 if self._widths is None else 1)
        return [Subproblem(None, SVRFormulation(data.y, cost, epsilon, cost_star, epsilon_star=epsilon_star))]

    def _costs(self, weight: Array, side: Array | None) -> Array:
        """C times the weights; two columns if the costs above and below f differ."""
        if side is None:
            return weight[:, None] * np.array(self.C, dtype=np.float64) if np.ndim(self.C) else self.C * weight
        return weight[:, None] * side * np.array(self.C, dtype=np.float64)

    def _tube_widths(self) -> Any:
        """The parameter ε, or an array of two values if it is a pair."""
        return np.array(self.epsilon, dtype=np.float64) if np.ndim(self.epsilon) else float(self.epsilon)

    def _window(self, kernel: Kernel) -> Window:
        """The window of all samples."""
        windows = self._windows or {}
        if "" not in windows:
            options = dict(task="regression", epsilon=self._tube_widths() if self._widths is None else self._widths)
            cost = self._costs(self._w, self._side)
            windows[""] = self._open_window(kernel, None, self._y, cost, self._beta, **options)
            self._windows = windows
        return windows[""]

    def _store_model(self, kernel: Kernel) -> None:
        """Set the fitted attributes from the window."""
        window = self._window(kernel)
        self._beta = window.beta
        tube = float(np.max(self.epsilon if self._widths is None else self._widths))
        store_single(self, self._data(), kernel, Expansion(self._beta, window.intercept, tube=tube))
        self._store_events(int(window.counts.events))

    def _apply_update(
        self,
        added: TrainingData | None,
        removed: NDArray[np.intp],
        weight: Array | None,
        *,
        side: Array | None = None,
        tube: Array | None = None,
        **options: Any,
    ) -> None:
        kernel = self.model_.kernel
        new_side, new_tube = getattr(added, "side", None), getattr(added, "tube", None)
        if self._widths is None and (tube is not None or new_tube is not None):  # a window with a tube of each sample
            self._widths, self._windows = check_tube(self.epsilon, len(self._y)), None
        window = self._window(kernel)
        if self._side is None and (side is not None or new_side is not None):
            self._side = np.ones((len(self._y), 2))
        if side is not None:
            self._side = side
        arguments: dict[str, Any] = {"forget": removed, "new_tube": tube}
        if weight is not None:
            arguments["reweight"] = self._costs(weight, self._side)
        if added is not None:
            if new_side is None and self._side is not None:
                new_side = np.ones((added.n, 2))
            if new_tube is None and self._widths is not None:
                new_tube = check_tube(self.epsilon, added.n)
            cost = self._costs(added.weight, new_side)
            arguments.update(X=added.X, y=added.y, cost=cost, tube=new_tube)
        self._check_sides(weight, removed, arguments.get("cost"))
        window.update(**arguments)
        remaining = self._remaining(removed)
        self._side = _joined(self._side, remaining, new_side)
        self._widths = _joined(self._widths if tube is None else tube, remaining, new_tube)
        self._store_samples(added, removed, weight, window)
        self._store_model(kernel)

    def _check_sides(self, weight: Array | None, removed: NDArray[np.intp], added: Array | None) -> None:
        """Raise unless targets above and targets below f keep a positive cost for some sample."""
        if self._side is None:
            return
        cost = self._costs(self._w if weight is None else weight, self._side)[self._remaining(removed)]
        if added is not None:
            cost = np.concatenate([cost, added])
        check_both_sides(*cost.T)

    def _check_loaded(self) -> None:
        """Raise a ValueError if the attributes that were read from a file do not belong together."""
        super()._check_loaded()
        for values in (self._side, self._widths):
            if values is not None and not (
                isinstance(values, np.ndarray)
                and values.dtype == np.float64
                and values.shape == (self.shape_fit_[0], 2)
                and bool(np.isfinite(values).all() and np.all(values >= 0))
            ):
                raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    def leave_out(self, groups: Any) -> Any:
        """Predictions for every group by the model without the group. See `IncrementalSVC.leave_out`."""
        check_is_fitted(self)
        lists, order = as_groups(groups, len(self._y))
        for group in lists:
            self._check_remaining(np.delete(self._y, group), np.delete(self._w, group), "leaving out a group")
        window = self._window(self.model_.kernel)
        window.max_time = self.max_time
        values = window.leave_out(lists)[0]
        return values if order is None else np.concatenate(values)[order]
