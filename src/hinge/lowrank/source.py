"""Access to parts of a kernel matrix that is never stored as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.control import StepMonitor
from hinge.kernels import Kernel, Precomputed, cross
from hinge.kernels.samples import all_finite
from hinge.matrices import check_sparse

Array = NDArray[np.float64]
Index = NDArray[np.intp] | slice

#: Rows per call for the diagonal; kernels convert them to float64, and a copy of all samples would be too large.
DIAGONAL_ROWS = 4096


def check_samples_finite(X: Any, threads: int) -> None:
    """Raise a ValueError if an array or sparse matrix of numbers contains NaN or infinity."""
    if X.dtype.kind == "f" and not all_finite(X, threads):
        raise ValueError("X contains NaN or infinity; remove or replace these values")


@dataclass(frozen=True)
class Source:
    """Kernel values of the samples X. If the kernel is precomputed, X is the matrix itself."""

    kernel: Kernel
    X: Any
    threads: int = 1
    progress: StepMonitor | None = None

    def __post_init__(self) -> None:
        if not getattr(self.X, "shape", ()):
            raise TypeError(f"X is a {type(self.X).__name__}, but samples are needed: an array with a row for each")
        if sp.issparse(self.X):
            check_sparse(self.X)

    @property
    def m(self) -> int:
        return int(self.X.shape[0])

    @property
    def data(self) -> Any:
        return self.X

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed)

    def diagonal(self) -> Array:
        """Return k(xᵢ, xᵢ) for all samples."""
        if self._precomputed:
            return np.diagonal(self.X).astype(np.float64)
        parts = [self.kernel.diag(self.X[k : k + DIAGONAL_ROWS]) for k in range(0, self.m, DIAGONAL_ROWS)]
        return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts]) if parts else np.empty(0)

    def vectors(self, index: Index) -> Any:
        """Return the samples, or None if the kernel is precomputed."""
        return None if self._precomputed else self.X[index]

    def block(self, rows: Index, cols: Index) -> Array:
        """Return K[rows][:, cols]."""
        return self.columns(cols)(rows)

    def columns(self, cols: Index) -> Callable[[Index], Array]:
        """Return K[:, cols] as a function of the rows. The samples of the columns are extracted once."""
        if self._precomputed:
            return lambda rows: np.asarray(self.X[rows][:, cols], dtype=np.float64)
        column_samples = self.X[cols]
        return lambda rows: cross(self.kernel, self.X[rows], column_samples, threads=self.threads)
