"""The kernel AdaTron: one variable after the other, each towards its own best value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge._core import adatron_turns
from hinge.problems import Array, Problem, Solution, Status
from hinge.solvers.feasibility import groups_of
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.base import IterativeMethod
from hinge.solvers.textbook.primal import Primal, balanced, finished, gap_of

#: Samples whose rows are fetched at a time.
BLOCK = 128

#: Multiplications between two looks at the clock, where K is in memory.
TURNS = 20_000_000

#: Sweeps between two looks at the gap, after which all samples take part again.
LOOK = 5

#: The offset's constant, as a multiple of the mean diagonal of K.
CONSTANT = 0.1


@dataclass(frozen=True, kw_only=True)
class AdaTron(IterativeMethod):
    """α_v ← the box's point nearest to α_v − ω (Qα + p + h')_v / Q_vv, again and again.     docs/math (367), (368)

    LwK §10.6.1: the per-pattern gradient step on the dual.  The offset is a constant c added to the kernel, as in the
    AdaTron, and multipliers carry the rest of it, so that what is found is the machine's own solution.  Variables that
    rest at a bound are left out of the sweeps until the others have settled.

    Cost: a sweep is O(n²), less where samples rest; 10 to 10,000 sweeps; K is kept where it fits.
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
        The step ω, between 0 and 2.  It is lowered when the objective stops falling.
    random_state : int
        Of the order in which samples take their turns.
    approximation : SGMA, PivotedCholesky, Nystrom or None
    threads : int
    """

    tol: float = 1e-3
    rate: float = 1.0
    random_state: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.rate < 2:
            raise ValueError(f"rate={self.rate!r} must lie between 0 and 2")

    def _enough(self) -> int:
        return 10_000

    def _check(self, problem: Problem) -> None:
        if problem.term is not None and getattr(problem.term, "d", None) is None:
            raise ValueError(
                "the AdaTron needs a loss whose conjugate is quadratic or linear, such as 'hinge' or 'squared_hinge'; "
                "use solver='newton' or 'interior_point' for this loss"
            )

    def _run(self, problem: Problem, story: RunLog) -> Solution:
        sweeps = _Sweeps(problem, self.rate, np.random.default_rng(self.random_state))
        status = story.run(lambda: sweeps.follow(story))
        return finished(problem, balanced(problem, sweeps.best), status, story)


class _Sweeps:
    """α and the values f = Kβ, kept up to date block by block."""

    def __init__(self, problem: Problem, rate: float, rng: np.random.Generator) -> None:
        self.problem, self.primal, self.rate, self.rng = problem, Primal(problem), rate, rng
        Q = problem.Q
        self.d = np.zeros(problem.size) if problem.term is None else np.asarray(problem.term.d)  # type: ignore[attr-defined]
        self.diagonal = Q.access.diagonal()
        self.alpha = np.clip(np.zeros(problem.size), problem.lower, problem.upper)
        self.f = np.zeros(Q.n) if not self.alpha.any() else self.primal.matrix @ Q.coefficients(self.alpha)
        self.mu = np.zeros(len(problem.A))
        self.penalty = CONSTANT * float(np.mean(self.diagonal)) if len(problem.A) else 0.0
        self.group = groups_of(problem).astype(np.int8)
        self.row = problem.A.sum(axis=0) if len(problem.A) else np.zeros(problem.size)
        self.curvature = Q.diagonal() + self.d + self.penalty * self.row**2
        self.sums = problem.A @ self.alpha
        self.best, self.best_gap = self.alpha.copy(), np.inf
        self.stopped: Status | None = None

    def follow(self, story: RunLog) -> Status:
        n = self.problem.Q.n
        active = np.arange(n)
        last_value = np.inf
        for iteration in range(story.max_iter + 1):
            if iteration % LOOK == 0 or iteration == story.max_iter:
                status, inside, across = self._measure(iteration, len(active), story)
                if status is not None:
                    return status
                if across > 0.1 * inside:
                    self.mu = self.mu + self.penalty * (self.sums - self.problem.d)
                    last_value = np.inf
                active = np.arange(n)
            elif (limit := story.stop_status()) is not None:
                return limit
            moved = self._sweep(active, story)
            if self.stopped is not None:
                return self.stopped
            value = self._augmented()
            if value > last_value + 1e-12 * abs(last_value):
                self.rate = max(0.5, 0.9 * self.rate)
            last_value = value
            active = active[moved] if moved.any() else np.arange(n)  # those at rest wait until the next look
        return Status.MAX_ITER

    def _sweep(self, active: NDArray[np.intp], story: RunLog) -> NDArray[np.bool_]:
        """One step for every variable of the active samples, in any order; whether each sample moved.

        The order matters: drawn anew it took 25 sweeps where the order of the data took 590.
        """
        order = self.rng.permutation(len(active))
        samples = active[order]
        K, n = self.primal.matrix.K, self.problem.Q.n
        moved = np.zeros(len(active), dtype=bool)
        length = BLOCK if K is None else max(1, TURNS // n)
        for first in range(0, len(active), length):
            if first and (limit := story.stop_status()) is not None:
                self.stopped = limit
                break
            block = samples[first : first + length]
            if K is None:
                square = np.ascontiguousarray(self.problem.Q.access.block(block, block))
                change = self._turns(square, block, np.arange(len(block)))
                used = np.flatnonzero(change)
                if len(used):
                    self.f += change[used] @ self.problem.Q.access.rows(block[used])
            else:
                change = self._turns(K, None, block)[block]
                used = np.flatnonzero(change)
            moved[order[first + used]] = True
        self.sums = self.problem.A @ self.alpha
        return moved

    def _turns(self, K: Array, samples: NDArray[np.intp] | None, order: NDArray[np.intp]) -> Array:
        """The turns of samples[order], K being the matrix of `samples` (None: of all); how β changed.

        α is kept up to date; f too where K is the whole matrix.
        """
        problem, Q = self.problem, self.problem.Q
        at: Any = slice(None) if samples is None else (samples + Q.n * np.arange(Q.slots)[:, None]).ravel()
        alpha, f = self.alpha[at], self.f if samples is None else self.f[samples]
        change, missing = np.zeros(len(f)), self.sums - problem.d
        adatron_turns(
            K, problem.p[at], problem.lower[at], problem.upper[at], Q.sign[at], self.d[at], self.row[at],
            self.curvature[at], self.group[at], self.mu, self.penalty, self.rate, order.astype(np.int64), alpha, f,
            change, missing,
        )  # fmt: skip
        self.alpha[at] = alpha
        self.sums = missing + problem.d
        return change

    def _augmented(self) -> float:
        """The objective with multipliers and penalty."""
        problem = self.problem
        missing = problem.A @ self.alpha - problem.d
        quadratic = 0.5 * float(problem.Q.coefficients(self.alpha) @ self.f) + 0.5 * float(self.d @ self.alpha**2)
        return (
            quadratic
            + float(problem.p @ self.alpha)
            + float(self.mu @ missing)
            + 0.5 * self.penalty * float(missing @ missing)
        )

    def _measure(self, iteration: int, active: int, story: RunLog) -> tuple[Status | None, float, float]:
        """The gap at a feasible point, and whether the row or the sweep is what keeps α from the solution."""
        problem, Q = self.problem, self.problem.Q
        self.f = self.primal.matrix @ Q.coefficients(self.alpha)
        self.sums = problem.A @ self.alpha
        point = balanced(problem, self.alpha)
        f = self.f if not len(problem.A) else self.primal.matrix @ Q.coefficients(point)
        mu = self.primal.offset(f, self.mu)
        at = Q.spread(f) + problem.p
        gap = gap_of(problem, point, at + mu @ problem.A)
        dual = -problem.value(point, at)
        if gap < self.best_gap:
            self.best, self.best_gap = point, gap
        missing = self.sums - problem.d
        slope = Q.spread(self.f) + problem.p + self.d * self.alpha
        slope = slope + (self.mu + self.penalty * missing) @ problem.A
        free = np.where(self.alpha <= problem.lower, np.minimum(slope, 0), slope)
        free = np.where(self.alpha >= problem.upper, np.maximum(free, 0), free)
        inside = float(np.max(np.abs(free), initial=0.0))
        across = float(np.max(np.abs(self.penalty * missing), initial=0.0))
        return story.note(iteration, dual + gap, dual, gap, inside, active), inside, across
