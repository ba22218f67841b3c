"""Primal of problem (1): the regularized risk of a function and an offset, and the dual point that belongs to them.

    R(f, μ) = ½‖f‖² + μᵀd + Σᵥ ψᵥ(rᵥ),   r = S f + p + Aᵀμ,   ψᵥ(r) = max over the box of −x r − hᵥ(x).

docs/math (360)
"""

from __future__ import annotations

import numpy as np

from hinge.kernels import Access, cache_bytes
from hinge.lowrank import LowRankAccess
from hinge.problems import Array, Problem, Solution, Status, optimal_offset
from hinge.solvers.feasibility import complementary, nearest_feasible
from hinge.solvers.run_log import RunLog

#: Share of the free memory up to which a kernel matrix is stored; larger ones are computed for every product.
MAX_MEMORY_SHARE = 0.5

#: Steps of the search for a multiplier μ before the last one is returned.
MAX_MULTIPLIER_STEPS = 200


class Primal:
    """Losses ψ of a problem with their derivatives, and the products with K that its methods need."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.term = problem, problem.term
        self.matrix = KernelMatrix(problem.Q.access)
        self.center = box_center(problem)

    def residual(self, f: Array, mu: Array) -> Array:
        """r = S f + p + Aᵀμ."""
        return self.problem.Q.spread(f) + self.problem.p + mu @ self.problem.A

    def dual_point(self, r: Array) -> Array:
        """The maximizer x of ψ(r): its negative derivative, and the dual point that belongs to f."""
        lower, upper = self.problem.lower, self.problem.upper
        if self.term is not None:
            return self.term.answer(r, lower, upper)
        return np.where(r > 0, lower, np.where(r < 0, upper, np.clip(0.0, lower, upper)))

    def loss(self, r: Array, x: Array) -> float:
        """Σ ψ(r) at the maximizer x."""
        linear = -float(x @ r)
        return linear if self.term is None else linear - float(np.sum(self.term.value(x)))

    def curvature(self, x: Array) -> Array:
        """ψ'' = 1/h'' inside of the box, zero at its bounds."""
        assert self.term is not None
        inside = (x > self.problem.lower) & (x < self.problem.upper)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            curvature = 1.0 / self.term.curvature(np.where(inside, x, self.center))
        return np.where(inside & np.isfinite(curvature), curvature, 0.0)

    def multipliers(self, f: Array, mu: Array) -> Array:
        """argmin over μ of R(f, μ), one after the other, from `mu`: then A x(r) = d, and x is a feasible dual point."""
        A, mu = self.problem.A, mu.copy()
        fixed = self.problem.Q.spread(f) + self.problem.p
        for k, row in enumerate(A):
            others = fixed + mu @ A - mu[k] * row
            mu[k] = self._multiplier(others, row, float(self.problem.d[k]), float(mu[k]))
        return mu

    def _multiplier(self, fixed: Array, row: Array, d: float, mu: float) -> float:
        """Root of the increasing derivative d − aᵀx(μ) of R: Newton steps safeguarded by a bracket."""
        low, high, step = -np.inf, np.inf, max(1.0, abs(mu))
        mass = 0.0
        for _ in range(MAX_MULTIPLIER_STEPS):
            x = self.dual_point(fixed + mu * row)
            slope = d - float(row @ x)
            mass = max(mass, float(np.abs(row) @ np.abs(x)) + abs(d))
            if abs(slope) <= 1e-15 * mass:
                break
            low, high = (mu, high) if slope < 0 else (low, mu)
            if not np.isfinite(high - low):
                mu = low + step if np.isfinite(low) else high - step
                step *= 4
                continue
            curvature = 0.0 if self.term is None else float(row**2 @ self.curvature(x))
            mu = mu - slope / curvature if curvature > 0 else 0.5 * (low + high)
            if not low < mu < high:
                mu = 0.5 * (low + high)
            if not low < mu < high:
                break
        return mu

    def certified(self, x: Array, f: Array, mu: Array) -> tuple[float, float]:
        """Duality gap and dual value of a dual point x with f = Kβ(x), as its certificate will state them."""
        problem = self.problem
        gradient = problem.Q.spread(f) + problem.p
        mu = self.multipliers(f, mu)
        missing = np.abs(problem.A @ x - problem.d)
        gap = duality_gap(problem, x, gradient + mu @ problem.A) + float(np.abs(mu) @ missing)
        return gap, -problem.value(x, gradient)


class KernelMatrix:
    """Products K v: with K in memory if it fits, else through the kernel access."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.K: Array | None = None
        n = access.n
        if not isinstance(access, LowRankAccess) and 8 * n * n <= MAX_MEMORY_SHARE * cache_bytes("auto"):
            rows = np.arange(n)
            self.K = access.block(rows, rows)

    def __matmul__(self, v: Array) -> Array:
        return self.access.matvec(v) if self.K is None else np.asarray(self.K @ v)


def box_center(problem: Problem) -> Array:
    """A point inside of every box."""
    lower, upper = problem.lower, problem.upper
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0, -1.0))
    high = np.where(np.isfinite(upper), upper, low + 2.0)
    return np.asarray(0.5 * (low + high))


def feasible_point(problem: Problem, alpha: Array) -> Array:
    """A feasible point near α: the variables of a violated row move towards their bounds, all by the same share.

    Variables at a bound move only if the others do not suffice: away from its bound, a variable with a large gradient
    violates the KKT conditions, however short the step is.
    """
    point = np.clip(alpha, problem.lower, problem.upper)
    for row, target in zip(problem.A, problem.d, strict=True):
        free = (point > problem.lower) & (point < problem.upper)
        for candidates in (free, ~free):
            surplus = float(row @ point - target)
            if surplus == 0.0:
                break
            bound = np.where((row > 0) == (surplus > 0), problem.lower, problem.upper)
            bounded = np.isfinite(bound) & (row != 0) & candidates
            available = np.where(bounded, np.abs(row * (point - np.where(bounded, bound, 0.0))), 0.0)
            total = float(available.sum())
            if total > 0:
                share = min(1.0, abs(surplus) / total)
                movable = available > 0
                point[movable] += share * (bound[movable] - point[movable])
            if abs(surplus) <= total:
                break
    return nearest_feasible(problem, point)


def duality_gap(problem: Problem, alpha: Array, r: Array) -> float:
    """Sum over the variables of the duality gap (4), (314) with reduced gradient r = Qα + p + Aᵀμ."""
    if problem.term is not None:
        return float(np.sum(problem.term.gap(alpha, r, problem.lower, problem.upper)))
    bound = np.where(r > 0, problem.lower, problem.upper)
    finite = np.isfinite(bound)
    if np.any(r[~finite] != 0):
        return np.inf
    return float(np.sum(r[finite] * (alpha[finite] - bound[finite])))


def solution_at(problem: Problem, alpha: Array, status: Status, log: RunLog) -> Solution:
    """The solution at a feasible α."""
    alpha = complementary(problem, alpha)
    gradient = problem.gradient(alpha)
    return Solution(
        alpha=alpha,
        mu=optimal_offset(problem, alpha, gradient),
        gradient=gradient,
        status=status,
        iterations=log.iterations,
        history=log.history(),
        error=log.error,
    )
