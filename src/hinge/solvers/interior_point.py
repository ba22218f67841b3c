"""Primal-dual path following for problems whose kernel matrix fits into memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.problems import Array, History, Problem, Solution, Status, optimal_offset
from hinge.solvers.groups import nearest_feasible
from hinge.solvers.monitor import Monitor
from hinge.solvers.polish import balance, polish
from hinge.solvers.single_thread import single_thread

#: How far to go towards the boundary.
FRACTION = 0.995

#: A relative gap that is accepted where rounding allows no further step.
ROUNDING_TOL = 1e-8

EMPTY = {name: np.empty(0) for name in (f.name for f in fields(History))}

#: Slacks are at least this fraction of the width of their box.
SMALLEST_SLACK = 1e-15


@dataclass(frozen=True, kw_only=True)
class InteriorPoint:
    """Predictor-corrector steps along the central path.     LwK §10.3, SVR tutorial app. A; docs/math.md (16)–(18)

    For a positive semidefinite Q and finite bounds. An iteration costs one Cholesky factorisation of size n (not of the
    number of variables); some 10 to 40 iterations give ten digits, whatever C and the scale of the data are.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    max_iter : int
        Iterations; −1 for the default of 100.
    max_time : float or None
        Seconds.
    """

    tol: float = 1e-10
    max_iter: int = -1
    max_time: float | None = None

    def solve(
        self, problem: Problem, start: Solution | Array | None = None, monitor: Monitor | None = None
    ) -> Solution:
        """Solve `problem`; a start is of no use to an interior point method and is ignored."""
        if not (np.isfinite(problem.lower).all() and np.isfinite(problem.upper).all()):
            raise ValueError("the interior point method needs finite bounds; use SMO for a problem without them")
        with single_thread():
            return self._follow(problem, monitor)

    def _follow(self, problem: Problem, monitor: Monitor | None) -> Solution:
        began = time.monotonic()
        deadline = None if self.max_time is None else began + self.max_time
        state = _State(problem)
        records: list[dict[str, float]] = []
        status, error = Status.MAX_ITER, None
        try:
            for iteration in range(100 if self.max_iter < 0 else self.max_iter):
                records.append(state.snapshot(iteration, time.monotonic() - began))
                if state.is_optimal(self.tol):
                    status = Status.SOLVED
                    break
                if deadline is not None and time.monotonic() > deadline:
                    status = Status.TIME_LIMIT
                    break
                if monitor is not None and monitor(records[-1]) is False:
                    status = Status.INTERRUPTED
                    break
                if not state.advance():
                    status = Status.SOLVED if state.is_optimal(ROUNDING_TOL) else Status.NUMERICAL
                    break
            if status in (Status.SOLVED, Status.NUMERICAL, Status.MAX_ITER) and state.polish(deadline):
                status = Status.SOLVED  # exact, even where the path was not followed to its end
        except (KeyboardInterrupt, Exception) as interruption:  # a signal, or what the monitor raised
            status, error = Status.INTERRUPTED, interruption
        return state.solution(status, records, error)


class _State:
    """α strictly inside its box, multipliers z of the lower and w of the upper bounds, μ of the rows."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        Q = problem.Q
        self.K = Q.access.block(np.arange(Q.n), np.arange(Q.n))
        fixed, values = _forced(problem)
        self.moves = (problem.lower < problem.upper) & ~fixed
        self.has_lower = np.isfinite(problem.lower) & self.moves
        self.has_upper = np.isfinite(problem.upper) & self.moves
        lower = np.where(np.isfinite(problem.lower), problem.lower, 0.0)
        upper = np.where(np.isfinite(problem.upper), problem.upper, 0.0)
        both = self.has_lower & self.has_upper
        reach = float(np.max(np.abs(problem.d), initial=0.0)) or 1.0  # how far from an only bound to begin
        one_sided = np.where(self.has_lower, lower + reach, np.where(self.has_upper, upper - reach, 0.0))
        self.alpha = np.where(fixed, values, np.where(both | ~self.moves, 0.5 * (lower + upper), one_sided))
        self.mu = np.zeros(len(problem.d))
        self.gradient = self._gradient(self.alpha)
        self.first_force = self._force() or 1.0
        self.first_value = self.first_force * float(np.sum(np.abs(self.alpha))) or 1.0
        self.z, self.w = self.first_force * self.has_lower, self.first_force * self.has_upper
        self.polished: tuple[Array, Array] | None = None

    def _gradient(self, alpha: Array) -> Array:
        Q = self.problem.Q
        return Q.spread(self.K @ Q.coefficients(alpha)) + self.problem.p

    def _slacks(self) -> tuple[Array, Array]:
        least = SMALLEST_SLACK * _width(self.problem)
        s = np.where(self.has_lower, np.maximum(self.alpha - self.problem.lower, least), 1.0)
        t = np.where(self.has_upper, np.maximum(self.problem.upper - self.alpha, least), 1.0)
        return s, t

    # ---- measures ---------------------------------------------------------------------------------------------

    def _gap(self) -> float:
        s, t = self._slacks()
        return float(s @ self.z + t @ self.w)

    def _residuals(self) -> tuple[Array, Array]:
        """What is missing to dual and primal feasibility."""
        A, d = self.problem.A, self.problem.d
        dual = -(self.gradient + self.mu @ A - self.z + self.w)
        return np.where(self.moves, dual, 0.0), d - A @ self.alpha

    def snapshot(self, iteration: int, seconds: float) -> dict[str, float]:
        """Bounds only where they are bounds: at a feasible point, with the gap (4) of the multipliers μ at hand."""
        problem = self.problem
        dual, primal = self._residuals()
        residual = self.gradient + self.mu @ problem.A
        towards = np.where(residual > 0, problem.lower, problem.upper)
        finite = np.isfinite(towards)
        gap = float(np.sum(residual[finite] * (self.alpha - towards)[finite]))
        value = -problem.value(self.alpha, self.gradient)
        masses = np.abs(problem.A) @ np.abs(self.alpha) + np.abs(problem.d)
        feasible = bool(np.all(np.abs(primal) <= 1e-13 * masses))
        bounded = feasible and not np.any(residual[~finite] != 0)
        worst = float(max(np.max(np.abs(dual), initial=0.0), np.max(np.abs(primal), initial=0.0)))
        return {
            "iteration": iteration, "seconds": seconds, "violation": worst,
            "primal": value + gap if bounded else np.nan, "dual": value if feasible else np.nan,
            "gap": gap if bounded else np.nan, "active": problem.Q.n, "exact": True,
        }  # fmt: skip

    def is_optimal(self, tol: float) -> bool:
        dual, primal = self._residuals()
        value, gap = abs(self.problem.value(self.alpha, self.gradient)), self._gap()
        forces = max(self._force(), 1e-3 * self.first_force)
        masses = np.abs(self.problem.A) @ np.abs(self.alpha) + np.abs(self.problem.d)
        balanced = np.max(np.abs(dual), initial=0.0) <= 1e-8 * forces
        feasible = np.all(np.abs(primal) <= 1e-10 * masses)
        return bool(balanced and feasible and gap <= tol * max(value, 1e-4 * self.first_value))

    def _force(self) -> float:
        """How large gradients are."""
        return float(np.max(np.abs(self.gradient) + np.abs(self.problem.p), initial=0.0))

    # ---- a step -----------------------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Predict along the tangent, correct back to the path; False when no step is left in floating point."""
        try:
            return self._advance()
        except (scipy.linalg.LinAlgError, ValueError):  # not positive definite, or not finite
            return False

    def _advance(self) -> bool:
        s, t = self._slacks()
        solve = self._factor(np.where(self.moves, self.z / s + self.w / t, 1.0))
        bounds = int(self.has_lower.sum() + self.has_upper.sum())
        target = self._gap() / max(bounds, 1)
        predictor = self._direction(solve, s, t, 0.0, np.zeros_like(s), np.zeros_like(t))
        step = self._length(s, t, predictor, 1.0)
        d_alpha, _, dz, dw = predictor
        ahead = float(np.sum((s + step * d_alpha) * np.where(self.has_lower, self.z + step * dz, 0.0)))
        ahead += float(np.sum((t - step * d_alpha) * np.where(self.has_upper, self.w + step * dw, 0.0)))
        centring = (max(ahead, 0.0) / max(bounds, 1) / target) ** 3 if target > 0 else 0.0
        corrector = self._direction(solve, s, t, centring * target, d_alpha * dz, -d_alpha * dw)
        step = self._length(s, t, corrector, FRACTION)
        if not step > 1e-12 or not all(np.isfinite(part).all() for part in corrector):
            return False
        d_alpha, d_mu, dz, dw = corrector
        self.alpha = self.alpha + step * d_alpha
        self.mu, self.z, self.w = self.mu + step * d_mu, self.z + step * dz, self.w + step * dw
        self.gradient = self._gradient(self.alpha)
        return True

    def _factor(self, D: Array) -> Callable[[Array], Array]:
        """Solves (Q + D) x = r with one factorisation of size n: with E = S (I … I)ᵀ, Q = E K Eᵀ and M = Eᵀ D⁻¹ E,

        (D + E K Eᵀ)⁻¹ = D⁻¹ − D⁻¹ E M^-½ (I − (I + M^½ K M^½)⁻¹) M^-½ Eᵀ D⁻¹.                docs/math.md (18)
        """
        Q = self.problem.Q
        least = 1e-12 * float(np.max(np.abs(np.diagonal(self.K)), initial=0.0))  # a variable without bounds has D = 0
        inverse = np.where(self.moves, 1.0 / np.maximum(D, least if least > 0 else 1e-12), 0.0)
        root = np.sqrt(inverse.reshape(Q.slots, Q.n).sum(axis=0))
        B = root[:, None] * self.K * root[None, :]
        B[np.diag_indices_from(B)] += 1.0
        factor = scipy.linalg.cho_factor(B, lower=True, overwrite_a=True)
        safe = np.where(root > 0, root, 1.0)

        def once(r: Array) -> Array:
            x = inverse * r
            inner = Q.coefficients(x) / safe
            inner -= scipy.linalg.cho_solve(factor, inner)
            return x - inverse * Q.spread(inner / safe)

        def solve(r: Array) -> Array:
            x = once(r)
            return x + once(np.where(self.moves, r - D * x - Q.spread(self.K @ Q.coefficients(x)), 0.0))

        return solve

    def _direction(
        self, solve: Callable[[Array], Array], s: Array, t: Array, centre: float, second_z: Array, second_w: Array
    ) -> tuple[Array, Array, Array, Array]:
        A = self.problem.A
        dual, primal = self._residuals()
        pull_z = np.where(self.has_lower, (centre - second_z) / s - self.z, 0.0)
        pull_w = np.where(self.has_upper, (centre - second_w) / t - self.w, 0.0)
        y = solve(np.where(self.moves, dual + pull_z - pull_w, 0.0))
        if len(A):
            X = np.stack([solve(np.where(self.moves, row, 0.0)) for row in A], axis=1)
            d_mu = np.asarray(np.linalg.lstsq(A @ X, A @ y - primal, rcond=None)[0], dtype=np.float64)
            d_alpha = y - X @ d_mu
        else:
            d_mu, d_alpha = np.zeros(0), y
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

    # ---- the end ----------------------------------------------------------------------------------------------

    def polish(self, deadline: float | None) -> bool:
        """Put variables next to a bound onto it and solve for the others exactly; whether that worked."""
        problem = self.problem
        s, t = self._slacks()
        width, force = _width(problem), self._force()
        alpha = np.where(self.has_lower & (s * force < self.z * width) & (self.z >= self.w), problem.lower, self.alpha)
        alpha = np.where(self.has_upper & (t * force < self.w * width) & (self.w > self.z), problem.upper, alpha)
        self.polished = polish(
            problem, alpha, self._gradient(alpha), self.alpha, self.gradient, max_free=problem.size, deadline=deadline
        )
        if self.polished is None:
            self._take_bounds(alpha)
        return self.polished is not None

    def _take_bounds(self, alpha: Array) -> None:
        """Without an exact solution: stay on the bounds found, if that costs nothing."""
        problem = self.problem
        inside = np.flatnonzero((alpha > problem.lower) & (alpha < problem.upper))
        if not balance(problem, alpha, inside):
            return
        gradient = self._gradient(alpha)
        before = problem.value(self.alpha, self.gradient)
        if problem.value(alpha, gradient) <= before + 1e-9 * max(abs(before), 1e-4 * self.first_value):
            self.alpha, self.gradient = alpha, gradient

    def solution(self, status: Status, records: list[dict[str, float]], error: BaseException | None) -> Solution:
        """The polished point if there is one, else the last one, made feasible."""
        alpha, gradient = self.polished or self._repaired()
        columns = {name: np.array([record[name] for record in records]) for name in records[0]} if records else EMPTY
        return Solution(
            alpha=alpha,
            mu=optimal_offset(self.problem, alpha, gradient),
            gradient=gradient,
            status=status,
            iterations=max(0, len(records) - 1),
            history=History.from_columns(columns),
            error=error,
            polished=self.polished is not None,
        )

    def _repaired(self) -> tuple[Array, Array]:
        """The point itself if it is feasible to rounding, else one close by that is."""
        missing = np.abs(self.problem.A @ self.alpha - self.problem.d)
        masses = np.abs(self.problem.A) @ np.abs(self.alpha) + np.abs(self.problem.d)
        shared = np.any(np.count_nonzero(self.problem.A, axis=0) > 1)
        if np.all(missing <= 1e-14 * masses) or shared:
            return self.alpha, self.gradient
        alpha = nearest_feasible(self.problem, self.alpha)
        return alpha, self._gradient(alpha)


def _forced(problem: Problem) -> tuple[NDArray[np.bool_], Array]:
    """Variables of a row that asks for the least or the most its boxes allow: they have no interior to speak of."""
    fixed, values = np.zeros(problem.size, dtype=bool), np.zeros(problem.size)
    for row, target in zip(problem.A, problem.d, strict=True):
        used = row != 0
        least = np.where(row > 0, problem.lower, problem.upper)[used]
        most = np.where(row > 0, problem.upper, problem.lower)[used]
        for ends in (least, most):
            scale = np.abs(row[used]) @ np.abs(ends) + abs(target)
            if np.isfinite(scale) and abs(row[used] @ ends - target) <= 1e-13 * scale:
                fixed[used], values[used] = True, ends
    return fixed, values


def _width(problem: Problem) -> Array:
    width = problem.upper - problem.lower
    return np.where(np.isfinite(width), width, 1.0)
