"""Chunking: train on some samples, keep the support vectors, add those that violate, and again."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, cast

import numpy as np

from hinge.control import RunControl
from hinge.kernels import GramAccess, SubsetAccess
from hinge.problems import Array, History, Problem, Quadratic, Solution, Status, optimal_offset
from hinge.solvers.base import Capabilities, Start
from hinge.solvers.decomposition.base import (
    COUNTERS,
    MAX_POLISHED_SAMPLES,
    DecompositionRun,
    WorkingSetOptions,
    solution_of,
)
from hinge.solvers.decomposition.selection import Index, extremes, scores, worst_samples
from hinge.solvers.decomposition.working_set import WorkingSet
from hinge.solvers.diagonal import fold_diagonal, unfold_diagonal
from hinge.solvers.feasibility import groups_of, nearest_feasible

#: Samples added to a chunk, at least, where no number is given; more where more are kept.
SIZE = 1000

#: Of the violation: what training on a chunk leaves.
GOAL = 0.1

#: Chunks without gain: rounding has the last word.
IDLE = 10

#: Seconds between two words to the monitor.
SILENCE = 0.1

#: Of a product, to tell from it what a row costs.
ENOUGH_ROWS = 256

COLUMNS = tuple(field.name for field in fields(History))


@dataclass(frozen=True, kw_only=True)
class Chunking(WorkingSetOptions):
    """Train on a chunk, keep its support vectors, drop the rest, add the worst violators, and again.    LwK §10.4.1

    Every chunk is a problem of its own for `WorkingSet`, which starts where the last one ended. All samples are looked
    at after every chunk: that costs a kernel value for every sample and every coefficient that has changed, in double
    precision, and nothing of it is stored. Memory is that of training on the largest chunk, the support vectors and
    `size` others; so chunking pays off where support vectors are few.

    Cost: every sample against every support vector after each chunk; memory is the largest chunk.
    Certificate: as `SMO`, for all samples.

    Parameters
    ----------
    size : int
        Samples added to the support vectors; 0 for the default (as many as are kept, and at least 1,000).
    rule : {"gradient", "gap", "multiplier"}
        Which samples are added (LwK Table 10.1): those with the largest gradient, those that contribute most to the
        duality gap, or those whose multiplier is farthest from where the gradient pushes it. In every case as many that
        would rise as would fall, and the pair with the largest gradients among them. Samples outside of the chunk have
        multiplier 0, so "gap" differs from "gradient" by the weights of the samples, and "multiplier" knows nothing
        else.
    max_iter : int
        Steps of two variables in all chunks together; −1 for no limit.

    Notes
    -----
    All other parameters are those of `WorkingSet` and `SMO`. `Solution.counters` has the number of `chunks`.
    """

    capabilities: ClassVar = Capabilities(
        tol="kkt_violation", equality_rows="groups", options=("cache_size", "shrinking", "threads")
    )

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem` from `start`, which is made feasible first."""
        self.check(problem)
        if problem.term is not None:
            return unfold_diagonal(problem, self.solve(fold_diagonal([problem])[0], start, control))
        state = _State(self, problem, start, self.started(control))
        run = state.run()
        solution = solution_of(self, problem, problem.Q.sign * state.alpha, run, MAX_POLISHED_SAMPLES)
        return replace(solution, counters={**solution.counters, "chunks": state.chunks})


class _Stop(Exception):
    """The end of a run that has not reached its tolerance."""

    def __init__(self, status: Status, error: BaseException | None = None) -> None:
        super().__init__(status)
        self.status, self.error = status, error


class _State:
    """A feasible point, f = Kβ of all samples in double precision, and the story so far."""

    def __init__(self, options: Chunking, problem: Problem, start: Start, control: RunControl) -> None:
        self.began = self.told = time.monotonic()
        self.options, self.problem, self.control = options, problem, control
        self.group = groups_of(problem)
        self.rest = np.clip(0.0, problem.lower, problem.upper)  # where a sample outside of the chunk is; mostly 0
        self.alpha = nearest_feasible(problem, start.alpha if isinstance(start, Solution) else start)
        self.multiplied = np.zeros(problem.Q.n)  # the β that f belongs to
        self.f = np.zeros(problem.Q.n)
        self.exact, self.fresh = False, True  # f belongs to alpha; f is one product, not a sum of several
        self.seconds_per_row = 0.0
        self.story: list[dict[str, Any]] = []  # columns, piece by piece: a signal leaves no piece in half
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.iterations = self.chunks = 0

    def run(self) -> DecompositionRun:
        """Train chunk after chunk."""
        status, error = Status.SOLVED, None
        try:
            with self.control.interruptible():
                self._multiply()
                self._solve()
        except _Stop as stop:
            status, error = stop.status, stop.error
        except BaseException as interruption:
            if not self.control.is_interrupt(interruption):
                raise
            status, error = Status.INTERRUPTED, interruption
        pieces = {name: [part[name] for part in self.story] for name in COLUMNS}
        history = {name: np.concatenate(parts) if parts else np.empty(0) for name, parts in pieces.items()}
        return DecompositionRun(
            status, self.exact, self.f, self.iterations, History.from_columns(history), error, counters=self.counters
        )

    def _solve(self) -> None:
        goal = self.options.tol if self.options.stop == "kkt" else np.inf
        first, best, idle = 0.0, np.inf, 0
        mu, last = None, Status.SOLVED
        while True:
            gradient = self.problem.Q.spread(self.f) + self.problem.p
            if not np.isfinite(gradient).all():
                raise _Stop(Status.NUMERICAL)
            worst = extremes(self.problem, self.group, self.alpha, gradient)
            offset = optimal_offset(self.problem, self.alpha, gradient)
            relative_gap, value = self._look(gradient, offset, worst.violation)
            if worst.violation <= goal:
                if self.options.stop == "kkt" or relative_gap <= self.options.tol:
                    if self.fresh:
                        return
                    self._multiply(anew=True)
                    continue
                first = first or worst.violation
                goal = 0.25 * worst.violation
                if goal <= 1e-15 * (1 + first):
                    raise _Stop(Status.NUMERICAL)
            idle = 0 if value < best - 1e-15 * abs(best) or best == np.inf else idle + 1
            best = min(best, value)
            self._go_on(last if idle < IDLE else Status.NUMERICAL)
            samples = self._choose(gradient, offset if mu is None else mu, worst.samples)
            mu, last = self._train(samples, max(GOAL * worst.violation, 0.5 * goal), offset)

    def _look(self, gradient: Array, mu: Array, violation: float) -> tuple[float, float]:
        """Record where we are; (relative gap, value of the objective)."""
        problem = self.problem
        residual = gradient + mu @ problem.A
        towards = np.where(residual > 0, problem.lower, problem.upper)
        bounded = np.isfinite(towards)
        gap = float(np.sum(residual[bounded] * (self.alpha - towards)[bounded]))
        if np.max(np.abs(residual[~bounded]), initial=0.0) > self.options.tol:
            gap = np.inf  # an open box, and something that pushes into the open
        value = problem.value(self.alpha, gradient)
        seconds = time.monotonic() - self.began
        now = (self.iterations, seconds, violation, gap - value, -value, gap, problem.Q.n, True)
        snapshot = dict(zip(COLUMNS, now, strict=True))
        self.story.append({name: np.array([each]) for name, each in snapshot.items()})
        if self.control.callback is not None and time.monotonic() - self.told >= SILENCE:
            try:
                goes_on = self._report(snapshot)
            except Exception as error:
                raise _Stop(Status.INTERRUPTED, error) from None
            if not goes_on:
                raise _Stop(Status.INTERRUPTED)
        scale = 0.5 * (abs(gap - value) + abs(value))
        return (gap / scale if np.isfinite(gap) and scale > 0 else gap), value

    def _report(self, snapshot: dict[str, Any]) -> bool:
        self.told = time.monotonic()
        return self.control.report(snapshot)

    def _go_on(self, last: Status) -> None:
        """Unless the last chunk met a limit, or there is nothing left of it for the next one."""
        if last is not Status.SOLVED:
            raise _Stop(last)
        if 0 <= self.options.max_iter <= self.iterations:
            raise _Stop(Status.MAX_ITER)
        left = self.control.remaining()
        if left is not None and left <= self.seconds_per_row:
            raise _Stop(Status.TIME_LIMIT)

    # ---- chunks -----------------------------------------------------------------------------------------------

    def _choose(self, gradient: Array, mu: Array, pair: Index) -> Index:
        """The support vectors, the worst violators among the others, and the pair that violates most of all."""
        problem, n = self.problem, self.problem.Q.n
        kept = np.any((self.alpha != self.rest).reshape(-1, n), axis=0)
        residual = gradient + mu @ problem.A
        size = self.options.size or max(SIZE, int(kept.sum()))
        score = scores(self.options.rule, problem, self.alpha, residual)
        added = worst_samples(problem, self.group, score, residual, ~kept, size)
        chunk = kept.copy()
        chunk[added] = chunk[pair] = True
        return np.flatnonzero(chunk)

    def _train(self, samples: Index, goal: float, offset: Array) -> tuple[Array, Status]:
        """Solve the problem of these samples, the others staying where they are; its multipliers, and how it ended."""
        chunk = _Chunk(self.problem, self.alpha, samples)
        left, reserve = self.control.remaining(), 1.2 * self._row_seconds() * len(samples)
        if left is not None and left <= reserve:
            raise _Stop(Status.TIME_LIMIT)
        steps = self.options.max_iter
        engine = WorkingSet(
            tol=goal,
            shrinking=self.options.shrinking,
            max_iter=-1 if steps < 0 else steps - self.iterations,
            cache_size=self.options.cache_size,
            precision=self.options.precision,
            polish=False,
            threads=self.options.threads,
        )
        before, clock = self.iterations, time.monotonic() - self.began
        control = self.control.limited_to(None if left is None else left - reserve)
        if control.callback is not None:
            control = control.with_callback(lambda now: self._report(chunk.widened(now, before, clock)))
        found = engine.solve(chunk.problem, self.alpha[chunk.variables], control)
        self.exact = False
        self.alpha[chunk.variables] = found.alpha
        self.chunks += 1
        self.iterations += found.iterations
        for name in COUNTERS:
            self.counters[name] += found.counters[name]
        if len(found.history):
            self.story.append(chunk.widened({name: getattr(found.history, name) for name in COLUMNS}, before, clock))
        if found.status is Status.INTERRUPTED:
            raise _Stop(found.status, found.error)
        self._multiply()
        idle = found.status is Status.SOLVED and found.iterations == 0  # what violates here does not violate there
        return np.where(chunk.has_row, found.mu, offset), Status.NUMERICAL if idle else found.status

    # ---- all samples ------------------------------------------------------------------------------------------

    def _multiply(self, anew: bool = False) -> None:
        """f = Kβ: the rows of the coefficients that have changed, or of all of them."""
        beta = self.problem.Q.coefficients(self.alpha)
        change = beta if anew else beta - self.multiplied
        rows = np.flatnonzero(change)
        began = time.monotonic()
        product = self._product(change, rows)
        if rows.size >= ENOUGH_ROWS:
            self.seconds_per_row = (time.monotonic() - began) / rows.size
        self.counters["row_misses"] += int(rows.size)
        self.fresh = anew or not self.multiplied.any() or (self.fresh and not rows.size)
        self.f = product if anew else self.f + product
        self.multiplied, self.exact = beta, True

    def _product(self, change: Array, rows: Index) -> Array:
        access = self.problem.Q.access
        if not rows.size:
            return np.zeros(self.problem.Q.n)
        if access.compiled:
            return access.gram.matvec(change, self.options.threads)
        total = np.zeros(self.problem.Q.n)  # a function in Python: only what is needed, and an eye on the clock
        for i in rows:
            if self.control.expired():
                raise _Stop(Status.TIME_LIMIT)
            total += change[i] * access.rows([i])[0]
        return total

    def _row_seconds(self) -> float:
        """What a row of a product costs; tried where time is limited and it is not known."""
        if self.control.deadline is not None and self.seconds_per_row == 0 and self.problem.Q.access.compiled:
            few = np.zeros(self.problem.Q.n)
            few[:ENOUGH_ROWS] = 1.0
            began = time.monotonic()
            self.problem.Q.access.gram.matvec(few, self.options.threads)
            self.seconds_per_row = (time.monotonic() - began) / np.count_nonzero(few)
        return self.seconds_per_row


class _Chunk:
    """LwK (10.57): the problem of some samples while all others stay where they are."""

    def __init__(self, problem: Problem, alpha: Array, samples: Index) -> None:
        Q = problem.Q
        self.whole = len(samples) == Q.n
        self.variables = (samples[None, :] + Q.n * np.arange(Q.slots)[:, None]).ravel()
        frozen = alpha.copy()
        frozen[self.variables] = 0.0
        linear, target, self.constant = problem.p[self.variables], problem.d, 0.0
        if frozen.any():  # for no machine: outside of the chunk everything is zero
            force = Q.matvec(frozen)
            linear = linear + force[self.variables]
            target = problem.d - problem.A @ frozen
            self.constant = float(frozen @ (0.5 * force + problem.p))
        A = problem.A[:, self.variables]
        self.has_row = np.any(A != 0, axis=1)
        access = Q.access if self.whole else cast("GramAccess | SubsetAccess", Q.access).subset(samples)
        self.problem = Problem(
            Quadratic(access, Q.sign[self.variables]),
            linear,
            A,
            np.where(self.has_row, target, 0.0),
            problem.lower[self.variables],
            problem.upper[self.variables],
        )

    def widened(self, now: dict[str, Any], iterations: int, seconds: float) -> dict[str, Any]:
        """Snapshots of the chunk as snapshots of all: the lower bound holds, the upper one is of the chunk alone."""
        shifts = {"iteration": iterations, "seconds": seconds, "primal": -self.constant, "dual": -self.constant}
        moved = {name: value + shifts[name] if name in shifts else value for name, value in now.items()}
        return moved if self.whole else {**moved, "exact": now["exact"] & False}
