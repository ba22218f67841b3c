"""Piecewise linear solutions of parametric problems, stored by breakpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.problems import Array, ParametricProblem

#: Places of a variable: at its lower bound, at its upper bound, or between them (in the margin set).
LOWER, UPPER, MARGIN = 0, 1, 2

#: Number of segments between two checkpoints, at which the places of all variables are stored. The places in other
#: segments are computed from the previous checkpoint and the changes after it.
CHECKPOINT_INTERVAL = 256

#: Relative difference up to which two values of the parameter are the same.
SAME_THETA = 1e-13


@dataclass(frozen=True)
class Pieces:
    """Segments on which the solution is linear in θ.

    Segment k runs from start[k] to stop[k]. The variables margin[offset[k]:offset[k+1]] are between their bounds there,
    with the values `value` at the start and the derivatives `rate`. All other variables are at the bound given by their
    place. `mu` and `mu_rate` are the multipliers at the start and their derivatives.

    `changed_at`, `changed`, `place`: before segment changed_at[j] variable changed[j] moved to place[j].
    `violation`: relative KKT violation at the end of every segment.
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

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def _first_change(self) -> NDArray[np.intp]:
        """Position of the first change of every segment; the changes up to segment k end at _first_change[k + 1]."""
        return np.searchsorted(self.changed_at, np.arange(len(self) + 1), side="left")

    @cached_property
    def _checkpoints(self) -> list[NDArray[np.int8]]:
        size = int(np.max(self.changed, initial=-1)) + 1
        places, checkpoints = np.zeros(size, dtype=np.int8), []
        for first in range(0, max(len(self), 1), CHECKPOINT_INTERVAL):
            previous = max(0, first - CHECKPOINT_INTERVAL + 1) if first else 0
            self._apply_changes(places, previous, first + 1)
            checkpoints.append(places.copy())
        return checkpoints

    def _apply_changes(self, places: NDArray[np.int8], first: int, last: int) -> None:
        """Apply the changes before the segments first, …, last − 1."""
        changes = slice(self._first_change[first], self._first_change[min(last, len(self))])
        places[self.changed[changes]] = self.place[changes]  # assigned in order: the last change of a variable counts

    def places(self, k: int) -> NDArray[np.int8]:
        """Return the place of every variable in segment k: 0 lower bound, 1 upper bound, 2 between."""
        checkpoint = k // CHECKPOINT_INTERVAL
        places = self._checkpoints[checkpoint].copy()
        self._apply_changes(places, checkpoint * CHECKPOINT_INTERVAL + 1, k + 1)
        return places

    def segment(self, theta: float) -> int:
        """Return the segment that contains θ; at a breakpoint, the segment that starts there."""
        return int(np.clip(np.searchsorted(self.start, theta, side="right") - 1, 0, len(self) - 1))

    def margin_of(self, k: int) -> slice:
        """Return the entries of segment k in `margin`, `value` and `rate`."""
        return slice(int(self.offset[k]), int(self.offset[k + 1]))

    def beta(self, parametric: ParametricProblem, theta: float) -> Array:
        """Return the signed variables at θ."""
        k = self.segment(theta)
        values, places, entries = parametric.at(theta), self.places(k), self.margin_of(k)
        beta = np.where(places == LOWER, values.lower, values.upper)
        members = self.margin[entries]
        between = self.value[entries] + self._distance(k, theta) * self.rate[entries]
        beta[members] = np.clip(between, values.lower[members], values.upper[members])
        return beta

    def multipliers(self, theta: float, group: NDArray[np.int8] | None = None) -> Array:
        """Return μ at θ.

        Where a multiplier jumps, every value between its one-sided limits is optimal. The midpoint is returned if the
        groups of the variables are given.                                                                 (249)
        """
        k = self.segment(theta)
        mu = self._mu_in(k, theta)
        if group is None:
            return mu
        tolerance = SAME_THETA * abs(theta)
        first, last = np.searchsorted(self.start, theta - tolerance), self.segment(theta + tolerance)
        if first != last or first == 0:  # none or several breakpoints at θ: μ is continuous
            return mu
        before, after = self._mu_in(last - 1, theta), self._mu_in(last, theta)
        held = group[self.margin[self.margin_of(last - 1)]]
        # μ of a group without margin variables was already the midpoint: its other end is 2 · before − after
        ends = [before[g] if np.any(held == g) else 2 * before[g] - after[g] for g in range(len(mu))]
        return 0.5 * (after + np.array(ends))

    def _mu_in(self, k: int, theta: float) -> Array:
        """Evaluate μ of segment k at θ."""
        return np.asarray(self.mu[k] + self._distance(k, theta) * self.mu_rate[k])

    def _distance(self, k: int, theta: float) -> float:
        """Return the distance of θ from the start of segment k, at most its length.                          (282)"""
        return float(min(theta, self.stop[k]) - self.start[k])

    def lines(self, parametric: ParametricProblem, n: int, incidence: Any = None) -> Iterator[tuple[slice, Any]]:
        """Yield chunks of segments, each with a function K ↦ (values at the starts, values at the stops) of Kβ.

        K has one row per point and one column per sample; the values have one row per segment. If the variables belong
        to pairs of samples, n is the number of pairs and `incidence` the matrix (pairs × samples) that maps them to
        coefficients of samples.
        """
        for first in range(0, len(self), CHECKPOINT_INTERVAL):
            chunk = slice(first, min(first + CHECKPOINT_INTERVAL, len(self)))
            yield chunk, _Chunk(self, parametric, n, chunk, incidence)


class _Chunk:
    """β along consecutive segments as sparse matrices, so that products with K only use the margin sets."""

    def __init__(
        self, pieces: Pieces, parametric: ParametricProblem, n: int, chunk: slice, incidence: Any = None
    ) -> None:
        self.count, self.n = chunk.stop - chunk.start, n
        places = pieces.places(chunk.start)
        lower, upper = parametric.lower, parametric.upper
        at_bounds = np.stack(
            [
                np.where(places == LOWER, lo, np.where(places == UPPER, hi, 0.0))
                for lo, hi in zip(lower, upper, strict=True)
            ]
        )
        self.base = np.stack([self._per_sample(row) for row in at_bounds])
        self.jumps = self._jumps(pieces, chunk, at_bounds, (lower, upper))
        entries = slice(int(pieces.offset[chunk.start]), int(pieces.offset[chunk.stop]))
        rows = np.repeat(np.arange(self.count), np.diff(pieces.offset[chunk.start : chunk.stop + 1]))
        columns = pieces.margin[entries] % n
        shape = (self.count, n)
        self.value = sp.csr_array((pieces.value[entries], (rows, columns)), shape=shape)
        self.rate = sp.csr_array((pieces.rate[entries], (rows, columns)), shape=shape)
        self.start, self.stop = pieces.start[chunk], pieces.stop[chunk]
        if incidence is not None:
            self.base, self.value, self.rate = self.base @ incidence, self.value @ incidence, self.rate @ incidence
            self.jumps = [jump @ incidence for jump in self.jumps]

    def _per_sample(self, row: Array) -> Array:
        return row.reshape(-1, self.n).sum(axis=0)

    def _jumps(self, pieces: Pieces, chunk: slice, at_bounds: Array, bounds: Any) -> list[Any]:
        """Return the changes before each segment of the sums over variables at bounds: constants and rates."""
        changes = slice(pieces._first_change[chunk.start + 1], pieces._first_change[chunk.stop])
        current, rows, columns = at_bounds.copy(), [], []
        amounts: tuple[list[float], list[float]] = ([], [])
        lower, upper = bounds
        columns_of_changes = (pieces.changed_at[changes], pieces.changed[changes], pieces.place[changes])
        for at, v, place in zip(*columns_of_changes, strict=True):
            rows.append(at - chunk.start)
            columns.append(v % self.n)
            for part in (0, 1):
                new = lower[part, v] if place == LOWER else upper[part, v] if place == UPPER else 0.0
                amounts[part].append(new - current[part, v])
                current[part, v] = new
        shape = (self.count, self.n)
        return [sp.csr_array((np.array(a, dtype=float), (rows, columns)), shape=shape) for a in amounts]

    def __call__(self, K: Array) -> tuple[Array, Array]:
        columns = np.ascontiguousarray(K.T)
        constant, slope = (
            np.cumsum(jump @ columns, axis=0) + base @ columns for jump, base in zip(self.jumps, self.base, strict=True)
        )
        margin, rate = self.value @ columns, self.rate @ columns
        at_start = constant + self.start[:, None] * slope + margin
        at_stop = constant + self.stop[:, None] * slope + margin + (self.stop - self.start)[:, None] * rate
        return at_start, at_stop
