"""Lagrangian SVM: a fixed-point iteration with one factorization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.problems import Array, Diagonal, Problem, Solution, Status
from hinge.solvers.base import Capabilities, register
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.base import TextbookSolver, linear_system
from hinge.solvers.textbook.primal import Primal, duality_gap, feasible_point, solution_at

#: γ as a multiple of the smallest diagonal term; below 2 the iteration converges (Theorem 10.7).
RELATIVE_STEP = 1.9

#: Iterations between two gap checks; in the first GAP_CHECK_INTERVAL iterations the gap is checked each time.
GAP_CHECK_INTERVAL = 10

#: Penalty of the method of multipliers, relative to the curvature of the row: large enough for a few updates of μ.
RELATIVE_PENALTY = 10.0

#: Growth of max |α| in one iteration above which the run has diverged.
MAX_GROWTH = 1e12


@register("lagrangian")
@dataclass(frozen=True, kw_only=True)
class Lagrangian(TextbookSolver):
    """α ← Q⁻¹(((Qα + p) − γα)₊ − p), Q the kernel matrix with the diagonal of a squared loss.  docs/math (363)–(366)

    LwK §10.6.2 for the squared hinge, Problem 10.16 for the squared ε-insensitive loss. Q is factorized once. Each
    iteration is a product and a solution with Q, and the error decreases by ‖1 − γQ⁻¹‖ < 1 (Theorem 10.7). A problem
    without equality row is solved as in the book, where the offset is part of the kernel (``K + 1``). The row of an
    offset without penalty is satisfied by the method of multipliers, whose first subproblem is that of the book.

    Cost: one factorization, n³/3 (O(mn²) on a factor), then O(n²) (O(mn)) per iteration, hundreds to 100,000.
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
        Threads for the approximation.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import Lagrangian
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> hinge.SVC(loss="squared_hinge", gamma=1.0, solver=Lagrangian()).fit(X, y).status_.name
    'SOLVED'
    """

    capabilities: ClassVar = Capabilities(
        tol="relative_gap", terms=("diagonal",), factor="optional", options=("threads",)
    )
    default_max_iter: ClassVar[int] = 100_000
    factorizations: ClassVar[float] = 1.0

    def check(self, problem: Problem) -> None:
        _positive_diagonal(problem)
        if np.any(problem.lower != 0) or np.any(np.isfinite(problem.upper)):
            raise ValueError(
                "the Lagrangian method needs variables with 0 as their only bound: use loss='squared_hinge' or "
                "'squared_epsilon_insensitive', or another solver such as 'auto' or 'newton'"
            )

    def _run(self, problem: Problem, log: RunLog) -> Solution:
        iteration = _FixedPointIteration(problem)
        status = log.run(lambda: iteration.run(log))
        return solution_at(problem, feasible_point(problem, iteration.best), status, log)


def _positive_diagonal(problem: Problem) -> Array:
    """d > 0 of the term ½ Σ dᵥ αᵥ²; raise ValueError for other losses."""
    if not isinstance(problem.term, Diagonal) or np.any(problem.term.d <= 0):
        raise ValueError(
            "this method needs a squared loss: use loss='squared_hinge' (classification) or "
            "'squared_epsilon_insensitive' (regression), or another solver such as 'auto'"
        )
    return np.asarray(problem.term.d, dtype=np.float64)


class _FixedPointIteration:
    """Iteration with a step γd of each variable, as if all were scaled to a unit diagonal.          docs/math (364)"""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.primal = problem, Primal(problem)
        self.d = _positive_diagonal(problem)
        self.root = np.sqrt(self.d)
        self.system = linear_system(self.primal, 1e-12)
        self.system.factor(self.d, np.ones(problem.size, dtype=bool))
        A = problem.A
        self.rows_solved = self.system.solve(A.T)[0] if len(A) else np.zeros((problem.size, 0))
        self.penalty = self._penalty()
        self.mu = np.zeros(len(A))
        self.alpha = self._solve(-problem.p)
        self.best, self.best_gap = np.zeros(problem.size), np.inf

    def _penalty(self) -> float:
        """Penalty c of the method of multipliers."""
        if not len(self.problem.A):
            return 0.0
        inner = np.diagonal(self.problem.A @ self.rows_solved)
        return float(RELATIVE_PENALTY / max(float(np.max(inner)), 1e-300))

    def _solve(self, r: Array) -> Array:
        """(Q + D + c AᵀA)⁻¹ r."""
        x = self.system.solve(r[:, None])[0][:, 0]
        A = self.problem.A
        if len(A):
            inner = np.eye(len(A)) / self.penalty + A @ self.rows_solved
            x = x - self.rows_solved @ np.linalg.solve(inner, A @ x)
        return x

    def _slope(self, alpha: Array) -> Array:
        """Gradient of the augmented Lagrangian: Qα + p with diagonal, multipliers and penalty."""
        problem = self.problem
        gradient = problem.Q.spread(self.primal.matrix @ problem.Q.coefficients(alpha)) + problem.p
        multipliers = self.mu + self.penalty * (problem.A @ alpha - problem.d)
        return gradient + self.d * alpha + multipliers @ problem.A

    def run(self, log: RunLog) -> Status:
        problem, last_size = self.problem, np.inf
        next_check = 0
        for iteration in range(log.max_iter + 1):
            slope = self._slope(self.alpha)
            if iteration >= next_check or iteration == log.max_iter:
                next_check = iteration + (1 if iteration < GAP_CHECK_INTERVAL else GAP_CHECK_INTERVAL)
                status, step_error, row_error = self._measure(iteration, slope, log)
                if status is not None:
                    return status
                if row_error > 0 and step_error <= 0.1 * row_error:
                    self.mu = self.mu + self.penalty * (problem.A @ self.alpha - problem.d)
                    slope = self._slope(self.alpha)
            # Lemma 10.6: slope = (slope − γα)₊ at the solution; the next α is the one with that slope.
            clipped = np.maximum(slope - RELATIVE_STEP * self.d * self.alpha, 0.0)
            linear = problem.p + (self.mu - self.penalty * problem.d) @ problem.A
            self.alpha = self._solve(clipped - linear)
            size = float(np.max(np.abs(self.alpha), initial=0.0))
            if not np.isfinite(size) or (np.isfinite(last_size) and size > MAX_GROWTH * max(last_size, 1e-300)):
                return Status.NUMERICAL
            last_size = max(size, 1e-300)
        return Status.MAX_ITER

    def _measure(self, iteration: int, slope: Array, log: RunLog) -> tuple[Status | None, float, float]:
        """Record the gap at a feasible point close to α; errors of the fixed-point equation and of the rows."""
        problem, Q = self.problem, self.problem.Q
        point = feasible_point(problem, np.maximum(self.alpha, 0.0))
        gradient = Q.spread(self.primal.matrix @ Q.coefficients(point)) + problem.p
        f = np.asarray(((gradient - problem.p) * Q.sign)[: Q.n])
        mu = self.primal.multipliers(f, self.mu)
        gap = duality_gap(problem, point, gradient + mu @ problem.A)
        dual = -problem.value(point, gradient)
        if gap < self.best_gap:
            self.best, self.best_gap = point, gap
        clipped = np.maximum(slope - RELATIVE_STEP * self.d * self.alpha, 0.0)
        step_error = float(np.linalg.norm((slope - clipped) / self.root))
        excess = problem.A @ self.alpha - problem.d
        row_error = float(np.linalg.norm(self.penalty * excess @ problem.A / self.root)) if len(excess) else 0.0
        violation = float(np.max(np.abs(slope - clipped), initial=0.0))
        active = int(np.sum(point > 0))
        return log.record(iteration, dual + gap, dual, gap, violation, active), step_error, row_error
