"""Lagrangian support vector machines: a fixed point iteration with one factorisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.problems import Array, Problem, Solution, Status
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.base import IterativeMethod, system_of
from hinge.solvers.textbook.primal import Primal, balanced, finished, gap_of

#: γ is this multiple of the smallest ridge; below 2 the iteration converges (Theorem 10.7).
STEP = 1.9

#: Iterations between two looks at the gap.
LOOK = 10


@dataclass(frozen=True, kw_only=True)
class Lagrangian(IterativeMethod):
    """α ← Q⁻¹(((Qα + p) − γα)₊ − p), Q the kernel matrix with the ridge of a squared loss.   docs/math (363)–(366)

    LwK §10.6.2 for the squared hinge, Problem 10.16 for the squared ε-insensitive loss.  Q is factorised once; each
    iteration is a product and a solution with it, and the error shrinks by ‖1 − γQ⁻¹‖ < 1 (Theorem 10.7).  A problem
    without equality row is solved as the book does (there the offset is part of the kernel: ``K + 1``); a row, that of
    an offset without penalty, is met by the method of multipliers, whose first round is the book's problem.

    Cost: one factorisation, n³/3 (O(mn²) on a factor), then O(n²) (O(mn)) an iteration, hundreds to 100,000.
    Certificate: the relative gap is at most `tol`.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    max_iter : int
        Iterations; −1 for the default of 100,000.
    max_time : float or None
        Seconds.
    approximation : SGMA, PivotedCholesky, Nystrom or None
        Replace the kernel matrix by LLᵀ: an iteration then costs O(mn).
    threads : int
    """

    def _enough(self) -> int:
        return 100_000

    def _check(self, problem: Problem) -> None:
        ridge(problem)
        if np.any(problem.lower != 0) or np.any(np.isfinite(problem.upper)):
            raise ValueError(
                "the Lagrangian method needs variables that are bounded by zero alone: use loss='squared_hinge' or "
                "'squared_epsilon_insensitive', or another solver such as 'auto' or 'newton'"
            )

    def _run(self, problem: Problem, story: RunLog) -> Solution:
        iteration = _Iteration(problem)
        status = story.run(lambda: iteration.follow(story))
        return finished(problem, balanced(problem, iteration.best), status, story)


def ridge(problem: Problem) -> Array:
    """dᵥ > 0 of ½ Σ dᵥ αᵥ²."""
    d = getattr(problem.term, "d", None)
    if d is None or np.any(d <= 0):
        raise ValueError(
            "this method needs a squared loss: use loss='squared_hinge' (classification) or "
            "'squared_epsilon_insensitive' (regression), or another solver such as 'auto'"
        )
    return np.asarray(d, dtype=np.float64)


class _Iteration:
    """Variables scaled by the roots of their ridges, so that the ridge of all is one.            docs/math (364)"""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.primal = problem, Primal(problem)
        self.d = ridge(problem)
        self.root = np.sqrt(self.d)
        self.system = system_of(self.primal, 1e-12)
        self.system.factor(self.d, np.ones(problem.size, dtype=bool))
        A = problem.A
        self.rows_solved = self.system.solve(A.T)[0] if len(A) else np.zeros((problem.size, 0))
        self.penalty = self._penalty()
        self.mu = np.zeros(len(A))
        self.alpha = self._invert(-problem.p)
        self.best, self.best_gap = np.zeros(problem.size), np.inf

    def _penalty(self) -> float:
        """Of the multiplier method: as large as the curvature that the row meets, so that few rounds are enough."""
        if not len(self.problem.A):
            return 0.0
        inner = np.diagonal(self.problem.A @ self.rows_solved)
        return float(10.0 / max(float(np.max(inner)), 1e-300))

    def _invert(self, r: Array) -> Array:
        """(Q + D + c AᵀA)⁻¹ r."""
        x = self.system.solve(r[:, None])[0][:, 0]
        A = self.problem.A
        if len(A):
            small = np.eye(len(A)) / self.penalty + A @ self.rows_solved
            x = x - self.rows_solved @ np.linalg.solve(small, A @ x)
        return x

    def _slope(self, alpha: Array) -> tuple[Array, Array]:
        """(Qα + p, and the same with the ridge, the penalty and the multipliers)."""
        problem = self.problem
        gradient = problem.Q.spread(self.primal.matrix @ problem.Q.coefficients(alpha)) + problem.p
        push = self.mu + self.penalty * (problem.A @ alpha - problem.d)
        return gradient, gradient + self.d * alpha + push @ problem.A

    def follow(self, story: RunLog) -> Status:
        problem, before = self.problem, np.inf
        linear = lambda: problem.p + (self.mu - self.penalty * problem.d) @ problem.A  # noqa: E731
        look = 0
        for iteration in range(story.max_iter + 1):
            gradient, slope = self._slope(self.alpha)
            if iteration >= look or iteration == story.max_iter:
                look = iteration + (1 if iteration < LOOK else LOOK)
                status, inside, across = self._measure(iteration, gradient, slope, story)
                if status is not None:
                    return status
                if across > 0 and inside <= 0.1 * across:  # the row is what is wrong
                    self.mu = self.mu + self.penalty * (problem.A @ self.alpha - problem.d)
                    gradient, slope = self._slope(self.alpha)
            # Lemma 10.6: slope = (slope − γα)₊ at the solution, and the next α is the one with that slope
            kept = np.maximum(slope - STEP * self.d * self.alpha, 0.0)
            self.alpha = self._invert(kept - linear())
            size = float(np.max(np.abs(self.alpha), initial=0.0))
            if not np.isfinite(size) or (np.isfinite(before) and size > 1e12 * max(before, 1e-300)):
                return Status.NUMERICAL
            before = max(size, 1e-300)
        return Status.MAX_ITER

    def _measure(
        self, iteration: int, gradient: Array, slope: Array, story: RunLog
    ) -> tuple[Status | None, float, float]:
        """The gap at the feasible point next to α, and what keeps α from the solution: of the iteration, of the row."""
        problem = self.problem
        point = balanced(problem, np.maximum(self.alpha, 0.0))
        at = problem.Q.spread(self.primal.matrix @ problem.Q.coefficients(point)) + problem.p
        mu = self.primal.offset(problem.Q.coefficients(0 * point) + self._values(at), self.mu)
        gap = gap_of(problem, point, at + mu @ problem.A)
        dual = -problem.value(point, at)
        if gap < self.best_gap:
            self.best, self.best_gap = point, gap
        kept = np.maximum(slope - STEP * self.d * self.alpha, 0.0)
        inside = float(np.linalg.norm((slope - kept) / self.root))
        missing = problem.A @ self.alpha - problem.d
        across = float(np.linalg.norm(self.penalty * missing @ problem.A / self.root)) if len(missing) else 0.0
        violation = float(np.max(np.abs(slope - kept), initial=0.0))
        active = int(np.sum(point > 0))
        return story.note(iteration, dual + gap, dual, gap, violation, active), inside, across

    def _values(self, at: Array) -> Array:
        """f from Sf + p."""
        Q = self.problem.Q
        return np.asarray(((at - self.problem.p) * Q.sign)[: Q.n])
