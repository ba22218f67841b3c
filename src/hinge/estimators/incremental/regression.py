"""Regression with exact updates: `IncrementalSVR`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hinge.estimators.common.exclusive import exclusive
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import Rule, Sides
from hinge.estimators.common.training import Subproblem
from hinge.estimators.common.validation import TrainingData, real_targets
from hinge.estimators.incremental.updates import INCREMENTAL_RULES, IncrementalEstimator, as_groups
from hinge.estimators.kernel.regression import KernelRegressor, store_single
from hinge.formulations import SVR as SVRFormulation
from hinge.kernels import Kernel
from hinge.model import Expansion
from hinge.paths.window import Window, sides
from hinge.problems import Array


class IncrementalSVR(IncrementalEstimator, KernelRegressor):
    """ε-support vector regression with exact updates.                 Karasuyama §3.5

    Parameters
    ----------
    C, epsilon, kernel, degree, gamma, coef0
        As in `SVR`. C and epsilon are numbers, or tuples of two numbers for targets above and below the function.
        ``gamma="scale"`` is computed from the samples of `fit`.
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on X with targets y, from scratch."""
        self._check_parameters()
        kernel = self._make_kernel()
        with rollback(self):
            data = self._validate(X, y, sample_weight, kernel)
            self._beta = None
            self._store_model(self._store_first_samples(data, kernel))
        self._warn_unless_exact()
        return self

    @exclusive
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add samples; the first call is `fit`."""
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_weight)
        return self.update(X, y, sample_weight)

    def _validate_y(self, y: Any, n: int) -> NDArray[Any]:
        return real_targets(type(self).__name__, y, n)

    def _check_remaining(self, y: NDArray[Any], weight: Array, operation: str) -> None:
        if not np.any(weight > 0):
            raise ValueError(f"{operation} would leave no sample with a positive weight; keep one")

    def _subproblems(self, data: TrainingData) -> list[Subproblem]:
        cost, cost_star = sides(self._costs(data.weight), 1)
        epsilon, epsilon_star = sides(self._tube_widths(), 0)
        return [Subproblem(None, SVRFormulation(data.y, cost, epsilon, cost_star, epsilon_star=epsilon_star))]

    def _costs(self, weight: Array) -> Array:
        """C times weight; two columns if C is a pair."""
        return weight[:, None] * np.array(self.C, dtype=np.float64) if np.ndim(self.C) else self.C * weight

    def _tube_widths(self) -> Any:
        """ε, or an array of two values if it is a pair."""
        return np.array(self.epsilon, dtype=np.float64) if np.ndim(self.epsilon) else float(self.epsilon)

    def _window(self, kernel: Kernel) -> Window:
        """The window of all samples."""
        windows = self._windows or {}
        if "" not in windows:
            options = dict(task="regression", epsilon=self._tube_widths())
            windows[""] = self._open_window(kernel, None, self._y, self._costs(self._w), self._beta, **options)
            self._windows = windows
        return windows[""]

    def _store_model(self, kernel: Kernel) -> None:
        """Set the fitted attributes from the window."""
        window = self._window(kernel)
        self._beta = window.beta
        tube = float(np.max(self.epsilon))
        store_single(self, self._data(), kernel, Expansion(self._beta, window.intercept, tube=tube))
        self._store_events(int(window.counts.events))

    def _apply_update(self, added: TrainingData | None, removed: NDArray[np.intp], weight: Array | None) -> None:
        kernel = self.model_.kernel
        arguments: dict[str, Any] = {"forget": removed}
        if weight is not None:
            arguments["reweight"] = self._costs(weight)
        if added is not None:
            arguments.update(X=added.X, y=added.y, cost=self._costs(added.weight))
        window = self._window(kernel)
        window.update(**arguments)
        self._store_samples(added, removed, weight, window)
        self._store_model(kernel)

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
