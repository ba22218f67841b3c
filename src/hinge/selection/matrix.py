"""Kernel matrix that all folds, costs and pairs of classes share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge import _core
from hinge.kernels import GramAccess, Kernel, Precomputed, expand, open_access
from hinge.kernels.access import check_kernel_values
from hinge.problems import Array

#: Sum of the absolute coefficients, times the largest kernel value, up to which decision values are computed in single
#: precision: their error is then below a tenth of tol = 1e-3.
MAX_SINGLE_SUM = 1000.0

#: Tolerances below this need kernel values in double precision.
MIN_SINGLE_TOL = 1e-4

#: Relative rounding error of a kernel value in single precision.
SINGLE_ROUNDING = 6e-8


@dataclass
class SharedMatrix:
    """Kernel matrices of X for one kernel after another; they use the same memory, if it fits the budget."""

    X: Any
    tol: float
    cost: float  # the largest cost of a sample: an upper bound of its coefficient
    budget: int
    threads: int
    double: bool = False  # whether the current matrix needs double precision
    values: NDArray[Any] | None = None
    access: GramAccess | None = None

    def open(self, kernel: Kernel) -> GramAccess:
        """Replace the matrix by that of another kernel."""
        n = self.X.shape[0]
        self.access, self.double = None, self.tol < MIN_SINGLE_TOL
        if isinstance(kernel, Precomputed):
            self.access = open_access(kernel, self.X, threads=self.threads)
            check_kernel_values(self.access)
            self.values = self.access.data
        elif kernel.nodes() is None:
            self.values = None
            self.access = open_access(kernel, self.X, self.budget, self.threads)
            check_kernel_values(self.access)
        else:
            computed = open_access(kernel, self.X, threads=self.threads)
            check_kernel_values(computed)
            self.access = computed
            self.double = self._needs_double(computed)
            dtype = np.dtype(np.float64 if self.double else np.float32)
            if n * n * dtype.itemsize <= self.budget:
                if self.values is None or self.values.dtype != dtype:
                    self.values = None  # released before the new array is allocated
                    self.values = np.empty((n, n), dtype)
                computed.gram.fill(self.values, self.threads)
                self.access = GramAccess(kernel, self.X, _core.Gram.matrix(self.values), self.threads)
            else:
                self.values = None
        return self.access

    def _needs_double(self, access: GramAccess) -> bool:
        """Whether the rounding error of a value times the largest coefficient is too large for the tolerance."""
        largest = float(np.max(np.abs(access.diagonal()), initial=0.0))
        return self.tol < MIN_SINGLE_TOL or not SINGLE_ROUNDING * largest * self.cost <= 0.5 * self.tol

    def expand(self, coefficients: Array, train: NDArray[np.intp], test: NDArray[np.intp]) -> Array:
        """Return coefficients (functions × train) times K[train, test]."""
        if self.values is not None:
            K = self.values[np.ix_(test, train)]
            assert self.access is not None
            largest = max(1.0, float(np.max(np.abs(self.access.diagonal()), initial=0.0)))
            sums = np.abs(coefficients).sum(axis=1).max(initial=0.0)
            single = K.dtype == np.float32 and largest * sums <= MAX_SINGLE_SUM
            dtype = np.dtype(np.float32 if single else np.float64)
            product: Array = np.matmul(coefficients.astype(dtype), K.astype(dtype, copy=False).T)
            return product
        assert self.access is not None
        out = expand(self.access.kernel, self.X[test], self.X[train], coefficients.T, threads=self.threads)
        return np.ascontiguousarray(out.T)
