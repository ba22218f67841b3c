"""The linear systems of an interior point method: one factorisation of the size of the samples that still move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, lapack

from hinge.problems import Array, Quadratic

#: A sample whose row of I + M^½ K M^½ differs from that of I by less than this is left out of the factorisation.
SETTLED = 1e-3

#: The factorisation is made in single precision while no entry of M^½ K M^½ is above this, and the matrix is large.
FLOAT32_LARGEST = 1e5
FLOAT32_SIZE = 300

#: Rough answers: their precision, and steps after which a factorisation is cheaper.
ROUGH = 1e-2
ROUGH_STEPS, ROUGH_STEPS_PER_SAMPLE = 25, 1 / 40

#: Solutions are refined up to so many times.
MAX_REFINEMENTS = 4

#: Conjugate gradients need be no more precise than this, and end after so many steps.
PRECISION = 1e-9
MAX_STEPS = 30


class NewtonSystem:
    """Solves (Q + D) x = r for diagonal D > 0 and Q = E K Eᵀ, E = S (I … I)ᵀ.                docs/math (321), (322)

    With M = Eᵀ D⁻¹ E and β = Eᵀ x:  (I + M^½ K M^½) y = M^-½ Eᵀ D⁻¹ r,  β = M^½ y,  x = D⁻¹ (r − E K β).

    The matrix on the left is n × n however many variables a sample has. Samples at rest have nearly a row of the
    identity: the others are factorised, in single precision where that is enough, and conjugate gradients with that
    factor as a preconditioner do the rest.
    """

    def __init__(self, Q: Quadratic, K: Array) -> None:
        self.Q, self.K = Q, K
        self.diagonal = np.ascontiguousarray(np.diagonal(K))
        self._single: NDArray[np.float32] | None = None

    def factor(self, D: Array, moves: NDArray[np.bool_], rough: bool = False) -> None:
        """Prepare for this D; variables that do not move have x = 0.  LinAlgError where Q is far from semidefinite.

        If `rough` answers will do, nothing is factorised before conjugate gradients in single precision have failed.
        """
        self.D, self.moves = D, moves
        self.inverse = np.where(moves, 1.0 / np.where(moves, D, 1.0), 0.0)
        self.M = self.inverse.reshape(self.Q.slots, self.Q.n).sum(axis=0)
        self.root = np.sqrt(self.M)
        weight = self.M * np.abs(self.diagonal)
        self.active = np.flatnonzero(weight > SETTLED)
        size, largest = len(self.active), float(np.max(weight, initial=0.0))
        self._factor: NDArray[Any] | None = None
        self.rough = rough and self.Q.n >= FLOAT32_SIZE
        if size == 0 or self.rough:
            return
        self._factorise(size, largest)

    def _factorise(self, size: int, largest: float) -> None:
        if size >= FLOAT32_SIZE and largest < FLOAT32_LARGEST:
            self._factor = _cholesky(self._scaled(np.float32))
        if self._factor is None:
            self._factor = _cholesky(self._scaled(np.float64))
        if self._factor is None:
            raise LinAlgError("the kernel matrix is not positive semidefinite")

    @property
    def single(self) -> NDArray[np.float32]:
        """K in single precision."""
        if self._single is None:
            self._single = self.K.astype(np.float32)
        return self._single

    def _scaled(self, dtype: type) -> NDArray:
        """I + M^½ K M^½ for the active samples."""
        source: NDArray = self.K if dtype is np.float64 else self.single
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
        if self.rough:
            x = self._roughly(r)
            if x is not None:
                return x
            self.rough = False
            self._factorise(len(self.active), float(np.max(self.M * np.abs(self.diagonal), initial=0.0)))
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
        f = times(self.K, (Q.sign[:, None] * x).reshape(Q.slots, Q.n, -1).sum(axis=0))
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

    def _roughly(self, r: Array) -> Array | None:
        """x with two digits, by conjugate gradients without a factorisation; None where they take too long."""
        Q = self.Q
        inner = (Q.sign[:, None] * (self.inverse[:, None] * r)).reshape(Q.slots, Q.n, -1).sum(axis=0)
        root = self.root.astype(np.float32)
        right = (inner / np.where(self.root > 0, self.root, 1.0)[:, None]).astype(np.float32)
        scale = 1.0 / (1.0 + root * root * self.diagonal.astype(np.float32))
        forces = np.empty_like(inner)
        for column in range(inner.shape[1]):
            f = _rough_force(self.single, root, scale, np.ascontiguousarray(right[:, column]))
            if f is None:
                return None
            forces[:, column] = f
        return np.asarray(self.inverse[:, None] * (r - Q.sign[:, None] * np.tile(forces, (Q.slots, 1))))

    def _product(self, y: Array) -> tuple[Array, Array]:
        """(I + M^½ K M^½) y, and K M^½ y."""
        f = times(self.K, self.root[:, None] * y)
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


def _rough_force(
    K: NDArray[np.float32], root: NDArray[np.float32], scale: NDArray[np.float32], right: NDArray[np.float32]
) -> NDArray[np.float32] | None:
    """K M^½ y for (I + M^½ K M^½) y = right, in single precision; None if that takes too many steps."""
    y = scale * right
    f = K @ (root * y)
    residual = right - y - root * f
    goal = ROUGH * float(np.sqrt(right @ right))
    z = scale * residual
    step, slope = z, float(residual @ z)
    for _ in range(max(ROUGH_STEPS, int(ROUGH_STEPS_PER_SAMPLE * len(right)))):
        if float(np.sqrt(residual @ residual)) <= goal:
            return f
        image = K @ (root * step)
        product = step + root * image
        length = np.float32(slope / max(float(step @ product), 1e-30))
        y, f = y + length * step, f + length * image
        residual = residual - length * product
        z = scale * residual
        before, slope = slope, float(residual @ z)
        step = z + np.float32(slope / max(before, 1e-30)) * step
    return None


def times(K: Array, columns: Array) -> Array:
    """K times some columns, one after the other: a product with few columns at once takes three times as long."""
    return np.stack([K @ np.ascontiguousarray(column) for column in columns.T], axis=1)


def _cholesky(B: NDArray) -> NDArray | None:
    """The factor of B, which is overwritten; None where B is not positive definite in its precision."""
    potrf = lapack.dpotrf if B.dtype == np.float64 else lapack.spotrf
    factor, info = potrf(B.T, lower=0, overwrite_a=1, clean=0)
    return factor if info == 0 and np.isfinite(factor[-1, -1]) else None
