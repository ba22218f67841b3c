"""Low-rank approximation K ≈ LLᵀ and evaluation of functions in its coordinates."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.control import Counter
from hinge.kernels import Kernel, Precomputed, cross
from hinge.lowrank.row_blocks import RowBlocks, allocate
from hinge.lowrank.source import Source

Array = NDArray[np.float64]

#: A basis function is dropped if its squared distance from the span of the others, relative to its squared norm, is at
#: most this.
DEPENDENCE_TOL = 1e-12

#: The time of the factor is estimated from that of this many rows, times a safety factor that includes the allocation.
MEASURED_ROWS, TIME_RESERVE = 2048, 2.0

#: With more features the factor L = X of the linear kernel is rejected: its linear systems would be too large.
MAX_FEATURES = 5000


@dataclass(frozen=True, repr=False)
class Factor:
    """L = K^mn T⁻ᵀ with TTᵀ = K^nn, so that LLᵀ = K^mn (K^nn)⁻¹ K^nm.          docs/math (350), LwK Problem 10.6

    Attributes
    ----------
    basis : ndarray of int
        Indices of the samples that are basis functions.
    vectors : array or sparse matrix
        These samples; None for a precomputed kernel.
    L : ndarray (m × n)
        One row per sample; a memory map of a temporary file if it does not fit into memory.
    T : ndarray (n × n)
        Lower triangular.
    residual : ndarray
        The diagonal of K − LLᵀ, nonnegative.
    trace : float
        tr K.
    traces : ndarray
        Relative residual trace after each basis function, over the rows that were used for the selection.
    exact : bool
        True for the linear kernel, where L is X: there is no basis, and the coordinates are the features.
    complete : bool
        False if a time limit ended the selection of basis functions, or left out some of them.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF
    >>> from hinge.lowrank import SGMA
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> factor = SGMA(rank=40, tol=0).fit(RBF(0.1), X)
    >>> bool(np.abs(np.diag(RBF(0.1)(X) - factor.L @ factor.L.T) - factor.residual).max() < 1e-6)
    True
    >>> factor.transform(X[:3]).shape == (3, len(factor.basis))
    True
    """

    kernel: Kernel
    basis: NDArray[np.intp]
    vectors: Any
    L: Any
    T: Array
    residual: Array
    trace: float
    traces: Array = field(default_factory=lambda: np.empty(0))
    threads: int = 1
    exact: bool = False
    complete: bool = True

    def __repr__(self) -> str:
        basis = "features" if self.exact else "basis functions"
        return (
            f"<factor of {self.L.shape[0]} samples: {self.rank} {basis} of {self.kernel!r}, "
            f"residual trace {self.residual_trace:.3g} ({self.relative_residual:.2%} of tr K)>"
        )

    @property
    def rank(self) -> int:
        """Number of basis functions, or of features for the linear kernel."""
        return int(self.L.shape[1])

    @cached_property
    def residual_trace(self) -> float:
        """tr(K − LLᵀ), the sum of squared distances of all samples from the span of the basis; LwK (10.31)."""
        return float(np.sum(self.residual))

    @property
    def relative_residual(self) -> float:
        """Residual trace ÷ tr K."""
        return self.residual_trace / self.trace if self.trace > 0 else 0.0

    def rows(self, index: NDArray[np.intp] | None = None) -> RowBlocks:
        """Return L, or some of its rows, as blocks of rows."""
        return RowBlocks(self.L, index, self.threads)

    def transform(self, X: Any) -> Array:
        """Return the coordinates K(X, basis) T⁻ᵀ of new samples, for which transform(X) transform(Z)ᵀ ≈ K(X, Z).

        With a precomputed kernel X holds kernel values, with one column per training sample or per basis function.
        """
        return X if self.exact else self._solve(self._values(X))

    def _values(self, X: Any) -> Array:
        if not isinstance(self.kernel, Precomputed):
            return cross(self.kernel, X, self.vectors, threads=self.threads)
        X = np.asarray(X, dtype=np.float64)
        if X.shape[1] == len(self.residual):
            X = X[:, self.basis]
        if X.shape[1] != self.rank:
            raise ValueError(
                f"X has {X.shape[1]} columns; a precomputed kernel needs one per training sample "
                f"({len(self.residual)}) or one per basis function ({self.rank})"
            )
        return X

    def _solve(self, values: Array) -> Array:
        """Return values T⁻ᵀ."""
        return scipy.linalg.solve_triangular(self.T, values.T, lower=True, check_finite=False).T

    def coefficients(self, w: Array) -> Array:
        """Return c = T⁻ᵀ w, for which ⟨w, transform(x)⟩ = Σⱼ cⱼ k(x_basis[j], x).            docs/math (351)"""
        return scipy.linalg.solve_triangular(self.T, w, lower=True, trans="T", check_finite=False)


def make_factor(
    source: Source,
    basis: NDArray[np.intp],
    traces: Array,
    dtype: Any = np.float64,
    budget_bytes: int | None = None,
    folder: str | None = None,
    deadline: float | None = None,
) -> Factor:
    """Compute T and L for given basis functions, in blocks of rows.

    With a `deadline` (of `time.monotonic`) only the first basis functions are used, as many as the time allows, but at
    least one. Their number is estimated from the time of a few rows.
    """
    basis, T = independent(source, np.asarray(basis, dtype=np.intp))
    selected = len(basis)
    if deadline is not None and selected > 1:
        count = _affordable(source, basis, T, deadline, dtype)
        basis, T = basis[:count], np.ascontiguousarray(T[:count, :count])
    m, n = source.m, len(basis)
    L = allocate(m, n, dtype, budget_bytes, folder)
    diagonal = source.diagonal()
    residual = diagonal.copy()
    columns = source.columns(basis)
    counter = Counter(source.progress, m, "rows of the factor")
    for rows in RowBlocks(L).slices():
        if n == 0:
            break
        block = scipy.linalg.solve_triangular(T, columns(rows).T, lower=True, check_finite=False, overwrite_b=True).T
        L[rows] = block
        residual[rows] -= np.einsum("ij,ij->i", block, block)
        counter.advance(len(block))
    residual = np.maximum(residual, 0.0)
    residual[basis] = 0.0
    vectors = source.vectors(basis)
    return Factor(
        source.kernel, basis, vectors, L, T, residual, float(np.sum(diagonal)), traces, threads=source.threads,
        complete=n == selected,
    )  # fmt: skip


def _affordable(source: Source, basis: NDArray[np.intp], T: Array, deadline: float, dtype: Any) -> int:
    """Return the number of basis functions whose factor can be computed before the deadline.

    The time of fewer functions is at most proportional to their number.
    """
    rows, n = slice(0, min(source.m, MEASURED_ROWS)), len(basis)
    began = time.monotonic()
    block = scipy.linalg.solve_triangular(T, source.columns(basis)(rows).T, lower=True, check_finite=False).T
    np.einsum("ij,ij->i", block, block)
    stored = np.empty(block.shape, dtype=dtype)
    stored[:] = block
    now = time.monotonic()
    expected = TIME_RESERVE * (now - began) * source.m / len(block)
    return n if expected <= deadline - now else int(np.clip(n * (deadline - now) / expected, 1, n))


def linear_factor(kernel: Kernel, X: Any, threads: int = 1) -> Factor:
    """Return the factor X of the linear kernel."""
    m, d = X.shape
    if d > MAX_FEATURES:
        raise ValueError(
            f"X has {d} features, so that this method needs a matrix of size {d} × {d} (at most {MAX_FEATURES} are "
            "supported); use LinearSVC or LinearSVR, or another solver such as 'smo'"
        )
    no_basis = np.empty(0, dtype=np.intp)
    trace = float(np.sum(kernel.diag(X)))
    return Factor(kernel, no_basis, None, X, np.eye(d), np.zeros(m), trace, threads=threads, exact=True)


def independent(source: Source, basis: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array]:
    """Return the basis functions that are numerically linearly independent, in their order, and T."""
    K = source.block(basis, basis)
    K = 0.5 * (K + K.T)
    try:
        T = scipy.linalg.cholesky(K, lower=True, check_finite=False)
        if len(basis) == 0 or np.min(np.diagonal(T) ** 2 / np.maximum(np.diagonal(K), 1e-300)) > DEPENDENCE_TOL:
            return basis, T
    except scipy.linalg.LinAlgError:
        pass
    keep: list[int] = []
    T = np.zeros_like(K)
    for j in range(len(basis)):  # one row of T at a time; dependent basis functions are skipped
        n = len(keep)
        t = scipy.linalg.solve_triangular(T[:n, :n], K[keep, j], lower=True, check_finite=False)
        residual = K[j, j] - t @ t
        if residual > DEPENDENCE_TOL * max(K[j, j], 0.0):
            T[n, :n], T[n, n] = t, np.sqrt(residual)
            keep.append(j)
    n = len(keep)
    return basis[keep], T[:n, :n].copy()
