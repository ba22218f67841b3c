"""Exact solutions of classification and novelty detection with one added sample.      docs/math (528)"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.conformal.scores import count_at_least
from hinge.estimators.common.validation import take
from hinge.kernels import Kernel
from hinge.paths.window import Window, stack
from hinge.problems import Array, Status
from hinge.problems.parametric import Values

#: Rounding errors of a score, relative to the largest possible sum |β|ᵀ|k|. Scores that differ by less are ties.
ROUNDING = 1e-14


class Scores(NamedTuple):
    """Scores of the training samples and of the new sample, and the rounding error that they may have."""

    training: Array
    own: float
    rounding: float

    def p_value(self, compared: Any = slice(None)) -> float:
        """Share of the compared scores that are at least as large as that of the new sample, which is one of them."""
        scores = self.training[compared]
        return float(1.0 + count_at_least(scores, np.array([self.own]), self.rounding)[0]) / (1 + len(scores))


def _rounding(window: Window, n: int, position: int) -> float:
    """Bound on the rounding errors of f at the first n samples and at one more."""
    assert window.access is not None
    used = np.append(np.arange(n), position)
    norm = np.sqrt(np.maximum(window.access.diagonal()[used], 0.0))
    return ROUNDING * float(norm.max() * (np.abs(window.engine.active_set.beta[used]) @ norm))


class LabelAddition:
    """Scores of the training samples and of one added sample, for each label of the latter.

    There is one window for each pair of classes. It contains the new samples with cost zero, and the training samples
    of both classes. Adding a sample is a short path, and the snapshot before it is restored.

    Parameters
    ----------
    kernel, X, label
        Training samples and the indices of their classes.
    cost : ndarray
        Cost of each training sample.
    new_cost : ndarray
        Cost of an added sample of each class.
    new : array-like
        Samples that are added one at a time.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        label: NDArray[np.intp],
        cost: Array,
        new_cost: Array,
        new: Any,
        cache_size: float | str = "auto",
    ) -> None:
        self.label, self.new_cost, self.n_classes = label, new_cost, len(new_cost)
        self.windows: dict[tuple[int, int], Window] = {}
        self.rows: dict[tuple[int, int], NDArray[np.intp]] = {}
        #: Decision values of every sample for its own class against each other class.
        self.margins = np.full((len(label), self.n_classes), np.inf)
        m = new.shape[0]
        for pair in combinations(range(self.n_classes), 2):
            rows = np.flatnonzero((label == pair[0]) | (label == pair[1]))
            sign = np.where(label[rows] == pair[0], 1.0, -1.0)
            samples, costs = stack(take(X, rows), new), np.append(cost[rows], np.zeros(m))
            window = Window(kernel, samples, np.append(sign, np.ones(m)), costs, cache_size=cache_size)
            self.windows[pair], self.rows[pair] = window, rows
            values = sign * window.decisions()[: len(rows)]
            self.margins[rows, np.where(sign > 0, pair[1], pair[0])] = values

    def scores(self, t: int, c: int) -> Scores:
        """Scores of the training samples and of new sample t if it is added with class c."""
        margins, own, rounding = self.margins.copy(), np.inf, 0.0
        for other in range(self.n_classes):
            if other == c:
                continue
            pair = (min(c, other), max(c, other))
            rows, sign = self.rows[pair], 1.0 if c == pair[0] else -1.0
            added = self._added(self.windows[pair], len(rows), t, sign, float(self.new_cost[c]))
            values, own_value, rounding = added.training, added.own, max(rounding, added.rounding)
            first = self.label[rows] == pair[0]
            margins[rows, np.where(first, pair[1], pair[0])] = np.where(first, values, -values)
            own = min(own, sign * own_value)
        return Scores(-margins.min(axis=1), -own, rounding)

    def _added(self, window: Window, n: int, t: int, sign: float, cost: float) -> Scores:
        """Decision values of the n training samples and of sample t after it is added."""
        engine, position = window.engine, n + t
        active, size = engine.active_set, len(window.y)
        snapshot = active.snapshot()
        try:
            if sign < 0:  # its label in the window is +1; the linear term has no effect while both bounds are zero
                linear = np.zeros(size)
                linear[position] = 2.0
                engine.follow_rates(Values(linear, np.zeros(size), np.zeros(size), np.zeros(1)))
            lower, upper = np.zeros(size), np.zeros(size)
            (upper if sign > 0 else lower)[position] = sign * cost
            _, status = engine.follow_rates(Values(np.zeros(size), lower, upper, np.zeros(1)))
            assert status is Status.SOLVED
            f = active.f + window.intercept
            return Scores(f[:n], float(f[position]), _rounding(window, n, position))
        finally:
            active.restore(snapshot)

    def p_value(self, t: int, c: int, class_conditional: bool) -> float:
        """The p-value of class c for new sample t."""
        return self.scores(t, c).p_value(self.label == c if class_conditional else slice(None))


class SampleAddition:
    """Scores of the training samples and of one added sample in a one-class model.

    The window contains the new samples with weight zero. Along a short path the weight of one of them grows to 1, and
    the sum of the coefficients by ν.

    Parameters
    ----------
    kernel, X, weight
        Training samples and their weights.
    nu : float
    new : array-like
        Samples that are added one at a time.
    """

    def __init__(self, kernel: Kernel, X: Any, weight: Array, nu: float, new: Any, cache_size: float | str = "auto"):
        self.n, self.nu, m = len(weight), nu, new.shape[0]
        costs = np.append(weight, np.zeros(m))
        samples = stack(X, new)
        self.window = Window(
            kernel, samples, np.ones(len(costs)), costs, task="one_class", nu=nu, cache_size=cache_size
        )

    def scores(self, t: int) -> Scores:
        """Scores of the training samples and of new sample t if it is added: −f, without the offset of all samples."""
        engine, size = self.window.engine, len(self.window.y)
        active, zero, upper = engine.active_set, np.zeros(size), np.zeros(size)
        upper[self.n + t] = 1.0
        snapshot = active.snapshot()
        try:
            _, status = engine.follow_rates(Values(zero, zero, upper, np.array([self.nu])))
            assert status is Status.SOLVED
            position = self.n + t
            return Scores(-active.f[: self.n], -float(active.f[position]), _rounding(self.window, self.n, position))
        finally:
            active.restore(snapshot)

    def p_value(self, t: int) -> float:
        """The p-value of new sample t under the hypothesis that it is an inlier."""
        return self.scores(t).p_value()
