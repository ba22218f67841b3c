"""Smallest changes of training weights and labels that change a prediction.     docs/math (215)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Kernel
from hinge.paths.breakpoints import LOWER, MARGIN, UPPER
from hinge.paths.leave_one_out import has_unique_offset
from hinge.paths.window import Window, stack
from hinge.problems import Array, ParametricProblem
from hinge.problems.parametric import Values, constant

#: Variables within this share of their cost are at their bounds.
AT_BOUND = 1e-9


@dataclass(frozen=True, eq=False)
class Flip:
    """Changes of single training samples that change the prediction at one point.

    Attributes
    ----------
    value : float
        Decision value at the point.
    weight : ndarray
        For each sample the weight, relative to its present weight, at which the decision value vanishes; the closest
        one to 1. NaN if no weight from 0 to `max_weight` changes the prediction. If the decision value jumps, because b
        is not unique there, the weight at the jump; 0 if only the removal of the sample changes the prediction.
    value_without : ndarray
        Decision value if the sample is removed; NaN if it is the only sample of its class.
    value_relabelled : ndarray
        Decision value if the sample has the other label; NaN if it is the only sample of its class.
    max_weight : float
    """

    value: float
    weight: Array
    value_without: Array
    value_relabelled: Array
    max_weight: float

    @property
    def relabel(self) -> NDArray[np.bool_]:
        """Whether the prediction changes if the sample has the other label."""
        with np.errstate(invalid="ignore"):
            return self.value_relabelled * self.value < 0

    @property
    def ranking(self) -> NDArray[np.intp]:
        """Positions of the samples whose weights can change the prediction, the smallest change of weight first."""
        change = np.abs(self.weight - 1.0)
        order = np.argsort(change, kind="stable")
        return order[np.isfinite(change[order])]

    def __repr__(self) -> str:
        return (
            f"<Flip of decision value {self.value:.6g}: {len(self.ranking)} samples by weight, "
            f"{int(self.relabel.sum())} by label>"
        )


class FlipSearch:
    """Exact paths of the decision value at a point x while the weight or the label of one sample changes.

    x is in the window with cost zero, as the last sample. `other_cost` contains the costs that the samples would have
    with the other label.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        y: Array,
        cost: Array,
        other_cost: Array,
        beta: Array | None,
        x: Any,
        cache_size: float | str = "auto",
    ) -> None:
        start = None if beta is None else np.append(beta, 0.0)
        self.window = Window(
            kernel, stack(X, x), np.append(y, 1.0), np.append(cost, 0.0), beta=start, cache_size=cache_size
        )
        self.n, self.engine, self.other_cost = len(y), self.window.engine, other_cost
        self.value = self._value()
        self._snapshot = self.engine.active_set.snapshot()
        assert self.window.access is not None
        point = np.array([self.n])
        self._row = self.window.access.block(point, np.arange(self.n + 1))[0]

    def _value(self) -> float:
        return float(self.engine.active_set.f[self.n] + self.window.intercept)

    def search(self, max_weight: float) -> Flip:
        """Search the changes of all samples."""
        y, cost = self.window.y[: self.n], self.window.cost[: self.n]
        beta, n = self.window.beta[: self.n], self.n
        weight, without, relabelled = np.full(n, np.nan), np.full(n, self.value), np.full(n, np.nan)
        bounds = self.window._parametric(constant(self.window.cost)).at(0.0)
        affects = (beta != 0) | (not has_unique_offset(self.engine, bounds))
        for i in range(n):
            if cost[i] == 0:
                without[i] = self.value
                continue
            if np.sum((y == y[i]) & (cost > 0)) == 1:
                without[i] = np.nan
                continue
            down = up = np.nan
            try:
                if affects[i]:
                    down = 1.0 - self._crossing(i, -1.0)
                    without[i] = self._value()
                self._relabel(i, removed=bool(affects[i]))
                relabelled[i] = self._value()
            finally:
                self.engine.active_set.restore(self._snapshot)
            if abs(beta[i]) >= (1 - AT_BOUND) * cost[i] and max_weight > 1:
                try:
                    up = 1.0 + self._crossing(i, max_weight - 1.0)
                finally:
                    self.engine.active_set.restore(self._snapshot)
            changes = [each for each in (down, up) if np.isfinite(each)]
            if changes:
                weight[i] = min(changes, key=lambda each: abs(each - 1.0))
        return Flip(self.value, weight, without, relabelled, max_weight)

    def _crossing(self, i: int, change: float) -> float:
        """Follow the weight of sample i to 1 + change; return |w − 1| where the value vanishes, NaN if nowhere."""
        window, size = self.window, self.n + 1
        rate = np.sign(change) * window.y[i] * window.cost[i]
        lower, upper, none = np.zeros((2, size)), np.zeros((2, size)), np.zeros((2, size))
        (upper if window.y[i] > 0 else lower)[1, i] = rate
        parametric = ParametricProblem(none, lower, upper, np.zeros((2, 1)), self.engine.group, np.ones(size))
        f = float(self.engine.active_set.f[self.n])
        pieces, _, _, _ = self.engine.follow(parametric, 0.0, abs(change))
        assert pieces is not None
        moving = UPPER if window.y[i] > 0 else LOWER
        for k in range(len(pieces)):
            part = slice(pieces.offset[k], pieces.offset[k + 1])
            length = float(pieces.stop[k] - pieces.start[k])
            slope = float(self._row[pieces.margin[part]] @ pieces.rate[part])
            place = pieces.places(k)[i]
            if place == moving and place != MARGIN:
                slope += rate * float(self._row[i])
            start = f + float(pieces.mu[k, 0])
            if start * self.value <= 0:
                return float(pieces.start[k])
            step = slope + float(pieces.mu_rate[k, 0])
            if (start + step * length) * self.value <= 0:
                return float(pieces.start[k]) - start / step
            f += slope * length
        # The offset may jump at the end: without the sample, or if all variables are at bounds there.
        return abs(change) if self._value() * self.value <= 0 else float("nan")

    def _relabel(self, i: int, removed: bool) -> None:
        """Remove sample i, if it is not removed yet, and add it with the other label."""
        y, cost, zero, total = self.window.y[i], self.window.cost[i], np.zeros(self.n + 1), np.zeros(1)
        other, linear = zero.copy(), zero.copy()
        if not removed:
            bound = zero.copy()
            bound[i] = -y * cost
            self.engine.follow_rates(Values(zero, *((zero, bound) if y > 0 else (bound, zero)), total))
        linear[i] = 2.0 * y  # no effect while both bounds are zero
        self.engine.follow_rates(Values(linear, zero, zero, total))
        other[i] = -y * self.other_cost[i]
        self.engine.follow_rates(Values(zero, *((other, zero) if y > 0 else (zero, other)), total))
