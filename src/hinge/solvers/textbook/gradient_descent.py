"""Gradient descent on the regularized risk, in function space or in coefficient space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge.problems import Array, Problem, Solution, Status, optimal_offset
from hinge.solvers.base import Capabilities, register
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.base import TextbookSolver
from hinge.solvers.textbook.newton import check_smooth
from hinge.solvers.textbook.primal import Primal, duality_gap, feasible_point, solution_at

SPACES = ("function", "coefficients")

#: Steps after which f is computed from the coefficients again, to remove the rounding errors of its updates.
STEPS_PER_REFRESH = 50

#: Trials of a line search before the last step length is taken.
MAX_LINE_SEARCH_TRIALS = 60


@register("gradient_descent")
@dataclass(frozen=True, kw_only=True)
class GradientDescent(TextbookSolver):
    """f ← f − Λ ∂R[f] with the best Λ.                                   LwK §10.6.1; docs/math (369)–(372)

    In function space the gradient of R at f = Σβᵢk(xᵢ, ·) + b is f − Σβ⁺ᵢk(xᵢ, ·), where β⁺ are the negative
    derivatives of the losses. Half of its squared norm bounds the distance to the minimum (Theorem 10.5): it is the
    duality gap of β⁺. In coefficient space the gradient is K(β − β⁺). If the loss is not differentiable (hinge,
    ε-insensitive), β⁺ is a vertex of the feasible set of the dual, and the step to the best point between β and β⁺ is
    that of Frank and Wolfe, which converges slowly.

    Cost: one or two products with K per step, O(n²), or O(mn) on a factor; 10 to 20,000 steps.
    Certificate: the relative gap, which is the bound of Theorem 10.5, is at most `tol`.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    max_iter : int
        Steps; −1 for the default of 20,000.
    max_time : float or None
        Seconds.
    space : {"function", "coefficients"}
        Space in which the gradient is taken; "coefficients" needs a smooth loss.
    conjugate : bool
        Use conjugate directions, for smooth losses.
    approximation : SGMA, PivotedCholesky, Nystrom or None
        Replace the kernel matrix by LLᵀ: a step then costs O(mn).
    threads : int
        Threads for the approximation.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import GradientDescent
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> hinge.SVC(loss="logistic", gamma=1.0, solver=GradientDescent()).fit(X, y).status_.name
    'SOLVED'
    """

    capabilities: ClassVar = Capabilities(
        tol="relative_gap", terms=("none", "diagonal", "convex"), factor="optional", options=("threads",)
    )
    default_max_iter: ClassVar[int] = 20_000

    tol: float = 1e-3
    space: str = "function"
    conjugate: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.space not in SPACES:
            raise ValueError(f"space={self.space!r} must be one of {', '.join(map(repr, SPACES))}")

    def check(self, problem: Problem) -> None:
        if problem.term is not None or self.space == "coefficients":
            name = "gradient descent in coefficient space" if problem.term is None else "gradient descent"
            check_smooth(problem, name)
        elif not (np.isfinite(problem.lower).all() and np.isfinite(problem.upper).all()):
            raise ValueError("gradient descent needs a finite C for this loss; use solver='smo' for C=inf")

    def _run(self, problem: Problem, log: RunLog) -> Solution:
        descent = _FrankWolfe(problem) if problem.term is None else _SmoothDescent(problem, self.space, self.conjugate)
        status = log.run(lambda: descent.run(log))
        return solution_at(problem, feasible_point(problem, descent.best), status, log)


class _SmoothDescent:
    """Descent for differentiable losses, along the gradient or along conjugate directions."""

    def __init__(self, problem: Problem, space: str, conjugate: bool) -> None:
        self.problem, self.primal, self.space, self.conjugate = problem, Primal(problem), space, conjugate
        n = problem.Q.n
        self.beta, self.f, self.mu = np.zeros(n), np.zeros(n), np.zeros(len(problem.A))
        self.best, self.best_gap = np.zeros(problem.size), np.inf
        self.direction: tuple[Array, Array] | None = None  # the last one as coefficients and as values of f
        self.last_gradient: tuple[Array, Array] | None = None
        self.last_norm = 0.0

    def run(self, log: RunLog) -> Status:
        primal, Q = self.primal, self.problem.Q
        self.mu = primal.multipliers(self.f, self.mu)
        for iteration in range(log.max_iter + 1):
            r = primal.residual(self.f, self.mu)
            x = primal.dual_point(r)
            step = Q.coefficients(x) - self.beta  # the negative gradient in function space
            f_step = primal.matrix @ step
            norm = max(0.0, float(step @ f_step))
            status = self._record(iteration, r, x, f_step, norm, log)
            if status is not None:
                return status
            length = self._search(r, x, step, f_step, norm)
            if length <= 0:
                return Status.NUMERICAL
            assert self.direction is not None
            direction, f_direction = self.direction
            self.beta, self.f = self.beta + length * direction, self.f + length * f_direction
            if iteration % STEPS_PER_REFRESH == STEPS_PER_REFRESH - 1:
                self.f = primal.matrix @ self.beta
            self.mu = primal.multipliers(self.f, self.mu)
        return Status.MAX_ITER

    def _record(self, iteration: int, r: Array, x: Array, f_step: Array, norm: float, log: RunLog) -> Status | None:
        """Record objective and gap, and keep x if its gap is the smallest so far."""
        problem, primal = self.problem, self.primal
        missing = problem.d - problem.A @ x
        gap = 0.5 * norm + float(np.abs(self.mu) @ np.abs(missing))  # Theorem 10.5
        value = 0.5 * float(self.beta @ self.f) + float(self.mu @ problem.d) + primal.loss(r, x)
        if log.is_converged(gap, value):  # f is good enough; the certificate needs the gap of x
            gap, dual = primal.certified(x, self.f + f_step, self.mu)
            value = dual + gap
        if gap < self.best_gap:
            self.best, self.best_gap = x, gap
        violation = float(np.max(np.abs(f_step), initial=0.0))
        return log.record(iteration, value, value - gap, gap, violation, problem.Q.n)

    def _search(self, r: Array, x: Array, step: Array, f_step: Array, norm: float) -> float:
        """Choose the next direction and return the step length; 0 if no direction descends."""
        primal = self.primal
        if self.space == "coefficients":  # the gradient times K, and its norm in that space
            steepest, f_steepest, norm = f_step, primal.matrix @ f_step, float(f_step @ f_step)
        else:
            steepest, f_steepest = step, f_step
        weight = self._conjugate_weight(steepest, step, norm)
        if weight == 0 or self.direction is None:
            self.direction = steepest, f_steepest
        else:
            self.direction = steepest + weight * self.direction[0], f_steepest + weight * self.direction[1]
        length = self._step_length(r, x, *self.direction)
        if length <= 0:
            self.direction = steepest, f_steepest
            length = self._step_length(r, x, *self.direction)
        self.last_gradient, self.last_norm = (step if self.space == "function" else f_step, f_step), norm
        return length

    def _conjugate_weight(self, steepest: Array, step: Array, norm: float) -> float:
        """Weight of the last direction in the next one (Polak and Ribière)."""
        if not self.conjugate or self.direction is None or self.last_gradient is None or self.last_norm <= 0:
            return 0.0
        in_coefficients = self.space == "coefficients"
        product = float(steepest @ self.last_gradient[0]) if in_coefficients else float(step @ self.last_gradient[1])
        return max(0.0, (norm - product) / self.last_norm)

    def _step_length(self, r: Array, x: Array, direction: Array, f_direction: Array) -> float:
        """Minimum of R along the direction, by Newton steps safeguarded by a bracket; 0 if R increases along it."""
        primal, Q = self.primal, self.problem.Q
        linear, square = float(direction @ self.f), max(0.0, float(direction @ f_direction))
        d_r = Q.spread(f_direction)
        slope = linear - float(d_r @ x)
        if slope >= 0:
            return 0.0
        low, high, t = 0.0, np.inf, 0.0
        curvature = square + float(d_r**2 @ primal.curvature(x))
        for _ in range(MAX_LINE_SEARCH_TRIALS):
            trial = t - slope / curvature if curvature > 0 else np.inf
            if not low < trial < high:
                trial = 0.5 * (low + high) if np.isfinite(high) else max(2 * low, 1.0)
            t = trial
            x_t = primal.dual_point(r + t * d_r)
            last_slope = slope
            slope = linear + t * square - float(d_r @ x_t)
            curvature = square + float(d_r**2 @ primal.curvature(x_t))
            low, high = (t, high) if slope < 0 else (low, t)
            if abs(slope) <= 1e-3 * abs(last_slope) and abs(slope) <= 1e-2 * abs(linear - float(d_r @ x)):
                break
        return t


class _FrankWolfe:
    """Steps towards the vertex of the feasible set that minimizes the linearized objective, for nonsmooth losses."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.primal = problem, Primal(problem)
        self.alpha = feasible_point(problem, np.clip(np.zeros(problem.size), problem.lower, problem.upper))
        self.f = self.primal.matrix @ problem.Q.coefficients(self.alpha)

    @property
    def best(self) -> Array:
        return self.alpha

    def run(self, log: RunLog) -> Status:
        problem, Q = self.problem, self.problem.Q
        for iteration in range(log.max_iter + 1):
            gradient = Q.spread(self.f) + problem.p
            mu = optimal_offset(problem, self.alpha, gradient)
            r = gradient + mu @ problem.A
            gap, dual = duality_gap(problem, self.alpha, r), -problem.value(self.alpha, gradient)
            violation = float(np.max(np.abs(r), initial=0.0))
            status = log.record(iteration, dual + gap, dual, gap, violation, Q.n)
            if status is not None:
                return status
            direction = self._vertex(r) - self.alpha
            f_direction = self.primal.matrix @ Q.coefficients(direction)
            slope, curvature = float(gradient @ direction), float(Q.coefficients(direction) @ f_direction)
            if slope >= 0:
                return Status.NUMERICAL
            length = min(1.0, -slope / curvature) if curvature > 0 else 1.0
            self.alpha = np.clip(self.alpha + length * direction, problem.lower, problem.upper)
            self.f = self.f + length * f_direction
            if iteration % STEPS_PER_REFRESH == STEPS_PER_REFRESH - 1:
                self.f = self.primal.matrix @ Q.coefficients(self.alpha)
        return Status.MAX_ITER

    def _vertex(self, r: Array) -> Array:
        """argmin of rᵀx over the box and the rows: the bounds, changed for the smallest |r| until the rows hold."""
        problem = self.problem
        x = np.where(r > 0, problem.lower, problem.upper)
        for row, target in zip(problem.A, problem.d, strict=True):
            missing = float(target - row @ x)
            members = np.flatnonzero(row)
            for v in members[np.argsort(np.abs(r[members] / row[members]))]:
                if missing == 0.0:
                    break
                shifted = x[v] + missing / row[v]
                new = min(max(shifted, problem.lower[v]), problem.upper[v])
                missing -= float(row[v] * (new - x[v]))
                x[v] = new
        return x
