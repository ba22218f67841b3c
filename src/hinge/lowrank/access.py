"""Kernel access to a low-rank approximation of the kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge import _core
from hinge.kernels import Access, GramAccess, Linear, Precomputed, SubsetAccess, open_access
from hinge.kernels.direct import largest_entry
from hinge.lowrank.factor import Factor, linear_factor
from hinge.lowrank.methods import Approximation
from hinge.lowrank.row_blocks import RowBlocks

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LowRankAccess:
    """Access to LLᵀ in place of K, for all samples or for those in `index`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF
    >>> from hinge.lowrank import SGMA, LowRankAccess
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> factor = SGMA(rank=10, tol=0).fit(RBF(0.1), X)
    >>> access = LowRankAccess(factor)
    >>> bool(np.allclose(access.diagonal(), np.sum(factor.L**2, axis=1)))
    True
    """

    origin: Factor
    index: NDArray[np.intp] | None = None

    @property
    def n(self) -> int:
        return len(self.origin.residual) if self.index is None else len(self.index)

    @property
    def compiled(self) -> bool:
        return True

    @cached_property
    def blocks(self) -> RowBlocks:
        """The rows of L, in blocks."""
        return self.origin.rows(self.index)

    @cached_property
    def _linear(self) -> GramAccess:
        """LLᵀ as the linear kernel matrix of the rows of L."""
        return open_access(Linear(), self.factor(), threads=self.origin.threads)

    @property
    def gram(self) -> _core.Gram:
        return self._linear.gram

    def diagonal(self) -> Array:
        return self._diagonal

    @cached_property
    def _diagonal(self) -> Array:
        return self.blocks.squared_norms()

    def largest(self) -> float:
        return largest_entry(self._diagonal)

    def rows(self, index: ArrayLike) -> Array:
        return self.blocks.times(self.blocks.take(_indices(index)).T.astype(np.float64)).T

    def block(self, rows: ArrayLike, cols: ArrayLike) -> Array:
        first, second = (self.blocks.take(_indices(index)).astype(np.float64) for index in (rows, cols))
        return np.asarray(first @ second.T)

    def matvec(self, v: ArrayLike) -> Array:
        return self.blocks.times(self.blocks.transposed(np.asarray(v, dtype=np.float64)))

    def bounded_matvec(self, v: ArrayLike) -> tuple[Array, Array]:
        """LLᵀv and bounds on its errors, by the inequality of Cauchy and Schwarz."""
        v = np.asarray(v, dtype=np.float64)
        norms = np.sqrt(self.diagonal())
        unit = float(np.finfo(np.float64 if self.blocks.wide else self.blocks.values.dtype).eps) / 2
        operations = unit * (self.n + self.origin.rank + 4)
        return self.matvec(v), 1.01 * operations * norms * float(norms @ np.abs(v))

    def accurate_matvec(self, v: ArrayLike, deadline: float | None = None) -> tuple[Array, Array]:
        """Return the result of `bounded_matvec`."""
        return self.bounded_matvec(v)

    def factor(self) -> Any:
        return self.origin.L if self.index is None else self.origin.L[self.index]

    def subset(self, index: ArrayLike) -> LowRankAccess:
        """Return access to some of these samples. L is shared."""
        chosen = np.asarray(index, dtype=np.intp)
        return LowRankAccess(self.origin, chosen if self.index is None else self.index[chosen])


def _indices(index: ArrayLike) -> NDArray[np.intp]:
    index = np.atleast_1d(np.asarray(index))
    return np.flatnonzero(index) if index.dtype == bool else index.astype(np.intp)


def low_rank_access(access: Access, method: Approximation, **options: Any) -> LowRankAccess:
    """Return access to a low-rank approximation of `access`. For the linear kernel L is X, and LLᵀ is exact."""
    if isinstance(access, LowRankAccess):
        return access
    if isinstance(access, SubsetAccess):
        whole, index = access.whole, access.index
        compiled = whole.kernel.nodes() is not None
        kernel, X = (whole.kernel, whole.data[index]) if compiled else (Precomputed(), whole.block(index, index))
    elif isinstance(access, GramAccess):
        kernel, X = access.kernel, access.data
    else:
        raise TypeError(f"{type(access).__name__} has no samples to approximate; use open_access(kernel, X)")
    if isinstance(kernel, Linear):
        return LowRankAccess(linear_factor(kernel, X, options.get("threads", 1)))
    return LowRankAccess(method.fit(kernel, X, **options))
