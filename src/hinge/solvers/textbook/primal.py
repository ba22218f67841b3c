"""The primal of problem (1): what a function and an offset cost, and the dual point that belongs to them.

    R(f, μ) = ½‖f‖² + μᵀd + Σᵥ ψᵥ(rᵥ),   r = S f + p + Aᵀμ,   ψᵥ(r) = max over the box of −x r − hᵥ(x).

docs/math (360)
"""

from __future__ import annotations

import numpy as np

from hinge.kernels import Access, cache_bytes
from hinge.lowrank import LowRankAccess
from hinge.problems import Array, Problem, Solution, Status, optimal_offset
from hinge.solvers.feasibility import nearest_feasible
from hinge.solvers.run_log import RunLog

#: Kernel matrices up to this share of the memory that is free are kept.
DENSE_SHARE = 0.5


class Primal:
    """Losses, answers and curvatures of a problem, variable by variable."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.term = problem, problem.term
        self.matrix = Matrix(problem.Q.access)
        self.middle = middle_of(problem)

    def residual(self, f: Array, mu: Array) -> Array:
        """r"""
        return self.problem.Q.spread(f) + self.problem.p + mu @ self.problem.A

    def answer(self, r: Array) -> Array:
        """The x of ψ: minus its derivative, and the dual point that belongs to f."""
        lower, upper = self.problem.lower, self.problem.upper
        if self.term is not None:
            return self.term.answer(r, lower, upper)
        return np.where(r > 0, lower, np.where(r < 0, upper, np.clip(0.0, lower, upper)))

    def loss(self, r: Array, x: Array) -> float:
        """Σ ψ(r)"""
        linear = -float(x @ r)
        return linear if self.term is None else linear - float(np.sum(self.term.value(x)))

    def curvature(self, x: Array) -> Array:
        """ψ'' = 1/h'' inside of the box, zero at its ends."""
        assert self.term is not None
        inside = (x > self.problem.lower) & (x < self.problem.upper)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            curvature = 1.0 / self.term.curvature(np.where(inside, x, self.middle))
        return np.where(inside & np.isfinite(curvature), curvature, 0.0)

    def offset(self, f: Array, mu: Array) -> Array:
        """argmin over μ: A x(r) = d, so that x is a feasible dual point.  A bracket, then Newton kept within it."""
        A, mu = self.problem.A, mu.copy()
        fixed = self.problem.Q.spread(f) + self.problem.p
        for k, row in enumerate(A):
            others = fixed + mu @ A - mu[k] * row
            mu[k] = self._root(others, row, float(self.problem.d[k]), float(mu[k]))
        return mu

    def _root(self, fixed: Array, row: Array, d: float, at: float) -> float:
        """The slope d − aᵀx(μ) of the objective in μ rises with μ."""
        low, high, step = -np.inf, np.inf, max(1.0, abs(at))
        mass = 0.0
        for _ in range(200):
            x = self.answer(fixed + at * row)
            slope = d - float(row @ x)
            mass = max(mass, float(np.abs(row) @ np.abs(x)) + abs(d))
            if abs(slope) <= 1e-15 * mass:
                break
            low, high = (at, high) if slope < 0 else (low, at)
            if not np.isfinite(high - low):
                at = low + step if np.isfinite(low) else high - step
                step *= 4
                continue
            curvature = 0.0 if self.term is None else float(row**2 @ self.curvature(x))
            at = at - slope / curvature if curvature > 0 else 0.5 * (low + high)
            if not low < at < high:
                at = 0.5 * (low + high)
            if not low < at < high:
                break
        return at


    def at(self, x: Array, f: Array, mu: Array) -> tuple[float, float]:
        """(gap, dual value) of a dual point x whose own function has the values f: what its certificate will say."""
        problem = self.problem
        gradient = problem.Q.spread(f) + problem.p
        mu = self.offset(f, mu)
        missing = np.abs(problem.A @ x - problem.d)
        gap = gap_of(problem, x, gradient + mu @ problem.A) + float(np.abs(mu) @ missing)
        return gap, -problem.value(x, gradient)


def middle_of(problem: Problem) -> Array:
    """A point inside of every box."""
    lower, upper = problem.lower, problem.upper
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0, -1.0))
    high = np.where(np.isfinite(upper), upper, low + 2.0)
    return np.asarray(0.5 * (low + high))


class Matrix:
    """K v: in memory where K fits, else through its access."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.K: Array | None = None
        n = access.n
        if not isinstance(access, LowRankAccess) and 8 * n * n <= DENSE_SHARE * cache_bytes("auto"):
            everyone = np.arange(n)
            self.K = access.block(everyone, everyone)

    def __matmul__(self, v: Array) -> Array:
        return self.access.matvec(v) if self.K is None else np.asarray(self.K @ v)


def balanced(problem: Problem, alpha: Array) -> Array:
    """A feasible point near α: what a row has too much of is taken from all of its variables alike."""
    point = np.clip(alpha, problem.lower, problem.upper)
    for row, target in zip(problem.A, problem.d, strict=True):
        surplus = float(row @ point - target)
        if surplus == 0.0:
            continue
        towards = np.where((row > 0) == (surplus > 0), problem.lower, problem.upper)
        reachable = np.isfinite(towards) & (row != 0)
        room = np.where(reachable, np.abs(row * (point - np.where(reachable, towards, 0.0))), 0.0)
        total = float(room.sum())
        if total > 0:
            share = min(1.0, abs(surplus) / total)
            movable = room > 0
            point[movable] += share * (towards[movable] - point[movable])
    return nearest_feasible(problem, point)


def gap_of(problem: Problem, alpha: Array, r: Array) -> float:
    """Σ of the variables' shares of the duality gap (4), (314)."""
    if problem.term is not None:
        return float(np.sum(problem.term.gap(alpha, r, problem.lower, problem.upper)))
    towards = np.where(r > 0, problem.lower, problem.upper)
    finite = np.isfinite(towards)
    if np.any(r[~finite] != 0):
        return np.inf
    return float(np.sum(r[finite] * (alpha[finite] - towards[finite])))


def finished(problem: Problem, alpha: Array, status: Status, story: RunLog) -> Solution:
    """The solution at a feasible α."""
    Q, n = problem.Q, problem.Q.n
    if Q.slots == 2 and np.all(Q.sign[:n] == -Q.sign[n:]) and np.all(problem.A[:, :n] == -problem.A[:, n:]):
        both = np.minimum(alpha[:n] - problem.lower[:n], alpha[n:] - problem.lower[n:])
        alpha = alpha - np.tile(np.maximum(both, 0.0), 2)  # α and α* at once cost, and gain nothing
    gradient = problem.gradient(alpha)
    return Solution(
        alpha=alpha,
        mu=optimal_offset(problem, alpha, gradient),
        gradient=gradient,
        status=status,
        iterations=story.iterations,
        history=story.history(),
        error=story.error,
    )
