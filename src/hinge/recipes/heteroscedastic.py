"""Noise that varies from place to place: weights that follow the residuals.     Karasuyama 4.5.1, docs/math (422)"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hinge.estimators import IncrementalSVR
from hinge.estimators.common.report import rollback
from hinge.problems import Array
from hinge.validation import check_integer, check_number


class HeteroscedasticSVR(IncrementalSVR):
    """ε-support vector regression in which noisy samples count less.                                Karasuyama (4.30)

    Trained with equal weights first; then Cᵢ = C σ̂/|eᵢ| from the residuals eᵢ, σ̂² their mean square, and the solution
    follows the weights exactly; until the residuals stay where they are.

    Parameters
    ----------
    C, epsilon, kernel, degree, gamma, coef0, cache_size, max_time, n_jobs
        As in `IncrementalSVR`.
    max_updates : int, default=50
        Changes of the weights at most.
    weight_tol : float, default=1e-3
        The mean relative change of the residuals at which the weights have settled.
    max_weight : float, default=1000.0
        σ̂/|eᵢ| is cut off here: a residual of zero does not make a sample infinitely dear.

    Attributes
    ----------
    sample_weight_ : ndarray
        The weights at the end.
    n_updates_ : int
        How often they changed.
    residual_changes_ : list of float
        The mean relative change of the residuals at each update.

    Notes
    -----
    Afterwards the model is an `IncrementalSVR` with these weights: it can be updated, and `certificate_` is that of the
    weighted problem.
    """

    def __init__(
        self,
        *,
        C=1.0,
        epsilon=0.1,
        max_updates=50,
        weight_tol=1e-3,
        max_weight=1000.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        cache_size="auto",
        max_time=None,
        n_jobs=None,
    ):
        super().__init__(
            C=C, epsilon=epsilon, kernel=kernel, degree=degree, gamma=gamma, coef0=coef0, cache_size=cache_size,
            max_time=max_time, n_jobs=n_jobs,
        )  # fmt: skip
        self.max_updates = max_updates
        self.weight_tol = weight_tol
        self.max_weight = max_weight

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_updates", self.max_updates, 1)
        check_number("weight_tol", self.weight_tol, 0.0, open_low=True)
        check_number("max_weight", self.max_weight, 1.0)

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Train on X with targets y: equal weights first, then those of the residuals, again and again."""
        with rollback(self):
            super().fit(X, y)
            before = self._residuals()
            self.residual_changes_: list[float] = []
            settled = False
            while not settled and len(self.residual_changes_) < self.max_updates:
                self.reweight(self._weights(before))
                after = self._residuals()
                self.residual_changes_.append(_change(before, after))
                settled = self.residual_changes_[-1] <= self.weight_tol
                before = after
            self.sample_weight_ = self._w.copy()
            self.n_updates_ = len(self.residual_changes_)
        if not settled:
            warnings.warn(
                f"the weights have not settled after max_updates={self.max_updates} updates: the residuals still "
                f"change by {self.residual_changes_[-1]:.2g} on average, weight_tol={self.weight_tol:g}. The model of "
                "the last weights is kept",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Add samples of weight 1, exactly, the others keep theirs; the first call is `fit`."""
        return self.update(X, y) if hasattr(self, "model_") else self.fit(X, y)

    def _residuals(self) -> Array:
        """y − f at the training samples, from the engine: no kernel value is computed."""
        return self._y - self._window(self.model_.kernel).decisions()

    def _weights(self, residuals: Array) -> Array:
        size = np.abs(residuals)
        spread = float(np.sqrt(np.mean(size**2)))
        if spread == 0:
            return np.ones_like(size)
        return spread / np.maximum(size, spread / self.max_weight)


def _change(before: Array, after: Array) -> float:
    """The mean of |(eᵒˡᵈ − e)/eᵒˡᵈ|, over the residuals that are not zero."""
    large = np.abs(before) > 1e-12 * np.max(np.abs(before), initial=0.0)
    if not large.any():
        return 0.0
    return float(np.mean(np.abs((before[large] - after[large]) / before[large])))
