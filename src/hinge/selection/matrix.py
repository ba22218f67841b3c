"""One kernel matrix for all folds, costs and pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge import _core
from hinge.kernels import GramAccess, Kernel, Precomputed, expand, open_access
from hinge.problems import Array

#: Sums of coefficients up to this are multiplied in single precision: the error is then below a tenth of tol = 1e-3.
SINGLE_SUM = 1000.0

#: Tolerances below this need kernel values in double precision.
FINE_TOL = 1e-4

#: Relative error of a kernel value in single precision.
FLOAT32 = 6e-8


@dataclass
class SharedMatrix:
    """Kernel matrices of X, one after the other, in one piece of memory where it fits the budget."""

    X: Any
    tol: float
    cost: float  # the largest of a sample: an upper bound of its coefficient
    budget: int
    threads: int
    double: bool = False  # whether the present matrix needs double precision
    values: NDArray[Any] | None = None
    access: GramAccess | None = None

    def open(self, kernel: Kernel) -> GramAccess:
        """The matrix of this kernel from now on."""
        n = self.X.shape[0]
        self.access, self.double = None, self.tol < FINE_TOL
        if isinstance(kernel, Precomputed):
            self.access = open_access(kernel, self.X, threads=self.threads)
            self.values = self.access.data
        elif kernel.nodes() is None:
            self.values = None
            self.access = open_access(kernel, self.X, self.budget, self.threads)
        else:
            computed = open_access(kernel, self.X, threads=self.threads)
            self.access = computed
            self.double = self._needs_double(computed)
            dtype = np.dtype(np.float64 if self.double else np.float32)
            if n * n * dtype.itemsize <= self.budget:
                if self.values is None or self.values.dtype != dtype:
                    self.values = None  # before there is another
                    self.values = np.empty((n, n), dtype)
                computed.gram.fill(self.values, self.threads)
                self.access = GramAccess(kernel, self.X, _core.Gram.matrix(self.values), self.threads)
            else:
                self.values = None
        if not np.isfinite(self.access.diagonal()).all():
            raise ValueError(
                "kernel values of these data are not finite: they overflow. Scale the data, for example with "
                "StandardScaler"
            )
        return self.access

    def _needs_double(self, access: GramAccess) -> bool:
        """Unless the error of one value times the largest coefficient is small beside the tolerance."""
        largest = float(np.max(np.abs(access.diagonal()), initial=0.0))
        return self.tol < FINE_TOL or not FLOAT32 * largest * self.cost <= 0.5 * self.tol

    def expand(self, coefficients: Array, train: NDArray[np.intp], test: NDArray[np.intp]) -> Array:
        """coefficients (functions × train) times K[train, test]."""
        if self.values is not None:
            K = self.values[np.ix_(test, train)]
            assert self.access is not None
            largest = max(1.0, float(np.max(np.abs(self.access.diagonal()), initial=0.0)))
            sums = np.abs(coefficients).sum(axis=1).max(initial=0.0)
            coarse = K.dtype == np.float32 and largest * sums <= SINGLE_SUM
            dtype = np.dtype(np.float32 if coarse else np.float64)
            product: Array = np.matmul(coefficients.astype(dtype), K.astype(dtype, copy=False).T)
            return product
        assert self.access is not None
        out = expand(self.access.kernel, self.X[test], self.X[train], coefficients.T, threads=self.threads)
        return np.ascontiguousarray(out.T)
