"""Selection of basis functions: greedy (LwK Algorithm 10.1), by the largest residual, or at random."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hinge.control import Counter, StepMonitor
from hinge.kernels import Kernel, Precomputed, cache_bytes
from hinge.lowrank.factor import DEPENDENCE_TOL, Factor, make_factor
from hinge.lowrank.source import Source, check_samples_finite
from hinge.validation import check_integer, check_number

Array = NDArray[np.float64]

#: candidates="all" raises an error if the residual matrix would have more bytes than this.
MAX_MATRIX_BYTES = 1 << 30

#: Share of the time limit for the selection of the basis functions.
SELECTION_TIME_SHARE = 0.5

#: Candidates of `Nystrom` whose columns are computed at a time.
NYSTROM_BLOCK = 64

#: Rows of the residual matrix that are updated at a time.
UPDATE_ROWS = 256


class Approximation(Protocol):
    """A method that selects basis functions."""

    def fit(self, kernel: Kernel, X: Any) -> Factor:
        """Return the factor of the kernel matrix of X."""
        ...


class _Selection(ABC):
    """Base of the methods: validation, the rows used for the selection, and the factor of all rows."""

    rank: int
    tol: float
    sample: int | None
    random_state: int

    def _check(self) -> None:
        check_integer("rank", self.rank, 1)
        check_integer("random_state", self.random_state, 0)
        check_number("tol", self.tol, 0.0)
        if self.tol >= 1:
            raise ValueError(f"tol={self.tol!r} must lie in [0, 1): it is a fraction of the trace")
        if self.sample is not None:
            check_integer("sample", self.sample, 1)

    def fit(
        self,
        kernel: Kernel,
        X: Any,
        *,
        threads: int = 1,
        dtype: Any = np.float64,
        cache_size: float | str | None = None,
        folder: str | None = None,
        max_time: float | None = None,
        progress: StepMonitor | None = None,
    ) -> Factor:
        """Select basis functions and compute the factor of the kernel matrix of X.

        Parameters
        ----------
        kernel : Kernel
        X : array, CSR matrix, or a square kernel matrix for `Precomputed`
        threads : int
        dtype : float64 or float32
            Data type in which L is stored; it is computed in float64.
        cache_size : float or "auto", optional
            Megabytes for L; a larger L is stored in a temporary file. No limit by default.
        folder : str, optional
            Directory of this file; by default the temporary directory of the system.
        max_time : float, optional
            Seconds for the factor. Half of them are for the selection. If the factor of all selected basis functions
            would take longer, only the first ones are used, and `Factor.complete` is False.
        progress : callable, optional
            Called a few times a second with a dictionary: the numbers "done" and "total" of basis functions, then of
            rows of L. `hinge.PathProgress` shows them.
        """
        self._check()
        if kernel.psd is False:
            raise ValueError(
                f"{kernel!r} is not positive semidefinite, so K has no factor LLᵀ. Use another kernel, or a solver "
                "that accepts any kernel, such as SMO"
            )
        X = np.asarray(X) if not hasattr(X, "shape") else X
        if isinstance(kernel, Precomputed) and (X.ndim != 2 or X.shape[0] != X.shape[1]):
            raise ValueError(f"a precomputed kernel matrix must be square, got shape {X.shape}")
        check_samples_finite(X, threads)
        source = Source(kernel.resolve(X), X, threads, progress)
        rng = np.random.default_rng(self.random_state)
        sampled = np.arange(source.m)
        if self.sample is not None and self.sample < source.m:
            sampled = np.sort(rng.choice(source.m, self.sample, replace=False))
        began = time.monotonic()
        limit = None if max_time is None else began + SELECTION_TIME_SHARE * max_time
        basis, traces = self._select(source, sampled, rng, limit)
        selected_in_time = limit is None or time.monotonic() <= limit or len(basis) == min(self.rank, source.m)
        budget = None if cache_size is None else cache_bytes(cache_size)
        deadline = None if max_time is None else began + max_time
        found = make_factor(source, sampled[basis], traces, dtype, budget, folder, deadline)
        return found if selected_in_time else replace(found, complete=False)

    @abstractmethod
    def _select(
        self, source: Source, rows: NDArray[np.intp], rng: np.random.Generator, deadline: float | None
    ) -> tuple[NDArray[np.intp], Array]:
        """Return the positions of the basis functions in `rows` and the relative residual trace after each."""


class _Residual:
    """State of the Cholesky factorization of LwK Problem 10.6: the rows of L so far and the diagonal of K − LLᵀ."""

    def __init__(self, source: Source, rows: NDArray[np.intp], rank: int, deadline: float | None) -> None:
        self.source, self.index, self.deadline = source, rows, deadline
        self.diagonal = source.diagonal() if len(rows) == source.m else _diagonal(source, rows)
        if not np.isfinite(self.diagonal).all():
            raise ValueError("the kernel values of X are not finite: scale X, for example with StandardScaler")
        self.rest = np.maximum(self.diagonal, 0.0)
        self.total = float(np.sum(self.rest))
        self.rank = min(rank, len(rows))
        self.L = np.empty((self.rank, len(rows)))  # transposed: one row per basis function
        self.chosen: list[int] = []
        self.traces: list[float] = []
        self.counter = Counter(source.progress, self.rank, "basis functions")

    @property
    def relative(self) -> float:
        return float(np.sum(self.rest)) / self.total if self.total > 0 else 0.0

    def independent(self) -> NDArray[np.intp]:
        """Return the samples that are not yet in the span of the basis."""
        return np.flatnonzero(self.rest > DEPENDENCE_TOL * np.maximum(self.diagonal, 0.0))

    def done(self, tol: float) -> bool:
        late = self.deadline is not None and len(self.chosen) > 0 and time.monotonic() > self.deadline
        return late or len(self.chosen) == self.rank or self.relative <= tol

    def columns(self, candidates: NDArray[np.intp]) -> Array:
        """Return (K − LLᵀ)[:, candidates]."""
        R = self.source.block(self.index, self.index[candidates])
        n = len(self.chosen)
        if n:
            R = R - self.L[:n].T @ self.L[:n, candidates]
        return R

    def add(self, j: int, column: Array) -> None:
        """Add sample j, whose residual column is given, to the basis.                       LwK (10.143), (10.144)"""
        row = column / np.sqrt(self.rest[j])
        self.L[len(self.chosen)] = row
        self.rest = np.maximum(self.rest - row * row, 0.0)
        self.rest[j] = 0.0
        self.chosen.append(j)
        self.traces.append(self.relative)
        self.counter.advance(note=f"residual {self.relative:.2e}")

    def result(self) -> tuple[NDArray[np.intp], Array]:
        return np.array(self.chosen, dtype=np.intp), np.array(self.traces)


def _diagonal(source: Source, rows: NDArray[np.intp]) -> Array:
    if isinstance(source.kernel, Precomputed):
        return source.diagonal()[rows]
    return np.asarray(source.kernel.diag(source.X[rows]), dtype=np.float64)


@dataclass(frozen=True)
class SGMA(_Selection):
    """Sparse greedy matrix approximation.                                LwK Algorithm 10.1 and Problem 10.6

    At each step candidates are drawn at random, and the one that decreases tr(K − K̃) most becomes a basis function.
    With 59 candidates it is among the best 5 % of all samples with 95 % confidence. ``candidates="all"`` examines every
    sample; ``candidates=1`` selects at random.

    Parameters
    ----------
    rank : int, default=200
        Largest number of basis functions.
    tol : float, default=1e-3
        The selection stops when the residual trace is at most this fraction of the trace.
    candidates : int or "all", default=59
    sample : int or None, default=10000
        Number of rows, drawn at random, that are used for the selection; None for all rows. L and its residual always
        refer to all rows.
    random_state : int, default=0

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF
    >>> from hinge.lowrank import SGMA
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> factor = SGMA(rank=30, tol=0).fit(RBF(0.1), X)
    >>> factor.L.shape, bool(factor.residual_trace < 0.01 * factor.trace)
    ((200, 30), True)
    """

    rank: int = 200
    tol: float = 1e-3
    candidates: int | str = 59
    sample: int | None = 10_000
    random_state: int = 0

    def _check(self) -> None:
        super()._check()
        integer = isinstance(self.candidates, Integral) and not isinstance(self.candidates, bool)
        if self.candidates != "all" and not (integer and int(self.candidates) >= 1):
            raise ValueError(f"candidates={self.candidates!r} must be an integer of at least 1, or 'all'")

    def _select(
        self, source: Source, rows: NDArray[np.intp], rng: np.random.Generator, deadline: float | None
    ) -> tuple[NDArray[np.intp], Array]:
        if self.candidates == "all":
            return self._search_all(source, rows, deadline)
        state = _Residual(source, rows, self.rank, deadline)
        while not state.done(self.tol) and len(remaining := state.independent()):
            drawn = rng.choice(remaining, min(int(self.candidates), len(remaining)), replace=False)
            R = state.columns(drawn)
            gain = np.einsum("ij,ij->j", R, R) / state.rest[drawn]  # LwK (10.42)
            best = int(np.argmax(gain))
            state.add(int(drawn[best]), R[:, best])
        return state.result()

    def _search_all(
        self, source: Source, rows: NDArray[np.intp], deadline: float | None
    ) -> tuple[NDArray[np.intp], Array]:
        """Select among all samples by means of the residual matrix, which a rank-one update changes in each step."""
        m = len(rows)
        if 8 * m * m > MAX_MATRIX_BYTES:
            raise ValueError(
                f"candidates='all' needs the whole matrix of {m} rows, which is too large; use candidates=59, or "
                "sample=10000 to select on a subset of the rows"
            )
        state = _Residual(source, rows, self.rank, deadline)
        R = np.array(source.block(rows, rows))
        while not state.done(self.tol) and len(remaining := state.independent()):
            gain = np.einsum("ij,ij->i", R, R)[remaining] / state.rest[remaining]
            best = int(remaining[np.argmax(gain)])
            state.add(best, R[:, best].copy())
            row = state.L[len(state.chosen) - 1]
            for first in range(0, m, UPDATE_ROWS):
                R[first : first + UPDATE_ROWS] -= row[first : first + UPDATE_ROWS, None] * row
        return state.result()


@dataclass(frozen=True)
class PivotedCholesky(_Selection):
    """Incomplete Cholesky factorization with pivoting: the next basis function has the largest residual.

    Columns are computed in blocks of `block` candidates. A candidate of the block is used while its residual is at
    least half of the largest residual outside the block. ``block=1`` is the classical rule.

    Parameters
    ----------
    rank, tol, sample, random_state
        As in `SGMA`.
    block : int, default=16

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF
    >>> from hinge.lowrank import PivotedCholesky
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> factor = PivotedCholesky(rank=200, tol=1e-3).fit(RBF(0.1), X)
    >>> bool(factor.residual_trace <= 1e-3 * factor.trace), len(factor.basis) < 50
    (True, True)
    """

    rank: int = 200
    tol: float = 1e-3
    block: int = 16
    sample: int | None = 10_000
    random_state: int = 0

    def _check(self) -> None:
        super()._check()
        if isinstance(self.block, bool) or not isinstance(self.block, Integral) or self.block < 1:
            raise ValueError(f"block={self.block!r} must be an integer of at least 1")

    def _select(
        self, source: Source, rows: NDArray[np.intp], rng: np.random.Generator, deadline: float | None
    ) -> tuple[NDArray[np.intp], Array]:
        state = _Residual(source, rows, self.rank, deadline)
        while not state.done(self.tol) and len(remaining := state.independent()):
            order = remaining[np.argsort(-state.rest[remaining], kind="stable")]
            drawn = order[: self.block]
            outside = float(state.rest[order[self.block]]) if len(order) > self.block else 0.0
            R = state.columns(drawn)
            left = list(range(len(drawn)))
            while left and not state.done(self.tol):
                best = max(left, key=lambda k: state.rest[drawn[k]])
                rest = state.rest[drawn[best]]
                first = len(left) == len(drawn)
                if rest <= DEPENDENCE_TOL * state.diagonal[drawn[best]] or (not first and rest < 0.5 * outside):
                    break
                left.remove(best)
                state.add(int(drawn[best]), R[:, best].copy())
                row = state.L[len(state.chosen) - 1]
                R[:, left] -= np.outer(row, row[drawn[left]])
        return state.result()


@dataclass(frozen=True)
class Nystrom(_Selection):
    """Nyström method: the basis functions are drawn at random.

    The selection is faster than that of `SGMA`, but needs more basis functions for the same residual (LwK §10.2.3,
    footnote 5). `tol` is ignored if it is zero.

    Parameters
    ----------
    rank, tol, sample, random_state
        As in `SGMA`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF
    >>> from hinge.lowrank import Nystrom
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> len(Nystrom(rank=20).fit(RBF(0.1), X).basis)
    20
    """

    rank: int = 200
    tol: float = 0.0
    sample: int | None = None
    random_state: int = 0

    def _select(
        self, source: Source, rows: NDArray[np.intp], rng: np.random.Generator, deadline: float | None
    ) -> tuple[NDArray[np.intp], Array]:
        drawn = rng.permutation(len(rows))[: self.rank].astype(np.intp)
        if self.tol == 0:
            return drawn, np.empty(0)
        state = _Residual(source, rows, self.rank, deadline)
        for first in range(0, len(drawn), NYSTROM_BLOCK):
            block = drawn[first : first + NYSTROM_BLOCK]
            R = state.columns(block)
            for k, j in enumerate(block):
                if state.done(self.tol):
                    return state.result()
                if state.rest[j] > DEPENDENCE_TOL * state.diagonal[j]:
                    state.add(int(j), R[:, k].copy())
                    row = state.L[len(state.chosen) - 1]
                    R[:, k + 1 :] -= np.outer(row, row[block[k + 1 :]])
        return state.result()
