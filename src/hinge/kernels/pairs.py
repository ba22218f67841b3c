"""Kernel access for pairs of samples. The matrix over pairs is computed from that over samples and never stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from hinge import _core
from hinge.kernels.access import Access, GramAccess
from hinge.kernels.algebra import UNIT_ROUNDOFF, Array, Data
from hinge.kernels.custom import Precomputed


@dataclass(frozen=True)
class PairAccess:
    """Pairs p = (i, j) stand for φ(xᵢ) − φ(xⱼ): K̃ = D K Dᵀ, with +1 and −1 in every row of D.      docs/math (431)

    `base` is access to K over samples; `first` and `second` hold i and j of every pair. The pairs of a block (the few
    samples of one query) are contiguous: block b is [block_starts[b], block_starts[b + 1]).
    """

    base: Access
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    block_starts: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.first)

    @cached_property
    def gram(self) -> _core.Gram:
        return _core.pair_gram(self.base.gram, self.first, self.second)

    @property
    def compiled(self) -> bool:
        return self.base.compiled

    def coefficients(self, alpha: ArrayLike) -> Array:
        """Return Dᵀα, one coefficient per sample."""
        return sum_over_pairs(self.first, self.second, alpha, self.base.n)

    def differences(self, f: Array) -> Array:
        """Return D f, the difference f(xᵢ) − f(xⱼ) of every pair."""
        return f[self.first] - f[self.second]

    def incidence(self, pairs: NDArray[np.intp]) -> sp.csr_array:
        """Return the rows of D that belong to some pairs."""
        return incidence(self.first[pairs], self.second[pairs], self.base.n)

    def diagonal(self) -> Array:
        return self.gram.diagonal()

    def largest(self) -> float:
        return 4.0 * self.base.largest()

    def rows(self, index: ArrayLike) -> Array:
        return self.block(index, np.arange(self.n))

    def block(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        rows, cols = (np.flatnonzero(i) if np.asarray(i).dtype == bool else np.atleast_1d(i) for i in (rows, cols))
        left = np.unique(np.concatenate([self.first[rows], self.second[rows]]))
        right = np.unique(np.concatenate([self.first[cols], self.second[cols]]))
        K = self.base.block(left, right)
        K = K[np.searchsorted(left, self.first[rows])] - K[np.searchsorted(left, self.second[rows])]
        return K[:, np.searchsorted(right, self.first[cols])] - K[:, np.searchsorted(right, self.second[cols])]

    def matvec(self, v: ArrayLike) -> Array:
        return self.differences(self.base.matvec(self.coefficients(v)))

    def bounded_matvec(self, v: ArrayLike) -> tuple[Array, Array]:
        return self._differences(v, *self.base.bounded_matvec(self.coefficients(v)))

    def accurate_matvec(self, v: ArrayLike, deadline: float | None = None) -> tuple[Array, Array]:
        return self._differences(v, *self.base.accurate_matvec(self.coefficients(v), deadline))

    def _differences(self, v: ArrayLike, f: Array, error: Array) -> tuple[Array, Array]:
        """Differences of f and bounds on their errors, including those of the coefficients of samples."""
        v = np.asarray(v, dtype=np.float64)
        values, each = self.differences(f), np.broadcast_to(error, f.shape)
        pairs = np.bincount(self.first, minlength=len(f)) + np.bincount(self.second, minlength=len(f))
        operations = UNIT_ROUNDOFF * (float(np.max(pairs, initial=0)) + 2)  # of the coefficient of a sample
        of_sums = 2 * operations * self.base.largest() * float(np.sum(np.abs(v)))
        return values, each[self.first] + each[self.second] + 2 * of_sums + UNIT_ROUNDOFF * np.abs(values)

    def subset(self, index: ArrayLike) -> PairAccess:
        """Return access to some of the pairs."""
        index = np.asarray(index)
        return PairAccess(self.base, self.first[index], self.second[index], np.array([0, len(index)], dtype=np.int64))

    def as_matrix(self) -> GramAccess:
        """Return access to the same matrix as a precomputed one; its rows are still computed on demand."""
        return GramAccess(Precomputed(), np.empty((0, 0)), self.gram)

    def factor(self) -> Data:
        raise ValueError("access over pairs has no factor: it would need one row for every pair")


def sum_over_pairs(first: NDArray[np.int32], second: NDArray[np.int32], alpha: ArrayLike, n: int) -> Array:
    """Return Dᵀα, which sums the values of the pairs of each of the n samples with their signs."""
    alpha = np.asarray(alpha, dtype=np.float64)
    return np.asarray(np.bincount(first, alpha, n) - np.bincount(second, alpha, n), dtype=np.float64)


def incidence(first: NDArray[np.int32], second: NDArray[np.int32], n: int) -> sp.csr_array:
    """Return D, with +1 and −1 in every row."""
    count = len(first)
    columns = np.stack([first, second], axis=1).ravel()
    return sp.csr_array((np.tile([1.0, -1.0], count), columns, np.arange(0, 2 * count + 1, 2)), shape=(count, n))
