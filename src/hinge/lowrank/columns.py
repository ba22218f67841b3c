"""K^mn as it is, in float32 or float16: for methods that go through it a few times and never need LLᵀ."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge import _core
from hinge.kernels import RBF, Kernel, Laplacian, cross
from hinge.kernels.samples import view
from hinge.lowrank.row_blocks import RowBlocks, allocate
from hinge.lowrank.source import Source

#: Columns made between two looks at the clock; of kernels that are Python functions.
STRIP, SLOW_STRIP = 128, 8

Array = NDArray[np.float64]
Array32 = NDArray[np.float32]

#: Parts of the rows of a Gram matrix, for threads.
GRAM_PARTS = 2

#: The largest error of float16, of a value that was rounded, and near zero.
HALF_UNIT, HALF_LEAST = 1.001 * 2.0**-11, 2.0**-25


def _everyone() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Columns:
    """Kernel values of all samples with the basis functions, and of these with each other.   docs/math (385)

    values : ndarray of float32 or float16 (m × n)
    inner : ndarray (n × n), in float64
    rows : ndarray of int
        The rows that products are made with; none stand for all.
    """

    values: NDArray[np.float32] | NDArray[np.float16]
    inner: Array
    threads: int = 1
    rows: NDArray[np.int64] = field(default_factory=_everyone)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows that take part, and basis functions."""
        return len(self.rows) or self.values.shape[0], self.values.shape[1]

    def of(self, rows: NDArray[np.intp]) -> Columns:
        """The same with some rows only, at least one; nothing is copied."""
        return replace(self, rows=np.ascontiguousarray(rows, dtype=np.int64))

    def times(self, weights: Any) -> Array32:
        """K W."""
        out = np.empty((self.shape[0], weights.shape[1]), dtype=np.float32)
        _core.thin_times(_bits(self.values), self.rows, _narrow(weights), out, self.threads)
        return out

    def transposed(self, factors: Any) -> Array:
        """Kᵀ R."""
        out = np.empty((self.shape[1], factors.shape[1]))
        _core.thin_transposed(_bits(self.values), self.rows, _narrow(factors), out, self.threads)
        return out

    def weighted(self, weights: Any, factors: Any) -> tuple[Array32, Array]:
        """K W, and Kᵀ (D ∘ K W), in one pass."""
        product = np.empty((self.shape[0], weights.shape[1]), dtype=np.float32)
        out = np.empty((self.shape[1], weights.shape[1]))
        _core.thin_weighted(
            _bits(self.values), self.rows, _narrow(weights), _narrow(factors), product, out, self.threads
        )
        return product, out

    def is_half(self) -> bool:
        """Whether values are float16."""
        return bool(self.values.dtype == np.float16)

    def lost_forward(self, weights: Array) -> Array32:
        """At most that much K W is off for the rounding of K ≥ 0 to float16.                           (389)"""
        size = np.abs(weights)
        lost = self.times(HALF_UNIT * size)
        lost += (HALF_LEAST * np.sum(size, axis=0)).astype(np.float32)
        return lost

    def transposed_and_lost(self, factors: Array) -> tuple[Array, Array]:
        """Kᵀ R, and at most how much it is off: in one pass over the rows that have a factor.            (389)"""
        rows, k = np.flatnonzero(np.any(factors, axis=1)), factors.shape[1]
        if len(rows) == 0:
            return np.zeros((self.shape[1], k)), np.zeros((self.shape[1], k))
        some = factors[rows]
        part = self.of(self.rows[rows] if len(self.rows) else rows)
        both = part.transposed(np.concatenate([some, np.abs(some)], axis=1))
        return both[:, :k], HALF_UNIT * both[:, k:] + HALF_LEAST * np.sum(np.abs(some), axis=0)

    def gram(self, rows: NDArray[np.intp], weight: Array) -> Array32:
        """KᵀDK of some rows, in float32.

        In parts, whose number does not depend on the threads: the same bits for any number of them.
        """
        root = np.sqrt(weight).astype(np.float32)

        def part(some: NDArray[np.intp]) -> Array32:
            scaled = self.values[rows[some]].astype(np.float32, copy=False)
            scaled *= root[some, None]
            return np.asarray(scaled.T @ scaled)

        parts = np.array_split(np.arange(len(rows)), GRAM_PARTS)
        with ThreadPoolExecutor(self.threads) as pool:
            total, *others = pool.map(part, [some for some in parts if len(some)])
        for other in others:
            total += other
        return total


def _bits(values: Any) -> Any:
    """What the core takes for K: float16 by its bits."""
    return values.view(np.uint16) if values.dtype == np.float16 else values


def _narrow(matrix: Any) -> Array32:
    return np.ascontiguousarray(matrix, dtype=np.float32)


def make_columns(
    kernel: Kernel,
    X: Any,
    basis: NDArray[np.intp],
    threads: int = 1,
    budget_bytes: int | None = None,
    folder: str | None = None,
    half: bool = False,
    deadline: float | None = None,
) -> Columns:
    """K^mn and K^nn for basis functions that were chosen; K^mn goes to a file where it exceeds the budget.

    `half` allows float16 for K^mn; it is taken where the processor widens it, for kernels without negative values.
    With a `deadline` (of `time.monotonic`) some columns are made at a time, and those that are there by then, at least
    the first few, are all: `Columns.shape` says how many.
    """
    source = Source(kernel, X, threads)
    m, n = source.m, len(basis)
    half = half and isinstance(kernel, RBF | Laplacian) and _core.half_is_fast()
    values = allocate(m, n, np.float16 if half else np.float32, budget_bytes, folder)
    if deadline is None:
        _fill(source, basis, values)
    else:
        made = _fill_until(deadline, source, basis, values)
        if made < n:
            few = allocate(m, made, values.dtype, budget_bytes, folder)
            few[:] = values[:, :made]
            values, basis = few, basis[:made]
    if kernel.nodes() is None:
        inner = source.block(basis, basis)
    else:
        inner = cross(kernel, view(X[basis]).data, threads=threads)
    if not np.array_equal(inner, inner.T):  # mostly it is, and fresh memory for copies is dear
        inner = 0.5 * (inner + inner.T)
    return Columns(values, inner, threads)


def _fill(source: Source, basis: NDArray[np.intp], values: Any) -> None:
    nodes = source.kernel.nodes()
    if nodes is None:
        columns = source.columns(basis)
        for rows in RowBlocks(values).slices():
            values[rows] = columns(rows)
    else:
        x, z = view(source.X), view(source.X[basis])
        _core.columns(x.native, z.native, _core.Kernel(nodes), _bits(values), source.threads)


def _fill_until(deadline: float, source: Source, basis: NDArray[np.intp], values: Any) -> int:
    """Strips of columns, from the left; how many there are when the time is over."""
    m, n = values.shape
    width = SLOW_STRIP if source.kernel.nodes() is None else STRIP
    for first in range(0, n, width):
        if first > 0 and time.monotonic() > deadline:
            return first
        strip = np.empty((m, min(width, n - first)), dtype=values.dtype)
        _fill(source, basis[first : first + width], strip)
        values[:, first : first + width] = strip
    return n
