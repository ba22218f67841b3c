"""Newton system (Q + D) x = r of the dense interior-point method.

The factorized matrix has one row per sample, however many variables a sample has, and only the rows of samples that are
not at their bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.problems import Array, Quadratic

#: Samples whose value M_i K_ii is at most this are left out of the factorization: their row of I + M^½ K M^½ is nearly
#: that of the identity, and conjugate gradients correct the difference.
NEGLIGIBLE_WEIGHT = 1e-3

#: The factorization is in single precision for matrices of at least this order, as long as no value M_i K_ii reaches
#: the limit; beyond it, single precision makes a poor preconditioner.
MIN_SIZE_FLOAT32 = 300
MAX_WEIGHT_FLOAT32 = 1e5

#: Relative residual at which an approximate solution is accepted.
APPROXIMATE_TOL = 1e-2

#: Steps of an approximate solution, a constant or a share of the samples if that is more, after which the matrix is
#: factorized instead.
MAX_APPROXIMATE_STEPS = 25
MAX_APPROXIMATE_STEPS_PER_SAMPLE = 1 / 40

#: Number of corrections by iterative refinement, after which the current solution is returned.
MAX_REFINEMENTS = 4

#: Conjugate gradients stop at this relative residual even if a smaller one is requested. Iterative refinement reduces
#: it further.
CG_TOL = 1e-9

#: Steps of conjugate gradients before their iterate is passed to refinement.
MAX_CG_STEPS = 30


class NewtonSystem:
    """Solver of (Q + D) x = r for diagonal D > 0 and Q = E K Eᵀ, E = S (I … I)ᵀ.             docs/math (321), (322)

    With M = Eᵀ D⁻¹ E and β = Eᵀ x:  (I + M^½ K M^½) y = M^-½ Eᵀ D⁻¹ r,  β = M^½ y,  x = D⁻¹ (r − E K β).

    The matrix on the left is n × n for any number of variables per sample. For samples close to a bound, M is small and
    the row is nearly a row of the identity. The rows of the other samples are factorized, in single precision where
    that suffices, and the factor preconditions conjugate gradients on the whole matrix.
    """

    def __init__(self, Q: Quadratic, K: Array) -> None:
        self.Q, self.K = Q, K
        self.diagonal = np.ascontiguousarray(np.diagonal(K))
        self.active = np.arange(Q.size)  # samples in the factorization; before the first one, all variables
        self._single: NDArray[np.float32] | None = None

    def factor(self, D: Array, movable: NDArray[np.bool_], approximate: bool = False) -> None:
        """Prepare for this D; variables that are not movable have x = 0.

        Raise LinAlgError if Q is far from positive semidefinite. With `approximate`, `solve` first tries conjugate
        gradients in single precision and factorizes only if they do not converge.
        """
        self.D, self.movable = D, movable
        self.inverse = np.where(movable, 1.0 / np.where(movable, D, 1.0), 0.0)
        self.M = self.inverse.reshape(self.Q.slots, self.Q.n).sum(axis=0)
        self.root = np.sqrt(self.M)
        weight = self.M * np.abs(self.diagonal)
        self.active = np.flatnonzero(weight > NEGLIGIBLE_WEIGHT)
        size, largest = len(self.active), float(np.max(weight, initial=0.0))
        self._factor: NDArray[Any] | None = None
        self.approximate = approximate and self.Q.n >= MIN_SIZE_FLOAT32
        if size == 0 or self.approximate:
            return
        self._factorize(size, largest)

    def _factorize(self, size: int, largest: float) -> None:
        if size >= MIN_SIZE_FLOAT32 and largest < MAX_WEIGHT_FLOAT32:
            self._factor = _cholesky(self._scaled_matrix(np.float32))
        if self._factor is None:
            self._factor = _cholesky(self._scaled_matrix(np.float64))
        if self._factor is None:
            raise scipy.linalg.LinAlgError("the kernel matrix is not positive semidefinite")

    @property
    def single(self) -> NDArray[np.float32]:
        """K in single precision."""
        if self._single is None:
            self._single = self.K.astype(np.float32)
        return self._single

    def _scaled_matrix(self, dtype: type) -> NDArray:
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

    def solve(self, r: Array, accuracy: float) -> Array:
        """Return x for the columns of r (variables × right sides), with residuals of at most `accuracy` · max |r|."""
        if self.approximate:
            x = self._solve_approximately(r)
            if x is not None:
                return x
            self.approximate = False
            self._factorize(len(self.active), float(np.max(self.M * np.abs(self.diagonal), initial=0.0)))
        self._cg_tol = max(accuracy, CG_TOL)
        x, residual = self._solve_once(r)
        size = np.max(np.abs(residual), initial=0.0)
        for _ in range(MAX_REFINEMENTS):
            if size <= accuracy * np.max(np.abs(r), initial=0.0):
                break
            correction, _ = self._solve_once(residual)
            corrected = x + correction
            residual = self._residual(r, corrected)
            before, size = size, np.max(np.abs(residual), initial=0.0)
            if size < before:
                x = corrected
            if not size < 0.1 * before:  # the remaining residual is rounding
                break
        return x

    def _residual(self, r: Array, x: Array) -> Array:
        """r − D x − Q x."""
        Q = self.Q
        f = _times(self.K, (Q.sign[:, None] * x).reshape(Q.slots, Q.n, -1).sum(axis=0))
        residual = r - self.D[:, None] * x - Q.sign[:, None] * np.tile(f, (Q.slots, 1))
        return np.where(self.movable[:, None], residual, 0.0)

    def _solve_once(self, r: Array) -> tuple[Array, Array]:
        """x by preconditioned conjugate gradients, and its residual."""
        Q = self.Q
        summed = self.inverse[:, None] * r
        summed = (Q.sign[:, None] * summed).reshape(Q.slots, Q.n, -1).sum(axis=0)
        right = summed / np.where(self.root > 0, self.root, 1.0)[:, None]
        y, f = self._conjugate_gradients(right)
        with np.errstate(divide="ignore", invalid="ignore"):
            f_by_beta = (summed - self.root[:, None] * y) / self.M[:, None]
        # f = Kβ loses digits where M K_ii is large, f from β where it is small.
        f = np.where((self.M * np.abs(self.diagonal) > 1)[:, None], f_by_beta, f)
        x = self.inverse[:, None] * r - Q.sign[:, None] * self.inverse[:, None] * np.tile(f, (Q.slots, 1))
        return x, self._residual(r, x)

    def _solve_approximately(self, r: Array) -> Array | None:
        """x to two digits by conjugate gradients without a factorization; None if they converge slowly."""
        Q = self.Q
        summed = (Q.sign[:, None] * (self.inverse[:, None] * r)).reshape(Q.slots, Q.n, -1).sum(axis=0)
        root = self.root.astype(np.float32)
        right = (summed / np.where(self.root > 0, self.root, 1.0)[:, None]).astype(np.float32)
        scale = 1.0 / (1.0 + root * root * self.diagonal.astype(np.float32))
        f = np.empty_like(summed)
        for column in range(summed.shape[1]):
            product = _approximate_product(self.single, root, scale, np.ascontiguousarray(right[:, column]))
            if product is None:
                return None
            f[:, column] = product
        return np.asarray(self.inverse[:, None] * (r - Q.sign[:, None] * np.tile(f, (Q.slots, 1))))

    def _product(self, y: Array) -> tuple[Array, Array]:
        """(I + M^½ K M^½) y, and K M^½ y."""
        f = _times(self.K, self.root[:, None] * y)
        return y + self.root[:, None] * f, f

    def _conjugate_gradients(self, right: Array) -> tuple[Array, Array]:
        """y and K M^½ y for all columns at once, each with its own step lengths."""
        y = self._precondition(right)
        product, f = self._product(y)
        residual = right - product
        goal = self._cg_tol**2 * np.sum(right**2, axis=0)
        if np.all(np.sum(residual**2, axis=0) <= goal):
            return y, f
        step = z = self._precondition(residual)
        slope = np.sum(residual * z, axis=0)
        for _ in range(MAX_CG_STEPS):
            product, f_step = self._product(step)
            curvature = np.sum(step * product, axis=0)
            length = np.where(curvature > 0, slope / np.where(curvature > 0, curvature, 1.0), 0.0)
            y, f = y + length * step, f + length * f_step
            residual = residual - length * product
            if np.all(np.sum(residual**2, axis=0) <= goal):
                break
            z = self._precondition(residual)
            before, slope = slope, np.sum(residual * z, axis=0)
            if not np.any(slope < 0.25 * before):  # rounding errors dominate
                break
            step = z + np.where(before > 0, slope / np.where(before > 0, before, 1.0), 0.0) * step
        return y, f

    def _precondition(self, r: Array) -> Array:
        """Solve with the factor for the active samples, and with the identity for the others."""
        if self._factor is None:
            return r.copy()
        out = r.copy()
        solve = scipy.linalg.lapack.dpotrs if self._factor.dtype == np.float64 else scipy.linalg.lapack.spotrs
        out[self.active] = solve(self._factor, r[self.active].astype(self._factor.dtype), lower=0)[0]
        return out


def _approximate_product(
    K: NDArray[np.float32], root: NDArray[np.float32], scale: NDArray[np.float32], right: NDArray[np.float32]
) -> NDArray[np.float32] | None:
    """K M^½ y for (I + M^½ K M^½) y = right, in single precision; None if conjugate gradients take too many steps."""
    y = scale * right
    f = K @ (root * y)
    residual = right - y - root * f
    goal = APPROXIMATE_TOL * float(np.sqrt(right @ right))
    z = scale * residual
    step, slope = z, float(residual @ z)
    for _ in range(max(MAX_APPROXIMATE_STEPS, int(MAX_APPROXIMATE_STEPS_PER_SAMPLE * len(right)))):
        if float(np.sqrt(residual @ residual)) <= goal:
            return f
        f_step = K @ (root * step)
        product = step + root * f_step
        length = np.float32(slope / max(float(step @ product), 1e-30))
        f = f + length * f_step
        residual = residual - length * product
        z = scale * residual
        before, slope = slope, float(residual @ z)
        step = z + np.float32(slope / max(before, 1e-30)) * step
    return None


def _times(K: Array, columns: Array) -> Array:
    """K times each column: a BLAS product with a few columns at once takes three times as long."""
    return np.stack([K @ np.ascontiguousarray(column) for column in columns.T], axis=1)


def _cholesky(B: NDArray) -> NDArray | None:
    """Cholesky factor of B, which is overwritten; None if B is not positive definite in its precision."""
    potrf = scipy.linalg.lapack.dpotrf if B.dtype == np.float64 else scipy.linalg.lapack.spotrf
    factor, info = potrf(B.T, lower=0, overwrite_a=1, clean=0)
    return factor if info == 0 and np.isfinite(factor[-1, -1]) else None
