"""(Q + D) x = r for a Q of low rank: Sherman–Morrison–Woodbury where D is large, a dense system where it is not."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.lowrank import RowBlocks
from hinge.problems import Array, Quadratic

#: Samples whose weight M‖L‖² is above this are free: dividing by D would lose their digits.
FREE = 1e5

#: At most so many samples are treated as free, the heaviest first.
MAX_FREE = 2000

#: Samples that together have no more than this share of all weight are left out of the inner matrix.
NEGLIGIBLE = 0.02

#: Steps of refinement, and the least that one of them should achieve.
MAX_STEPS, SLOW = 20, 0.25


class LowRankSystem:
    """Solves (Q + D) x = r for many D, Q = ELLᵀEᵀ, E = S(I … I)ᵀ: n × n algebra and passes over L in blocks of rows.

    With u = Eᵀx, v = Lᵀu, M = EᵀD⁻¹E and q = EᵀD⁻¹r the system is u + M L v = q.  Samples with a small D (free, F)
    keep their u as an unknown, that of the others is eliminated:                             docs/math (354), (355)

        u_F / M_F + L_F v = q_F / M_F,        (I + L_Bᵀ M_B L_B) v − L_Fᵀ u_F = L_Bᵀ q_B.

    The inner matrix is formed from the rows that matter (settled variables have a large D, and no weight) in the
    precision of L, and what that spoils is mended by iterative refinement on the equations themselves.
    """

    def __init__(self, blocks: RowBlocks, Q: Quadratic, accuracy: float, skipping: bool = True) -> None:
        self.blocks, self.Q, self.accuracy, self.skipping = blocks, Q, accuracy, skipping
        self.norms = blocks.squared_norms()
        self.largest = float(np.max(self.norms, initial=0.0))
        self.negligible = NEGLIGIBLE  # less where leaving out rows did not serve

    def refresh(self, D: Array, moves: NDArray[np.bool_]) -> None:
        """A new D."""
        least = 1e-14 * self.largest if self.largest > 0 else 1e-14
        self.inverse = np.where(moves, 1.0 / np.maximum(D, least), 0.0)
        weight = self.inverse.reshape(self.Q.slots, self.Q.n).sum(axis=0)
        mass = weight * self.norms
        self.free = np.flatnonzero(mass > FREE)
        if len(self.free) > MAX_FREE:
            heaviest = np.argpartition(-mass[self.free], MAX_FREE)[:MAX_FREE]
            self.free = np.sort(self.free[heaviest])
        self.free_weight = weight[self.free]
        self.weight = weight
        self.weight[self.free] = mass[self.free] = 0.0
        self.mass, self.sloppy = mass, self.skipping
        self.L_free = np.asarray(self.blocks.take(self.free), dtype=np.float64)
        self._form()

    def _form(self) -> None:
        n = self.blocks.shape[1]
        skip = self._negligible()
        self.rows = self.Q.n if skip is None else int(np.sum(~skip)) + len(self.free)
        self.whole = skip is None or not np.any(self.mass[skip])
        self.exact = self.blocks.wide and self.whole
        H = self.blocks.gram(self.weight, skip)
        H[np.diag_indices(n)] += 1.0
        self.H = _cholesky(H)
        if len(self.free):
            half = scipy.linalg.solve_triangular(self.H, self.L_free.T, lower=True, check_finite=False)
            S = half.T @ half
            S[np.diag_indices(len(S))] += 1.0 / self.free_weight
            self.S = _cholesky(S)

    def _negligible(self) -> NDArray[np.bool_] | None:
        """The lightest rows, as long as together they weigh little; those without weight alone if not `sloppy`."""
        total = float(np.sum(self.mass))
        allowed = max(self.negligible * total, min(0.1, 0.5 * total)) if self.sloppy else 0.0
        order = np.argsort(self.mass)
        light = int(np.searchsorted(np.cumsum(self.mass[order]), allowed, side="right"))
        if light < 0.1 * len(order):
            return None
        skip = np.zeros(len(order), dtype=bool)
        skip[order[:light]] = True
        skip[self.free] = True
        return skip

    def solve(self, r: Array, rough: bool = False) -> tuple[Array, Array]:
        """(x, LLᵀEᵀx) for the columns of r; a rough answer is refined only where rows are left out."""
        Q, slots = self.Q, self.Q.slots
        x = self.inverse[:, None] * r
        q = (Q.sign[:, None] * x).reshape(slots, Q.n, -1).sum(axis=0)
        pull = q[self.free] / self.free_weight[:, None]
        q[self.free] = 0.0
        b = self.blocks.transposed(q)
        u, v = self._once(pull, b) if rough and self.whole else self._refined(pull, b)
        f = self.blocks.times(v)
        x -= self.inverse[:, None] * (Q.sign[:, None] * np.tile(f, (slots, 1)))
        if len(self.free):
            self._take_from(x, u)
        return x, f

    def _take_from(self, x: Array, u: Array) -> None:
        """Of a free sample's variables the freest is what the others leave of u."""
        Q = self.Q
        at = self.free + Q.n * np.arange(Q.slots)[:, None]
        freest = np.argmax(self.inverse[at], axis=0)
        chosen = at[freest, np.arange(len(self.free))]
        x[chosen] = 0.0
        others = (Q.sign[at][:, :, None] * x[at]).sum(axis=0)
        x[chosen] = Q.sign[chosen][:, None] * (u - others)

    def _once(self, pull: Array, b: Array) -> tuple[Array, Array]:
        """The two equations by the matrices at hand."""
        v = scipy.linalg.cho_solve((self.H, True), b, check_finite=False)
        if not len(self.free):
            return np.zeros((0, b.shape[1])), v
        u = scipy.linalg.cho_solve((self.S, True), pull - self.L_free @ v, check_finite=False)
        return u, v + scipy.linalg.cho_solve((self.H, True), self.L_free.T @ u, check_finite=False)

    def _left(self, u: Array, v: Array, pull: Array, b: Array) -> tuple[Array, Array]:
        """What (u, v) leaves of the right sides."""
        rest = b - v - self.blocks.weighted(self.weight, v)
        if not len(self.free):
            return np.zeros_like(pull), rest
        return pull - u / self.free_weight[:, None] - self.L_free @ v, rest + self.L_free.T @ u

    def _refined(self, pull: Array, b: Array) -> tuple[Array, Array]:
        u, v = self._once(pull, b)
        if self.exact and self.accuracy > 1e-7:
            return u, v
        left = self._left(u, v, pull, b)
        first = _size(pull, b)
        size = _norm(*left) / first
        for _ in range(MAX_STEPS):
            if np.max(size) <= self.accuracy:
                break
            du, dv = self._once(*left)
            nothing = np.zeros_like(pull), np.zeros_like(b)
            image = self._left(du, dv, *nothing)  # minus the image of the correction
            step = -_dot(image, left) / np.maximum(_dot(image, image), 1e-300)
            u, v = u + step * du, v + step * dv
            left = (left[0] + step * image[0], left[1] + step * image[1])
            before, size = size, _norm(*left) / first
            if np.max(size) > SLOW * np.max(before) and np.max(size) > self.accuracy:
                if self.exact:
                    break  # rounding: no further
                if self.sloppy:  # rows left out are missed: not any more
                    self.sloppy, self.negligible = False, 0.1 * self.negligible
                    self._form()
        return u, v


def _dot(a: tuple[Array, Array], b: tuple[Array, Array]) -> Array:
    return np.asarray(np.sum(a[0] * b[0], axis=0) + np.sum(a[1] * b[1], axis=0))


def _norm(a: Array, b: Array) -> Array:
    return np.asarray(np.sqrt(np.sum(a * a, axis=0) + np.sum(b * b, axis=0)))


def _size(a: Array, b: Array) -> Array:
    size = _norm(a, b)
    return np.where(size > 0, size, 1.0)


def _cholesky(H: Array) -> Array:
    """The factor; of a matrix with a larger diagonal where rounding has spoilt a pivot: refinement mends that."""
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        try:
            raised = H + ridge * np.diag(np.diagonal(H)) if ridge else H
            return scipy.linalg.cholesky(raised, lower=True)
        except scipy.linalg.LinAlgError:
            continue
    raise scipy.linalg.LinAlgError("the inner matrix is not positive definite")
