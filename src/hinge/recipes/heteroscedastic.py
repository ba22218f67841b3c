"""Heteroscedastic regression: sample weights computed from residuals.     Karasuyama 4.5.1, docs/math (422)"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hinge.estimators import IncrementalSVR
from hinge.estimators.common.report import rollback
from hinge.estimators.incremental.updates import require_samples
from hinge.problems import Array
from hinge.validation import check_integer, check_number


class HeteroscedasticSVR(IncrementalSVR):
    """ε-support vector regression with smaller weights for noisy samples.                            Karasuyama (4.30)

    The first fit has equal weights. Then Cᵢ = C σ̂/|eᵢ| is computed from the residuals eᵢ, where σ̂² is their mean
    square, and the exact solution is updated along a path of weights. This is repeated until the residuals converge.

    Parameters
    ----------
    C, epsilon, kernel, degree, gamma, coef0, cache_size, max_time, n_jobs
        As in `IncrementalSVR`.
    max_updates : int, default=50
        Largest number of updates of the weights.
    weight_tol : float, default=1e-3
        Mean relative change of the residuals at which the weights have converged.
    max_weight : float, default=1000.0
        Largest value of σ̂/|eᵢ|, which limits the weights of samples with small residuals.

    Attributes
    ----------
    sample_weight_ : ndarray
        The last weights.
    n_updates_ : int
        Number of updates of the weights.
    residual_changes_ : list of float
        The mean relative change of the residuals at each update.

    Notes
    -----
    The fitted model is an `IncrementalSVR` with these weights. It can be updated, and `certificate_` is that of the
    weighted problem.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.recipes import HeteroscedasticSVR
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0, 1, 60)[:, None]; noise = np.where(X[:, 0] < 0.5, 0.01, 0.5)
    >>> model = HeteroscedasticSVR(C=1.0, gamma=5.0, epsilon=0.01).fit(X, X[:, 0] + noise * rng.normal(size=60))
    >>> bool(model.sample_weight_[:30].mean() > model.sample_weight_[30:].mean())
    True
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
        """Train on X with targets y, first with equal weights, then with weights computed from the residuals."""
        with rollback(self):
            super().fit(X, y)
            before = self._residuals()
            self.residual_changes_: list[float] = []
            converged = False
            while not converged and len(self.residual_changes_) < self.max_updates:
                self.reweight(self._weights(before))
                after = self._residuals()
                self.residual_changes_.append(_change(before, after))
                converged = self.residual_changes_[-1] <= self.weight_tol
                before = after
            self.sample_weight_ = self._w.copy()
            self.n_updates_ = len(self.residual_changes_)
        if not converged:
            warnings.warn(
                f"the weights did not converge in max_updates={self.max_updates} updates: the residuals still "
                f"change by {self.residual_changes_[-1]:.2g} on average, weight_tol={self.weight_tol:g}. The model has "
                "the last weights",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Add samples of weight 1; the other weights do not change. The first call is `fit`."""
        require_samples(X)
        return self.update(X, y) if hasattr(self, "model_") else self.fit(X, y)

    def _residuals(self) -> Array:
        """Return y − f at the training samples; no kernel value is computed."""
        return self._y - self._window(self.model_.kernel).decisions()

    def _weights(self, residuals: Array) -> Array:
        """Return σ̂/|e|, at most `max_weight`."""
        absolute = np.abs(residuals)
        sigma = float(np.sqrt(np.mean(absolute**2)))
        if sigma == 0:
            return np.ones_like(absolute)
        return sigma / np.maximum(absolute, sigma / self.max_weight)


def _change(before: Array, after: Array) -> float:
    """Return the mean of |(eᵒˡᵈ − e)/eᵒˡᵈ| over the residuals that are not zero."""
    nonzero = np.abs(before) > 1e-12 * np.max(np.abs(before), initial=0.0)
    if not nonzero.any():
        return 0.0
    return float(np.mean(np.abs((before[nonzero] - after[nonzero]) / before[nonzero])))
