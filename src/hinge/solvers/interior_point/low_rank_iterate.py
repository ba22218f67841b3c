"""Iterate of the low-rank interior-point method, and its predictor–corrector step."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.lowrank import RowBlocks
from hinge.problems import Array, Diagonal, Problem, optimal_offset
from hinge.solvers.feasibility import fixed_by_rows
from hinge.solvers.interior_point.low_rank_system import LowRankSystem
from hinge.solvers.interior_point.step_length import max_step

#: Share of the largest feasible step that is taken.
STEP_FRACTION = 0.99

#: Slacks are raised to this share of the width of their box.
MIN_SLACK = 1e-15

#: The gap is divided by at least this share of the first objective, because the optimum may be zero.
ZERO_OBJECTIVE = 1e-14

#: ZERO_OBJECTIVE when no further step is possible.
ZERO_OBJECTIVE_AT_END = 1e-4

#: Share of the distance from the center of the boxes to the lower bounds by which variables may move to satisfy a row;
#: if the row needs more, the start is infeasible.
MAX_INITIAL_SHIFT = 0.99

#: Halvings of a step that increases infeasibility before the step fails; for terms h that are not quadratic.
MAX_HALVINGS = 30

#: Steps after which f is computed from α again, if steps update it in single precision.
STEPS_PER_REFRESH = 4

Direction = tuple[Array, Array, Array, Array]


class LowRankIterate:
    """α inside its box, multipliers z and w of the bounds, μ of the rows, and f = LLᵀβ.       docs/math (16), (356)"""

    def __init__(self, problem: Problem, blocks: RowBlocks, accuracy: float) -> None:
        self.problem = problem
        self.width = problem.upper - problem.lower
        fixed, values = fixed_by_rows(problem)
        self.movable = (self.width > 0) & ~fixed
        self.fixed_rows = ~np.any((problem.A != 0) & self.movable, axis=1)
        self.has_lower = self.movable & np.isfinite(problem.lower)
        self.has_upper = self.movable & np.isfinite(problem.upper)
        self.is_quadratic = problem.term is None or isinstance(problem.term, Diagonal)
        self.alpha = _shifted_to_rows(problem, np.where(fixed, values, _center(problem)), self.movable)
        self.mu = np.zeros(len(problem.d))
        self.system = LowRankSystem(blocks, problem.Q, accuracy)
        self.blocks = blocks
        self.f = np.zeros(problem.Q.n)
        self.refresh()
        scale = self._gradient_scale() or 1.0
        self.objective_scale = scale * float(np.sum(np.abs(self.alpha))) or 1.0
        self.z = np.where(self.has_lower, scale, 0.0)
        self.w = np.where(self.has_upper, scale, 0.0)
        self.active, self.steps = problem.Q.n, 0

    @property
    def gradient(self) -> Array:
        """Qα + p."""
        return self.problem.Q.spread(self.f) + self.problem.p

    def refresh(self) -> None:
        """Compute f from α, which removes the rounding errors of the updates."""
        self.f = self.blocks.times(self.blocks.transposed(self.problem.Q.coefficients(self.alpha)))

    def use_blocks(self, blocks: RowBlocks) -> None:
        """Continue with products of another precision."""
        self.blocks = self.system.blocks = blocks
        self.refresh()

    # ---- optimality measures ----------------------------------------------------------------------------------

    def _slacks(self) -> tuple[Array, Array]:
        """Distances to the bounds; 1 for an infinite bound."""
        least = MIN_SLACK * np.where(np.isfinite(self.width), self.width, np.abs(self.alpha))
        s = np.where(self.has_lower, np.maximum(self.alpha - self.problem.lower, least), 1.0)
        t = np.where(self.has_upper, np.maximum(self.problem.upper - self.alpha, least), 1.0)
        return s, t

    def _gradient_scale(self) -> float:
        return float(np.max(np.abs(self.gradient) + np.abs(self.problem.p), initial=0.0))

    def _residuals(self) -> tuple[Array, Array]:
        """Residuals of dual and of primal feasibility."""
        A, d = self.problem.A, self.problem.d
        dual = -(self.problem.objective_gradient(self.alpha, self.gradient) + self.mu @ A - self.z + self.w)
        return np.where(self.movable, dual, 0.0), d - A @ self.alpha

    def _gap(self) -> tuple[float, float]:
        """Duality gap (4) with the multipliers of this iterate, and the dual value; bounds at a feasible point."""
        problem = self.problem
        gradient = self.gradient
        mu = self.mu
        if self.fixed_rows.any():  # steps do not change the multipliers of rows whose variables are all fixed
            mu = np.where(self.fixed_rows, optimal_offset(problem, self.alpha, gradient), mu)
        reduced = gradient + mu @ problem.A
        dual = -problem.value(self.alpha, gradient)
        if problem.term is not None:
            return float(np.sum(problem.term.gap(self.alpha, reduced, problem.lower, problem.upper))), dual
        bound = np.where(reduced > 0, problem.lower, problem.upper)
        return float(np.sum(reduced * (self.alpha - bound))), dual

    def _is_feasible(self, tol: float) -> bool:
        missing = np.abs(self.problem.d - self.problem.A @ self.alpha)
        masses = np.abs(self.problem.A) @ np.abs(self.alpha) + np.abs(self.problem.d)
        return bool(np.all(missing <= tol * masses))

    def snapshot(self) -> dict[str, float]:
        """Values for the history; primal, dual and gap are NaN at an infeasible point, where they are not bounds."""
        gap, value = self._gap()
        dual, primal = self._residuals()
        feasible = self._is_feasible(1e-13)
        violation = float(max(np.max(np.abs(dual), initial=0.0), np.max(np.abs(primal), initial=0.0)))
        return {
            "violation": violation, "primal": value + gap if feasible else np.nan,
            "dual": value if feasible else np.nan, "gap": gap if feasible else np.nan, "active": self.active,
            "exact": True,
        }  # fmt: skip

    def is_optimal(self, tol: float, zero: float = ZERO_OBJECTIVE) -> bool:
        """Whether the relative gap is at most `tol`: (4) bounds the error for any z and w, provided that Aα = d."""
        gap, value = self._gap()
        scale = max(0.5 * (abs(value) + abs(value + gap)), zero * self.objective_scale)
        return self._is_feasible(min(1e-6, 1e-3 * tol)) and gap <= tol * scale

    def at_bounds(self) -> Array:
        """α with variables moved to the bound whose multiplier shows that it is active."""
        problem, scale = self.problem, self._gradient_scale()
        s, t = self._slacks()
        low = self.movable & (s * scale < self.z * self.width) & (self.z >= self.w)
        high = self.movable & (t * scale < self.w * self.width) & (self.w > self.z)
        return np.where(low, problem.lower, np.where(high, problem.upper, self.alpha))

    def _weighted_infeasibility(self, s: Array, t: Array) -> float:
        """Dual residuals times slacks: dual infeasibility in units of the gap."""
        slack = np.minimum(np.where(self.has_lower, s, np.inf), np.where(self.has_upper, t, np.inf))
        sum_of_products = float(np.abs(self._residuals()[0]) @ np.where(np.isfinite(slack), slack, np.abs(self.alpha)))
        return sum_of_products if np.isfinite(sum_of_products) else np.inf

    # ---- predictor–corrector step -----------------------------------------------------------------------------

    def advance(self) -> bool:
        """Take a predictor–corrector step; False if floating-point accuracy allows no further step."""
        try:
            return self._advance()
        except (scipy.linalg.LinAlgError, ValueError):
            return False

    def _advance(self) -> bool:
        s, t = self._slacks()
        self._factor(s, t)
        count = max(int(self.has_lower.sum() + self.has_upper.sum()), 1)
        mean = float(s @ self.z + t @ self.w) / count
        rows = np.where(self.movable, self.problem.A, 0.0).T
        first = self._right_side(s, t, 0.0, None)
        x, f = self.system.solve(np.column_stack([first, rows]), approximate=not self.blocks.wide)
        self.rows_solved, self.rows_f = x[:, 1:], f[:, 1:]
        predictor = self._direction(x[:, 0], s, t, 0.0, None)
        step = self._length(s, t, predictor, 1.0)
        d_alpha, _, dz, dw = predictor
        predicted = float((s + step * d_alpha) @ np.where(self.has_lower, self.z + step * dz, 0.0))
        predicted += float((t - step * d_alpha) @ np.where(self.has_upper, self.w + step * dw, 0.0))
        centering = (max(predicted, 0.0) / count / mean) ** 3 if mean > 0 else 0.0
        second_order = (d_alpha * dz, -d_alpha * dw)
        right = self._right_side(s, t, centering * mean, second_order)
        x, f = self.system.solve(right[:, None])
        corrector = self._direction(x[:, 0], s, t, centering * mean, second_order)
        step = self._length(s, t, corrector, STEP_FRACTION)
        if not step > 1e-12 or not all(np.isfinite(part).all() for part in corrector):
            return False
        d_f = f[:, 0] - self.rows_f @ corrector[1]
        return self._move(step, corrector, d_f, s, t)

    def _factor(self, s: Array, t: Array) -> None:
        curvature = self.z / s + self.w / t
        if self.problem.term is not None:
            curvature = np.minimum(curvature + self.problem.term.curvature(self.alpha), 1e290)
        self.system.factor(np.where(self.movable, curvature, 1.0), self.movable)
        self.active = self.system.rows

    def _move(self, step: float, direction: Direction, d_f: Array, s: Array, t: Array) -> bool:
        """Move; halve the step while the curvature of h makes dual infeasibility larger than complementarity.  (326)"""
        alpha, mu, z, w, f = self.alpha, self.mu, self.z, self.w, self.f
        d_alpha, d_mu, dz, dw = direction
        before = self._weighted_infeasibility(s, t)
        self.steps += 1
        for _ in range(MAX_HALVINGS):
            self.alpha, self.mu = alpha + step * d_alpha, mu + step * d_mu
            self.z, self.w, self.f = z + step * dz, w + step * dw, f + step * d_f
            if self.is_quadratic:
                break
            slacks = self._slacks()
            if self._weighted_infeasibility(s, t) <= max(before, float(slacks[0] @ self.z + slacks[1] @ self.w)):
                break
            step *= 0.5
        else:
            return False
        if self.blocks.wide or self.steps % STEPS_PER_REFRESH == 0:
            self.refresh()
        return True

    def _complementarity_terms(
        self, s: Array, t: Array, target: float, second_order: tuple[Array, Array] | None
    ) -> tuple[Array, Array]:
        """Right sides of the linearized complementarity conditions, divided by the slacks."""
        over_s, over_t = (target, target) if second_order is None else (
            target - second_order[0], target - second_order[1],
        )  # fmt: skip
        right_z = np.where(self.has_lower, over_s / s - self.z, 0.0)
        right_w = np.where(self.has_upper, over_t / t - self.w, 0.0)
        return right_z, right_w

    def _right_side(self, s: Array, t: Array, target: float, second_order: tuple[Array, Array] | None) -> Array:
        right_z, right_w = self._complementarity_terms(s, t, target, second_order)
        return np.where(self.movable, self._residuals()[0] + right_z - right_w, 0.0)

    def _direction(
        self, y: Array, s: Array, t: Array, target: float, second_order: tuple[Array, Array] | None
    ) -> Direction:
        """Add the equality rows to the solution y without them, and derive the steps of the multipliers."""
        A = self.problem.A
        d_alpha, d_mu = y, np.zeros(len(A))
        if len(A):
            missing = self._residuals()[1]
            inner = A @ self.rows_solved
            d_mu = np.asarray(np.linalg.lstsq(inner, A @ y - missing, rcond=None)[0], dtype=np.float64)
            d_alpha = y - self.rows_solved @ d_mu
        right_z, right_w = self._complementarity_terms(s, t, target, second_order)
        dz = np.where(self.has_lower, right_z - self.z / s * d_alpha, 0.0)
        dw = np.where(self.has_upper, right_w + self.w / t * d_alpha, 0.0)
        return d_alpha, d_mu, dz, dw

    def _length(self, s: Array, t: Array, direction: Direction, fraction: float) -> float:
        return max_step((s, t, self.z, self.w), direction, self.has_lower, self.has_upper, fraction)


def _center(problem: Problem) -> Array:
    """Centers of the boxes; for an infinite bound, a distance from the other one that the term h determines."""
    lower, upper = problem.lower, problem.upper
    if problem.term is None or (np.isfinite(lower).all() and np.isfinite(upper).all()):
        return np.asarray(0.5 * (lower + upper))
    distance = np.abs(problem.term.answer(problem.p, lower, upper))
    mean = float(np.mean(distance)) or 1.0
    distance = np.where(distance > 0, distance, mean)
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - distance, -distance))
    high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + distance, distance))
    return np.asarray(0.5 * (low + high))


def _shifted_to_rows(problem: Problem, center: Array, movable: NDArray[np.bool_]) -> Array:
    """Move variables of each row towards their lower bounds, all by the same share, until the row holds.

    Rows that would need more than `MAX_INITIAL_SHIFT` are left violated.
    """
    point = center.copy()
    for row, target in zip(problem.A, problem.d, strict=True):
        surplus = float(row @ point - target)
        used = movable & ((row > 0) if surplus > 0 else (row < 0))
        available = float(np.abs(row[used]) @ (point - problem.lower)[used])
        share = abs(surplus) / available if 0 < available < np.inf else 1.0
        if share <= MAX_INITIAL_SHIFT:
            point[used] -= share * (point - problem.lower)[used]
    return point
