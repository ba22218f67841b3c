"""Training on some inputs, meeting others: from equal weights to importance weights.    Karasuyama 4.4.3, (427)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.paths import SolutionPath, weight_path
from hinge.paths.validation_error import Best, PiecewiseQuadratic, StepFunction
from hinge.problems import Array
from hinge.recipes.density_ratio import DensityRatio, density_ratio


@dataclass(frozen=True)
class CovariateShift:
    """The path from equal weights (θ = 0) to importance weights (θ = 1), and the ratio that they come from.

    Attributes
    ----------
    path : SolutionPath
        Over θ; exact everywhere.
    ratio : DensityRatio
    weights : ndarray
        Importance weights of the training samples, with mean 1.
    """

    path: SolutionPath
    ratio: DensityRatio
    weights: Array

    def validation_error(self, X: Any, y: Any, *, weighted: bool = True) -> StepFunction | PiecewiseQuadratic:
        """The error on other data as an exact function of θ.

        `weighted`: the data are like the training data, so that their importance weights stand for the targets. False:
        they are like the targets.
        """
        return self.path.validation_error(X, y, self.ratio(X) + 1e-12 if weighted else None)

    def best(self, X: Any, y: Any, *, weighted: bool = True) -> Best:
        """The exact minimiser of the validation error: (low, high, error), and `theta`: how far to go."""
        return self.validation_error(X, y, weighted=weighted).best()

    def model(self, theta: float) -> Any:
        """The machine at θ."""
        return self.path.model(theta)

    def _check_loaded(self) -> None:
        """The parts belong together (they may come from a file)."""
        self.path._check_loaded()
        self.ratio._check_loaded()
        n, d = self.path.X.shape
        if self.weights.shape != (n,) or self.weights.dtype != np.float64 or self.ratio.centers.shape[1] != d:
            raise ValueError("the internal representation of the covariate shift was altered")


def covariate_shift_path(
    X: Any,
    y: Any,
    X_target: Any,
    *,
    C: float = 1.0,
    method: str = "ulsif",
    n_centers: int = 100,
    random_state: Any = 0,
    **options: Any,
) -> CovariateShift:
    """Follow the solution while equal weights become importance weights.

    Importance weights remove the bias of a shift and add variance; somewhere between is best. The whole way between is
    followed here, so that a validation set can choose among all of it.

    Parameters
    ----------
    X, y
        Training data with labels (or numbers, with ``task="regression"``).
    X_target : array-like
        Inputs like those the machine will meet; no labels.
    C : float
    method, n_centers, random_state
        As in `density_ratio`.
    **options
        As in `weight_path`: kernel, gamma, task, epsilon, max_time, ...

    Returns
    -------
    CovariateShift
    """
    ratio = density_ratio(X, X_target, method=method, n_centers=n_centers, random_state=random_state)
    importance = ratio(X)
    mean = float(np.mean(importance))
    if not mean > 0:
        raise ValueError(
            "no training sample is likely among the targets: X and X_target do not overlap, and weights cannot help"
        )
    weights = importance / mean
    return CovariateShift(weight_path(X, y, 1.0, weights, C=C, **options), ratio, weights)
