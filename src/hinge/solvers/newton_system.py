"""The linear systems of an interior point method: one factorisation of the size of the samples that still move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, lapack

from hinge.problems import Array, Quadratic

#: A sample whose row of I + M^½ K M^½ differs from that of I by less than this is left out of the factorisation.
SETTLED = 1e-3

#: The factorisation is made in single precision while no entry of M^½ K M^½ is above this, and the matrix is large.
FLOAT32_LARGEST = 1e3
FLOAT32_SIZE = 1500

#: Solutions are refined up to so many times.
MAX_REFINEMENTS = 4

#: Conjugate gradients need be no more precise than this, and end after so many steps.
PRECISION = 1e-9
MAX_STEPS = 30


class NewtonSystem:
    """Solves (Q + D) x = r for diagonal D > 0 and Q = E K Eᵀ, E = S (I … I)ᵀ.                docs/math.md (321), (322)

    With M = Eᵀ D⁻¹ E and β = Eᵀ x:  (I + M^½ K M^½) y = M^-½ Eᵀ D⁻¹ r,  β = M^½ y,  x = D⁻¹ (r − E K β).

    The matrix on the left is n × n however many variables a sample has. Samples at rest have nearly a row of the
    identity: the others are factorised, in single precision where that is enough, and conjugate gradients with that
    factor as a preconditioner do the rest.
    """

    def __init__(self, Q: Quadratic, K: Array) -> None:
        self.Q, self.K = Q, K
        self.diagonal = np.ascontiguousarray(np.diagonal(K))
        self._single: NDArray[np.float32] | None = None

    def factor(self, D: Array, moves: NDArray[np.bool_]) -> None:
        """Prepare for this D; variables that do not move have x = 0.  LinAlgError where Q is far from semidefinite."""
        self.D, self.moves = D, moves
        self.inverse = np.where(moves, 1.0 / np.where(moves, D, 1.0), 0.0)
        self.M = self.inverse.reshape(self.Q.slots, self.Q.n).sum(axis=0)
        self.root = np.sqrt(self.M)
        weight = self.M * np.abs(self.diagonal)
        self.active = np.flatnonzero(weight > SETTLED)
        size, largest = len(self.active), float(np.max(weight, initial=0.0))
        self._factor = None
        if size == 0:
            return
        if size >= FLOAT32_SIZE and largest < FLOAT32_LARGEST:
            self._factor = _cholesky(self._scaled(np.float32))
        if self._factor is None:
            self._factor = _cholesky(self._scaled(np.float64))
        if self._factor is None:
            raise LinAlgError("the kernel matrix is not positive semidefinite")

    def _scaled(self, dtype: type) -> NDArray:
        """I + M^½ K M^½ for the active samples."""
        if dtype is np.float32 and self._single is None:
            self._single = self.K.astype(np.float32)
        source: NDArray = self.K if dtype is np.float64 else self._single  # type: ignore[assignment]
        root = self.root[self.active].astype(dtype)
        if len(self.active) == self.Q.n:
            B = source * root[None, :]
        else:
            B = source[self.active[:, None], self.active[None, :]]
            B *= root[None, :]
        B *= root[:, None]
        B[np.diag_indices_from(B)] += 1.0
        return B

    def solve(self, r: Array, accuracy: float = 1e-14) -> Array:
        """x for the columns of r (variables × right-hand sides), up to a residual of `accuracy` times the largest r."""
        self._precision = max(accuracy, PRECISION)
        x, error = self._once(r)
        size = np.max(np.abs(error), initial=0.0)
        for _ in range(MAX_REFINEMENTS):
            if size <= accuracy * np.max(np.abs(r), initial=0.0):
                break
            correction, _ = self._once(error)
            better = x + correction
            error = self._error(r, better)
            before, size = size, np.max(np.abs(error), initial=0.0)
            if size < before:
                x = better
            if not size < 0.1 * before:  # what is left is rounding
                break
        return x

    def _error(self, r: Array, x: Array) -> Array:
        """r − D x − Q x."""
        Q = self.Q
        f = self.K @ (Q.sign[:, None] * x).reshape(Q.slots, Q.n, -1).sum(axis=0)
        return np.where(self.moves[:, None], r - self.D[:, None] * x - Q.sign[:, None] * np.tile(f, (Q.slots, 1)), 0.0)

    def _once(self, r: Array) -> tuple[Array, Array]:
        """x, and what is missing to r."""
        Q = self.Q
        inner = self.inverse[:, None] * r
        inner = (Q.sign[:, None] * inner).reshape(Q.slots, Q.n, -1).sum(axis=0)
        right = inner / np.where(self.root > 0, self.root, 1.0)[:, None]
        y, f = self._conjugate_gradients(right)
        with np.errstate(divide="ignore", invalid="ignore"):
            by_beta = (inner - self.root[:, None] * y) / self.M[:, None]
        f = np.where((self.M * np.abs(self.diagonal) > 1)[:, None], by_beta, f)  # neither is precise for the other's
        x = self.inverse[:, None] * r - Q.sign[:, None] * self.inverse[:, None] * np.tile(f, (Q.slots, 1))
        return x, self._error(r, x)

    def _product(self, y: Array) -> tuple[Array, Array]:
        """(I + M^½ K M^½) y, and K M^½ y."""
        f = self.K @ (self.root[:, None] * y)
        return y + self.root[:, None] * f, f

    def _conjugate_gradients(self, right: Array) -> tuple[Array, Array]:
        """y and K M^½ y, all columns at once, each with steps of its own."""
        y = self._precondition(right)
        product, f = self._product(y)
        residual = right - product
        goal = self._precision**2 * np.sum(right**2, axis=0)
        if np.all(np.sum(residual**2, axis=0) <= goal):
            return y, f
        step = z = self._precondition(residual)
        slope = np.sum(residual * z, axis=0)
        for _ in range(MAX_STEPS):
            product, f_step = self._product(step)
            bend = np.sum(step * product, axis=0)
            length = np.where(bend > 0, slope / np.where(bend > 0, bend, 1.0), 0.0)
            y, f = y + length * step, f + length * f_step
            residual = residual - length * product
            if np.all(np.sum(residual**2, axis=0) <= goal):
                break
            z = self._precondition(residual)
            before, slope = slope, np.sum(residual * z, axis=0)
            if not np.any(slope < 0.25 * before):  # rounding
                break
            step = z + np.where(before > 0, slope / np.where(before > 0, before, 1.0), 0.0) * step
        return y, f

    def _precondition(self, r: Array) -> Array:
        if self._factor is None:
            return r.copy()
        out = r.copy()
        solve = lapack.dpotrs if self._factor.dtype == np.float64 else lapack.spotrs
        out[self.active] = solve(self._factor, r[self.active].astype(self._factor.dtype), lower=0)[0]
        return out


def _cholesky(B: NDArray) -> NDArray | None:
    """The factor of B, which is overwritten; None where B is not positive definite in its precision."""
    potrf = lapack.dpotrf if B.dtype == np.float64 else lapack.spotrf
    factor, info = potrf(B.T, lower=0, overwrite_a=1, clean=0)
    return factor if info == 0 and np.isfinite(factor[-1, -1]) else None
