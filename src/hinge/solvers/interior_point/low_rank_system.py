"""Linear system (Q + D) x = r for Q of low rank, by the Sherman–Morrison–Woodbury formula."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.lowrank import RowBlocks
from hinge.problems import Array, Quadratic

#: Samples whose weight M‖L‖² is above this are treated as free: eliminating them would divide by a tiny D and lose
#: digits.
FREE_WEIGHT = 1e5

#: Largest number of samples that are treated as free. If more have a large weight, those of the largest weights are.
MAX_FREE = 2000

#: Rows of small weight are left out of the inner matrix until their total weight reaches this share of the sum.
MAX_SKIPPED_WEIGHT = 0.02

#: Number of steps of iterative refinement, after which the current solution is returned.
MAX_REFINEMENTS = 20

#: If a refinement step leaves more than this share of the residual, the omitted rows are added to the inner matrix.
SLOW_REFINEMENT = 0.25


class LowRankSystem:
    """Solver of (Q + D) x = r for a sequence of D, with Q = ELLᵀEᵀ, E = S(I … I)ᵀ.

    Each D costs operations on n × n matrices and passes over L in blocks of rows. With u = Eᵀx, v = Lᵀu, M = EᵀD⁻¹E and
    q = EᵀD⁻¹r the system is u + M L v = q. For the samples with a small D (free, F), u remains an unknown. The other
    samples (B) are eliminated:                                                                docs/math (354), (355)

        u_F / M_F + L_F v = q_F / M_F,        (I + L_Bᵀ M_B L_B) v − L_Fᵀ u_F = L_Bᵀ q_B.

    The inner matrix is formed from the rows with a noticeable weight (variables at a bound have a large D and a
    negligible weight), in the precision of L. Iterative refinement on the equations corrects both approximations.
    """

    def __init__(self, blocks: RowBlocks, Q: Quadratic, accuracy: float, skip_rows: bool = True) -> None:
        self.blocks, self.Q, self.accuracy, self.skip_rows = blocks, Q, accuracy, skip_rows
        self.norms = blocks.squared_norms()
        self.largest = float(np.max(self.norms, initial=0.0))
        self.max_skipped = MAX_SKIPPED_WEIGHT  # reduced when refinement with skipped rows was slow

    def factor(self, D: Array, movable: NDArray[np.bool_]) -> None:
        """Prepare for this D; variables that are not movable have x = 0."""
        least = 1e-14 * self.largest if self.largest > 0 else 1e-14
        self.inverse = np.where(movable, 1.0 / np.maximum(D, least), 0.0)
        weight = self.inverse.reshape(self.Q.slots, self.Q.n).sum(axis=0)
        mass = weight * self.norms
        self.free = np.flatnonzero(mass > FREE_WEIGHT)
        if len(self.free) > MAX_FREE:
            heaviest = np.argpartition(-mass[self.free], MAX_FREE)[:MAX_FREE]
            self.free = np.sort(self.free[heaviest])
        self.free_weight = weight[self.free]
        self.weight = weight
        self.weight[self.free] = mass[self.free] = 0.0
        self.mass, self.skips_light = mass, self.skip_rows
        self.L_free = np.asarray(self.blocks.take(self.free), dtype=np.float64)
        self._form()

    def _form(self) -> None:
        """Form and factorize the inner matrix H = I + L_Bᵀ M_B L_B and the Schur complement S of the free samples."""
        n = self.blocks.shape[1]
        skip = self._skipped()
        self.rows = self.Q.n if skip is None else int(np.sum(~skip)) + len(self.free)
        self.is_complete = skip is None or not np.any(self.mass[skip])
        self.is_exact = self.blocks.wide and self.is_complete
        H = self.blocks.gram(self.weight, skip)
        H[np.diag_indices(n)] += 1.0
        self.H = _cholesky(H)
        if len(self.free):
            half = scipy.linalg.solve_triangular(self.H, self.L_free.T, lower=True, check_finite=False)
            S = half.T @ half
            S[np.diag_indices(len(S))] += 1.0 / self.free_weight
            self.S = _cholesky(S)

    def _skipped(self) -> NDArray[np.bool_] | None:
        """Return the rows to leave out: rows of the smallest weights, or only rows of weight zero.

        Return None if these are few; then no row is left out.
        """
        total = float(np.sum(self.mass))
        allowed = max(self.max_skipped * total, min(0.1, 0.5 * total)) if self.skips_light else 0.0
        order = np.argsort(self.mass)
        light = int(np.searchsorted(np.cumsum(self.mass[order]), allowed, side="right"))
        if light < 0.1 * len(order):
            return None
        skip = np.zeros(len(order), dtype=bool)
        skip[order[:light]] = True
        skip[self.free] = True
        return skip

    def solve(self, r: Array, approximate: bool = False) -> tuple[Array, Array]:
        """Return (x, LLᵀEᵀx) for the columns of r. If `approximate`, refine only if rows are left out."""
        Q, slots = self.Q, self.Q.slots
        x = self.inverse[:, None] * r
        q = (Q.sign[:, None] * x).reshape(slots, Q.n, -1).sum(axis=0)
        right_free = q[self.free] / self.free_weight[:, None]
        q[self.free] = 0.0
        right = self.blocks.transposed(q)
        once = approximate and self.is_complete
        u, v = self._solve_once(right_free, right) if once else self._solve_refined(right_free, right)
        f = self.blocks.times(v)
        x -= self.inverse[:, None] * (Q.sign[:, None] * np.tile(f, (slots, 1)))
        if len(self.free):
            self._set_free(x, u)
        return x, f

    def _set_free(self, x: Array, u: Array) -> None:
        """Set the variable with the smallest D of each free sample so that the variables add up to u."""
        Q = self.Q
        at = self.free + Q.n * np.arange(Q.slots)[:, None]
        freest = np.argmax(self.inverse[at], axis=0)
        chosen = at[freest, np.arange(len(self.free))]
        x[chosen] = 0.0
        others = (Q.sign[at][:, :, None] * x[at]).sum(axis=0)
        x[chosen] = Q.sign[chosen][:, None] * (u - others)

    def _solve_once(self, right_free: Array, right: Array) -> tuple[Array, Array]:
        """Solve the two equations for (u_F, v) with the Cholesky factors."""
        v = scipy.linalg.cho_solve((self.H, True), right, check_finite=False)
        if not len(self.free):
            return np.zeros((0, right.shape[1])), v
        u = scipy.linalg.cho_solve((self.S, True), right_free - self.L_free @ v, check_finite=False)
        return u, v + scipy.linalg.cho_solve((self.H, True), self.L_free.T @ u, check_finite=False)

    def _residual(self, u: Array, v: Array, right_free: Array, right: Array) -> tuple[Array, Array]:
        """Residuals of the two equations, with all rows."""
        rest = right - v - self.blocks.weighted(self.weight, v)
        if not len(self.free):
            return np.zeros_like(right_free), rest
        return right_free - u / self.free_weight[:, None] - self.L_free @ v, rest + self.L_free.T @ u

    def _solve_refined(self, right_free: Array, right: Array) -> tuple[Array, Array]:
        """Solve for (u_F, v), with minimal-residual corrections until `accuracy` is reached."""
        u, v = self._solve_once(right_free, right)
        if self.is_exact and self.accuracy > 1e-7:
            return u, v
        residual = self._residual(u, v, right_free, right)
        scale = _nonzero_norm(right_free, right)
        size = _norm(*residual) / scale
        for _ in range(MAX_REFINEMENTS):
            if np.max(size) <= self.accuracy:
                break
            du, dv = self._solve_once(*residual)
            # minus the left-hand side of the equations at (du, dv)
            image = self._residual(du, dv, np.zeros_like(right_free), np.zeros_like(right))
            step = -_dot(image, residual) / np.maximum(_dot(image, image), 1e-300)
            u, v = u + step * du, v + step * dv
            residual = (residual[0] + step * image[0], residual[1] + step * image[1])
            before, size = size, _norm(*residual) / scale
            if np.max(size) > SLOW_REFINEMENT * np.max(before) and np.max(size) > self.accuracy:
                if self.is_exact:
                    break  # the remaining residual is rounding
                if self.skips_light:
                    self.skips_light, self.max_skipped = False, 0.1 * self.max_skipped
                    self._form()
        return u, v


def _dot(a: tuple[Array, Array], b: tuple[Array, Array]) -> Array:
    """Inner products of the columns."""
    return np.asarray(np.sum(a[0] * b[0], axis=0) + np.sum(a[1] * b[1], axis=0))


def _norm(a: Array, b: Array) -> Array:
    """Norms of the columns of (a, b)."""
    return np.asarray(np.sqrt(np.sum(a * a, axis=0) + np.sum(b * b, axis=0)))


def _nonzero_norm(a: Array, b: Array) -> Array:
    """Norms of the columns, 1 for zero columns."""
    size = _norm(a, b)
    return np.where(size > 0, size, 1.0)


def _cholesky(H: Array) -> Array:
    """Return the Cholesky factor of H.

    If rounding errors make a pivot negative, the diagonal is slightly increased; iterative refinement corrects this.
    """
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        try:
            raised = H + ridge * np.diag(np.diagonal(H)) if ridge else H
            return scipy.linalg.cholesky(raised, lower=True)
        except scipy.linalg.LinAlgError:
            continue
    raise scipy.linalg.LinAlgError("the inner matrix is not positive definite")
