"""Chunking: solve for some samples, keep the support vectors, add the most violating samples, and repeat."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hinge.control import RunControl
from hinge.problems import Array, History, Problem, Solution, Status, optimal_offset
from hinge.solvers.base import Capabilities, Start, register
from hinge.solvers.decomposition.base import (
    COUNTERS,
    MAX_POLISHED_SAMPLES,
    DecompositionRun,
    WorkingSetOptions,
    max_steps_of,
    solution_of,
    steps_left,
)
from hinge.solvers.decomposition.chunk import COLUMNS, Chunk
from hinge.solvers.decomposition.selection import Index, most_violating_pair, most_violating_samples, scores
from hinge.solvers.decomposition.working_set import WorkingSet
from hinge.solvers.diagonal import fold_diagonal, unfold_diagonal
from hinge.solvers.feasibility import groups_of, nearest_feasible

#: Smallest number of samples that are added to a chunk, with the default `size`.
MIN_ADDED_SAMPLES = 1000

#: Tolerance of a chunk relative to the violation of the whole problem.
CHUNK_TOL = 0.1

#: Chunks without a decrease of the objective after which the run ends with NUMERICAL.
MAX_STALLED_CHUNKS = 10

#: With stop="gap", factor by which the violation must decrease before the gap is checked again.
VIOLATION_DECREASE = 0.25

#: Relative changes of the objective, and violations relative to the first one, that are rounding errors.
ROUNDING = 1e-15

#: Seconds between two calls of the callback.
REPORT_INTERVAL = 0.1

#: Kernel rows of a product from which the time of a row is estimated.
TIMED_ROWS = 256

#: Safety factor for the time of the product after a chunk.
RESERVE_FACTOR = 1.2


@register("chunking")
@dataclass(frozen=True, kw_only=True)
class Chunking(WorkingSetOptions):
    """Solve for a chunk of the samples, keep its support vectors, add the most violating samples.    LwK §10.4.1

    Each chunk is solved by `WorkingSet` from the last solution. After each chunk, f of all samples is updated: one
    kernel value for every sample and every changed coefficient, in double precision, none of which is stored. Chunking
    uses little memory if there are few support vectors.

    Cost: kernel values of all samples with all support vectors after each chunk; memory for the largest chunk, which
    has the support vectors and `size` other samples.
    Certificate: as `SMO`, for all samples.

    Parameters
    ----------
    size : int
        Samples added to the support vectors; 0 for the default (the number of support vectors, at least 1,000).
    rule : {"gradient", "gap", "multiplier"}
        Choice of the added samples (LwK Table 10.1): those with the largest gradient, with the largest contribution to
        the duality gap, or with the largest distance to the bound that the gradient points to. As many samples are
        chosen whose variable increases as samples whose variable decreases, and always the pair with the largest
        gradients. Variables outside of the chunk are 0. Therefore "gap" is "gradient" times the cost of the sample, and
        "multiplier" depends on the cost only.
    max_iter : int
        Largest number of steps in all chunks together; −1 for the default of a problem with all samples.

    Notes
    -----
    All other parameters are those of `WorkingSet` and `SMO`. `Solution.counters` has the number of `chunks`.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import Chunking
    >>> hinge.SVC(solver=Chunking(size=100)).fit([[0.0], [1.0], [2.0]], [0, 1, 1]).status_.name
    'SOLVED'
    """

    capabilities: ClassVar = Capabilities(
        tol="kkt_violation", equality_rows="groups", options=("cache_size", "shrinking", "threads")
    )

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem` from `start`, which is made feasible first."""
        self.check(problem)
        if problem.term is not None:
            return unfold_diagonal(problem, self.solve(fold_diagonal([problem])[0], start, control))
        run = _Run(self, problem, start, self.started(control))
        result = run.solve()
        solution = solution_of(self, problem, problem.Q.sign * run.alpha, result, MAX_POLISHED_SAMPLES)
        return replace(solution, counters={**solution.counters, "chunks": run.chunks})


class _Stop(Exception):
    """End of a run that has not converged."""

    def __init__(self, status: Status, error: BaseException | None = None) -> None:
        super().__init__(status)
        self.status, self.error = status, error


class _Run:
    """A feasible point, f = Kβ of all samples in double precision, and the history."""

    def __init__(self, options: Chunking, problem: Problem, start: Start, control: RunControl) -> None:
        self.began = self.last_report = time.monotonic()
        self.options, self.problem, self.control = options, problem, control
        self.group = groups_of(problem)
        self.outside_value = np.clip(0.0, problem.lower, problem.upper)  # of variables outside of the chunk; mostly 0
        self.alpha = nearest_feasible(problem, start.alpha if isinstance(start, Solution) else start)
        self.f, self.f_beta = np.zeros(problem.Q.n), np.zeros(problem.Q.n)  # f = K f_beta
        self.exact, self.is_recomputed = False, True  # f_beta belongs to alpha; f is one product, not a sum of updates
        self.seconds_per_row = 0.0
        self.snapshots: list[dict[str, Any]] = []  # columns; one list, so that a signal leaves no column incomplete
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.iterations = self.chunks = 0
        self.max_steps = max_steps_of(problem) if options.max_iter < 0 else options.max_iter

    def solve(self) -> DecompositionRun:
        """Solve chunk after chunk."""
        status, error = Status.SOLVED, None
        try:
            with self.control.interruptible():
                self._update_f()
                self._iterate()
        except _Stop as stop:
            status, error = stop.status, stop.error
        except BaseException as interruption:
            if not self.control.is_interrupt(interruption):
                raise
            status, error = Status.INTERRUPTED, interruption
        columns = {name: [part[name] for part in self.snapshots] for name in COLUMNS}
        history = {name: np.concatenate(parts) if parts else np.empty(0) for name, parts in columns.items()}
        return DecompositionRun(
            status, self.exact, self.f, self.iterations, History.from_columns(history), error, counters=self.counters
        )

    def _iterate(self) -> None:
        """Solve chunks until the stopping criterion holds with a recomputed f."""
        options, problem = self.options, self.problem
        max_violation = options.tol if options.stop == "kkt" else np.inf
        first_violation, best_value, stalled = 0.0, np.inf, 0
        mu, status = None, Status.SOLVED
        while True:
            gradient = problem.Q.spread(self.f) + problem.p
            if not np.isfinite(gradient).all():
                raise _Stop(Status.NUMERICAL)
            worst = most_violating_pair(problem, self.group, self.alpha, gradient)
            offset = optimal_offset(problem, self.alpha, gradient)
            relative_gap, value = self._record(gradient, offset, worst.violation)
            if worst.violation <= max_violation:
                if options.stop == "kkt" or relative_gap <= options.tol:
                    if self.is_recomputed:
                        return
                    self._update_f(recompute=True)
                    continue
                first_violation = first_violation or worst.violation
                max_violation = VIOLATION_DECREASE * worst.violation
                if max_violation <= ROUNDING * (1 + first_violation):
                    raise _Stop(Status.NUMERICAL)
            decreased = value < best_value - ROUNDING * abs(best_value) or best_value == np.inf
            best_value, stalled = min(best_value, value), 0 if decreased else stalled + 1
            self._check_limits(status if stalled < MAX_STALLED_CHUNKS else Status.NUMERICAL)
            samples = self._next_chunk(gradient, offset if mu is None else mu, worst.samples)
            tol = max(CHUNK_TOL * worst.violation, 0.5 * max_violation)
            mu, status = self._solve_chunk(samples, tol, offset)

    def _record(self, gradient: Array, mu: Array, violation: float) -> tuple[float, float]:
        """Record and report a snapshot; return the relative gap and the objective."""
        problem = self.problem
        residual = gradient + mu @ problem.A
        bound = np.where(residual > 0, problem.lower, problem.upper)
        finite = np.isfinite(bound)
        gap = float(np.sum(residual[finite] * (self.alpha - bound)[finite]))
        if np.max(np.abs(residual[~finite]), initial=0.0) > self.options.tol:
            gap = np.inf  # the objective decreases towards an infinite bound
        value = problem.value(self.alpha, gradient)
        seconds = time.monotonic() - self.began
        values = (self.iterations, seconds, violation, gap - value, -value, gap, problem.Q.n, True)
        snapshot = dict(zip(COLUMNS, values, strict=True))
        self.snapshots.append({name: np.array([number]) for name, number in snapshot.items()})
        if self.control.callback is not None and time.monotonic() - self.last_report >= REPORT_INTERVAL:
            try:
                goes_on = self._report(snapshot)
            except Exception as error:
                raise _Stop(Status.INTERRUPTED, error) from None
            if not goes_on:
                raise _Stop(Status.INTERRUPTED)
        scale = 0.5 * (abs(gap - value) + abs(value))
        return (gap / scale if np.isfinite(gap) and scale > 0 else gap), value

    def _report(self, snapshot: dict[str, Any]) -> bool:
        self.last_report = time.monotonic()
        return self.control.report(snapshot)

    def _check_limits(self, status: Status) -> None:
        """Stop if the last chunk was not solved, or if a limit is reached before the next one."""
        if status is not Status.SOLVED:
            raise _Stop(status)
        if self.max_steps <= self.iterations:
            raise _Stop(Status.MAX_ITER)
        remaining = self.control.remaining()
        if remaining is not None and remaining <= self.seconds_per_row:
            raise _Stop(Status.TIME_LIMIT)

    # ---- chunks -----------------------------------------------------------------------------------------------

    def _next_chunk(self, gradient: Array, mu: Array, pair: Index) -> Index:
        """The support vectors, the most violating other samples, and the most violating pair."""
        problem, n = self.problem, self.problem.Q.n
        kept = np.any((self.alpha != self.outside_value).reshape(-1, n), axis=0)
        residual = gradient + mu @ problem.A
        size = self.options.size or max(MIN_ADDED_SAMPLES, int(kept.sum()))
        score = scores(self.options.rule, problem, self.alpha, residual)
        added = most_violating_samples(problem, self.group, score, residual, ~kept, size)
        chunk = kept.copy()
        chunk[added] = chunk[pair] = True
        return np.flatnonzero(chunk)

    def _solve_chunk(self, samples: Index, tol: float, offset: Array) -> tuple[Array, Status]:
        """Solve the subproblem of these samples; return its multipliers and status."""
        chunk, options = Chunk(self.problem, self.alpha, samples), self.options
        remaining, reserve = self.control.remaining(), RESERVE_FACTOR * self._row_seconds() * len(samples)
        if remaining is not None and remaining <= reserve:
            raise _Stop(Status.TIME_LIMIT)
        solver = WorkingSet(
            tol=tol, shrinking=options.shrinking, max_iter=steps_left(self.max_steps, self.iterations),
            cache_size=options.cache_size, precision=options.precision, polish=False, threads=options.threads,
        )  # fmt: skip
        iterations, seconds = self.iterations, time.monotonic() - self.began
        control = self.control.limited_to(None if remaining is None else remaining - reserve)
        if control.callback is not None:
            control = control.with_callback(lambda now: self._report(chunk.as_whole(now, iterations, seconds)))
        solution = solver.solve(chunk.problem, self.alpha[chunk.variables], control)
        self.exact = False
        self.alpha[chunk.variables] = solution.alpha
        self.chunks += 1
        self.iterations += solution.iterations
        for name in COUNTERS:
            self.counters[name] += solution.counters[name]
        if len(solution.history):
            columns = {name: getattr(solution.history, name) for name in COLUMNS}
            self.snapshots.append(chunk.as_whole(columns, iterations, seconds))
        if solution.status is Status.INTERRUPTED:
            raise _Stop(solution.status, solution.error)
        self._update_f()
        # if the solver takes no step, the violation is a rounding error
        no_step = solution.status is Status.SOLVED and solution.iterations == 0
        return np.where(chunk.has_row, solution.mu, offset), Status.NUMERICAL if no_step else solution.status

    # ---- all samples ------------------------------------------------------------------------------------------

    def _update_f(self, recompute: bool = False) -> None:
        """Update f = Kβ with the kernel rows of the changed coefficients, or recompute it."""
        beta = self.problem.Q.coefficients(self.alpha)
        change = beta if recompute else beta - self.f_beta
        rows = np.flatnonzero(change)
        began = time.monotonic()
        product = self._product(change, rows)
        if rows.size >= TIMED_ROWS:
            self.seconds_per_row = (time.monotonic() - began) / rows.size
        self.counters["row_misses"] += int(rows.size)
        self.is_recomputed = recompute or not self.f_beta.any() or (self.is_recomputed and not rows.size)
        self.f = product if recompute else self.f + product
        self.f_beta, self.exact = beta, True

    def _product(self, change: Array, rows: Index) -> Array:
        access = self.problem.Q.access
        if not rows.size:
            return np.zeros(self.problem.Q.n)
        if access.compiled:
            return access.gram.matvec(change, self.options.threads)
        total = np.zeros(self.problem.Q.n)  # a kernel function in Python: only the needed rows, within the deadline
        for i in rows:
            if self.control.expired():
                raise _Stop(Status.TIME_LIMIT)
            total += change[i] * access.rows([i])[0]
        return total

    def _row_seconds(self) -> float:
        """Seconds for a row of a product; measured if time is limited and it is not known."""
        if self.control.deadline is not None and self.seconds_per_row == 0 and self.problem.Q.access.compiled:
            sample = np.zeros(self.problem.Q.n)
            sample[:TIMED_ROWS] = 1.0
            began = time.monotonic()
            self.problem.Q.access.gram.matvec(sample, self.options.threads)
            self.seconds_per_row = (time.monotonic() - began) / np.count_nonzero(sample)
        return self.seconds_per_row
