"""The matrix Q of problem (1): a kernel matrix, signs, and one or two slots per sample."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Access, GramAccess, Precomputed, SubsetAccess, open_access

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Quadratic:
    """Q[v, w] = sign[v] · K[v mod n, w mod n] · sign[w].                 docs/math (2)"""

    access: Access
    sign: Array
    slots: int = field(init=False)

    def __post_init__(self) -> None:
        sign = np.ascontiguousarray(self.sign, dtype=np.float64)
        if sign.ndim != 1 or sign.size % max(self.access.n, 1) or not np.all(np.abs(sign) == 1.0):
            raise ValueError("sign must hold +1 or -1 for every variable, slots · n of them")
        object.__setattr__(self, "sign", sign)
        object.__setattr__(self, "slots", sign.size // max(self.access.n, 1))

    @classmethod
    def dense(cls, matrix: Array) -> Quadratic:
        """Q given as a symmetric matrix."""
        matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        return cls(open_access(Precomputed(), matrix), np.ones(len(matrix)))

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.access.n

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.sign.size

    def coefficients(self, alpha: Array) -> Array:
        """β per sample: the signed variables summed over their slots."""
        return (self.sign * alpha).reshape(self.slots, self.n).sum(axis=0)

    def spread(self, f: Array) -> Array:
        """Values per sample f = Kβ to values per variable: sign ∘ f."""
        return self.sign * np.tile(f, self.slots)

    def matvec(self, alpha: Array) -> Array:
        """Qα."""
        return self.spread(self.access.matvec(self.coefficients(alpha)))

    def diagonal(self) -> Array:
        """The diagonal of Q."""
        return np.tile(self.access.diagonal(), self.slots)

    def block(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        """Q[rows, cols]."""
        inner = self.access.block(np.asarray(rows) % self.n, np.asarray(cols) % self.n)
        return self.sign[rows][:, None] * inner * self.sign[cols][None, :]

    def kernel_matrix(self) -> Array:
        """All of K."""
        if not isinstance(self.access, GramAccess | SubsetAccess):
            return self.access.block(np.arange(self.n), np.arange(self.n))
        K = np.empty((self.n, self.n))
        self.access.gram.fill(K)
        return K

    def to_dense(self) -> Array:
        """The whole matrix; for small problems."""
        everything = np.arange(self.size)
        return self.block(everything, everything)
