"""One-class classification with exact updates: `IncrementalOneClassSVM`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hinge.estimators.common.exclusive import exclusive
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import Number, Rule
from hinge.estimators.common.validation import TrainingData, no_targets
from hinge.estimators.incremental.updates import INCREMENTAL_RULES, IncrementalEstimator, require_samples
from hinge.estimators.kernel.one_class import OneClassEstimator
from hinge.estimators.kernel.regression import store_single
from hinge.kernels import Kernel
from hinge.model import Expansion
from hinge.paths.window import Window
from hinge.problems import Array


class IncrementalOneClassSVM(IncrementalEstimator, OneClassEstimator):
    """One-class support vector machine with exact updates.               Karasuyama ch. 3 and 6; docs/math (14)

    Samples are added, removed and reweighted by following the solution while their weights wᵢ, which are the bounds of
    the dual variables, and the sum of the variables, ν Σ wᵢ, change linearly. The result is that of `OneClassSVM`
    trained on the same samples, up to rounding errors.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        As in `OneClassSVM`.
    kernel, degree, gamma, coef0, cache_size, max_time, n_jobs
        As in `IncrementalSVC`. ``gamma="scale"`` is computed from the samples of `fit`.

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        ``decision_function = score_samples - offset_``.
    n_samples_, training_data_, certificate_, n_iter_
        As in `IncrementalSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import IncrementalOneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = IncrementalOneClassSVM(nu=0.2, gamma=0.5).fit(X[:40])
    >>> model.partial_fit(X[40:]).forget([0, 3]).n_samples_
    58
    >>> model.certificate_.relative_gap < 1e-9
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "nu": Number(0.0, 1.0, open_low=True),
        **{name: rule for name, rule in INCREMENTAL_RULES.items() if name != "C"},
    }

    #: Coefficients of the function, from which its window is built after loading a file.
    _beta: Array | None

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        cache_size="auto",
        max_time=None,
        n_jobs=None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.cache_size = cache_size
        self.max_time = max_time
        self.n_jobs = n_jobs

    @exclusive
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the region that contains most samples, from scratch; y is ignored."""
        self._check_parameters()
        kernel = self._make_kernel()
        with rollback(self):
            data = self._validate(X, y, sample_weight, kernel)
            self._beta = None
            self._store_model(self._store_first_samples(data, kernel))
        self._warn_unless_exact()
        return self

    @exclusive
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add samples; the first call is `fit`. y is ignored."""
        require_samples(X)
        if not hasattr(self, "model_"):
            return self.fit(X, y, sample_weight)
        return self.update(X, None, sample_weight)

    def _validate_y(self, y: Any, n: int) -> NDArray[Any]:
        return no_targets(type(self).__name__, None, n)

    def _check_remaining(self, y: NDArray[Any], weight: Array, operation: str) -> None:
        if not np.any(weight > 0):
            raise ValueError(f"{operation} would leave no sample with a positive weight; keep one")

    def _window(self, kernel: Kernel) -> Window:
        """The window of all samples."""
        windows = self._windows or {}
        if "" not in windows:
            options = dict(task="one_class", nu=float(self.nu))
            ones = np.ones(len(self._w))
            windows[""] = self._open_window(kernel, None, ones, self._w.copy(), self._beta, **options)
            self._windows = windows
        return windows[""]

    def _store_model(self, kernel: Kernel) -> None:
        """Set the fitted attributes from the window."""
        window = self._window(kernel)
        self._beta = window.beta
        expansion = Expansion(self._beta, window.intercept, margin=-window.intercept)
        store_single(self, self._data(), kernel, expansion)
        self.offset_ = -self.intercept_
        self._store_events(int(window.counts.events))

    def _apply_update(
        self, added: TrainingData | None, removed: NDArray[np.intp], weight: Array | None, **options: Any
    ) -> None:
        kernel = self.model_.kernel
        arguments: dict[str, Any] = {"forget": removed, "reweight": weight}
        if added is not None:
            arguments.update(X=added.X, y=np.ones(len(added.weight)), cost=added.weight)
        window = self._window(kernel)
        window.update(**arguments)
        self._store_samples(added, removed, weight, window)
        self._store_model(kernel)
