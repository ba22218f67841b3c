"""Errors on other data as exact functions of the path's parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge.problems import Array

#: Pieces that are narrower than this share of where they are lie between steps at one place.
SLIVER = 1e-12


class Best(NamedTuple):
    """Where an error is smallest: for every parameter in [low, high]."""

    low: float
    high: float
    error: float


@dataclass(frozen=True)
class StepFunction:
    """values[k] on [knots[k], knots[k + 1]); the last piece ends at knots[-1], which belongs to it."""

    knots: Array
    values: Array

    def __call__(self, theta: ArrayLike) -> Array | float:
        """The value at θ."""
        theta = np.asarray(theta, dtype=np.float64)
        piece = np.clip(np.searchsorted(self.knots, theta, side="right") - 1, 0, len(self.values) - 1)
        found = self.values[piece]
        return float(found) if theta.ndim == 0 else found

    def best(self) -> Best:
        """The smallest value and the longest interval (in log θ where θ > 0) on which it is taken.

        Steps that coincide are apart by rounding: what is between them is no value of the function.
        """
        wide = np.diff(self.knots) > SLIVER * np.abs(self.knots[1:])
        wide |= not wide.any()
        smallest = float(np.min(self.values[wide]))
        hit = wide & (self.values == smallest)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], hit, [False]]).astype(int)))
        low, high = self.knots[edges[::2]], self.knots[edges[1::2]]
        width = np.log(high / low) if np.all(low > 0) else high - low
        widest = int(np.argmax(width))
        return Best(float(low[widest]), float(high[widest]), smallest)

    @classmethod
    def of_steps(cls, low: float, high: float, first: float, at: Array, step: Array) -> StepFunction:
        """From jumps `step` at the places `at`, on [low, high], beginning with the value `first`."""
        order = np.argsort(at, kind="stable")
        at, value = np.clip(at[order], low, high), first + np.cumsum(step[order])
        last_of_place = np.flatnonzero(np.append(np.diff(at) > 0, True)) if len(at) else np.empty(0, dtype=int)
        at, value = at[last_of_place], value[last_of_place]
        values = np.concatenate([[first], value])
        knots = np.concatenate([[low], at, [high]])
        full = np.diff(knots) > 0
        full[-1] |= not full.any()
        values, starts = values[full], knots[:-1][full]
        turns = np.concatenate([[True], np.diff(values) != 0])
        return cls(np.append(starts[turns], high), values[turns])

    def counted(self, weight: Array) -> StepFunction:
        """Without the rounding of a running sum, where all weights are the same and values are counts."""
        unit = float(np.min(weight[weight > 0]))
        if not np.allclose(weight, unit):
            return self
        return StepFunction(self.knots, np.rint(self.values / unit) * unit)

    @staticmethod
    def mean(functions: list[StepFunction], weights: ArrayLike | None = None) -> StepFunction:
        """The (weighted) mean of several, on their common interval."""
        weight = np.full(len(functions), 1.0 / len(functions)) if weights is None else np.asarray(weights, dtype=float)
        low, high = max(f.knots[0] for f in functions), min(f.knots[-1] for f in functions)
        knots = np.unique(np.concatenate([f.knots for f in functions]))
        knots = np.concatenate([[low], knots[(knots > low) & (knots < high)], [high]])
        values = sum(w * np.asarray(f(knots[:-1])) for f, w in zip(functions, weight, strict=True))
        return StepFunction(knots, np.asarray(values))


@dataclass(frozen=True)
class PiecewiseQuadratic:
    """On [knots[k], knots[k + 1]] the value a + b t + c t², t = θ − knots[k], with (a, b, c) = coefficients[k]."""

    knots: Array
    coefficients: Array

    @property
    def values(self) -> Array:
        """The values at the knots."""
        last = self.coefficients[-1] @ np.array([1.0, *(np.diff(self.knots[-2:])[0] ** np.array([1, 2]))])
        return np.append(self.coefficients[:, 0], last)

    def __call__(self, theta: ArrayLike) -> Array | float:
        """The value at θ."""
        theta = np.asarray(theta, dtype=np.float64)
        piece = np.clip(np.searchsorted(self.knots, theta, side="right") - 1, 0, len(self.coefficients) - 1)
        t = theta - self.knots[piece]
        a, b, c = np.moveaxis(self.coefficients[piece], -1, 0)
        found = a + t * (b + t * c)
        return float(found) if theta.ndim == 0 else found

    def best(self) -> Best:
        """The minimiser, from the vertex of every parabola.                                   docs/math.md (222)"""
        length = np.diff(self.knots)
        a, b, c = self.coefficients.T
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex = np.where(c > 0, np.clip(-b / (2 * c), 0.0, length), np.where(b < 0, length, 0.0))
        value = a + vertex * (b + vertex * c)
        k = int(np.argmin(value))
        where = float(self.knots[k] + vertex[k])
        return Best(where, where, float(value[k]))

    @staticmethod
    def mean(functions: list[PiecewiseQuadratic], weights: ArrayLike | None = None) -> PiecewiseQuadratic:
        """The (weighted) mean of several, on their common interval."""
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
    """Where decision values become positive or stop being so.

    `first`: which are positive at the beginning. Then, at `at`, that of sample `column` becomes `positive` or not.
    """

    first: NDArray[np.bool_]
    at: Array
    column: NDArray[np.intp]
    positive: NDArray[np.bool_]

    def errors(self, truth: NDArray[np.bool_], weight: Array, low: float, high: float) -> StepFunction:
        """The weighted share of samples whose sign is not `truth`."""
        weight = weight / np.sum(weight)
        steps = np.where(self.positive != truth[self.column], 1.0, -1.0) * weight[self.column]
        return StepFunction.of_steps(low, high, float(weight @ (self.first != truth)), self.at, steps).counted(weight)


class Crossings:
    """Collects sign changes, segment by segment.                                                  docs/math.md (221)"""

    def __init__(self) -> None:
        self.at: list[Array] = []
        self.column: list[NDArray[np.intp]] = []
        self.sign: list[NDArray[np.bool_]] = []
        self.first: NDArray[np.bool_] | None = None
        self.positive: NDArray[np.bool_] | None = None  # at the end of the segment before

    def add(self, start: Array, stop: Array, at_start: Array, at_stop: Array) -> None:
        """Segments with the decision values at both ends, one row per segment."""
        before, after = at_start > 0, at_stop > 0
        previous = np.vstack([before[:1] if self.positive is None else self.positive[None, :], after[:-1]])
        if self.first is None:
            self.first = before[0]
        rows, columns = np.nonzero(previous != before)
        self._note(start[rows], columns, before[rows, columns])
        rows, columns = np.nonzero(before != after)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = at_start[rows, columns] / (at_start[rows, columns] - at_stop[rows, columns])
        places = start[rows] + np.clip(np.nan_to_num(share), 0.0, 1.0) * (stop - start)[rows]
        self._note(places, columns, after[rows, columns])
        self.positive = after[-1]

    def _note(self, where: Array, columns: NDArray[np.intp], sign: NDArray[np.bool_]) -> None:
        self.at.append(where)
        self.column.append(columns)
        self.sign.append(sign)

    def changes(self) -> SignChanges:
        """All of them, in the order of the parameter."""
        assert self.first is not None
        at = np.concatenate(self.at)
        order = np.argsort(at, kind="stable")
        column, sign = np.concatenate(self.column), np.concatenate(self.sign)
        return SignChanges(self.first, at[order], column[order], sign[order])
