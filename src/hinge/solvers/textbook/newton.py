"""Newton's method for the primal, with smooth losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.problems import Array, Problem, Solution, Status
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.base import IterativeMethod, plus_rows, system_of
from hinge.solvers.textbook.primal import Primal, balanced, finished, middle_of

#: A step must lower the objective by this fraction of what its slope promises.
ARMIJO = 1e-4


@dataclass(frozen=True, kw_only=True)
class Newton(IterativeMethod):
    """Newton steps on R(f, b), the "Laplace approximation" of LwK Problem 10.17.     docs/math (360)–(362)

    For losses with a derivative that has no jumps: logistic, squared hinge, modified Huber, squared ε-insensitive,
    Huber, Gaussian, exponential.  A step costs a factorisation of the size of the samples whose loss is curved, or of
    the rank where there is an `approximation` (or the kernel is linear); for piecewise quadratic losses the last step
    is exact.

    Cost: a factorisation of the samples whose loss is curved, n³/3 at most (O(mn²) on a factor), 5 to 50 of them; 16 n²
    bytes.
    Certificate: the relative gap is at most `tol`.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    max_iter : int
        Steps; −1 for the default of 200.
    max_time : float or None
        Seconds.
    approximation : SGMA, PivotedCholesky, Nystrom or None
        Replace the kernel matrix by LLᵀ (Sherman–Morrison–Woodbury).
    threads : int
    """

    tol: float = 1e-8

    def _enough(self) -> int:
        return 200

    def _check(self, problem: Problem) -> None:
        smooth(problem, "Newton's method")

    def _run(self, problem: Problem, story: RunLog) -> Solution:
        path = _Descent(problem)
        status = story.run(lambda: path.follow(story))
        return finished(problem, path.best_alpha(), status, story)


def smooth(problem: Problem, method: str) -> None:
    """A ValueError unless the primal has a derivative everywhere."""
    width = problem.upper - problem.lower
    kinked = problem.term is None
    if not kinked:
        with np.errstate(divide="ignore", invalid="ignore"):
            curvature = problem.term.curvature(middle_of(problem))  # type: ignore[union-attr]
        kinked = bool(np.any((curvature <= 0) & (width > 0)))
    if kinked:
        raise ValueError(
            f"{method} needs a loss with a continuous derivative: use loss='squared_hinge', 'modified_huber', "
            "'logistic' or 'squared_epsilon_insensitive', or another solver such as 'auto' or 'interior_point'"
        )


class _Descent:
    """β, f = Kβ and μ."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.primal = problem, Primal(problem)
        self.system = system_of(self.primal)
        Q = problem.Q
        self.beta, self.f, self.mu = np.zeros(Q.n), np.zeros(Q.n), np.zeros(len(problem.A))
        self.x = np.zeros(problem.size)

    def value(self, beta: Array, f: Array, mu: Array) -> float:
        r = self.primal.residual(f, mu)
        return 0.5 * float(beta @ f) + float(mu @ self.problem.d) + self.primal.loss(r, self.primal.answer(r))

    def best_alpha(self) -> Array:
        return balanced(self.problem, self.x)

    def follow(self, story: RunLog) -> Status:
        problem, primal, Q = self.problem, self.primal, self.problem.Q
        self.mu = primal.offset(self.f, self.mu)
        stuck = 0
        for iteration in range(story.max_iter + 1):
            r = primal.residual(self.f, self.mu)
            self.x = x = primal.answer(r)
            weight = primal.curvature(x)
            target = Q.coefficients(x)
            f_target = primal.matrix @ target
            apart = 0.5 * max(0.0, float((self.beta - target) @ (self.f - f_target)))  # Theorem 10.5
            value = self.value(self.beta, self.f, self.mu)
            missing = problem.d - problem.A @ x
            gap = apart + float(np.abs(self.mu) @ np.abs(missing))
            violation = float(np.max(np.abs(self.f - f_target), initial=0.0))
            if story.is_converged(gap, value):
                gap, dual = primal.at(x, f_target, self.mu)
                value = dual + gap
            status = story.note(iteration, value, value - gap, gap, violation, int(np.sum(weight > 0)))
            if status is not None:
                return status
            moves = weight > 0
            right = np.where(moves, x / np.where(moves, weight, 1.0) + Q.spread(self.f), 0.0)
            rest = np.where(moves, 0.0, x)
            right -= np.where(moves, Q.spread(primal.matrix @ Q.coefficients(rest)), 0.0)
            self.system.factor(np.where(moves, 1.0 / np.where(moves, weight, 1.0), 1.0), moves)
            rows = np.where(moves, problem.A, 0.0).T
            solved, _ = self.system.solve(np.column_stack([right, rows]))
            there, d_mu = plus_rows(solved[:, 0], solved[:, 1:], problem.A, problem.d - problem.A @ rest)
            beta = Q.coefficients(np.where(moves, there, x))
            moved = self._search(beta, primal.matrix @ beta, d_mu, value, gap)
            stuck = 0 if moved else stuck + 1
            if stuck == 3:
                return Status.NUMERICAL
        return Status.MAX_ITER

    def _search(self, beta: Array, f: Array, d_mu: Array, value: float, gap: float) -> bool:
        """Backtrack until the objective falls, then find the offset again."""
        t = 1.0
        for _ in range(40):
            new_beta = self.beta + t * (beta - self.beta)
            new_f, new_mu = self.f + t * (f - self.f), self.mu + t * d_mu
            if self.value(new_beta, new_f, new_mu) <= value - ARMIJO * t * gap:
                break
            new_mu = self.primal.offset(new_f, self.mu)
            if self.value(new_beta, new_f, new_mu) <= value - ARMIJO * t * gap:
                break
            t *= 0.5
        else:
            t = 0.0
            new_beta, new_f, new_mu = beta, f, self.mu  # rounding: take the Newton point as it is
        self.beta, self.f = new_beta, new_f
        self.mu = self.primal.offset(new_f, new_mu)
        return t > 0.0
