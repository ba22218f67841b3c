"""The matrix K^mn in float32 or float16, for methods that read it a few times and do not need LLᵀ."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge import _core
from hinge.control import Counter, StepMonitor
from hinge.kernels import RBF, Kernel, Laplacian, cross
from hinge.kernels.samples import view
from hinge.lowrank.row_blocks import RowBlocks, allocate
from hinge.lowrank.source import Source

#: The time of all kernel values is estimated from that of this many rows, times a safety factor: writing to newly
#: allocated memory takes most of the time.
MEASURED_ROWS, TIME_RESERVE = 4096, 4.0

#: Number of columns of a Python function that are computed between two checks of the deadline.
STRIP_WIDTH = 8

#: Number of columns that are computed even if the deadline allows fewer.
MIN_COLUMNS = 8

Array = NDArray[np.float64]
Array32 = NDArray[np.float32]

#: Parts in which KᵀDK is summed; fixed, so that the result does not depend on the number of threads.
GRAM_PARTS = 2

#: Largest rounding error of float16: relative, and absolute near zero.
HALF_RELATIVE_ERROR, HALF_ABSOLUTE_ERROR = 1.001 * 2.0**-11, 2.0**-25


def _all_rows() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Columns:
    """Kernel values between samples and basis functions, and among the basis functions.   docs/math (385)

    values : ndarray of float32 or float16 (m × n)
    inner : ndarray (n × n), in float64
    rows : ndarray of int
        The rows used in products; an empty array means all rows.
    """

    values: NDArray[np.float32] | NDArray[np.float16]
    inner: Array
    threads: int = 1
    rows: NDArray[np.int64] = field(default_factory=_all_rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows used in products and number of basis functions."""
        return len(self.rows) or self.values.shape[0], self.values.shape[1]

    def subset(self, rows: NDArray[np.intp]) -> Columns:
        """Return the same matrix restricted to some rows, at least one, without a copy."""
        return replace(self, rows=np.ascontiguousarray(rows, dtype=np.int64))

    def times(self, weights: Any) -> Array32:
        """Return K W."""
        out = np.empty((self.shape[0], weights.shape[1]), dtype=np.float32)
        _core.skinny_product(_bits(self.values), self.rows, _narrow(weights), out, self.threads)
        return out

    def transposed(self, factors: Any) -> Array:
        """Return Kᵀ R."""
        out = np.empty((self.shape[1], factors.shape[1]))
        _core.skinny_transposed_product(_bits(self.values), self.rows, _narrow(factors), out, self.threads)
        return out

    def weighted(self, weights: Any, factors: Any) -> tuple[Array32, Array]:
        """Return K W and Kᵀ (D ∘ K W), computed in one pass over K."""
        product = np.empty((self.shape[0], weights.shape[1]), dtype=np.float32)
        out = np.empty((self.shape[1], weights.shape[1]))
        _core.skinny_weighted_product(
            _bits(self.values), self.rows, _narrow(weights), _narrow(factors), product, out, self.threads
        )
        return product, out

    def is_half(self) -> bool:
        """Whether the values are float16."""
        return bool(self.values.dtype == np.float16)

    def rounding_error(self, weights: Array) -> Array32:
        """Bound the error of K W that is due to rounding K ≥ 0 to float16.                      docs/math (389)"""
        size = np.abs(weights)
        bound = self.times(HALF_RELATIVE_ERROR * size)
        bound += (HALF_ABSOLUTE_ERROR * np.sum(size, axis=0)).astype(np.float32)
        return bound

    def transposed_with_error(self, factors: Array) -> tuple[Array, Array]:
        """Return Kᵀ R and a bound on its rounding error, in one pass over the rows with R ≠ 0.      docs/math (389)"""
        rows, k = np.flatnonzero(np.any(factors, axis=1)), factors.shape[1]
        if len(rows) == 0:
            return np.zeros((self.shape[1], k)), np.zeros((self.shape[1], k))
        nonzero = factors[rows]
        part = self.subset(self.rows[rows] if len(self.rows) else rows)
        both = part.transposed(np.concatenate([nonzero, np.abs(nonzero)], axis=1))
        error = HALF_RELATIVE_ERROR * both[:, k:] + HALF_ABSOLUTE_ERROR * np.sum(np.abs(nonzero), axis=0)
        return both[:, :k], error

    def gram(self, rows: NDArray[np.intp], weight: Array) -> Array32:
        """Return KᵀDK over some rows, in float32. The result is bit-identical for any number of threads."""
        root = np.sqrt(weight).astype(np.float32)

        def part(index: NDArray[np.intp]) -> Array32:
            scaled = self.values[rows[index]].astype(np.float32, copy=False)
            scaled *= root[index, None]
            return np.asarray(scaled.T @ scaled)

        parts = np.array_split(np.arange(len(rows)), GRAM_PARTS)
        with ThreadPoolExecutor(self.threads) as pool:
            total, *others = pool.map(part, [index for index in parts if len(index)])
        for other in others:
            total += other
        return total


def _bits(values: Any) -> Any:
    """Return K in the type that the compiled core accepts: float16 as uint16."""
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
    progress: StepMonitor | None = None,
) -> Columns:
    """Compute K^mn and K^nn for given basis functions. K^mn is stored in a file if it exceeds the budget.

    `half` allows float16 for K^mn. It is used for RBF and Laplacian kernels, which have no negative values, on
    processors with float16 instructions.
    With a `deadline` (of `time.monotonic`) only the first columns are computed, as many as the time allows, but at
    least a few; `Columns.shape` then has fewer columns. For compiled kernels their number is estimated from the time of
    a few rows, and all columns are computed at once, which is much faster than in strips. `progress` is called with the
    number of rows that are done.
    """
    source = Source(kernel, X, threads, progress)
    half = half and isinstance(kernel, RBF | Laplacian) and _core.has_float16_loops()
    if deadline is not None and kernel.nodes() is not None:
        basis, deadline = basis[: _affordable(deadline, source, basis)], None
    m, n = source.m, len(basis)
    values = allocate(m, n, np.float16 if half else np.float32, budget_bytes, folder)
    if deadline is None:
        _fill(source, basis, values)
    else:
        computed = _fill_until(deadline, source, basis, values)
        if computed < n:
            smaller = allocate(m, computed, values.dtype, budget_bytes, folder)
            smaller[:] = values[:, :computed]
            values, basis = smaller, basis[:computed]
    if kernel.nodes() is None:
        inner = source.block(basis, basis)
    else:
        inner = cross(kernel, view(X[basis]).data, threads=threads)
    if not np.array_equal(inner, inner.T):  # usually it is symmetric, and the sum would allocate a copy
        inner = 0.5 * (inner + inner.T)
    return Columns(values, inner, threads)


def _fill(source: Source, basis: NDArray[np.intp], values: Any) -> None:
    """Compute the columns of all basis functions."""
    nodes = source.kernel.nodes()
    if nodes is None:
        columns = source.columns(basis)
        for rows in RowBlocks(values).slices():
            values[rows] = columns(rows)
        return
    z = view(source.X[basis])
    counter = Counter(source.progress, source.m, "rows of kernel values")
    for rows in [slice(0, source.m)] if source.progress is None else RowBlocks(values).slices():
        x = view(source.X[rows])
        _core.kernel_columns(x.native, z.native, _core.Kernel(nodes), _bits(values[rows]), source.threads)
        counter.advance(rows.stop - rows.start)


def _affordable(deadline: float, source: Source, basis: NDArray[np.intp]) -> int:
    """Return the number of columns that can be computed before the deadline, estimated from the time of a few rows."""
    rows, n = min(source.m, MEASURED_ROWS), len(basis)
    nodes = source.kernel.nodes()
    assert nodes is not None, "the kernel must have a compiled form"
    start = time.monotonic()
    probe = np.empty((rows, n), dtype=np.float32)
    x, z = view(source.X[:rows]), view(source.X[basis])
    _core.kernel_columns(x.native, z.native, _core.Kernel(nodes), _bits(probe), source.threads)
    now = time.monotonic()
    column = TIME_RESERVE * (now - start) * source.m / (rows * n) if n else 0.0
    return n if n * column <= deadline - now else min(n, max(MIN_COLUMNS, int((deadline - now) / column)))


def _fill_until(deadline: float, source: Source, basis: NDArray[np.intp], values: Any) -> int:
    """Compute strips of columns of a Python function until the deadline; return the number of columns computed."""
    m, n = values.shape
    for first in range(0, n, STRIP_WIDTH):
        if first > 0 and time.monotonic() > deadline:
            return first
        strip = np.empty((m, min(STRIP_WIDTH, n - first)), dtype=values.dtype)
        _fill(source, basis[first : first + STRIP_WIDTH], strip)
        values[:, first : first + STRIP_WIDTH] = strip
    return n
