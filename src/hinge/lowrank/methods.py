"""Which basis functions to take: the greedy choice of LwK Algorithm 10.1, the largest residual, or any."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Kernel, Precomputed, cache_bytes
from hinge.lowrank.factor import DEPENDENT, Factor, make_factor
from hinge.lowrank.source import Source

Array = NDArray[np.float64]

#: A whole residual matrix for the exact search may take so many bytes.
MATRIX_BYTES = 1 << 30


class Approximation(Protocol):
    """A way to choose basis functions."""

    def fit(self, kernel: Kernel, X: Any) -> Factor:
        """The factor of the kernel matrix of X."""
        ...


class _Selection:
    """What the methods share: validation, the rows looked at, the factor of all rows at the end."""

    rank: int
    tol: float
    sample: int | None
    random_state: int

    def _check(self) -> None:
        for name in ("rank", "random_state"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise TypeError(f"{name}={value!r} must be an integer")
        if self.rank < 1:
            raise ValueError(f"rank={self.rank} must be at least 1")
        if isinstance(self.tol, bool) or not isinstance(self.tol, Real):
            raise TypeError(f"tol={self.tol!r} must be a number")
        if not (0 <= self.tol < 1 and isfinite(self.tol)):
            raise ValueError(f"tol={self.tol!r} must lie in [0, 1): it is a fraction of the trace")
        if self.sample is not None and (isinstance(self.sample, bool) or not isinstance(self.sample, Integral)):
            raise TypeError(f"sample={self.sample!r} must be an integer, or None for all rows")
        if self.sample is not None and self.sample < 1:
            raise ValueError(f"sample={self.sample} must be at least 1, or None for all rows")

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
    ) -> Factor:
        """Choose basis functions and compute the factor of the kernel matrix of X.

        Parameters
        ----------
        kernel : Kernel
        X : array, CSR matrix, or a square kernel matrix for `Precomputed`
        threads : int
        dtype : float64 or float32
            What L is stored in; it is computed in float64.
        cache_size : float or "auto", optional
            Megabytes for L; a larger one goes to a temporary file.  No limit when left out.
        folder : str, optional
            Where the file is; the system's temporary folder when left out.
        max_time : float, optional
            Seconds after which no further basis function is chosen.
        """
        self._check()
        if kernel.psd is False:
            raise ValueError(
                f"{kernel!r} is not positive semidefinite: K has no factor LLᵀ. Use another kernel, or a solver "
                "that takes any kernel, such as SMO"
            )
        X = np.asarray(X) if not hasattr(X, "shape") else X
        if isinstance(kernel, Precomputed) and (X.ndim != 2 or X.shape[0] != X.shape[1]):
            raise ValueError(f"a precomputed kernel matrix must be square, got shape {X.shape}")
        source = Source(kernel.resolve(X), X, threads)
        rng = np.random.default_rng(self.random_state)
        looked_at = np.arange(source.m)
        if self.sample is not None and self.sample < source.m:
            looked_at = np.sort(rng.choice(source.m, self.sample, replace=False))
        deadline = None if max_time is None else time.monotonic() + max_time
        basis, traces = self._select(source, looked_at, rng, deadline)
        budget = None if cache_size is None else cache_bytes(cache_size)
        return make_factor(source, looked_at[basis], traces, dtype, budget, folder)

    def _select(
        self, source: Source, rows: NDArray[np.intp], rng: np.random.Generator, deadline: float | None
    ) -> tuple[NDArray[np.intp], Array]:
        """Positions in `rows` of the basis functions, and the relative residual trace after each."""
        raise NotImplementedError


class _Residual:
    """The Cholesky form of Problem 10.6: rows of L so far, and the diagonal of K − LLᵀ."""

    def __init__(self, source: Source, rows: NDArray[np.intp], rank: int, deadline: float | None) -> None:
        self.source, self.index, self.deadline = source, rows, deadline
        self.diagonal = source.diagonal() if len(rows) == source.m else _diagonal(source, rows)
        if not np.isfinite(self.diagonal).all():
            raise ValueError("kernel values of these data are not finite: scale the data")
        self.rest = np.maximum(self.diagonal, 0.0)
        self.total = float(np.sum(self.rest))
        self.rank = min(rank, len(rows))
        self.L = np.empty((self.rank, len(rows)))  # transposed: a basis function is a row
        self.chosen: list[int] = []
        self.traces: list[float] = []

    @property
    def relative(self) -> float:
        return float(np.sum(self.rest)) / self.total if self.total > 0 else 0.0

    def open(self) -> NDArray[np.intp]:
        """Samples that are not in the span of the basis yet."""
        return np.flatnonzero(self.rest > DEPENDENT * np.maximum(self.diagonal, 0.0))

    def done(self, tol: float) -> bool:
        late = self.deadline is not None and len(self.chosen) > 0 and time.monotonic() > self.deadline
        return late or len(self.chosen) == self.rank or self.relative <= tol

    def columns(self, candidates: NDArray[np.intp]) -> Array:
        """(K − LLᵀ)[:, candidates]."""
        R = self.source.block(self.index, self.index[candidates])
        n = len(self.chosen)
        if n:
            R = R - self.L[:n].T @ self.L[:n, candidates]
        return R

    def add(self, j: int, column: Array) -> None:
        """Take sample j, whose residual column is given.                                     LwK (10.143), (10.144)"""
        row = column / np.sqrt(self.rest[j])
        self.L[len(self.chosen)] = row
        self.rest = np.maximum(self.rest - row * row, 0.0)
        self.rest[j] = 0.0
        self.chosen.append(j)
        self.traces.append(self.relative)

    def result(self) -> tuple[NDArray[np.intp], Array]:
        return np.array(self.chosen, dtype=np.intp), np.array(self.traces)


def _diagonal(source: Source, rows: NDArray[np.intp]) -> Array:
    if isinstance(source.kernel, Precomputed):
        return source.diagonal()[rows]
    return np.asarray(source.kernel.diag(source.X[rows]), dtype=np.float64)


@dataclass(frozen=True)
class SGMA(_Selection):
    """Sparse greedy matrix approximation.                                LwK Algorithm 10.1 and Problem 10.6

    At each step some candidates are drawn, and the one that lowers tr(K − K̃) most becomes a basis function.  With 59
    candidates it is, with 95 % confidence, among the best 5 % of all; ``candidates="all"`` looks at every sample and
    ``candidates=1`` takes any.

    Parameters
    ----------
    rank : int, default=200
        At most so many basis functions.
    tol : float, default=1e-3
        Stop when the residual trace is at most this fraction of the trace.
    candidates : int or "all", default=59
    sample : int or None, default=10000
        Choose by looking at so many rows, drawn at random; None for all.  L and its residual are those of all rows.
    random_state : int, default=0
    """

    rank: int = 200
    tol: float = 1e-3
    candidates: int | str = 59
    sample: int | None = 10_000
    random_state: int = 0

    def _check(self) -> None:
        super()._check()
        whole = isinstance(self.candidates, Integral) and not isinstance(self.candidates, bool)
        if self.candidates != "all" and not (whole and int(self.candidates) >= 1):
            raise ValueError(f"candidates={self.candidates!r} must be an integer of at least 1, or 'all'")

    def _select(
        self, source: Source, rows: NDArray[np.intp], rng: np.random.Generator, deadline: float | None
    ) -> tuple[NDArray[np.intp], Array]:
        if self.candidates == "all":
            return self._search_all(source, rows, deadline)
        state = _Residual(source, rows, self.rank, deadline)
        while not state.done(self.tol) and len(open_ := state.open()):
            drawn = rng.choice(open_, min(int(self.candidates), len(open_)), replace=False)
            R = state.columns(drawn)
            gain = np.einsum("ij,ij->j", R, R) / state.rest[drawn]  # LwK (10.42)
            best = int(np.argmax(gain))
            state.add(int(drawn[best]), R[:, best])
        return state.result()

    def _search_all(
        self, source: Source, rows: NDArray[np.intp], deadline: float | None
    ) -> tuple[NDArray[np.intp], Array]:
        """The residual matrix itself, lowered by a matrix of rank one per step."""
        m = len(rows)
        if 8 * m * m > MATRIX_BYTES:
            raise ValueError(
                f"candidates='all' needs the whole matrix of {m} rows; use candidates=59, or sample=10000 to choose by "
                "looking at some rows"
            )
        state = _Residual(source, rows, self.rank, deadline)
        R = np.array(source.block(rows, rows))
        while not state.done(self.tol) and len(open_ := state.open()):
            gain = np.einsum("ij,ij->i", R, R)[open_] / state.rest[open_]
            best = int(open_[np.argmax(gain)])
            state.add(best, R[:, best].copy())
            row = state.L[len(state.chosen) - 1]
            for first in range(0, m, 256):
                R[first : first + 256] -= row[first : first + 256, None] * row
        return state.result()


@dataclass(frozen=True)
class PivotedCholesky(_Selection):
    """The sample with the largest residual next: incomplete Cholesky factorisation with pivoting.

    Columns are computed `block` at a time; a candidate of the block is taken as long as its residual is at least half
    of the largest outside of it.  ``block=1`` is the classical rule.

    Parameters
    ----------
    rank, tol, sample, random_state
        As in `SGMA`.
    block : int, default=16
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
        while not state.done(self.tol) and len(open_ := state.open()):
            order = open_[np.argsort(-state.rest[open_], kind="stable")]
            drawn = order[: self.block]
            outside = float(state.rest[order[self.block]]) if len(order) > self.block else 0.0
            R = state.columns(drawn)
            left = list(range(len(drawn)))
            while left and not state.done(self.tol):
                best = max(left, key=lambda k: state.rest[drawn[k]])
                rest = state.rest[drawn[best]]
                first = len(left) == len(drawn)
                if rest <= DEPENDENT * state.diagonal[drawn[best]] or (not first and rest < 0.5 * outside):
                    break
                left.remove(best)
                state.add(int(drawn[best]), R[:, best].copy())
                row = state.L[len(state.chosen) - 1]
                R[:, left] -= np.outer(row, row[drawn[left]])
        return state.result()


@dataclass(frozen=True)
class Nystrom(_Selection):
    """Any samples: the basis is drawn at random.

    Needs about as many more basis functions as it is quicker (LwK §10.2.3, footnote 5).  `tol` is not looked at unless
    it is above zero.

    Parameters
    ----------
    rank, tol, sample, random_state
        As in `SGMA`.
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
        for first in range(0, len(drawn), 64):
            some = drawn[first : first + 64]
            R = state.columns(some)
            for k, j in enumerate(some):
                if state.done(self.tol):
                    return state.result()
                if state.rest[j] > DEPENDENT * state.diagonal[j]:
                    state.add(int(j), R[:, k].copy())
                    row = state.L[len(state.chosen) - 1]
                    R[:, k + 1 :] -= np.outer(row, row[some[k + 1 :]])
        return state.result()
