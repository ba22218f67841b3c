"""Covariate shift: a path from equal weights to importance weights.    Karasuyama 4.4.3, (427)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.control import RunControl
from hinge.paths import SolutionPath, weight_path
from hinge.paths.validation_error import Best, PiecewiseQuadratic, StepFunction
from hinge.problems import Array
from hinge.recipes.density_ratio import DensityRatio, density_ratio

#: Share of the time limit for the density ratio.
RATIO_TIME_SHARE = 0.4


@dataclass(frozen=True)
class CovariateShift:
    """Path from equal weights (θ = 0) to importance weights (θ = 1), and the density ratio that defines them.

    Attributes
    ----------
    path : SolutionPath
        Over θ.
    ratio : DensityRatio
    weights : ndarray
        Importance weights of the training samples, with mean 1.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.recipes import covariate_shift_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 1)); y = X[:, 0] > 0.3 * rng.normal(size=80)
    >>> shift = covariate_shift_path(X, y, 1 + 0.5 * rng.normal(size=(80, 1)), gamma=1.0, n_centers=20)
    >>> type(shift).__name__, round(float(shift.weights.mean()), 6)
    ('CovariateShift', 1.0)
    """

    path: SolutionPath
    ratio: DensityRatio
    weights: Array

    def validation_error(self, X: Any, y: Any, *, weighted: bool = True) -> StepFunction | PiecewiseQuadratic:
        """Return the error on other data as an exact function of θ.

        `weighted`: whether the data have the distribution of the training data and are weighted by their importance
        weights. False if they have the target distribution.
        """
        return self.path.validation_error(X, y, self.ratio(X) + 1e-12 if weighted else None)

    def best(self, X: Any, y: Any, *, weighted: bool = True) -> Best:
        """Return the exact minimizer of the validation error: (low, high, error), and `theta` inside the interval."""
        return self.validation_error(X, y, weighted=weighted).best()

    def model(self, theta: float) -> Any:
        """Return the model at θ."""
        return self.path.model(theta)


def covariate_shift_path(
    X: Any,
    y: Any,
    X_target: Any,
    *,
    C: float = 1.0,
    method: str = "ulsif",
    n_centers: int = 100,
    random_state: Any = 0,
    max_time: float | None = None,
    **options: Any,
) -> CovariateShift:
    """Compute the path from equal weights to importance weights.

    Importance weights remove the bias of a covariate shift but increase the variance. The best weights are often
    between equal and importance weights. They can be selected with a validation set, because the path contains all
    solutions.

    Parameters
    ----------
    X, y
        Training data. `y` contains class labels, or real targets with ``task="regression"``.
    X_target : array-like
        Inputs of the target distribution, without labels.
    C : float
    method, n_centers, random_state
        As in `density_ratio`.
    max_time : float, optional
        Seconds for the density ratio and the path.
    **options
        As in `weight_path`: kernel, gamma, task, epsilon, ...

    Returns
    -------
    CovariateShift

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.recipes import covariate_shift_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 1)); y = X[:, 0] > 0.3 * rng.normal(size=80)
    >>> shift = covariate_shift_path(X, y, 1 + 0.5 * rng.normal(size=(80, 1)), gamma=1.0, n_centers=20)
    >>> shift.path.low, shift.path.high, bool(shift.weights[X[:, 0] > 0.5].mean() > 1)
    (0.0, 1.0, True)
    """
    control = RunControl(max_time)
    share = None if max_time is None else RATIO_TIME_SHARE * max_time
    ratio = density_ratio(
        X, X_target, method=method, n_centers=n_centers, random_state=random_state, max_time=share
    )
    importance = ratio(X)
    mean = float(np.mean(importance))
    if not mean > 0:
        raise ValueError(
            "all importance weights are zero: X and X_target do not overlap, so weights cannot correct the shift"
        )
    weights = importance / mean
    return CovariateShift(weight_path(X, y, 1.0, weights, C=C, max_time=control.remaining(), **options), ratio, weights)
