"""A piecewise linear path as columns: what the engine writes down, and how to read it at any θ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge import _core
from hinge.problems import Array, ParametricProblem

LOWER, UPPER, MARGIN = 0, 1, 2

#: Every so many segments the places of all variables are written out.
CHECKPOINT = 256


#: Values of the parameter that differ by less than this share are one.
TOUCH = 1e-13


@dataclass(frozen=True)
class Pieces:
    """Segment k runs from start[k] to stop[k]; there the variables margin[offset[k]:offset[k+1]] are between their
    bounds with the values `value` and rates `rate`, and all others move with the bound given by their place.

    `changed_at`, `changed`, `place`: before segment changed_at[j] variable changed[j] moved to place[j].
    """

    start: Array
    stop: Array
    mu: Array
    mu_rate: Array
    offset: NDArray[np.int64]
    margin: NDArray[np.int32]
    value: Array
    rate: Array
    changed_at: NDArray[np.int64]
    changed: NDArray[np.int32]
    place: NDArray[np.int8]
    violation: Array

    @classmethod
    def from_record(cls, record: _core.PathRecord) -> Pieces:
        """From the columns of the compiled engine."""
        columns = {f.name: getattr(record, f.name) for f in fields(cls)}
        count = len(record.start)
        shape = (count, len(record.mu) // max(count, 1))
        return cls(**{**columns, "mu": record.mu.reshape(shape), "mu_rate": record.mu_rate.reshape(shape)})

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def _first_change(self) -> NDArray[np.intp]:
        """Changes before segment k are those up to _first_change[k + 1]."""
        return np.searchsorted(self.changed_at, np.arange(len(self) + 1), side="left")

    @cached_property
    def _checkpoints(self) -> list[NDArray[np.int8]]:
        size = int(np.max(self.changed, initial=-1)) + 1
        places, found = np.zeros(size, dtype=np.int8), []
        for first in range(0, max(len(self), 1), CHECKPOINT):
            previous = max(0, first - CHECKPOINT + 1) if first else 0
            self._advance(places, previous, first + 1)
            found.append(places.copy())
        return found

    def _advance(self, places: NDArray[np.int8], first: int, last: int) -> None:
        """Apply the changes before the segments first, …, last − 1."""
        span = slice(self._first_change[first], self._first_change[min(last, len(self))])
        places[self.changed[span]] = self.place[span]  # NumPy assigns in order: the last change of a variable counts

    def places(self, k: int) -> NDArray[np.int8]:
        """Where every variable is in segment k: 0 lower bound, 1 upper bound, 2 between."""
        block = k // CHECKPOINT
        places = self._checkpoints[block].copy()
        self._advance(places, block * CHECKPOINT + 1, k + 1)
        return places

    def segment(self, theta: float) -> int:
        """The segment that contains θ: the later one at a breakpoint."""
        return int(np.clip(np.searchsorted(self.start, theta, side="right") - 1, 0, len(self) - 1))

    def margin_of(self, k: int) -> slice:
        """Where segment k stands in `margin`, `value` and `rate`."""
        return slice(int(self.offset[k]), int(self.offset[k + 1]))

    @property
    def margin_sizes(self) -> NDArray[np.int64]:
        """Variables between their bounds, per segment."""
        return np.diff(self.offset)

    def index_set_sizes(self, size: int) -> NDArray[np.int64]:
        """Variables at the lower bound, at the upper bound and between, per segment (n_segments × 3)."""
        counts = np.zeros((len(self) + 1, 3), dtype=np.int64)
        places = np.full(size, -1, dtype=np.int8)
        for at, variable, place in zip(self.changed_at, self.changed, self.place, strict=True):
            if places[variable] >= 0:
                counts[at, places[variable]] -= 1
            counts[at, place] += 1
            places[variable] = place
        return np.cumsum(counts[:-1], axis=0)

    def beta(self, motion: ParametricProblem, theta: float) -> Array:
        """The signed variables at θ."""
        k = self.segment(theta)
        now, places, inside = motion.at(theta), self.places(k), self.margin_of(k)
        beta = np.where(places == LOWER, now.lower, now.upper)
        members = self.margin[inside]
        free = self.value[inside] + self._into(k, theta) * self.rate[inside]
        beta[members] = np.clip(free, now.lower[members], now.upper[members])
        return beta

    def multipliers(self, theta: float, group: NDArray[np.int8] | None = None) -> Array:
        """μ at θ; where one jumps (an interval there and nowhere near) the middle, if groups are known.       (249)"""
        k = self.segment(theta)
        here = self._mu_in(k, theta)
        if group is None:
            return here
        touch = TOUCH * abs(theta)
        first, last = np.searchsorted(self.start, theta - touch), self.segment(theta + touch)
        if first != last or first == 0:  # no breakpoint here, or so many that μ runs and does not jump
            return here
        before, after = self._mu_in(last - 1, theta), self._mu_in(last, theta)
        held = group[self.margin[self.margin_of(last - 1)]]  # a group without margin was in the middle already
        ends = [before[g] if np.any(held == g) else 2 * before[g] - after[g] for g in range(len(here))]
        return 0.5 * (after + np.array(ends))

    def _mu_in(self, k: int, theta: float) -> Array:
        """μ at θ, in or beside segment k."""
        return np.asarray(self.mu[k] + self._into(k, theta) * self.mu_rate[k])

    def _into(self, k: int, theta: float) -> float:
        """How far θ is into segment k.  Steps of a rounding are no segments: beyond its end nothing moves.  (282)"""
        return float(min(theta, self.stop[k]) - self.start[k])

    def lines(self, motion: ParametricProblem, n: int, spread: Any = None) -> Iterator[tuple[slice, Any]]:
        """Chunks of segments, each with a function K ↦ (values at the starts, values at the stops) of Kβ.

        K has one row per point and one column per sample; the values have one row per segment. Where variables stand
        on pairs, n is their number and `spread` the matrix (variables × samples) that makes β of samples of them.
        """
        for first in range(0, len(self), CHECKPOINT):
            chunk = slice(first, min(first + CHECKPOINT, len(self)))
            yield chunk, _Chunk(self, motion, n, chunk, spread)


class _Chunk:
    """β along a run of segments, as sparse matrices: a product with K then costs what the margins cost."""

    def __init__(self, pieces: Pieces, motion: ParametricProblem, n: int, chunk: slice, spread: Any = None) -> None:
        self.count, self.n = chunk.stop - chunk.start, n
        places = pieces.places(chunk.start)
        lower, upper = motion.lower, motion.upper
        held = np.stack(
            [
                np.where(places == LOWER, lo, np.where(places == UPPER, hi, 0.0))
                for lo, hi in zip(lower, upper, strict=True)
            ]
        )
        self.base = np.stack([self._per_sample(row) for row in held])
        self.jumps = self._jumps(pieces, chunk, places, held, (lower, upper))
        inside = slice(int(pieces.offset[chunk.start]), int(pieces.offset[chunk.stop]))
        rows = np.repeat(np.arange(self.count), np.diff(pieces.offset[chunk.start : chunk.stop + 1]))
        columns = pieces.margin[inside] % n
        shape = (self.count, n)
        self.value = sp.csr_array((pieces.value[inside], (rows, columns)), shape=shape)
        self.rate = sp.csr_array((pieces.rate[inside], (rows, columns)), shape=shape)
        self.start, self.stop = pieces.start[chunk], pieces.stop[chunk]
        if spread is not None:
            self.base, self.value, self.rate = self.base @ spread, self.value @ spread, self.rate @ spread
            self.jumps = [jump @ spread for jump in self.jumps]

    def _per_sample(self, row: Array) -> Array:
        return row.reshape(-1, self.n).sum(axis=0)

    def _jumps(self, pieces: Pieces, chunk: slice, places: Any, held: Array, bounds: Any) -> list[Any]:
        """What leaves and joins the bounds before each segment: constants and rates."""
        span = slice(pieces._first_change[chunk.start + 1], pieces._first_change[chunk.stop])
        now, rows, columns = held.copy(), [], []
        amounts: tuple[list[float], list[float]] = ([], [])
        lower, upper = bounds
        for at, v, place in zip(pieces.changed_at[span], pieces.changed[span], pieces.place[span], strict=True):
            rows.append(at - chunk.start)
            columns.append(v % self.n)
            for part in (0, 1):
                new = lower[part, v] if place == LOWER else upper[part, v] if place == UPPER else 0.0
                amounts[part].append(new - now[part, v])
                now[part, v] = new
        shape = (self.count, self.n)
        return [sp.csr_array((np.array(a, dtype=float), (rows, columns)), shape=shape) for a in amounts]

    def __call__(self, K: Array) -> tuple[Array, Array]:
        columns = np.ascontiguousarray(K.T)
        constant, slope = (
            np.cumsum(jump @ columns, axis=0) + base @ columns for jump, base in zip(self.jumps, self.base, strict=True)
        )
        free, rate = self.value @ columns, self.rate @ columns
        at_start = constant + self.start[:, None] * slope + free
        at_stop = constant + self.stop[:, None] * slope + free + (self.stop - self.start)[:, None] * rate
        return at_start, at_stop
