"""The central path of problem (1) where Q has low rank: one point on it, and the step to the next."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.lowrank import RowBlocks
from hinge.problems import Array, Diagonal, Problem, optimal_offset
from hinge.solvers.feasibility import forced
from hinge.solvers.interior_point.low_rank_system import LowRankSystem

#: How far to go towards the boundary.
FRACTION = 0.99

#: Slacks are at least this fraction of the width of their box.
SMALLEST_SLACK = 1e-15

#: A value below this fraction of the first one is zero; where no step is left, already one below the second fraction.
ZERO, NOTHING = 1e-14, 1e-4

#: The start may be so much closer to the lower bounds than to the upper ones.
FURTHEST = 0.99

#: Times that a step along a curved loss is halved.
MAX_HALVINGS = 30

#: Steps after which f is computed anew where it is only carried along.
REFRESH = 4


class CentralPath:
    """α inside its box, multipliers z and w of the bounds, μ of the rows, and f = LLᵀβ.   docs/math (16), (356)"""

    def __init__(self, problem: Problem, blocks: RowBlocks, accuracy: float) -> None:
        self.problem = problem
        self.width = problem.upper - problem.lower
        fixed, values = forced(problem)
        self.moves = (self.width > 0) & ~fixed
        self.idle = ~np.any((problem.A != 0) & self.moves, axis=1)
        self.has_lower = self.moves & np.isfinite(problem.lower)
        self.has_upper = self.moves & np.isfinite(problem.upper)
        self.curved = problem.term is not None and not isinstance(problem.term, Diagonal)
        self.alpha = _inside(problem, np.where(fixed, values, _middle(problem)), self.moves)
        self.mu = np.zeros(len(problem.d))
        self.system = LowRankSystem(blocks, problem.Q, accuracy)
        self.blocks = blocks
        self.f = np.zeros(problem.Q.n)
        self.refresh()
        self.first_force = self._force() or 1.0
        self.first_value = self.first_force * float(np.sum(np.abs(self.alpha))) or 1.0
        self.z = np.where(self.has_lower, self.first_force, 0.0)
        self.w = np.where(self.has_upper, self.first_force, 0.0)
        self.active, self.steps = problem.Q.n, 0

    @property
    def gradient(self) -> Array:
        return self.problem.Q.spread(self.f) + self.problem.p

    def _slacks(self) -> tuple[Array, Array]:
        """Distances to the bounds; 1 where there is none."""
        least = SMALLEST_SLACK * np.where(np.isfinite(self.width), self.width, np.abs(self.alpha))
        s = np.where(self.has_lower, np.maximum(self.alpha - self.problem.lower, least), 1.0)
        t = np.where(self.has_upper, np.maximum(self.problem.upper - self.alpha, least), 1.0)
        return s, t

    def _force(self) -> float:
        return float(np.max(np.abs(self.gradient) + np.abs(self.problem.p), initial=0.0))

    def _residuals(self) -> tuple[Array, Array]:
        """What is missing to dual and primal feasibility."""
        A, d = self.problem.A, self.problem.d
        dual = -(self.problem.slope(self.alpha, self.gradient) + self.mu @ A - self.z + self.w)
        return np.where(self.moves, dual, 0.0), d - A @ self.alpha

    # ---- measures ---------------------------------------------------------------------------------------------

    def _bounds(self) -> tuple[float, float]:
        """(gap (4) with the multipliers at hand, dual value): bounds where the point is feasible."""
        problem = self.problem
        gradient = self.gradient
        mu = self.mu
        if self.idle.any():  # nothing moves in these rows, and so nothing has moved their multipliers
            mu = np.where(self.idle, optimal_offset(problem, self.alpha, gradient), mu)
        residual = gradient + mu @ problem.A
        dual = -problem.value(self.alpha, gradient)
        if problem.term is not None:
            return float(np.sum(problem.term.gap(self.alpha, residual, problem.lower, problem.upper))), dual
        towards = np.where(residual > 0, problem.lower, problem.upper)
        return float(np.sum(residual * (self.alpha - towards))), dual

    def _feasible(self, tol: float) -> bool:
        missing = np.abs(self.problem.d - self.problem.A @ self.alpha)
        masses = np.abs(self.problem.A) @ np.abs(self.alpha) + np.abs(self.problem.d)
        return bool(np.all(missing <= tol * masses))

    def snapshot(self) -> dict[str, float]:
        """Bounds only where they are bounds: at a feasible point."""
        gap, value = self._bounds()
        dual, primal = self._residuals()
        feasible = self._feasible(1e-13)
        worst = float(max(np.max(np.abs(dual), initial=0.0), np.max(np.abs(primal), initial=0.0)))
        return {
            "violation": worst, "primal": value + gap if feasible else np.nan, "dual": value if feasible else np.nan,
            "gap": gap if feasible else np.nan, "active": self.active, "exact": True,
        }  # fmt: skip

    def is_optimal(self, tol: float, zero: float = ZERO) -> bool:
        """The gap (4) is a proof whatever the multipliers z and w are; only Aα = d must hold."""
        gap, value = self._bounds()
        scale = max(0.5 * (abs(value) + abs(value + gap)), zero * self.first_value)
        return self._feasible(min(1e-6, 1e-3 * tol)) and gap <= tol * scale

    def at_bounds(self) -> Array:
        """α with variables next to a bound that their multiplier holds them at put onto it."""
        problem, force = self.problem, self._force()
        s, t = self._slacks()
        low = self.moves & (s * force < self.z * self.width) & (self.z >= self.w)
        high = self.moves & (t * force < self.w * self.width) & (self.w > self.z)
        return np.where(low, problem.lower, np.where(high, problem.upper, self.alpha))

    # ---- a step -----------------------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Predict along the tangent, correct back to the path; False when no step is left in floating point."""
        try:
            return self._advance()
        except (scipy.linalg.LinAlgError, ValueError):
            return False

    def _advance(self) -> bool:
        s, t = self._slacks()
        curvature = self.z / s + self.w / t
        if self.problem.term is not None:
            curvature = np.minimum(curvature + self.problem.term.curvature(self.alpha), 1e290)
        self.system.refresh(np.where(self.moves, curvature, 1.0), self.moves)
        self.active = self.system.rows
        count = max(int(self.has_lower.sum() + self.has_upper.sum()), 1)
        target = float(s @ self.z + t @ self.w) / count
        rows = np.where(self.moves, self.problem.A, 0.0).T
        first = self._right_side(s, t, 0.0, None)
        x, f = self.system.solve(np.column_stack([first, rows]), rough=not self.blocks.wide)
        self.row_x, self.row_f = x[:, 1:], f[:, 1:]
        predictor = self._direction(x[:, 0], s, t, 0.0, None)
        step = self._length(s, t, predictor, 1.0)
        d_alpha, _, dz, dw = predictor
        ahead = float((s + step * d_alpha) @ np.where(self.has_lower, self.z + step * dz, 0.0))
        ahead += float((t - step * d_alpha) @ np.where(self.has_upper, self.w + step * dw, 0.0))
        centring = (max(ahead, 0.0) / count / target) ** 3 if target > 0 else 0.0
        second = (d_alpha * dz, -d_alpha * dw)
        right = self._right_side(s, t, centring * target, second)
        x, f = self.system.solve(right[:, None])
        corrector = self._direction(x[:, 0], s, t, centring * target, second)
        step = self._length(s, t, corrector, FRACTION)
        if not step > 1e-12 or not all(np.isfinite(part).all() for part in corrector):
            return False
        d_f = f[:, 0] - self.row_f @ corrector[1]
        return self._take(step, corrector, d_f, self._imbalance(s, t), s, t)

    def _take(
        self, step: float, direction: tuple[Array, Array, Array, Array], d_f: Array, before: float, s: Array, t: Array
    ) -> bool:
        """Go; not so far that a curved loss makes dual feasibility worse than centrality allows.      (326)"""
        alpha, mu, z, w, f = self.alpha, self.mu, self.z, self.w, self.f
        d_alpha, d_mu, dz, dw = direction
        self.steps += 1
        for _ in range(MAX_HALVINGS):
            self.alpha, self.mu = alpha + step * d_alpha, mu + step * d_mu
            self.z, self.w, self.f = z + step * dz, w + step * dw, f + step * d_f
            if not self.curved:
                break
            now = self._slacks()
            if self._imbalance(s, t) <= max(before, float(now[0] @ self.z + now[1] @ self.w)):
                break
            step *= 0.5
        else:
            return False
        if self.blocks.wide or self.steps % REFRESH == 0:
            self.refresh()
        return True

    def _imbalance(self, s: Array, t: Array) -> float:
        """What is missing to dual feasibility, in units of the gap."""
        room = np.minimum(np.where(self.has_lower, s, np.inf), np.where(self.has_upper, t, np.inf))
        missing = float(np.abs(self._residuals()[0]) @ np.where(np.isfinite(room), room, np.abs(self.alpha)))
        return missing if np.isfinite(missing) else np.inf

    def refresh(self) -> None:
        """f from α, so that no rounding of the steps stays in it."""
        self.f = self.blocks.times(self.blocks.transposed(self.problem.Q.coefficients(self.alpha)))

    def use(self, blocks: RowBlocks) -> None:
        """Go on with products of another precision."""
        self.blocks = self.system.blocks = blocks
        self.refresh()

    def _pulls(self, s: Array, t: Array, centre: float, second: tuple[Array, Array] | None) -> tuple[Array, Array]:
        over_s, over_t = (centre, centre) if second is None else (centre - second[0], centre - second[1])
        pull_z = np.where(self.has_lower, over_s / s - self.z, 0.0)
        pull_w = np.where(self.has_upper, over_t / t - self.w, 0.0)
        return pull_z, pull_w

    def _right_side(self, s: Array, t: Array, centre: float, second: tuple[Array, Array] | None) -> Array:
        pull_z, pull_w = self._pulls(s, t, centre, second)
        return np.where(self.moves, self._residuals()[0] + pull_z - pull_w, 0.0)

    def _direction(
        self, y: Array, s: Array, t: Array, centre: float, second: tuple[Array, Array] | None
    ) -> tuple[Array, Array, Array, Array]:
        A = self.problem.A
        d_alpha, d_mu = y, np.zeros(len(A))
        if len(A):
            missing = self._residuals()[1]
            d_mu = np.asarray(np.linalg.lstsq(A @ self.row_x, A @ y - missing, rcond=None)[0], dtype=np.float64)
            d_alpha = y - self.row_x @ d_mu
        pull_z, pull_w = self._pulls(s, t, centre, second)
        dz = np.where(self.has_lower, pull_z - self.z / s * d_alpha, 0.0)
        dw = np.where(self.has_upper, pull_w + self.w / t * d_alpha, 0.0)
        return d_alpha, d_mu, dz, dw

    def _length(self, s: Array, t: Array, direction: tuple[Array, Array, Array, Array], fraction: float) -> float:
        d_alpha, _, dz, dw = direction
        limit = 1.0 / fraction
        for value, change, used in (
            (s, d_alpha, self.has_lower), (t, -d_alpha, self.has_upper),
            (self.z, dz, self.has_lower), (self.w, dw, self.has_upper),
        ):  # fmt: skip
            shrinks = used & (change < 0)
            limit = min(limit, float(np.min(value[shrinks] / -change[shrinks], initial=np.inf)))
        return min(1.0, fraction * limit)


def _middle(problem: Problem) -> Array:
    """Of the boxes; where one has no end, as far inside as the loss answers to the force p."""
    lower, upper = problem.lower, problem.upper
    if problem.term is None or (np.isfinite(lower).all() and np.isfinite(upper).all()):
        return np.asarray(0.5 * (lower + upper))
    reach = np.abs(problem.term.answer(problem.p, lower, upper))
    usual = float(np.mean(reach)) or 1.0
    reach = np.where(reach > 0, reach, usual)
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - reach, -reach))
    high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + reach, reach))
    return np.asarray(0.5 * (low + high))


def _inside(problem: Problem, middle: Array, moves: NDArray[np.bool_]) -> Array:
    """The middle of all boxes, with the variables of a row scaled alike so that the row holds, if they stay inside."""
    point = middle.copy()
    for row, target in zip(problem.A, problem.d, strict=True):
        surplus = float(row @ point - target)
        used = moves & ((row > 0) if surplus > 0 else (row < 0))
        room = float(np.abs(row[used]) @ (point - problem.lower)[used])
        share = abs(surplus) / room if 0 < room < np.inf else 1.0
        if share <= FURTHEST:
            point[used] -= share * (point - problem.lower)[used]
    return point
