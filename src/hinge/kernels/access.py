"""Kernel access: the only interface of problems and solvers to a kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from hinge import _core
from hinge.kernels.algebra import UNIT_ROUNDOFF, Array, Data, Kernel
from hinge.kernels.custom import Precomputed
from hinge.kernels.direct import LARGEST_FACTOR, DirectAccess, blocks_until, exact_product
from hinge.kernels.distances import row_blocks
from hinge.kernels.functions import RBF, Laplacian, Linear, Sigmoid
from hinge.kernels.memory import cache_bytes
from hinge.kernels.overflow import check_fractional_powers
from hinge.kernels.samples import contiguous, view
from hinge.kernels.splines import BSpline, ProductBSpline

#: Kernel values of float32 samples above this may overflow, because they are computed in single precision.
MAX_SINGLE_VALUE = 1e36

#: Kernels that are defined for all pairs of samples.
DEFINED_KERNELS = (Linear, RBF, Laplacian, Sigmoid, BSpline, ProductBSpline, Precomputed)


class Access(Protocol):
    """An n × n kernel matrix K that need not be stored. All results are float64."""

    @property
    def n(self) -> int: ...

    @property
    def gram(self) -> _core.Gram:
        """K for compiled solvers."""

    @property
    def compiled(self) -> bool:
        """Whether rows of K are computed without calling a Python function."""

    def diagonal(self) -> Array:
        """Kᵢᵢ"""

    def largest(self) -> float:
        """A bound on |Kᵢⱼ|, if K is positive semidefinite."""

    def rows(self, index: ArrayLike) -> Array:
        """K[index, :]"""

    def block(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        """K[rows][:, cols]"""

    def matvec(self, v: ArrayLike) -> Array:
        """K v"""

    def bounded_matvec(self, v: ArrayLike) -> tuple[Array, Array]:
        """K v and bounds on the errors of its entries: one for each entry, or one for all."""

    def accurate_matvec(self, v: ArrayLike, deadline: float | None = None) -> tuple[Array, Array]:
        """The same with smaller errors, from the formula of the kernel; slower.

        Raises a TimeoutError if it would not be complete at the deadline, a time of `time.monotonic`.
        """

    def factor(self) -> Data:
        """Return Z with K = ZZᵀ, or raise ValueError if no such factor is available."""


@dataclass(frozen=True)
class GramAccess:
    """Access through the compiled core. ``data`` holds the samples, or the matrix itself if it is precomputed."""

    kernel: Kernel
    data: Data
    gram: _core.Gram
    threads: int = 1

    @property
    def n(self) -> int:
        return self.gram.n

    @property
    def compiled(self) -> bool:
        return isinstance(self.kernel, Precomputed) or self.kernel.nodes() is not None

    def diagonal(self) -> Array:
        return self._diagonal

    def largest(self) -> float:
        known = vars(self).get("_largest")
        if known is None:
            known = vars(self)["_largest"] = LARGEST_FACTOR * float(np.max(np.abs(self._diagonal), initial=0.0))
        return float(known)

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

    def bounded_matvec(self, v: ArrayLike) -> tuple[Array, Array]:
        product = linear_product(self.data, v) if isinstance(self.kernel, Linear) else self.matvec(v)
        return product, self.matvec_error(v)

    def matvec_error(self, v: ArrayLike) -> Array:
        """Return a bound on the errors of K v, for any order of summation."""
        return product_error(self.gram.value_error(), self.largest(), np.asarray(v, dtype=np.float64))

    def accurate_matvec(self, v: ArrayLike, deadline: float | None = None) -> tuple[Array, Array]:
        if self.kernel.nodes() is not None:
            return DirectAccess(self.kernel, self.data).bounded_matvec(v, deadline)
        return stored_product(self, v, deadline)

    def factor(self) -> Data:
        if not isinstance(self.kernel, Linear):
            raise ValueError(f"{self.kernel!r} has no exact factor; only the linear kernel has one")
        return self.data

    def subset(self, index: ArrayLike) -> SubsetAccess:
        """Return access to K[index][:, index]."""
        return SubsetAccess(self, np.ascontiguousarray(index, dtype=np.int32))

    def for_samples(self, X: Data) -> GramAccess:
        """Return access to the matrix of the same kernel, which must be compiled, for other samples."""
        samples = view(X)
        access = GramAccess(self.kernel, samples.data, _core.Gram.of(samples.native, self._program), self.threads)
        vars(access)["_program"] = self._program
        return access

    @cached_property
    def _program(self) -> _core.Kernel:
        nodes = self.kernel.nodes()
        assert nodes is not None, "the kernel must have a compiled form"
        return _core.Kernel(nodes)

    def extract(self, index: np.ndarray) -> GramAccess:
        """Return access to K[index][:, index] that does not refer to this object."""
        nodes = self.kernel.nodes()
        if nodes is None:
            K = self.gram.block(_indices(index), _indices(index))
            return GramAccess(self.kernel, K, _core.Gram.matrix(K), self.threads)
        samples = view(self.data[index])
        gram = _core.Gram.of(samples.native, _core.Kernel(nodes))
        return GramAccess(self.kernel, samples.data, gram, self.threads)


@dataclass(frozen=True)
class RidgedAccess(GramAccess):
    """K + diag(ridge), which turns a problem with a quadratic loss into a box-constrained one.      docs/math (319)"""

    plain: GramAccess | None = None
    ridge: np.ndarray = field(default_factory=lambda: np.empty(0))

    def factor(self) -> Data:
        raise ValueError("a kernel matrix with a ridge has no factor of the form ZZᵀ with few columns")

    def extract(self, index: np.ndarray) -> GramAccess:
        assert self.plain is not None
        return with_ridge(self.plain.extract(index), self.ridge[index])


def with_ridge(access: GramAccess | SubsetAccess, ridge: Array) -> RidgedAccess:
    """Return access to K + diag(ridge)."""
    plain = access.standalone if isinstance(access, SubsetAccess) else access
    ridge = np.ascontiguousarray(ridge, dtype=np.float64)
    return RidgedAccess(
        plain.kernel, plain.data, _core.Gram.ridged(plain.gram, ridge), plain.threads, plain=plain, ridge=ridge
    )


@dataclass(frozen=True)
class SubsetAccess:
    """Some rows and columns of a shared matrix. Solvers may work on several subsets of one matrix at the same time."""

    whole: GramAccess
    index: np.ndarray

    @property
    def n(self) -> int:
        return len(self.index)

    @property
    def compiled(self) -> bool:
        return self.whole.compiled

    @cached_property
    def gram(self) -> _core.Gram:
        return self.standalone.gram

    @cached_property
    def standalone(self) -> GramAccess:
        """The subset as a separate matrix, for solvers that cannot share one."""
        return self.whole.extract(self.index)

    def diagonal(self) -> Array:
        return self.whole.diagonal()[self.index]

    def largest(self) -> float:
        return self.whole.largest()

    def rows(self, index: ArrayLike) -> Array:
        return self.whole.block(self.index[_indices(index)], self.index)

    def block(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        return self.whole.block(self.index[_indices(rows)], self.index[_indices(cols)])

    def matvec(self, v: ArrayLike) -> Array:
        return self.standalone.matvec(v)

    def bounded_matvec(self, v: ArrayLike) -> tuple[Array, Array]:
        is_linear = isinstance(self.whole.kernel, Linear)
        product = linear_product(self.whole.data[self.index], v) if is_linear else self.matvec(v)
        return product, self.matvec_error(v)

    def matvec_error(self, v: ArrayLike) -> Array:
        """Return a bound on the errors of K v, for any order of summation."""
        return product_error(self.whole.gram.value_error(), self.largest(), np.asarray(v, dtype=np.float64))

    def accurate_matvec(self, v: ArrayLike, deadline: float | None = None) -> tuple[Array, Array]:
        if self.whole.kernel.nodes() is not None:
            direct = DirectAccess(self.whole.kernel, self.whole.data, self.index.astype(np.intp))
            return direct.bounded_matvec(v, deadline)
        return stored_product(self, v, deadline)

    def factor(self) -> Data:
        return self.whole.factor()[self.index]

    def subset(self, index: ArrayLike) -> SubsetAccess:
        """Return access to some of these samples."""
        return self.whole.subset(self.index[_indices(index)])


class KernelSamples(Protocol):
    """A kernel and the samples to which it is applied."""

    @property
    def kernel(self) -> Kernel: ...

    @property
    def data(self) -> Any:
        """The samples, or the matrix itself if it is precomputed."""

    def diagonal(self) -> Array: ...


def check_kernel_values(access: KernelSamples) -> None:
    """Raise a ValueError if kernel values overflow, or if a fractional power of a negative number is needed.

    The diagonal of a positive semidefinite kernel bounds all its values.
    """
    diagonal = access.diagonal()
    if not np.isfinite(diagonal).all():
        raise ValueError(
            "kernel values of these data are not finite: they overflow. Scale the data, for example with StandardScaler"
        )
    if access.data.dtype == np.float32 and np.max(np.abs(diagonal), initial=0.0) > MAX_SINGLE_VALUE:
        largest = float(np.max(np.abs(diagonal)))
        raise ValueError(
            f"kernel values of up to {largest:.2g} overflow in single precision, in which those of float32 data are "
            "computed. Scale the data, for example with StandardScaler, or pass float64 data"
        )
    if not isinstance(access.kernel, DEFINED_KERNELS):
        check_fractional_powers(access.kernel, access.data)


def linear_product(X: Data, v: ArrayLike) -> Array:
    """Return X(Xᵀv), K v for the linear kernel, in float64. Its errors are within `product_error`.

    With R the largest norm of a row and n nonzero values of v, those of Xᵀv change the result by (n + 2)u R² Σ|v| at
    most, and the second product has an error of (d + 2)u R² Σ|v| at most.                          docs/math (612)
    """
    v = np.asarray(v, dtype=np.float64)
    blocks = row_blocks(X.shape[0], X.shape[1])
    w = np.zeros(X.shape[1])
    for rows in blocks:  # without BLAS, whose order of summation depends on the number of threads
        block = X[rows].astype(np.float64)
        w += block.T @ v[rows] if issparse(block) else np.einsum("ij,i->j", block, v[rows])
    products = [np.empty(0)]
    for rows in blocks:
        block = X[rows].astype(np.float64)
        products.append(block @ w if issparse(block) else np.einsum("ij,j->i", block, w))
    return np.concatenate(products)


def product_error(value_error: float, largest: float, v: Array) -> Array:
    """Return a bound on the error of the entries of K v, where |Kᵢⱼ| ≤ largest."""
    sums = UNIT_ROUNDOFF * (np.count_nonzero(v) + 2) * largest
    return np.array([1.01 * (value_error + sums) * float(np.add.reduce(np.abs(v)))])


def stored_product(access: Access, v: ArrayLike, deadline: float | None = None) -> tuple[Array, Array]:
    """Return K v and bounds on its errors for a matrix that is defined by its stored values."""
    v = np.asarray(v, dtype=np.float64)
    used = np.flatnonzero(v)
    f, error = np.zeros(access.n), np.zeros(access.n)
    for rows in blocks_until(deadline, access.n, max(len(used), 1)):
        f[rows], error[rows] = exact_product(access.block(np.arange(access.n)[rows], used), v[used])
    return f, error


def open_access(
    kernel: Kernel, X: Data, budget_bytes: int | None = None, threads: int = 1, cache_size: float | str = "auto"
) -> GramAccess:
    """Return access to the kernel matrix of X. If the kernel is precomputed, X is the square matrix itself.

    A kernel that calls a Python function is evaluated once if its matrix fits into the budget, and row by row
    otherwise. The budget is `budget_bytes`, or `cache_size` megabytes ("auto": a fraction of the free memory).
    """
    if isinstance(kernel, Precomputed):
        K = _square(X)
        return GramAccess(kernel, K, _core.Gram.matrix(K), threads)
    kernel = kernel.resolve(X)
    nodes = kernel.nodes()
    if nodes is not None:
        data, native = _native_samples(X)
        return GramAccess(kernel, data, _core.Gram.of(native, _core.Kernel(nodes)), threads)
    n = X.shape[0]
    if 8 * n * n <= (cache_bytes(cache_size) if budget_bytes is None else budget_bytes):
        return GramAccess(kernel, X, _core.Gram.matrix(contiguous(kernel(X))), threads)
    row = lambda i: kernel(X[i : i + 1], X)[0]  # noqa: E731  (closes over X and the kernel only: no reference cycle)
    return GramAccess(kernel, X, _core.Gram.callback(n, np.ascontiguousarray(kernel.diag(X)), row), threads)


def cross(kernel: Kernel, X: Data, Z: Data | None = None, threads: int = 1) -> Array:
    """Return K(X, Z), by the compiled core if the kernel has a compiled form. Precomputed kernels take no Z."""
    nodes = kernel.nodes()
    if nodes is None:
        return kernel(X, Z)
    x = view(X)
    z = x if Z is None else view(Z)
    return _core.cross(x.native, z.native, _core.Kernel(nodes), threads)


def expand(kernel: Kernel, X: Data, Z: Data | None, coef: ArrayLike, threads: int = 1) -> Array:
    """Return K(X, Z) coef for coef of shape (m,) or (m, k): decision values without intercepts.

    With a precomputed kernel X is the matrix K(X, Z), with one column per row of coef, and Z is None.
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
    """Return ⟨w, x⟩ in float64 for every row x of X and every row w of `weights`. X is not copied."""
    if not hasattr(X, "shape") or len(X.shape) != 2:
        raise TypeError(f"X is a {type(X).__name__}, but samples are needed: an array of two dimensions")
    rows = np.ascontiguousarray(np.atleast_2d(weights), dtype=np.float64)
    if rows.shape[1] != X.shape[1]:
        raise ValueError(f"weights have {rows.shape[1]} features, but X has {X.shape[1]}")
    return _core.products(view(X).native, rows, threads)


def _native_samples(X: Data) -> tuple[Data, _core.Samples]:
    """Return the samples, and the same samples as an object of the compiled core. X is converted only if necessary."""
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.char in "fd" and X.dtype.isnative and X.flags.c_contiguous:
        return X, _core.Samples.dense(X)
    samples = view(X)
    return samples.data, samples.native


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
