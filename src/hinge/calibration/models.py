"""Calibrations of estimators: functions from decision values to probabilities, fitted to cross-fitted values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge.calibration.agreement import TIE_SHARE, agree, agree_two_classes
from hinge.calibration.coupling import couple
from hinge.calibration.platt import PlattSigmoid, fit_sigmoid

Array = NDArray[np.float64]

MAX_ITER = 50  # Newton steps after which the fit ends
GRADIENT_TOL = 1e-8  # largest component of the gradient of the mean cross-entropy at which the fit has converged
RIDGE = 1e-10  # added to the diagonal of the Hessian: a common shift of all offsets has no effect
MIN_STEP = 1e-10  # step length below which the line search has failed
SUFFICIENT_DECREASE = 1e-4  # share of the decrease predicted by the gradient that a step must reach


@dataclass(frozen=True)
class PairwiseSigmoids:
    """P(first class of the pair | f) = 1 / (1 + exp(A f + B)) for every pair of classes; pairs are coupled.

    Attributes
    ----------
    A, B : ndarray of shape (n_pairs,)
        Positive values of the function f of a pair mean its first class, hence A ≤ 0.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.calibration import PairwiseSigmoids
    >>> calibration = PairwiseSigmoids(A=np.array([-2.0]), B=np.array([0.0]))
    >>> calibration.A
    array([-2.])
    >>> import hinge
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = hinge.SVC(probability=True).fit(X, y)
    >>> type(model.calibration_).__name__, len(model.calibration_.A)
    ('PairwiseSigmoids', 3)
    """

    A: Array
    B: Array

    @classmethod
    def fit(cls, values: Sequence[Array], first: Sequence[Array], weight: Sequence[Array]) -> PairwiseSigmoids:
        """Fit a sigmoid for every pair of classes.

        Parameters
        ----------
        values, first, weight : sequences of arrays
            Of every pair: cross-fitted values of its function at its samples, whether a sample belongs to the first
            class, and sample weights.
        """
        sigmoids = [increasing_sigmoid(*pair) for pair in zip(values, first, weight, strict=True)]
        return cls(np.array([s.A for s in sigmoids]), np.array([s.B for s in sigmoids]))

    def probabilities(self, values: Array, predicted: NDArray[np.intp], n_classes: int) -> Array:
        """Return the probabilities of all classes, (n_samples × n_classes).

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_pairs)
            Positive values mean the first class of a pair.
        predicted : ndarray of int
            Position of the predicted class; it gets the largest probability.
        n_classes : int
        """
        pairs = zip(self.A, self.B, values.T, strict=True)
        pairwise = np.array([PlattSigmoid(A, B).probability(f) for A, B, f in pairs]).T
        if n_classes > 2:
            return agree(couple(pairwise, n_classes), predicted)
        own = np.where(predicted == 0, pairwise[:, 0], 1.0 - pairwise[:, 0])
        own = agree_two_classes(own, values[:, 0])
        first = np.where(predicted == 0, own, 1.0 - own)
        return np.column_stack([first, 1.0 - first])


def increasing_sigmoid(values: Array, positive: Array, weight: Array) -> PlattSigmoid:
    """Fit Platt's sigmoid with A ≤ 0: if the maximum of the likelihood has A > 0, the best sigmoid is constant."""
    sigmoid = fit_sigmoid(values, positive, weight)
    return sigmoid if sigmoid.A < 0 else fit_sigmoid(np.zeros(len(values)), positive, weight)


@dataclass(frozen=True)
class SoftmaxScaling:
    """P(class k | f) ∝ exp(s f_k + b_k): temperature scaling with one offset per class.

    Attributes
    ----------
    scale : float
        s, the inverse of the temperature; not negative.
    offset : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.calibration import SoftmaxScaling
    >>> calibration = SoftmaxScaling(scale=2.0, offset=np.zeros(3))
    >>> calibration.probabilities(np.array([[1.0, 0.0, 0.0]]), predicted=np.array([0])).round(3)
    array([[0.787, 0.107, 0.107]])
    """

    scale: float
    offset: Array

    @classmethod
    def fit(cls, values: Array, label: NDArray[np.intp], weight: Array) -> SoftmaxScaling:
        """Fit scale and offsets by maximum likelihood to cross-fitted values.

        The targets are smoothed as in Platt's method: (N_k + 1) / (N_k + K) for the class k of a sample and
        1 / (N_k + K) for the others, so that separated classes have finite coefficients.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_classes)
        label : ndarray of int
            Position of the class of every sample.
        weight : ndarray of shape (n_samples,)
        """
        n, K = values.shape
        counts = np.bincount(label, weights=weight, minlength=K)
        target = np.repeat((1.0 / (counts[label] + K))[:, None], K, axis=1)
        target[np.arange(n), label] *= counts[label] + 1.0
        unit = float(np.std(values)) or 1.0
        theta = _fit_softmax(values / unit, target, weight / float(weight.sum()))
        if theta[0] < 0:  # the best function with s ≥ 0 is constant
            theta = _fit_softmax(np.zeros_like(values), target, weight / float(weight.sum()))
        return cls(float(theta[0]) / unit, theta[1:] - theta[1:].mean())

    def probabilities(self, values: Array, predicted: NDArray[np.intp]) -> Array:
        """Return the probabilities of all classes; that of the predicted class is the largest."""
        z = self.scale * values + self.offset
        p = np.exp(z - z.max(axis=1, keepdims=True))
        return agree(p / p.sum(axis=1, keepdims=True), predicted)


def _fit_softmax(f: Array, target: Array, weight: Array) -> Array:
    """Return (s, b) that minimize the cross-entropy of softmax(s f + b), by Newton's method with backtracking."""
    K = f.shape[1]
    theta = np.zeros(K + 1)
    p, value = _cross_entropy(f, target, weight, theta)
    for _ in range(MAX_ITER):
        residual, weighted = weight[:, None] * (p - target), weight[:, None] * p
        gradient = np.concatenate([[float(np.sum(residual * f))], residual.sum(axis=0)])
        if float(np.max(np.abs(gradient))) < GRADIENT_TOL:
            break
        mean = np.sum(p * f, axis=1, keepdims=True)
        hessian = np.empty((K + 1, K + 1))
        hessian[1:, 1:] = np.diag(weighted.sum(axis=0)) - p.T @ weighted
        hessian[0, 1:] = hessian[1:, 0] = np.sum(weighted * (f - mean), axis=0)
        hessian[0, 0] = float(np.sum(weighted * (f - mean) ** 2))
        step = -np.linalg.solve(hessian + RIDGE * np.eye(K + 1), gradient)
        length, slope = 1.0, float(gradient @ step)
        while length >= MIN_STEP:
            trial, new_value = _cross_entropy(f, target, weight, theta + length * step)
            if new_value <= value + SUFFICIENT_DECREASE * length * slope:
                break
            length *= 0.5
        else:
            break
        theta, p, value = theta + length * step, trial, new_value
    return theta


def _cross_entropy(f: Array, target: Array, weight: Array, theta: Array) -> tuple[Array, float]:
    """Probabilities softmax(s f + b), and −Σ w Σ t log p."""
    z = theta[0] * f + theta[1:]
    z -= z.max(axis=1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return np.exp(log_p), -float(weight @ np.sum(target * log_p, axis=1))


@dataclass(frozen=True)
class OneVsRestSigmoids:
    """P(class k | f) ∝ 1 / (1 + exp(A_k f_k + B_k)): Platt's sigmoid of every class against the rest, normalized.

    Attributes
    ----------
    A, B : ndarray of shape (n_classes,)
        A ≤ 0.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.calibration import OneVsRestSigmoids
    >>> calibration = OneVsRestSigmoids(A=np.full(3, -2.0), B=np.zeros(3))
    >>> calibration.probabilities(np.array([[1.0, -1.0, -1.0]]), predicted=np.array([0])).round(3)
    array([[0.787, 0.107, 0.107]])
    """

    A: Array
    B: Array

    @classmethod
    def fit(cls, values: Array, label: NDArray[np.intp], weight: Array) -> OneVsRestSigmoids:
        """Fit a sigmoid for every class; parameters as in `SoftmaxScaling.fit`."""
        sigmoids = [increasing_sigmoid(f, label == k, weight) for k, f in enumerate(values.T)]
        return cls(np.array([s.A for s in sigmoids]), np.array([s.B for s in sigmoids]))

    def probabilities(self, values: Array, predicted: NDArray[np.intp]) -> Array:
        """Return the probabilities of all classes; that of the predicted class is the largest."""
        classes = zip(self.A, self.B, values.T, strict=True)
        p = np.array([PlattSigmoid(A, B).probability(f) for A, B, f in classes]).T
        p = np.maximum(p, np.finfo(np.float64).tiny)  # a row of zeros cannot be normalized
        return agree(p / p.sum(axis=1, keepdims=True), predicted)


def fit_one_vs_rest(values: Array, label: NDArray[np.intp], weight: Array) -> SoftmaxScaling | OneVsRestSigmoids:
    """Fit both calibrations of one-vs-rest values, and return the one with the smaller log loss on these values."""
    found: list[SoftmaxScaling | OneVsRestSigmoids] = [
        SoftmaxScaling.fit(values, label, weight),
        OneVsRestSigmoids.fit(values, label, weight),
    ]
    predicted, rows = np.argmax(values, axis=1), np.arange(len(label))
    losses = []
    for calibration in found:
        p = calibration.probabilities(values, predicted)[rows, label]
        losses.append(-float(weight @ np.log(np.maximum(p, np.finfo(np.float64).tiny))))
    return found[int(np.argmin(losses))]


@dataclass(frozen=True)
class RankedScores:
    """Scores of training samples by models that were trained without them, in ascending order: p-values of novelty.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.calibration import RankedScores
    >>> RankedScores(np.array([0.1, 0.2, 0.5, 0.9])).p_values(np.array([0.0, 0.3, 1.0]))
    array([0.2, 0.6, 1. ])
    """

    scores: Array

    @classmethod
    def fit(cls, values: Array) -> RankedScores:
        """Sort cross-fitted decision values."""
        return cls(np.sort(values))

    def p_values(self, values: Array) -> Array:
        """Return (1 + number of scores ≤ value) / (n + 1): small for novelties."""
        return np.asarray((1.0 + np.searchsorted(self.scores, values, side="right")) / (len(self.scores) + 1.0))

    def probabilities(self, values: Array) -> Array:
        """Return probabilities of outliers and inliers, (n_samples × 2).                             docs/math (742)

        They are a piecewise linear function of the p-value that is ½ where the decision value is zero.
        """
        p, boundary = self.p_values(values), float(self.p_values(np.zeros(1))[0])
        scale = len(self.scores) + 1.0
        below = (1.0 + np.searchsorted(self.scores, 0.0, side="left")) / scale
        outside = 0.5 * p / below
        inside = 1.0 - 0.5 * (1.0 - p) / max(1.0 - boundary, 1.0 / scale)
        inlier = np.where(values >= 0, np.clip(inside, 0.5 + TIE_SHARE, 1.0), np.clip(outside, 0.0, 0.5 - TIE_SHARE))
        return np.column_stack([1.0 - inlier, inlier])
