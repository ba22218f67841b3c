"""Kernel access with NumPy in float64, directly from the formulas: slow, and independent of the compiled core."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge import _core
from hinge.kernels.algebra import Array, Data, Kernel
from hinge.kernels.custom import Precomputed
from hinge.kernels.distances import row_blocks


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

    def factor(self) -> Data:
        raise ValueError("DirectAccess has no factor; use open_access(kernel, X).factor()")
