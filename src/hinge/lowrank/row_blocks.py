"""Products with a tall matrix in blocks of rows. The matrix is in memory, or in a file if it does not fit."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Entries of a block: a few megabytes, so that a block and its products stay in the cache.
BLOCK_ENTRIES = 1 << 20

#: Limits on the number of rows of a block.
MIN_ROWS, MAX_ROWS = 256, 1 << 14


@dataclass(frozen=True)
class RowBlocks:
    """A row-major matrix L (m × n) in blocks of rows, which are processed by several threads.

    Results are bit-identical for any number of threads. With `rows` only these rows of `values` are used, for example
    those of two classes. Products within a block are computed in float64 if `wide`, otherwise in the precision of
    `values`; sums over blocks are float64. `watch` is called before each block and may raise an exception to stop.
    """

    values: Any
    rows: NDArray[np.intp] | None = None
    threads: int = 1
    wide: bool = True
    watch: Callable[[], None] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        m = self.values.shape[0] if self.rows is None else len(self.rows)
        return int(m), int(self.values.shape[1])

    def slices(self) -> list[slice]:
        m, n = self.shape
        step = min(MAX_ROWS, max(MIN_ROWS, BLOCK_ENTRIES // max(n, 1)))
        return [slice(k, min(m, k + step)) for k in range(0, m, step)]

    def block(self, rows: slice) -> Any:
        return _dense(self.values[rows] if self.rows is None else self.values[self.rows[rows]])

    def take(self, index: NDArray[np.intp]) -> Any:
        """Return some of the rows as an array."""
        return _dense(self.values[index if self.rows is None else self.rows[index]])

    def gathered(self, budget_bytes: int) -> RowBlocks:
        """Return a copy with contiguous rows if it fits into the budget, otherwise this object."""
        m, n = self.shape
        if self.rows is None or m * n * self.values.dtype.itemsize > budget_bytes:
            return self
        return replace(self, values=self.take(np.arange(m)), rows=None)

    def _map(self, work: Callable[[slice], Any]) -> Iterator[Any]:
        """Yield the results in the order of the blocks, with a bounded number of pending tasks."""
        slices = self.slices()
        if self.watch is not None:
            work = _watched(work, self.watch)
        if self.threads < 2 or len(slices) < 2:
            yield from map(work, slices)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            pending: list[Any] = []
            for rows in slices:
                pending.append(pool.submit(work, rows))
                if len(pending) > 2 * self.threads:
                    yield pending.pop(0).result()
            for future in pending:
                yield future.result()

    def gram(self, weight: Array, skip: NDArray[np.bool_] | None = None) -> Array:
        """Return Lᵀ diag(weight) L without the rows in `skip`."""
        root = np.sqrt(weight)
        n = self.shape[1]

        def part(rows: slice) -> Any:
            use = None if skip is None else np.flatnonzero(~skip[rows])
            if use is not None and len(use) == 0:
                return None
            block = self.block(rows)
            w = root[rows]
            if use is not None and len(use) < len(w):
                block, w = block[use], w[use]
            kind = np.float64 if self.wide else block.dtype
            scaled = np.multiply(block, w[:, None].astype(kind), dtype=kind)
            return scaled.T @ scaled

        total = np.zeros((n, n))
        for product in self._map(part):
            if product is not None:
                total += product
        return total

    def transposed(self, v: Array) -> Array:
        """Return Lᵀ v for v of shape (m,) or (m, k)."""
        total = np.zeros((self.shape[1], *v.shape[1:]))
        for product in self._map(lambda rows: self._product(self.block(rows).T, v[rows])):
            total += product
        return total

    def times(self, w: Array) -> Array:
        """Return L w for w of shape (n,) or (n, k)."""
        out = np.empty((self.shape[0], *w.shape[1:]))

        def part(rows: slice) -> None:
            out[rows] = self._product(self.block(rows), w)

        for _ in self._map(part):
            pass
        return out

    def weighted(self, weight: Array, v: Array) -> Array:
        """Return Lᵀ diag(weight) L v in one pass, for v of shape (n, k)."""
        total = np.zeros_like(v)

        def part(rows: slice) -> Array:
            block = self.block(rows)
            return self._product(block.T, weight[rows, None] * self._product(block, v))

        for product in self._map(part):
            total += product
        return total

    def squared_norms(self) -> Array:
        """Return ‖Lᵢ‖² for every row."""
        out = np.empty(self.shape[0])
        for rows in self.slices():
            block = self.block(rows)
            out[rows] = np.einsum("ij,ij->i", block, block, dtype=np.float64)
        return out

    def _product(self, A: Any, B: Array) -> Array:
        if self.wide:
            return np.asarray(A, dtype=np.float64) @ B
        return A @ B.astype(A.dtype)


def _dense(block: Any) -> Any:
    return block.toarray() if hasattr(block, "toarray") else np.asarray(block)


def _watched(work: Callable[[slice], Any], watch: Callable[[], None]) -> Callable[[slice], Any]:
    def watched(rows: slice) -> Any:
        watch()
        return work(rows)

    return watched


def allocate(m: int, n: int, dtype: Any, budget_bytes: int | None, folder: str | None = None) -> Any:
    """Allocate an m × n array in memory if it fits into the budget, else as a map of an unlinked temporary file."""
    bytes_needed = m * n * np.dtype(dtype).itemsize
    if budget_bytes is None or bytes_needed <= budget_bytes or bytes_needed == 0:
        return np.empty((m, n), dtype=dtype)
    handle, path = tempfile.mkstemp(prefix="hinge-", suffix=".rows", dir=folder)
    os.close(handle)
    try:
        return np.memmap(path, dtype=dtype, mode="w+", shape=(m, n))
    finally:
        with contextlib.suppress(OSError):  # the map keeps the file open until it is deleted
            os.unlink(path)
