"""Primal-dual path following for problems whose kernel matrix fits into memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from hinge.problems import Array, History, Problem, Solution, Status, optimal_offset
from hinge.solvers.monitor import Monitor
from hinge.solvers.polish import polish

#: How far to go towards the boundary.
FRACTION = 0.995


@dataclass(frozen=True, kw_only=True)
class InteriorPoint:
    """Predictor-corrector steps along the central path.     LwK §10.3, SVR tutorial app. A; docs/math.md (16)–(18)

    For a positive semidefinite Q.  An iteration costs one Cholesky factorisation of size n (not of the number of
    variables); some 10 to 40 iterations give ten digits, whatever C and the scale of the data are.

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
        began = time.monotonic()
        state = _State(problem)
        records: list[dict[str, float]] = []
        status, error = Status.MAX_ITER, None
        for iteration in range(100 if self.max_iter < 0 else self.max_iter):
            records.append(state.snapshot(iteration, time.monotonic() - began))
            if state.is_optimal(self.tol):
                status = Status.SOLVED
                break
            if self.max_time is not None and time.monotonic() - began > self.max_time:
                status = Status.TIME_LIMIT
                break
            try:
                if monitor is not None and monitor(records[-1]) is False:
                    status = Status.INTERRUPTED
                    break
                moved = state.advance()
            except KeyboardInterrupt as interruption:
                status, error = Status.INTERRUPTED, interruption
                break
            if not moved:
                status = Status.NUMERICAL
                break
        return state.solution(status, records, error)


class _State:
    """α strictly inside its box, multipliers z of the lower and w of the upper bounds, μ of the rows."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        Q = problem.Q
        self.K = Q.access.block(np.arange(Q.n), np.arange(Q.n))
        self.moves = problem.lower < problem.upper
        self.has_lower = np.isfinite(problem.lower) & self.moves
        self.has_upper = np.isfinite(problem.upper) & self.moves
        lower = np.where(np.isfinite(problem.lower), problem.lower, 0.0)
        upper = np.where(np.isfinite(problem.upper), problem.upper, 0.0)
        both = self.has_lower & self.has_upper
        one_sided = np.where(self.has_lower, lower + 1.0, np.where(self.has_upper, upper - 1.0, 0.0))
        self.alpha = np.where(both | ~self.moves, 0.5 * (lower + upper), one_sided)
        self.mu = np.zeros(len(problem.d))
        self.gradient = self._gradient(self.alpha)
        size = max(1.0, float(np.max(np.abs(self.gradient[self.moves]), initial=0.0)))
        self.z, self.w = np.where(self.has_lower, size, 0.0), np.where(self.has_upper, size, 0.0)

    def _gradient(self, alpha: Array) -> Array:
        Q = self.problem.Q
        return Q.spread(self.K @ Q.coefficients(alpha)) + self.problem.p

    def _slacks(self) -> tuple[Array, Array]:
        s = np.where(self.has_lower, self.alpha - self.problem.lower, 1.0)
        t = np.where(self.has_upper, self.problem.upper - self.alpha, 1.0)
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
        dual, primal = self._residuals()
        value, gap = -self.problem.value(self.alpha, self.gradient), self._gap()
        worst = float(max(np.max(np.abs(dual), initial=0.0), np.max(np.abs(primal), initial=0.0)))
        return {
            "iteration": iteration, "seconds": seconds, "violation": worst, "primal": value + gap, "dual": value,
            "gap": gap, "active": self.problem.Q.n, "exact": worst < 1e-6 * (1.0 + abs(value)),
        }  # fmt: skip

    def is_optimal(self, tol: float) -> bool:
        dual, primal = self._residuals()
        value, gap = abs(self.problem.value(self.alpha, self.gradient)), self._gap()
        forces = 1.0 + float(np.max(np.abs(self.problem.p), initial=0.0))
        masses = 1.0 + float(np.max(np.abs(self.problem.d), initial=0.0))
        balanced = np.max(np.abs(dual), initial=0.0) <= 1e-8 * forces
        feasible = np.max(np.abs(primal), initial=0.0) <= 1e-9 * masses
        return bool(balanced and feasible and gap <= tol * max(value, 1e-12 * forces * masses))

    # ---- a step -----------------------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Predict along the tangent, correct back to the path; False when no step is left in floating point."""
        s, t = self._slacks()
        D = np.where(self.moves, self.z / s + self.w / t, 1.0)
        try:
            solve = self._factor(D)
        except (scipy.linalg.LinAlgError, ValueError):
            return False
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
        inverse = np.where(self.moves, 1.0 / D, 0.0)
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

    def solution(self, status: Status, records: list[dict[str, float]], error: BaseException | None) -> Solution:
        """Variables next to a bound go onto it; then the answer is polished."""
        problem = self.problem
        s, t = self._slacks()
        alpha = np.where(self.has_lower & (s * 1e3 < self.z * _width(problem)) & (s < t), problem.lower, self.alpha)
        alpha = np.where(self.has_upper & (t * 1e3 < self.w * _width(problem)) & (t <= s), problem.upper, alpha)
        better = None
        if status is Status.SOLVED:
            better = polish(problem, alpha, self._gradient(alpha), self.alpha, self.gradient, max_free=problem.size)
        alpha, gradient = better or (self.alpha, self.gradient)
        columns = {name: np.array([record[name] for record in records]) for name in records[0]}
        return Solution(
            alpha=alpha,
            mu=optimal_offset(problem, alpha, gradient),
            gradient=gradient,
            status=status,
            iterations=len(records) - 1,
            history=History.from_columns(columns),
            error=error,
        )


def _width(problem: Problem) -> Array:
    width = problem.upper - problem.lower
    return np.where(np.isfinite(width), width, 1.0)
