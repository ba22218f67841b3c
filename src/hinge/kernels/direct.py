"""Kernel access with NumPy in float64, directly from the formulas: slow, and independent of the compiled core."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from hinge import _core
from hinge.kernels import double_double
from hinge.kernels.algebra import UNIT_ROUNDOFF, Array, Data, Kernel
from hinge.kernels.custom import Precomputed
from hinge.kernels.distances import row_blocks
from hinge.kernels.functions import Linear

#: Allows for the rounding errors of the largest diagonal entry, as a bound on all entries.
LARGEST_FACTOR = 1.000001

#: Columns whose products with a vector are summed in double precision; sums of such blocks are added in double-double.
SUMMED_COLUMNS = 8

#: With a deadline, the first block of a product has this many rows; its time is an estimate for the others.
TIMED_ROWS = 32

#: Estimated seconds of a product in double-double arithmetic, for each stored entry of the matrix.
DOUBLE_DOUBLE_SECONDS = 1e-7


@dataclass(frozen=True)
class DirectAccess:
    """The kernel matrix of X[subset], evaluated by ``kernel(X, Z)``; of all samples if `subset` is None.

    Used for certificates. It shares no code with the solvers.
    """

    kernel: Kernel
    X: Data
    subset: NDArray[np.intp] | None = None

    @property
    def n(self) -> int:
        return self.X.shape[0] if self.subset is None else len(self.subset)

    @cached_property
    def _samples(self) -> Data:
        if self.subset is None:
            return self.X
        if isinstance(self.kernel, Precomputed):
            return self.X[np.ix_(self.subset, self.subset)]
        return self.X[self.subset]

    @property
    def gram(self) -> _core.Gram:
        """Not available: this access has no compiled matrix."""
        raise TypeError("DirectAccess is for certificates; solvers need open_access(kernel, X)")

    @property
    def compiled(self) -> bool:
        return False

    def diagonal(self) -> Array:
        if isinstance(self.kernel, Precomputed):
            return np.diagonal(self._samples).astype(np.float64)
        return self.kernel.diag(self._samples)

    def largest(self) -> float:
        return largest_entry(self.diagonal())

    def rows(self, index: ArrayLike) -> Array:
        return self.block(index, np.arange(self.n))

    def block(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        rows, cols = np.asarray(rows), np.asarray(cols)
        if isinstance(self.kernel, Precomputed):
            return np.asarray(self._samples[np.ix_(rows, cols)], dtype=np.float64)
        return self.kernel(self._samples[rows], self._samples[cols])

    def matvec(self, v: ArrayLike) -> Array:
        """Return K v from the columns in which v is not zero, in blocks of rows."""
        v = np.asarray(v, dtype=np.float64)
        used = np.flatnonzero(v)
        blocks = (np.arange(self.n)[rows] for rows in row_blocks(self.n, max(len(used), 1)))
        return np.concatenate([self.block(rows, used) @ v[used] for rows in blocks])

    def bounded_matvec(self, v: ArrayLike, deadline: float | None = None) -> tuple[Array, Array]:
        """Return K v and bounds on the rounding errors of its entries.                        docs/math (612)

        Sums over blocks of columns are added in double-double arithmetic. The product with a linear kernel matrix is
        X(Xᵀv), computed in double-double arithmetic, and so is the product with a precomputed matrix. Raises a
        TimeoutError if the product would not be complete at the `deadline`, a time of `time.monotonic`.
        """
        v = np.asarray(v, dtype=np.float64)
        if isinstance(self.kernel, Linear):
            stored = self._samples.nnz if sp.issparse(self._samples) else self._samples.size
            if deadline is not None and time.monotonic() + 2 * DOUBLE_DOUBLE_SECONDS * stored > deadline:
                raise TimeoutError
            return self._linear_product(v)
        used = np.flatnonzero(v)
        f, error = np.zeros(self.n), np.zeros(self.n)
        for rows in blocks_until(deadline, self.n, max(len(used), 1)):
            index = np.arange(self.n)[rows]
            if isinstance(self.kernel, Precomputed):
                f[rows], error[rows] = exact_product(self.block(index, used), v[used])
            else:
                values, errors = self.kernel.bounded(self._samples[index], self._samples[used])
                f[rows], error[rows] = bounded_product(values, errors, v[used])
        return f, error

    def accurate_matvec(self, v: ArrayLike, deadline: float | None = None) -> tuple[Array, Array]:
        """Return the result of `bounded_matvec`."""
        return self.bounded_matvec(v, deadline)

    def _linear_product(self, v: Array) -> tuple[Array, Array]:
        X = self._samples.astype(np.float64)
        d = X.shape[1]
        transposed = X.T.tocsr() if sp.issparse(X) else X.T
        largest = float(np.max(np.abs(X.data if sp.issparse(X) else X), initial=0.0))
        weights = double_double.product(transposed, (v, np.zeros_like(v)))
        f, low = double_double.product(X, weights)
        of_weights = double_double.product_error(self.n, largest, float(np.max(np.abs(v), initial=0.0)))
        of_f = double_double.product_error(d, largest, float(np.max(np.abs(weights[0]), initial=0.0)))
        return f, np.abs(low) + d * largest * of_weights + of_f

    def factor(self) -> Data:
        raise ValueError("DirectAccess has no factor; use open_access(kernel, X).factor()")


def blocks_until(deadline: float | None, n: int, width: int) -> Iterator[slice]:
    """Yield the slices of `row_blocks`; raise a TimeoutError as soon as the others would not end before the deadline.

    The caller computes a block before it asks for the next one.
    """
    began, first = time.monotonic(), min(TIMED_ROWS, n) if deadline is not None else 0
    if first:
        yield slice(0, first)
    for rows in row_blocks(n - first, width):
        done = first + rows.start
        if deadline is not None:
            now = time.monotonic()
            if now + (now - began) * (n - done) / max(done, 1) > deadline:
                raise TimeoutError
        yield slice(done, first + rows.stop)


def largest_entry(diagonal: Array) -> float:
    """Return a bound on the entries of a positive semidefinite matrix with this diagonal."""
    return LARGEST_FACTOR * float(np.maximum.reduce(np.abs(diagonal), initial=0.0))


def bounded_product(values: Array, errors: Array, v: Array) -> tuple[Array, Array]:
    """Return values @ v and bounds on its errors, given those of the values."""
    high, low = np.zeros(len(values)), np.zeros(len(values))
    for first in range(0, len(v), SUMMED_COLUMNS):
        columns = slice(first, first + SUMMED_COLUMNS)
        high, rounding = double_double.two_sum(high, values[:, columns] @ v[columns])
        low += rounding
    size = np.abs(v)
    sums = 1.01 * UNIT_ROUNDOFF * (SUMMED_COLUMNS + 2) * (np.abs(values) @ size)
    return high + low, 1.01 * (errors @ size) + sums + UNIT_ROUNDOFF * np.abs(high)


def exact_product(values: Array, v: Array) -> tuple[Array, Array]:
    """Return values @ v, where the values are exact, and bounds on its errors."""
    f, low = double_double.product(values, (v, np.zeros_like(v)))
    sizes = (float(np.max(np.abs(array), initial=0.0)) for array in (values, v))
    return f, np.abs(low) + double_double.product_error(len(v), *sizes)
