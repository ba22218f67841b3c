"""(Q + D) x = r with a kernel matrix in memory: one factorisation of the size of the samples that count."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.problems import Array, Quadratic


class DenseSystem:
    """Solves (Q + D) x = r, Q = EKEᵀ, for many D; an infinite D keeps a variable at zero.  docs/math (18), (361)"""

    def __init__(self, K: Array, Q: Quadratic) -> None:
        self.K, self.Q = K, Q

    def refresh(self, D: Array, moves: NDArray[np.bool_]) -> None:
        """A new D."""
        Q = self.Q
        self.inverse = np.where(moves, 1.0 / np.where(moves, D, 1.0), 0.0)
        weight = self.inverse.reshape(Q.slots, Q.n).sum(axis=0)
        self.used = np.flatnonzero(weight > 0)
        self.root = np.sqrt(weight[self.used])
        B = self.root[:, None] * self.K[np.ix_(self.used, self.used)] * self.root
        B[np.diag_indices_from(B)] += 1.0
        self.factor = scipy.linalg.cho_factor(B, lower=True, overwrite_a=True, check_finite=True)

    def solve(self, r: Array) -> tuple[Array, Array]:
        """(x, KEᵀx) for the columns of r, refined once."""
        x = self._once(r)
        Q = self.Q
        D = np.where(self.inverse > 0, 1.0 / np.where(self.inverse > 0, self.inverse, 1.0), 0.0)
        u = (Q.sign[:, None] * x).reshape(Q.slots, Q.n, -1).sum(axis=0)
        image = Q.sign[:, None] * np.tile(self.K @ u, (Q.slots, 1))
        x = x + self._once(np.where(self.inverse[:, None] > 0, r - D[:, None] * x - image, 0.0))
        return x, np.asarray(self.K @ (Q.sign[:, None] * x).reshape(Q.slots, Q.n, -1).sum(axis=0))

    def _once(self, r: Array) -> Array:
        Q = self.Q
        x = self.inverse[:, None] * r
        q = (Q.sign[:, None] * x).reshape(Q.slots, Q.n, -1).sum(axis=0)
        inner = q[self.used] / self.root[:, None]
        inner -= scipy.linalg.cho_solve(self.factor, inner, check_finite=False)
        f = np.zeros_like(q)
        f[self.used] = inner / self.root[:, None]
        return x - self.inverse[:, None] * (Q.sign[:, None] * np.tile(f, (Q.slots, 1)))
