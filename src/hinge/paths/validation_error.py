"""Validation errors as exact functions of the parameter of a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge.problems import Array

#: Relative width of a piece below which its two ends are treated as one step that rounding errors have divided.
MIN_WIDTH = 1e-12


class _Interval(NamedTuple):
    low: float
    high: float
    error: float


class Best(_Interval):
    """Interval from low to high in which an error is smallest.

    At the ends of the interval a decision value is zero. `theta` is inside, as far as possible from all values of the
    parameter at which a decision value is zero. Single points, at which labels may differ from those on both sides, are
    ignored.

    Examples
    --------
    >>> from hinge.paths import Best
    >>> best = Best(low=1.0, high=3.0, error=0.05, theta=2.0)
    >>> low, high, error = best
    >>> low, high, error, best.theta
    (1.0, 3.0, 0.05, 2.0)
    """

    theta: float

    def __new__(cls, low: float, high: float, error: float, theta: float | None = None) -> Best:
        """`theta` is the middle of the interval if None."""
        self = super().__new__(cls, low, high, error)
        self.theta = middle(low, high) if theta is None else theta
        return self


def middle(low: float, high: float) -> float:
    """Return the middle of an interval, of the logarithms if low > 0."""
    return float(min(max(np.sqrt(low) * np.sqrt(high), low), high) if low > 0 else 0.5 * (low + high))


def _summary(name: str, knots: Array, best: Best) -> str:
    interval = f"over [{knots[0]:g}, {knots[-1]:g}], {len(knots)} knots"
    return f"<{name} {interval}: minimum {best.error:.6g} at {best.theta:.6g}>"


@dataclass(frozen=True)
class StepFunction:
    """Function with the value values[k] on [knots[k], knots[k + 1]); the last piece includes knots[-1].

    The values on both sides of a knot may be equal: then the predictions change there, but not the number of errors.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.paths import StepFunction
    >>> error = StepFunction(knots=np.array([0.0, 1.0, 3.0]), values=np.array([0.2, 0.1]))
    >>> error(0.5), error(2.0)
    (0.2, 0.1)
    >>> error.best().low, error.best().high
    (1.0, 3.0)
    """

    knots: Array
    values: Array

    def __repr__(self) -> str:
        return _summary("step function", self.knots, self.best())

    def __call__(self, theta: ArrayLike) -> Array | float:
        """Return the value at θ."""
        theta = np.asarray(theta, dtype=np.float64)
        piece = np.clip(np.searchsorted(self.knots, theta, side="right") - 1, 0, len(self.values) - 1)
        values = self.values[piece]
        return float(values) if theta.ndim == 0 else values

    def best(self) -> Best:
        """Return the smallest value, the longest interval (in log θ if θ > 0) with this value, and a θ inside.

        Steps at the same θ are separated by rounding errors: values between them are ignored.
        """
        logs = bool(self.knots[0] > 0)
        wide = np.diff(self.knots) > MIN_WIDTH * (self.knots[1:] if logs else self.knots[-1] - self.knots[0])
        wide |= not wide.any()
        smallest = float(np.min(self.values[wide]))
        hit = wide & (self.values == smallest)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], hit, [False]]).astype(int)))
        scale = np.log(self.knots) if logs else self.knots
        widest = int(np.argmax(scale[edges[1::2]] - scale[edges[::2]]))
        first, last = edges[2 * widest], edges[2 * widest + 1]
        k = int(first + np.argmax(np.diff(scale[first : last + 1])))
        low, high, left, right = (float(self.knots[i]) for i in (first, last, k, k + 1))
        return Best(low, high, smallest, middle(left, right) if logs else 0.5 * (left + right))

    @classmethod
    def of_steps(
        cls, low: float, high: float, first: float, at: Array, step: Array, blur: Array | None = None
    ) -> StepFunction:
        """Return the function on [low, high] with the value `first` at low and jumps `step` at `at`.

        `blur`: the uncertainty of every entry of `at`. Jumps whose intervals overlap are merged.   docs/math (482)
        """
        order = np.argsort(at, kind="stable")
        at, value = np.clip(at[order], low, high), first + np.cumsum(step[order])
        begins, ends = (at, at) if blur is None else (at - blur[order], at + blur[order])
        apart = begins[1:] > np.maximum.accumulate(ends)[:-1]
        heads = np.flatnonzero(np.append(True, apart)) if len(at) else np.empty(0, dtype=int)
        tails = np.append(heads[1:] - 1, len(at) - 1) if len(at) else heads
        knots = np.concatenate([[low], at[heads], [high]])
        values = np.concatenate([[first], value[tails]])
        full = np.diff(knots) > 0
        full[-1] |= not full.any()
        return cls(np.append(knots[:-1][full], high), values[full])

    def counted(self, weight: Array) -> StepFunction:
        """Return the function without the rounding errors of a cumulative sum, if all weights are equal."""
        unit = float(np.min(weight[weight > 0]))
        if not np.allclose(weight, unit):
            return self
        return StepFunction(self.knots, np.rint(self.values / unit) / len(weight))

    @staticmethod
    def mean(functions: list[StepFunction], weights: ArrayLike | None = None) -> StepFunction:
        """Return the (weighted) mean of functions on their common interval."""
        weight = np.full(len(functions), 1.0 / len(functions)) if weights is None else np.asarray(weights, dtype=float)
        low, high = max(f.knots[0] for f in functions), min(f.knots[-1] for f in functions)
        knots = np.unique(np.concatenate([f.knots for f in functions]))
        knots = np.concatenate([[low], knots[(knots > low) & (knots < high)], [high]])
        values = sum(w * np.asarray(f(knots[:-1])) for f, w in zip(functions, weight, strict=True))
        return StepFunction(knots, np.asarray(values))


@dataclass(frozen=True)
class PiecewiseQuadratic:
    """Function a + b t + c t², t = θ − knots[k], on [knots[k], knots[k + 1]], with (a, b, c) = coefficients[k].

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.paths import PiecewiseQuadratic
    >>> error = PiecewiseQuadratic(knots=np.array([0.0, 2.0]), coefficients=np.array([[1.0, -2.0, 1.0]]))
    >>> error(0.5), error.best().theta
    (0.25, 1.0)
    """

    knots: Array
    coefficients: Array

    def __repr__(self) -> str:
        return _summary("piecewise quadratic function", self.knots, self.best())

    @property
    def values(self) -> Array:
        """Values at the knots."""
        last = self.coefficients[-1] @ np.array([1.0, *(np.diff(self.knots[-2:])[0] ** np.array([1, 2]))])
        return np.append(self.coefficients[:, 0], last)

    def __call__(self, theta: ArrayLike) -> Array | float:
        """Return the value at θ."""
        theta = np.asarray(theta, dtype=np.float64)
        piece = np.clip(np.searchsorted(self.knots, theta, side="right") - 1, 0, len(self.coefficients) - 1)
        t = theta - self.knots[piece]
        a, b, c = np.moveaxis(self.coefficients[piece], -1, 0)
        values = a + t * (b + t * c)
        return float(values) if theta.ndim == 0 else values

    def best(self) -> Best:
        """Return the minimizer, from the vertex of every parabola.                            docs/math (222)"""
        length = np.diff(self.knots)
        a, b, c = self.coefficients.T
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex = np.where(c > 0, np.clip(-b / (2 * c), 0.0, length), np.where(b < 0, length, 0.0))
        value = a + vertex * (b + vertex * c)
        k = int(np.argmin(value))
        minimizer = float(self.knots[k] + vertex[k])
        return Best(minimizer, minimizer, float(value[k]))

    @staticmethod
    def mean(functions: list[PiecewiseQuadratic], weights: ArrayLike | None = None) -> PiecewiseQuadratic:
        """Return the (weighted) mean of functions on their common interval."""
        weight = np.full(len(functions), 1.0 / len(functions)) if weights is None else np.asarray(weights, dtype=float)
        low, high = max(f.knots[0] for f in functions), min(f.knots[-1] for f in functions)
        knots = np.unique(np.concatenate([f.knots for f in functions]))
        knots = np.concatenate([[low], knots[(knots > low) & (knots < high)], [high]])
        total = np.zeros((len(knots) - 1, 3))
        for function, w in zip(functions, weight, strict=True):
            piece = np.clip(np.searchsorted(function.knots, knots[:-1], side="right") - 1, 0, None)
            piece = np.minimum(piece, len(function.coefficients) - 1)
            t = knots[:-1] - function.knots[piece]
            a, b, c = function.coefficients[piece].T
            total += w * np.stack([a + t * (b + t * c), b + 2 * t * c, c], axis=1)
        return PiecewiseQuadratic(knots, total)


@dataclass(frozen=True)
class SignChanges:
    """Sign changes of decision values along a path.

    `first`: whether every value is positive at the start of the path. At `at`, with the uncertainty `blur`, the value
    of sample `column` becomes `positive` or not.
    """

    first: NDArray[np.bool_]
    at: Array
    blur: Array
    column: NDArray[np.intp]
    positive: NDArray[np.bool_]

    def errors(self, truth: NDArray[np.bool_], weight: Array, low: float, high: float) -> StepFunction:
        """Return the weighted error rate: the share of samples whose sign is not `truth`."""
        weight = weight / np.sum(weight)
        steps = np.where(self.positive != truth[self.column], 1.0, -1.0) * weight[self.column]
        first = float(weight @ (self.first != truth))
        return StepFunction.of_steps(low, high, first, self.at, steps, self.blur).counted(weight)


class Crossings:
    """Collector of sign changes over consecutive segments.                                 docs/math (221), (481)"""

    def __init__(self) -> None:
        self.at: list[Array] = []
        self.blur: list[Array] = []
        self.column: list[NDArray[np.intp]] = []
        self.sign: list[NDArray[np.bool_]] = []
        self.first: NDArray[np.bool_] | None = None
        self.positive: NDArray[np.bool_] | None = None  # at the end of the last segment

    def add(
        self, start: Array, stop: Array, at_start: Array, start_tie: Array, at_stop: Array, stop_tie: Array
    ) -> None:
        """Add segments with the decision values at both ends, one row per segment; values up to a tie are zero."""
        before, after = at_start > start_tie, at_stop > stop_tie
        previous = np.vstack([before[:1] if self.positive is None else self.positive[None, :], after[:-1]])
        if self.first is None:
            self.first = before[0]
        rows, columns = np.nonzero(previous != before)
        self._append(start[rows], np.zeros(len(rows)), columns, before[rows, columns])
        rows, columns = np.nonzero(before != after)
        decrease, length = at_start[rows, columns] - at_stop[rows, columns], (stop - start)[rows]
        tie = np.maximum(start_tie[rows, columns], stop_tie[rows, columns])
        with np.errstate(divide="ignore", invalid="ignore"):
            share, blur = at_start[rows, columns] / decrease, tie / np.abs(decrease)
        theta = start[rows] + np.clip(np.nan_to_num(share), 0.0, 1.0) * length
        self._append(theta, np.clip(np.nan_to_num(blur), 0.0, 1.0) * length, columns, after[rows, columns])
        self.positive = after[-1]

    def _append(self, at: Array, blur: Array, columns: NDArray[np.intp], sign: NDArray[np.bool_]) -> None:
        self.at.append(at)
        self.blur.append(blur)
        self.column.append(columns)
        self.sign.append(sign)

    def changes(self) -> SignChanges:
        """Return all sign changes, sorted by the parameter."""
        assert self.first is not None
        at = np.concatenate(self.at)
        order = np.argsort(at, kind="stable")
        blur, column, sign = np.concatenate(self.blur), np.concatenate(self.column), np.concatenate(self.sign)
        return SignChanges(self.first, at[order], blur[order], column[order], sign[order])
