"""K^mn as it is, in float32: for methods that go through it a few times and never need LLᵀ."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge import _core
from hinge.kernels import Kernel, cross
from hinge.kernels.samples import view
from hinge.lowrank.rows import RowBlocks, allocate
from hinge.lowrank.source import Source

#: Columns made between two looks at the clock.
STRIP = 128

Array = NDArray[np.float64]
Array32 = NDArray[np.float32]


def _everyone() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Columns:
    """Kernel values of all samples with the basis functions, and of these with each other.   docs/math.md (385)

    values : ndarray of float32 (m × n)
    inner : ndarray (n × n), in float64
    rows : ndarray of int
        The rows that products are made with; none stand for all.
    """

    values: Array32
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
        _core.thin_times(self.values, self.rows, _narrow(weights), out, self.threads)
        return out

    def transposed(self, factors: Any) -> Array:
        """Kᵀ R."""
        out = np.empty((self.shape[1], factors.shape[1]))
        _core.thin_transposed(self.values, self.rows, _narrow(factors), out, self.threads)
        return out

    def weighted(self, weights: Any, factors: Any) -> tuple[Array32, Array]:
        """K W, and Kᵀ (D ∘ K W), in one pass."""
        product = np.empty((self.shape[0], weights.shape[1]), dtype=np.float32)
        out = np.empty((self.shape[1], weights.shape[1]))
        _core.thin_weighted(
            self.values, self.rows, _narrow(weights), _narrow(factors), product, out, self.threads
        )
        return product, out

    def gram(self, rows: NDArray[np.intp], weight: Array) -> Array32:
        """KᵀDK of some rows, in the precision of K."""
        some = self.values[rows]
        some *= np.sqrt(weight).astype(np.float32)[:, None]
        return np.asarray(some.T @ some)


def _narrow(matrix: Any) -> Array32:
    return np.ascontiguousarray(matrix, dtype=np.float32)


def make_columns(
    kernel: Kernel,
    X: Any,
    basis: NDArray[np.intp],
    threads: int = 1,
    budget_bytes: int | None = None,
    folder: str | None = None,
    deadline: float | None = None,
) -> Columns:
    """K^mn and K^nn for basis functions that were chosen; K^mn goes to a file where it exceeds the budget.

    With a `deadline` (of `time.monotonic`) some columns are made at a time, and those that are there by then, at least
    the first few, are all: `Columns.shape` says how many.
    """
    source = Source(kernel, X, threads)
    m, n = source.m, len(basis)
    values = allocate(m, n, np.float32, budget_bytes, folder)
    if deadline is None:
        _fill(source, basis, values)
    else:
        made = _fill_until(deadline, source, basis, values)
        if made < n:
            few = allocate(m, made, np.float32, budget_bytes, folder)
            few[:] = values[:, :made]
            values, basis = few, basis[:made]
    if kernel.nodes() is None:
        inner = source.block(basis, basis)
    else:
        inner = cross(kernel, view(X[basis]).data, threads=threads)
    return Columns(values, 0.5 * (inner + inner.T), threads)


def _fill(source: Source, basis: NDArray[np.intp], values: Array32) -> None:
    nodes = source.kernel.nodes()
    if nodes is None:
        columns = source.columns(basis)
        for rows in RowBlocks(values).slices():
            values[rows] = columns(rows)
    else:
        x, z = view(source.X), view(source.X[basis])
        _core.columns(x.native, z.native, _core.Kernel(nodes), values, source.threads)


def _fill_until(deadline: float, source: Source, basis: NDArray[np.intp], values: Array32) -> int:
    """Strips of columns, from the left; how many there are when the time is over."""
    m, n = values.shape
    for first in range(0, n, STRIP):
        if first > 0 and time.monotonic() > deadline:
            return first
        strip = np.empty((m, min(STRIP, n - first)), dtype=np.float32)
        _fill(source, basis[first : first + STRIP], strip)
        values[:, first : first + STRIP] = strip
    return n
