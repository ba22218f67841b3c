"""Calibrations of estimators: functions from decision values to probabilities, fitted to cross-fitted values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from hinge.calibration.agreement import STRICT, agree, agree_two_classes
from hinge.calibration.coupling import couple
from hinge.calibration.platt import PlattSigmoid, fit_sigmoid

Array = NDArray[np.float64]

MAX_SCALE = 1e6  # of decision values, relative to their standard deviation; reached by separated classes only


@dataclass(frozen=True)
class PairwiseSigmoids:
    """P(first class of the pair | f) = 1 / (1 + exp(A f + B)) for every pair of classes; pairs are coupled.

    Attributes
    ----------
    A, B : ndarray of shape (n_pairs,)
        Positive values of the function f of a pair mean its first class, hence A ≤ 0.
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
        f, total = values / unit, float(weight.sum())

        def loss(parameters: Array) -> tuple[float, Array]:
            z = parameters[0] * f + parameters[1:]
            z -= z.max(axis=1, keepdims=True)
            norm = np.log(np.exp(z).sum(axis=1, keepdims=True))
            residual = (np.exp(z - norm) - target) * weight[:, None]
            value = float(np.sum(weight[:, None] * target * (norm - z)))
            return value / total, np.concatenate([[np.sum(residual * f)], residual.sum(axis=0)]) / total

        start = np.concatenate([[1.0], np.zeros(K)])
        bounds = [(0.0, MAX_SCALE), *[(None, None)] * K]
        found = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(float(found.x[0]) / unit, found.x[1:] - found.x[1:].mean())

    def probabilities(self, values: Array, predicted: NDArray[np.intp]) -> Array:
        """Return the probabilities of all classes; that of the predicted class is the largest."""
        z = self.scale * values + self.offset
        p = np.exp(z - z.max(axis=1, keepdims=True))
        return agree(p / p.sum(axis=1, keepdims=True), predicted)


@dataclass(frozen=True)
class OneVsRestSigmoids:
    """P(class k | f) ∝ 1 / (1 + exp(A_k f_k + B_k)): Platt's sigmoid of every class against the rest, normalized.

    Attributes
    ----------
    A, B : ndarray of shape (n_classes,)
        A ≤ 0.
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
        p = np.maximum(p, np.finfo(np.float64).tiny)  # a row of zeros has no direction
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
    """Scores of training samples by models that were trained without them, in ascending order: p-values of novelty."""

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
        inlier = np.where(values >= 0, np.clip(inside, 0.5 + STRICT, 1.0), np.clip(outside, 0.0, 0.5 - STRICT))
        return np.column_stack([1.0 - inlier, inlier])
