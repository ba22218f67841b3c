"""Kernel AdaTron: coordinate descent on the dual with over-relaxation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hinge._core import adatron_sweep
from hinge.problems import Array, Diagonal, Problem, Solution, Status
from hinge.solvers.base import Capabilities, register
from hinge.solvers.feasibility import groups_of
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.base import TextbookSolver
from hinge.solvers.textbook.primal import Primal, duality_gap, feasible_point, solution_at

#: Samples whose kernel rows are computed together if K is not in memory.
BLOCK_ROWS = 128

#: Multiplications between two checks of the run control if K is in memory.
MULTIPLICATIONS_PER_CHECK = 20_000_000

#: Sweeps between two gap checks; after a check, inactive samples take part again.
SWEEPS_PER_GAP_CHECK = 5

#: Constant that represents the offset in the kernel, relative to the mean diagonal of K.
RELATIVE_PENALTY = 0.1

#: Factor on the rate after an increase of the objective, and the smallest rate.
RATE_DECREASE = 0.9
MIN_RATE = 0.5


@register("adatron")
@dataclass(frozen=True, kw_only=True)
class AdaTron(TextbookSolver):
    """α_v ← projection of α_v − ω (Qα + p + h')_v / Q_vv onto the box, for all v in turn.     docs/math (367), (368)

    LwK §10.6.1: the per-pattern gradient step on the dual. The offset is a constant c added to the kernel, as in the
    AdaTron, and multipliers correct the rest of it, so that the solution is that of the original problem. Variables
    that stay at a bound are left out of the sweeps until the next gap check (shrinking).

    Cost: O(n²) per sweep, less with shrinking; 10 to 10,000 sweeps; K is stored if it fits into memory.
    Certificate: the relative gap is at most `tol`.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    max_iter : int
        Sweeps; −1 for the default of 10,000.
    max_time : float or None
        Seconds.
    rate : float
        The relaxation factor ω, between 0 and 2. It is decreased if the objective increases.
    random_state : int
        Seed of the random order of the samples.
    approximation : SGMA, PivotedCholesky, Nystrom or None
        Replace the kernel matrix by LLᵀ.
    threads : int
        Threads for the approximation.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import AdaTron
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> hinge.SVC(gamma=1.0, solver=AdaTron()).fit(X, y).status_.name
    'SOLVED'
    """

    capabilities: ClassVar = Capabilities(
        tol="relative_gap", equality_rows="groups", factor="optional", options=("threads",)
    )
    default_max_iter: ClassVar[int] = 10_000

    tol: float = 1e-3
    rate: float = 1.0
    random_state: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.rate < 2:
            raise ValueError(f"rate={self.rate!r} must lie between 0 and 2")

    def check(self, problem: Problem) -> None:
        if problem.term is not None and not isinstance(problem.term, Diagonal):
            raise ValueError(
                "the AdaTron needs a loss whose conjugate is quadratic or linear, such as 'hinge' or 'squared_hinge'; "
                "use solver='newton' or 'interior_point' for this loss"
            )

    def _run(self, problem: Problem, log: RunLog) -> Solution:
        sweeps = _Sweeps(problem, self.rate, np.random.default_rng(self.random_state))
        status = log.run(lambda: sweeps.run(log))
        return solution_at(problem, feasible_point(problem, sweeps.best), status, log)


class _Sweeps:
    """α and f = Kβ, updated block by block, for the augmented Lagrangian of the equality rows."""

    def __init__(self, problem: Problem, rate: float, rng: np.random.Generator) -> None:
        self.problem, self.primal, self.rate, self.rng = problem, Primal(problem), rate, rng
        Q = problem.Q
        self.d = problem.term.d if isinstance(problem.term, Diagonal) else np.zeros(problem.size)
        self.alpha = np.clip(np.zeros(problem.size), problem.lower, problem.upper)
        self.f = np.zeros(Q.n) if not self.alpha.any() else self.primal.matrix @ Q.coefficients(self.alpha)
        self.mu = np.zeros(len(problem.A))
        self.penalty = RELATIVE_PENALTY * float(np.mean(Q.access.diagonal())) if len(problem.A) else 0.0
        self.group = groups_of(problem).astype(np.int8)
        self.row = problem.A.sum(axis=0) if len(problem.A) else np.zeros(problem.size)
        self.curvature = Q.diagonal() + self.d + self.penalty * self.row**2
        self.sums = problem.A @ self.alpha
        self.best, self.best_gap = self.alpha.copy(), np.inf
        self.stopped: Status | None = None

    def run(self, log: RunLog) -> Status:
        n = self.problem.Q.n
        active = np.arange(n)
        last_value = np.inf
        for iteration in range(log.max_iter + 1):
            if iteration % SWEEPS_PER_GAP_CHECK == 0 or iteration == log.max_iter:
                status, sweep_error, row_error = self._measure(iteration, len(active), log)
                if status is not None:
                    return status
                if row_error > 0.1 * sweep_error:
                    self.mu = self.mu + self.penalty * (self.sums - self.problem.d)
                    last_value = np.inf
                active = np.arange(n)
            elif (status := log.stop_status()) is not None:
                return status
            changed = self._sweep(active, log)
            if self.stopped is not None:
                return self.stopped
            value = self._augmented_value()
            if value > last_value + 1e-12 * abs(last_value):
                self.rate = max(MIN_RATE, RATE_DECREASE * self.rate)
            last_value = value
            active = active[changed] if changed.any() else np.arange(n)
        return Status.MAX_ITER

    def _sweep(self, active: NDArray[np.intp], log: RunLog) -> NDArray[np.bool_]:
        """Update every variable of the active samples once, in random order; whether each sample changed.

        A new random order for each sweep is important: one problem took 25 sweeps, and 590 in the order of the data.
        """
        order = self.rng.permutation(len(active))
        samples = active[order]
        K, n = self.primal.matrix.K, self.problem.Q.n
        changed = np.zeros(len(active), dtype=bool)
        length = BLOCK_ROWS if K is None else max(1, MULTIPLICATIONS_PER_CHECK // n)
        for first in range(0, len(active), length):
            if first and (status := log.stop_status()) is not None:
                self.stopped = status
                break
            block = samples[first : first + length]
            if K is None:
                square = np.ascontiguousarray(self.problem.Q.access.block(block, block))
                change = self._update(square, block, np.arange(len(block)))
                used = np.flatnonzero(change)
                if len(used):
                    self.f += change[used] @ self.problem.Q.access.rows(block[used])
            else:
                change = self._update(K, None, block)[block]
                used = np.flatnonzero(change)
            changed[order[first + used]] = True
        self.sums = self.problem.A @ self.alpha
        return changed

    def _update(self, K: Array, samples: NDArray[np.intp] | None, order: NDArray[np.intp]) -> Array:
        """Update the variables of samples[order], K being the matrix of `samples` (None: of all); the change of β.

        α is updated in place, and so is f if K is the whole matrix.
        """
        problem, Q = self.problem, self.problem.Q
        at: Any = slice(None) if samples is None else (samples + Q.n * np.arange(Q.slots)[:, None]).ravel()
        alpha, f = self.alpha[at], self.f if samples is None else self.f[samples]
        change, excess = np.zeros(len(f)), self.sums - problem.d
        adatron_sweep(
            K, problem.p[at], problem.lower[at], problem.upper[at], Q.sign[at], self.d[at], self.row[at],
            self.curvature[at], self.group[at], self.mu, self.penalty, self.rate, order.astype(np.int64), alpha, f,
            change, excess,
        )  # fmt: skip
        self.alpha[at] = alpha
        self.sums = excess + problem.d
        return change

    def _augmented_value(self) -> float:
        """The objective with multipliers and penalty."""
        problem = self.problem
        excess = problem.A @ self.alpha - problem.d
        quadratic = 0.5 * float(problem.Q.coefficients(self.alpha) @ self.f) + 0.5 * float(self.d @ self.alpha**2)
        return (
            quadratic
            + float(problem.p @ self.alpha)
            + float(self.mu @ excess)
            + 0.5 * self.penalty * float(excess @ excess)
        )

    def _measure(self, iteration: int, active: int, log: RunLog) -> tuple[Status | None, float, float]:
        """Record the gap at a feasible point; largest projected gradient, and largest error of the rows."""
        problem, Q = self.problem, self.problem.Q
        self.f = self.primal.matrix @ Q.coefficients(self.alpha)
        self.sums = problem.A @ self.alpha
        point = feasible_point(problem, self.alpha)
        f = self.f if not len(problem.A) else self.primal.matrix @ Q.coefficients(point)
        mu = self.primal.multipliers(f, self.mu)
        gradient = Q.spread(f) + problem.p
        gap = duality_gap(problem, point, gradient + mu @ problem.A)
        dual = -problem.value(point, gradient)
        if gap < self.best_gap:
            self.best, self.best_gap = point, gap
        excess = self.sums - problem.d
        slope = Q.spread(self.f) + problem.p + self.d * self.alpha
        slope = slope + (self.mu + self.penalty * excess) @ problem.A
        projected = np.where(self.alpha <= problem.lower, np.minimum(slope, 0), slope)
        projected = np.where(self.alpha >= problem.upper, np.maximum(projected, 0), projected)
        sweep_error = float(np.max(np.abs(projected), initial=0.0))
        row_error = float(np.max(np.abs(self.penalty * excess), initial=0.0))
        return log.record(iteration, dual + gap, dual, gap, sweep_error, active), sweep_error, row_error
