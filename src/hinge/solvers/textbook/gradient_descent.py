"""Gradient descent on the regularised risk, in the space of functions or of coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.problems import Array, Problem, Solution, Status, optimal_offset
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.base import IterativeMethod
from hinge.solvers.textbook.newton import smooth
from hinge.solvers.textbook.primal import Primal, balanced, finished, gap_of

SPACES = ("function", "coefficients")


@dataclass(frozen=True, kw_only=True)
class GradientDescent(IterativeMethod):
    """f ← f − Λ ∂R[f] with the best Λ.                                LwK §10.6.1; docs/math (369)–(372)

    In function space the gradient of R at f = Σβᵢk(xᵢ, ·) + b is f − Σβ⁺ᵢk(xᵢ, ·), β⁺ the slopes of the losses, and
    half of its squared norm bounds the distance to the minimum (Theorem 10.5): it is the duality gap of β⁺.  In
    coefficient space the gradient is K(β − β⁺).  Where the loss has no derivative everywhere (hinge, ε-insensitive), β⁺
    is a corner of the dual's feasible set, and the step to the best point between β and β⁺ is that of Frank and Wolfe:
    slow, but sure.

    Cost: one or two products with K a step, O(n²), or O(mn) on a factor; 10 to 20,000 steps.
    Certificate: the relative gap, which is Theorem 10.5's bound, is at most `tol`.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    max_iter : int
        Steps; −1 for the default of 20,000.
    max_time : float or None
        Seconds.
    space : {"function", "coefficients"}
    conjugate : bool
        Steps in conjugate directions, for smooth losses.
    approximation : SGMA, PivotedCholesky, Nystrom or None
    threads : int
    """

    tol: float = 1e-3
    space: str = "function"
    conjugate: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.space not in SPACES:
            raise ValueError(f"space={self.space!r} must be one of {', '.join(map(repr, SPACES))}")

    def _enough(self) -> int:
        return 20_000

    def _check(self, problem: Problem) -> None:
        if problem.term is not None or self.space == "coefficients":
            smooth(problem, "gradient descent in coefficient space" if problem.term is None else "gradient descent")
        elif not (np.isfinite(problem.lower).all() and np.isfinite(problem.upper).all()):
            raise ValueError("gradient descent needs a finite C for this loss; use solver='smo' for C=inf")

    def _run(self, problem: Problem, story: RunLog) -> Solution:
        kind = _Corners(problem) if problem.term is None else _Smooth(problem, self.space, self.conjugate)
        status = story.run(lambda: kind.follow(story))
        return finished(problem, balanced(problem, kind.best), status, story)


class _Smooth:
    """Losses with a derivative: the best step along the (conjugate) gradient."""

    def __init__(self, problem: Problem, space: str, conjugate: bool) -> None:
        self.problem, self.primal, self.space, self.conjugate = problem, Primal(problem), space, conjugate
        n = problem.Q.n
        self.beta, self.f, self.mu = np.zeros(n), np.zeros(n), np.zeros(len(problem.A))
        self.best, self.best_gap = np.zeros(problem.size), np.inf

    def follow(self, story: RunLog) -> Status:
        primal, problem, Q = self.primal, self.problem, self.problem.Q
        self.mu = primal.offset(self.f, self.mu)
        way, way_f, before = None, None, 0.0
        last: tuple[Array, Array] | None = None
        for iteration in range(story.max_iter + 1):
            r = primal.residual(self.f, self.mu)
            x = primal.answer(r)
            step = Q.coefficients(x) - self.beta  # minus the gradient in function space
            step_f = primal.matrix @ step
            norm = max(0.0, float(step @ step_f))
            missing = problem.d - problem.A @ x
            gap = 0.5 * norm + float(np.abs(self.mu) @ np.abs(missing))  # Theorem 10.5
            value = 0.5 * float(self.beta @ self.f) + float(self.mu @ problem.d) + primal.loss(r, x)
            if story.is_converged(gap, value):  # f is good enough: is the point that is kept as good?
                gap, dual = primal.at(x, self.f + step_f, self.mu)
                value = dual + gap
            if gap < self.best_gap:
                self.best, self.best_gap = x, gap
            violation = float(np.max(np.abs(step_f), initial=0.0))
            status = story.note(iteration, value, value - gap, gap, violation, Q.n)
            if status is not None:
                return status
            if self.space == "coefficients":  # the gradient times K, and its norm in that space
                steep, steep_f, size = step_f, primal.matrix @ step_f, float(step_f @ step_f)
            else:
                steep, steep_f, size = step, step_f, norm
            turned = 0.0
            if self.conjugate and way is not None and last is not None and before > 0:
                common = float(steep @ last[0]) if self.space == "coefficients" else float(step @ last[1])
                turned = max(0.0, (size - common) / before)  # Polak and Ribière
            if turned == 0 or way is None or way_f is None:
                way, way_f = steep, steep_f
            else:
                way, way_f = steep + turned * way, steep_f + turned * way_f
            length = self._length(r, x, way, way_f)
            if length <= 0:
                way, way_f, turned = steep, steep_f, 0.0
                length = self._length(r, x, way, way_f)
            if length <= 0:
                return Status.NUMERICAL
            last, before = (step if self.space == "function" else step_f, step_f), size
            self.beta, self.f = self.beta + length * way, self.f + length * way_f
            if iteration % 50 == 49:
                self.f = primal.matrix @ self.beta
            self.mu = primal.offset(self.f, self.mu)
        return Status.MAX_ITER

    def _length(self, r: Array, x: Array, way: Array, way_f: Array) -> float:
        """The minimum along the way, by Newton steps kept within a bracket; 0 where the way leads uphill."""
        primal, Q = self.primal, self.problem.Q
        linear, square = float(way @ self.f), max(0.0, float(way @ way_f))
        spread = Q.spread(way_f)
        slope = linear - float(spread @ x)
        if slope >= 0:
            return 0.0
        low, high, t = 0.0, np.inf, 0.0
        curvature = square + float(spread**2 @ primal.curvature(x))
        for _ in range(60):
            t_new = t - slope / curvature if curvature > 0 else np.inf
            if not low < t_new < high:
                t_new = 0.5 * (low + high) if np.isfinite(high) else max(2 * low, 1.0)
            t = t_new
            answer = primal.answer(r + t * spread)
            first = slope
            slope = linear + t * square - float(spread @ answer)
            curvature = square + float(spread**2 @ primal.curvature(answer))
            low, high = (t, high) if slope < 0 else (low, t)
            if abs(slope) <= 1e-3 * abs(first) and abs(slope) <= 1e-2 * abs(linear - float(spread @ x)):
                break
        return t


class _Corners:
    """Losses with kinks: towards the corner of the feasible set that the gradient points to."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.primal = problem, Primal(problem)
        self.alpha = balanced(problem, np.clip(np.zeros(problem.size), problem.lower, problem.upper))
        self.f = self.primal.matrix @ problem.Q.coefficients(self.alpha)

    @property
    def best(self) -> Array:
        return self.alpha

    def follow(self, story: RunLog) -> Status:
        problem, Q = self.problem, self.problem.Q
        for iteration in range(story.max_iter + 1):
            gradient = Q.spread(self.f) + problem.p
            mu = optimal_offset(problem, self.alpha, gradient)
            r = gradient + mu @ problem.A
            gap, dual = gap_of(problem, self.alpha, r), -problem.value(self.alpha, gradient)
            violation = float(np.max(np.abs(r), initial=0.0))
            status = story.note(iteration, dual + gap, dual, gap, violation, Q.n)
            if status is not None:
                return status
            way = self._corner(r) - self.alpha
            way_f = self.primal.matrix @ Q.coefficients(way)
            slope, curvature = float(gradient @ way), float(Q.coefficients(way) @ way_f)
            if slope >= 0:
                return Status.NUMERICAL
            length = min(1.0, -slope / curvature) if curvature > 0 else 1.0
            self.alpha = np.clip(self.alpha + length * way, problem.lower, problem.upper)
            self.f = self.f + length * way_f
            if iteration % 50 == 49:
                self.f = self.primal.matrix @ Q.coefficients(self.alpha)
        return Status.MAX_ITER

    def _corner(self, r: Array) -> Array:
        """argmin of rᵀx over the box and the rows: ends of the box, and variables next to the threshold in between."""
        problem = self.problem
        x = np.where(r > 0, problem.lower, problem.upper)
        for row, target in zip(problem.A, problem.d, strict=True):
            missing = float(target - row @ x)
            members = np.flatnonzero(row)
            for v in members[np.argsort(np.abs(r[members] / row[members]))]:
                if missing == 0.0:
                    break
                wanted = x[v] + missing / row[v]
                new = min(max(wanted, problem.lower[v]), problem.upper[v])
                missing -= float(row[v] * (new - x[v]))
                x[v] = new
        return x
