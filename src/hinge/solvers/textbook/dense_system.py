"""Linear system (Q + D) x = r with a kernel matrix in memory."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.problems import Array, Quadratic


class DenseSystem:
    """Solver of (Q + D) x = r, Q = EKEᵀ, for a sequence of D.                                  docs/math (18), (361)

    The factorized matrix has the order of the samples with a movable variable.
    """

    def __init__(self, K: Array, Q: Quadratic) -> None:
        self.K, self.Q = K, Q

    def factor(self, D: Array, movable: NDArray[np.bool_]) -> None:
        """Prepare for this D; variables that are not movable have x = 0."""
        Q = self.Q
        self.inverse = np.where(movable, 1.0 / np.where(movable, D, 1.0), 0.0)
        weight = self.inverse.reshape(Q.slots, Q.n).sum(axis=0)
        self.used = np.flatnonzero(weight > 0)
        self.root = np.sqrt(weight[self.used])
        B = self.root[:, None] * self.K[np.ix_(self.used, self.used)] * self.root
        B[np.diag_indices_from(B)] += 1.0
        self.cholesky = scipy.linalg.cho_factor(B, lower=True, overwrite_a=True, check_finite=True)

    def solve(self, r: Array) -> tuple[Array, Array]:
        """Return (x, KEᵀx) for the columns of r, with one step of iterative refinement."""
        x = self._solve_once(r)
        Q = self.Q
        D = np.where(self.inverse > 0, 1.0 / np.where(self.inverse > 0, self.inverse, 1.0), 0.0)
        u = (Q.sign[:, None] * x).reshape(Q.slots, Q.n, -1).sum(axis=0)
        image = Q.sign[:, None] * np.tile(self.K @ u, (Q.slots, 1))
        x = x + self._solve_once(np.where(self.inverse[:, None] > 0, r - D[:, None] * x - image, 0.0))
        return x, np.asarray(self.K @ (Q.sign[:, None] * x).reshape(Q.slots, Q.n, -1).sum(axis=0))

    def _solve_once(self, r: Array) -> Array:
        Q = self.Q
        x = self.inverse[:, None] * r
        q = (Q.sign[:, None] * x).reshape(Q.slots, Q.n, -1).sum(axis=0)
        inner = q[self.used] / self.root[:, None]
        inner -= scipy.linalg.cho_solve(self.cholesky, inner, check_finite=False)
        f = np.zeros_like(q)
        f[self.used] = inner / self.root[:, None]
        return x - self.inverse[:, None] * (Q.sign[:, None] * np.tile(f, (Q.slots, 1)))
