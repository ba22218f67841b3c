"""Newton's method for the primal with smooth losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.problems import Array, Problem, Solution, Status
from hinge.solvers.base import Capabilities, register
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.base import TextbookSolver, linear_system
from hinge.solvers.textbook.primal import Primal, box_center, feasible_point, solution_at

#: A step has to decrease the objective by this share of the decrease that its slope predicts (Armijo's rule).
SUFFICIENT_DECREASE = 1e-4

#: Halvings of a step before the line search fails.
MAX_HALVINGS = 40

#: Line searches that fail in a row before the method stops with Status.NUMERICAL.
MAX_FAILED_SEARCHES = 3


@register("newton")
@dataclass(frozen=True, kw_only=True)
class Newton(TextbookSolver):
    """Newton steps on R(f, b), the "Laplace approximation" of LwK Problem 10.17.     docs/math (360)–(362)

    For losses with a continuous derivative: logistic, squared hinge, modified Huber, squared ε-insensitive, Huber,
    Gaussian, exponential. A step costs a factorization whose order is the number of samples with a curved loss, or the
    rank if there is an `approximation` or the kernel is linear. For piecewise quadratic losses the last step is exact.

    Cost: 5 to 50 factorizations of the samples with a curved loss, n³/3 at most (O(mn²) on a factor); 16 n² bytes.
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
        Threads for the approximation.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import Newton
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> hinge.SVC(loss="logistic", gamma=1.0, solver=Newton()).fit(X, y).status_.name
    'SOLVED'
    """

    capabilities: ClassVar = Capabilities(
        tol="relative_gap", terms=("diagonal", "convex"), factor="optional", options=("threads",)
    )
    default_max_iter: ClassVar[int] = 200
    factorizations: ClassVar[float] = 1.0

    tol: float = 1e-8

    def check(self, problem: Problem) -> None:
        check_smooth(problem, "Newton's method")

    def _run(self, problem: Problem, log: RunLog) -> Solution:
        descent = _Descent(problem)
        status = log.run(lambda: descent.run(log))
        return solution_at(problem, feasible_point(problem, descent.x), status, log)


def check_smooth(problem: Problem, method: str) -> None:
    """Raise a ValueError that names `method` unless the primal has a derivative everywhere."""
    width = problem.upper - problem.lower
    nonsmooth = problem.term is None
    if problem.term is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            curvature = problem.term.curvature(box_center(problem))
        nonsmooth = bool(np.any((curvature <= 0) & (width > 0)))
    if nonsmooth:
        raise ValueError(
            f"{method} needs a loss with a continuous derivative: use loss='squared_hinge', 'modified_huber', "
            "'logistic' or 'squared_epsilon_insensitive', or another solver such as 'auto' or 'interior_point'"
        )


class _Descent:
    """Iterate β, f = Kβ and μ, and the dual point x that belongs to it."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.primal = problem, Primal(problem)
        self.system = linear_system(self.primal)
        Q = problem.Q
        self.beta, self.f, self.mu = np.zeros(Q.n), np.zeros(Q.n), np.zeros(len(problem.A))
        self.x = np.zeros(problem.size)

    def value(self, beta: Array, f: Array, mu: Array) -> float:
        """R(f, μ)."""
        r = self.primal.residual(f, mu)
        return 0.5 * float(beta @ f) + float(mu @ self.problem.d) + self.primal.loss(r, self.primal.dual_point(r))

    def run(self, log: RunLog) -> Status:
        self.mu = self.primal.multipliers(self.f, self.mu)
        failed = 0
        for iteration in range(log.max_iter + 1):
            r = self.primal.residual(self.f, self.mu)
            self.x = self.primal.dual_point(r)
            curvature = self.primal.curvature(self.x)
            value, gap, violation = self._measure(log)
            status = log.record(iteration, value, value - gap, gap, violation, int(np.sum(curvature > 0)))
            if status is not None:
                return status
            beta, d_mu = self._newton_point(curvature)
            succeeded = self._line_search(beta, self.primal.matrix @ beta, d_mu, value, gap)
            failed = 0 if succeeded else failed + 1
            if failed == MAX_FAILED_SEARCHES:
                return Status.NUMERICAL
        return Status.MAX_ITER

    def _measure(self, log: RunLog) -> tuple[float, float, float]:
        """Objective, duality gap and largest violation of f = Kβ(x); recomputed for the dual point x at the end."""
        problem, primal = self.problem, self.primal
        beta = problem.Q.coefficients(self.x)
        f = primal.matrix @ beta
        half_norm = 0.5 * max(0.0, float((self.beta - beta) @ (self.f - f)))  # Theorem 10.5
        value = self.value(self.beta, self.f, self.mu)
        missing = problem.d - problem.A @ self.x
        gap = half_norm + float(np.abs(self.mu) @ np.abs(missing))
        violation = float(np.max(np.abs(self.f - f), initial=0.0))
        if log.is_converged(gap, value):
            gap, dual = primal.certified(self.x, f, self.mu)
            value = dual + gap
        return value, gap, violation

    def _newton_point(self, curvature: Array) -> tuple[Array, Array]:
        """β of the full Newton step, and the step of μ.                                                  (361)"""
        problem, primal, Q = self.problem, self.primal, self.problem.Q
        curved = curvature > 0
        inverse = 1.0 / np.where(curved, curvature, 1.0)
        right = np.where(curved, self.x / np.where(curved, curvature, 1.0) + Q.spread(self.f), 0.0)
        fixed = np.where(curved, 0.0, self.x)
        right -= np.where(curved, Q.spread(primal.matrix @ Q.coefficients(fixed)), 0.0)
        self.system.factor(np.where(curved, inverse, 1.0), curved)
        rows = np.where(curved, problem.A, 0.0).T
        solved, _ = self.system.solve(np.column_stack([right, rows]))
        x, d_mu = _with_rows(solved[:, 0], solved[:, 1:], problem.A, problem.d - problem.A @ fixed)
        return Q.coefficients(np.where(curved, x, self.x)), d_mu

    def _line_search(self, beta: Array, f: Array, d_mu: Array, value: float, gap: float) -> bool:
        """Halve the step until the objective decreases, then minimize over μ; False if no step decreases it."""
        t = 1.0
        for _ in range(MAX_HALVINGS):
            new_beta = self.beta + t * (beta - self.beta)
            new_f, new_mu = self.f + t * (f - self.f), self.mu + t * d_mu
            if self.value(new_beta, new_f, new_mu) <= value - SUFFICIENT_DECREASE * t * gap:
                break
            new_mu = self.primal.multipliers(new_f, self.mu)
            if self.value(new_beta, new_f, new_mu) <= value - SUFFICIENT_DECREASE * t * gap:
                break
            t *= 0.5
        else:
            t = 0.0
            new_beta, new_f, new_mu = beta, f, self.mu  # only rounding prevents a decrease: take the full step
        self.beta, self.f = new_beta, new_f
        self.mu = self.primal.multipliers(new_f, new_mu)
        return t > 0.0


def _with_rows(x: Array, rows_solved: Array, A: Array, right: Array) -> tuple[Array, Array]:
    """(x − X δ, δ) with A(x − X δ) = right, where X is the solution for the rows of A."""
    if not len(A):
        return x, np.zeros(0)
    delta = np.asarray(np.linalg.lstsq(A @ rows_solved, A @ x - right, rcond=None)[0], dtype=np.float64)
    return x - rows_solved @ delta, delta
