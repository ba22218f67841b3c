"""Kernel access: the one door through which problems and solvers see a kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from hinge import _core
from hinge.kernels.algebra import Array, Data, Kernel
from hinge.kernels.distances import row_blocks
from hinge.kernels.functions import Linear, Precomputed
from hinge.kernels.memory import cache_bytes
from hinge.kernels.samples import contiguous, view


class Access(Protocol):
    """An n × n kernel matrix K that need not exist in memory.  All results are float64."""

    @property
    def n(self) -> int: ...

    @property
    def gram(self) -> _core.Gram:
        """K for compiled solvers."""

    @property
    def quick(self) -> bool:
        """Whether K v is a matter of compiled code alone, not of a Python function."""

    def diagonal(self) -> Array:
        """Kᵢᵢ"""

    def rows(self, index: ArrayLike) -> Array:
        """K[index, :]"""

    def block(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        """K[rows][:, cols]"""

    def matvec(self, v: ArrayLike) -> Array:
        """K v"""

    def factor(self) -> Data:
        """Z with K = ZZᵀ; a ValueError where K has no factor at hand."""


@dataclass(frozen=True)
class GramAccess:
    """Access through the compiled core.  ``data``: what the matrix is computed from, or the matrix itself."""

    kernel: Kernel
    data: Data
    gram: _core.Gram
    threads: int = 1

    @property
    def n(self) -> int:
        return self.gram.n

    @property
    def quick(self) -> bool:
        return isinstance(self.kernel, Precomputed) or self.kernel.nodes() is not None

    def diagonal(self) -> Array:
        return self._diagonal

    @cached_property
    def _diagonal(self) -> Array:
        values = self.gram.diagonal()
        values.flags.writeable = False
        return values

    def rows(self, index: ArrayLike) -> Array:
        return self.gram.rows(_indices(index))

    def block(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        return self.gram.block(_indices(rows), _indices(cols))

    def matvec(self, v: ArrayLike) -> Array:
        return self.gram.matvec(np.ascontiguousarray(v, dtype=np.float64), self.threads)

    def factor(self) -> Data:
        if not isinstance(self.kernel, Linear):
            raise ValueError(
                f"{self.kernel!r} has no exact factor; only the linear kernel has one"
            )
        return self.data

    def subset(self, index: ArrayLike) -> SubsetAccess:
        """The same for some of the samples: K[index][:, index]."""
        return SubsetAccess(self, np.ascontiguousarray(index, dtype=np.int32))

    def of(self, X: Data) -> GramAccess:
        """The same kernel, which must be compiled, for other samples."""
        samples = view(X)
        found = GramAccess(self.kernel, samples.data, _core.Gram.of(samples.native, self._compiled), self.threads)
        vars(found)["_compiled"] = self._compiled
        return found

    @cached_property
    def _compiled(self) -> _core.Kernel:
        nodes = self.kernel.nodes()
        assert nodes is not None, "a compiled kernel is a program"
        return _core.Kernel(nodes)

    def alone(self, index: np.ndarray) -> GramAccess:
        """Some of the samples as a matrix of its own."""
        nodes = self.kernel.nodes()
        if nodes is None:
            K = self.gram.block(_indices(index), _indices(index))
            return GramAccess(self.kernel, K, _core.Gram.matrix(K), self.threads)
        samples = view(self.data[index])
        gram = _core.Gram.of(samples.native, _core.Kernel(nodes))
        return GramAccess(self.kernel, samples.data, gram, self.threads)


@dataclass(frozen=True)
class RidgedAccess(GramAccess):
    """K + diag(ridge): quadratic losses are boxes on this matrix.                    docs/math (319)"""

    plain: GramAccess | None = None
    ridge: np.ndarray = field(default_factory=lambda: np.empty(0))

    def factor(self) -> Data:
        raise ValueError("a kernel matrix with a ridge has no factor at hand")

    def alone(self, index: np.ndarray) -> GramAccess:
        assert self.plain is not None
        return with_ridge(self.plain.alone(index), self.ridge[index])


def with_ridge(access: GramAccess | SubsetAccess, ridge: Array) -> RidgedAccess:
    """Access to K + diag(ridge)."""
    plain = access.standalone if isinstance(access, SubsetAccess) else access
    ridge = np.ascontiguousarray(ridge, dtype=np.float64)
    return RidgedAccess(
        plain.kernel, plain.data, _core.Gram.ridged(plain.gram, ridge), plain.threads, plain=plain, ridge=ridge
    )


@dataclass(frozen=True)
class SubsetAccess:
    """Some rows and columns of another matrix, which is shared: solvers may work on several subsets at once."""

    whole: GramAccess
    index: np.ndarray

    @property
    def n(self) -> int:
        return len(self.index)

    @property
    def quick(self) -> bool:
        return self.whole.quick

    @cached_property
    def gram(self) -> _core.Gram:
        return self.standalone.gram

    @cached_property
    def standalone(self) -> GramAccess:
        """The subset as a matrix of its own, for those who cannot share."""
        return self.whole.alone(self.index)

    def diagonal(self) -> Array:
        return self.whole.diagonal()[self.index]

    def rows(self, index: ArrayLike) -> Array:
        return self.whole.block(self.index[_indices(index)], self.index)

    def block(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        return self.whole.block(self.index[_indices(rows)], self.index[_indices(cols)])

    def matvec(self, v: ArrayLike) -> Array:
        return self.standalone.matvec(v)

    def factor(self) -> Data:
        return self.whole.factor()[self.index]

    def subset(self, index: ArrayLike) -> SubsetAccess:
        """Some of these samples."""
        return self.whole.subset(self.index[_indices(index)])


def open_access(kernel: Kernel, X: Data, budget_bytes: int | None = None, threads: int = 1) -> GramAccess:
    """Access to the kernel matrix of X, a square matrix if the kernel is precomputed.

    A kernel with a Python function inside is evaluated once and for all if its matrix fits the budget (a
    share of free memory unless given), and row by row otherwise.
    """
    if isinstance(kernel, Precomputed):
        K = _square(X)
        return GramAccess(kernel, K, _core.Gram.matrix(K), threads)
    kernel = kernel.resolve(X)
    nodes = kernel.nodes()
    if nodes is not None:
        samples = view(X)
        return GramAccess(kernel, samples.data, _core.Gram.of(samples.native, _core.Kernel(nodes)), threads)
    n = X.shape[0]
    if 8 * n * n <= (cache_bytes("auto") if budget_bytes is None else budget_bytes):
        return GramAccess(kernel, X, _core.Gram.matrix(contiguous(kernel(X))), threads)
    row = lambda i: kernel(X[i : i + 1], X)[0]  # noqa: E731  (closes over X and the kernel only: no reference cycle)
    return GramAccess(kernel, X, _core.Gram.callback(n, np.ascontiguousarray(kernel.diag(X)), row), threads)


def cross(kernel: Kernel, X: Data, Z: Data | None = None, threads: int = 1) -> Array:
    """K(X, Z), compiled where the kernel is a program; Z is left out if the kernel is precomputed."""
    nodes = kernel.nodes()
    if nodes is None:
        return kernel(X, Z)
    x = view(X)
    z = x if Z is None else view(Z)
    return _core.cross(x.native, z.native, _core.Kernel(nodes), threads)


def expand(kernel: Kernel, X: Data, Z: Data | None, coef: ArrayLike, threads: int = 1) -> Array:
    """K(X, Z) coef for coef of shape (m,) or (m, k): decision values without their intercepts.

    With a precomputed kernel X is K(X, Z) itself, one column per row of coef, and Z is None.
    """
    coef = np.ascontiguousarray(coef, dtype=np.float64)
    columns = coef[:, None] if coef.ndim == 1 else coef
    nodes = kernel.nodes()
    if nodes is not None:
        x = view(X)
        z = x if Z is None else view(Z)
        out = _core.expand(x.native, z.native, _core.Kernel(nodes), columns, threads)
    elif isinstance(kernel, Precomputed):
        out = contiguous(X) @ columns
    else:
        other = X if Z is None else Z
        blocks = (kernel(X[rows], other) @ columns for rows in row_blocks(X.shape[0], other.shape[0]))
        out = np.concatenate([np.empty((0, columns.shape[1])), *blocks])
    return out[:, 0] if coef.ndim == 1 else out


def products(X: Data, weights: ArrayLike, threads: int = 1) -> Array:
    """⟨w, x⟩ for every row x of X and every row w of `weights`, in float64; X is not copied."""
    rows = np.ascontiguousarray(np.atleast_2d(weights), dtype=np.float64)
    if rows.shape[1] != X.shape[1]:
        raise ValueError(f"weights have {rows.shape[1]} features, but X has {X.shape[1]}")
    return _core.products(view(X).native, rows, threads)


def _indices(index: ArrayLike) -> np.ndarray:
    index = np.atleast_1d(np.asarray(index))
    if index.dtype == bool:
        index = np.flatnonzero(index)
    return np.ascontiguousarray(index, dtype=np.int64)


def _square(X: Data) -> np.ndarray:
    K = contiguous(X.toarray() if hasattr(X, "toarray") else X)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            "a precomputed kernel matrix must be square, one row and column per training sample, "
            f"got shape {K.shape}"
        )
    return K
