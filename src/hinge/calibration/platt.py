"""Platt's sigmoid: the probability of the positive class as a function of the decision value.

The maximum-likelihood problem is solved by Newton's method with backtracking [Lin, Lin and Weng, A note on Platt's
probabilistic outputs for support vector machines, 2007].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

MAX_ITER = 100  # Newton steps after which the fit ends without convergence
MIN_STEP = 1e-10  # step length below which the line search has failed
RIDGE = 1e-12  # added to the diagonal of the Hessian, which may be singular
GRADIENT_TOL = 1e-5  # largest component of the gradient at which the fit has converged
SUFFICIENT_DECREASE = 1e-4  # share of the decrease predicted by the gradient that a step must reach


@dataclass(frozen=True)
class PlattSigmoid:
    """P(y = 1 | f) = 1 / (1 + exp(A f + B)).

    Attributes
    ----------
    A, B : float
        A is negative if larger decision values mean the positive class.
    status : {"converged", "line search failed", "iteration limit"}
        How the fit ended.
    """

    A: float
    B: float
    status: str = "converged"

    def probability(self, values: ArrayLike) -> Array:
        """Probability of the positive class at these decision values."""
        return _logistic(self.A * np.asarray(values, dtype=np.float64) + self.B)


def fit_sigmoid(values: ArrayLike, positive: ArrayLike, sample_weight: ArrayLike | None = None) -> PlattSigmoid:
    """Fit the sigmoid by maximum likelihood.

    The targets are Platt's: (N₊ + 1) / (N₊ + 2) for positive samples and 1 / (N₋ + 2) for the others, instead of 1
    and 0, so that separable values do not give infinite coefficients.

    Parameters
    ----------
    values : array-like of shape (n,)
        Decision values of samples that were not used for training.
    positive : array-like of bool
        Whether each sample belongs to the positive class.
    sample_weight : array-like, optional
        A weight of 2 has the effect of repeating the sample.

    Examples
    --------
    >>> from hinge.calibration import fit_sigmoid
    >>> sigmoid = fit_sigmoid([-2.0, -1.0, 0.5, 1.0, 2.0], [False, False, False, True, True])
    >>> [round(float(p), 2) for p in sigmoid.probability([-2.0, 0.0, 2.0])]
    [0.13, 0.38, 0.72]
    """
    f = np.asarray(values, dtype=np.float64)
    is_positive = np.asarray(positive, dtype=bool)
    weight = np.ones(len(f)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    n_positive, n_negative = float(weight[is_positive].sum()), float(weight[~is_positive].sum())
    target = np.where(is_positive, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    A, B = 0.0, float(np.log((n_negative + 1.0) / (n_positive + 1.0)))
    value = _negative_log_likelihood(A * f + B, target, weight)
    for _ in range(MAX_ITER):
        p = _logistic(A * f + B)
        slope, curvature = weight * (target - p), weight * p * (1.0 - p)
        g1, g2 = float(slope @ f), float(slope.sum())
        if abs(g1) < GRADIENT_TOL and abs(g2) < GRADIENT_TOL:
            return PlattSigmoid(A, B)
        h11, h22 = float(curvature @ (f * f)) + RIDGE, float(curvature.sum()) + RIDGE
        h21 = float(curvature @ f)
        determinant = h11 * h22 - h21 * h21
        dA, dB = -(h22 * g1 - h21 * g2) / determinant, -(-h21 * g1 + h11 * g2) / determinant
        predicted, step = g1 * dA + g2 * dB, 1.0
        while step >= MIN_STEP:
            new_A, new_B = A + step * dA, B + step * dB
            new_value = _negative_log_likelihood(new_A * f + new_B, target, weight)
            if new_value < value + SUFFICIENT_DECREASE * step * predicted:
                A, B, value = new_A, new_B, new_value
                break
            step *= 0.5
        else:
            return PlattSigmoid(A, B, "line search failed")
    return PlattSigmoid(A, B, "iteration limit")


def _logistic(z: Array) -> Array:
    """1 / (1 + exp(z)), without overflow."""
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, e, 1.0) / (1.0 + e)


def _negative_log_likelihood(z: Array, target: Array, weight: Array) -> float:
    """−Σ w (t log p + (1 − t) log(1 − p)) with p = 1 / (1 + exp(z)), without cancellation for large |z|."""
    return float(weight @ (np.where(z >= 0, target * z, (target - 1.0) * z) + np.log1p(np.exp(-np.abs(z)))))
