"""Sequential minimal optimization."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hinge import _core
from hinge.control import RunControl
from hinge.problems import Array, Problem, Solution, Status
from hinge.solvers.base import Capabilities, Start, register
from hinge.solvers.decomposition.base import (
    MAX_POLISHED_SAMPLES,
    DecompositionOptions,
    DecompositionRun,
    max_steps_of,
    row_cache_bytes,
    signed_arguments,
    signed_start,
    solution_of,
    steps_left,
    stores_double_rows,
    without_history,
)
from hinge.solvers.diagonal import fold_diagonal, unfold_diagonal
from hinge.solvers.time_budget import fits
from hinge.validation import check_integer

#: Rules for the choice of a pair, in the order of `PairRule` in the compiled core.
PAIR_RULES = ("second_order", "first_order", "platt", "keerthi_1", "keerthi_2")

#: Seconds per kernel value in double precision. After the deadline f is computed in double precision if that takes at
#: most OVERRUN_SECONDS.
DOUBLE_VALUE_SECONDS, OVERRUN_SECONDS = 2e-9, 0.05


@register("smo")
@dataclass(frozen=True, kw_only=True)
class SMO(DecompositionOptions):
    """Steps on pairs of variables.                        LwK §10.5, docs/math (6)–(9), (801)–(804)

    Solves every problem whose equality rows are constant on disjoint groups of variables: a step changes a pair of one
    group, or a single variable that is in no group.

    Cost: two kernel rows and O(n) operations a step, often more than n steps; memory for the row cache.
    Certificate: the KKT violation is at most `tol`, or with `stop="gap"` the relative gap; both are rounding errors if
    the solution was polished.

    Parameters
    ----------
    tol : float
        Tolerance of the stopping criterion.
    rule : {"second_order", "first_order", "platt", "keerthi_1", "keerthi_2"}
        Choice of the pair of a step. "second_order": the most violating variable and the partner with the largest
        decrease of the objective. "first_order": the most violating pair. "platt": sweeps over all samples and over the
        free ones, with the second-choice hierarchy of LwK Algorithms 10.3 and 10.4. "keerthi_1" and "keerthi_2": the
        same sweeps with two thresholds in place of b; in the second modification the most violating pair of free
        samples replaces the sweep over free samples.
    sticky : int
        Number of steps for which a sample stays fixed after a variable of it has reached a bound (LwK 10.1.4); 0 for
        none. All samples are checked before the end.
    stop : {"kkt", "gap"}
        Stop on the KKT violation or on the relative duality gap.
    shrinking : bool
        Remove samples at their bounds from the active set; all samples are checked again before the end.
    max_iter : int
        Largest number of steps; −1 for ten million, or 100 per sample if that is more, but at most a million plus
        10,000 per sample. A problem without finite bounds (C=inf) may have no solution: it ends after a million steps
        plus 10,000 per sample with the status NUMERICAL.
    max_time : float or None
        Largest number of seconds.
    cache_size : float or "auto"
        Megabytes for kernel rows; "auto" uses half of the free memory.
    precision : {"auto", "float32", "float64"}
        Storage of kernel rows. "auto": float64 for small problems and small tolerances, else float32. If float32 turns
        out to be insufficient for `tol` (kernel values far larger than their differences), the run continues with
        float64.
    polish : bool
        Solve the optimality conditions of the free variables exactly at the end, for up to 1,000 samples. If that
        succeeds (`Solution.polished`), the solution is exact to rounding for any `tol`.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import SMO
    >>> model = hinge.SVC(solver=SMO(tol=1e-6)).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> model.status_.name
    'SOLVED'
    """

    capabilities: ClassVar = Capabilities(
        tol="kkt_violation", equality_rows="groups", options=("cache_size", "shrinking")
    )

    rule: str = "second_order"
    sticky: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule not in PAIR_RULES:
            raise ValueError(f"rule={self.rule!r} must be one of {', '.join(map(repr, PAIR_RULES))}")
        check_integer("sticky", self.sticky, 0)

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem` from `start`, which is made feasible first."""
        self.check(problem)
        if problem.term is not None:
            return unfold_diagonal(problem, self.solve(fold_diagonal([problem])[0], start, control))
        control = self.started(control)
        beta, double = signed_start(problem, start), stores_double_rows(self, problem)
        run = self._run(problem, beta, double, self.max_iter, control)
        if not double:
            run = self._checked_in_double(problem, beta, run, control)
        if run.status is Status.MAX_ITER and self.max_iter < 0 and not np.isfinite(problem.upper - problem.lower).all():
            run = replace(run, status=Status.NUMERICAL)
        return solution_of(self, problem, beta, run, MAX_POLISHED_SAMPLES)

    def _run(self, problem: Problem, beta: Array, double: bool, max_iter: int, control: RunControl) -> DecompositionRun:
        """Run the compiled method, which updates `beta` in place."""
        run = _core.smo(
            problem.Q.access.gram,
            **signed_arguments(problem),
            beta=beta,
            tolerance=self.tol,
            stop_on_gap=self.stop == "gap",
            shrinking=self.shrinking,
            max_iterations=max_steps_of(problem) if max_iter < 0 else max_iter,
            max_seconds=control.max_seconds(),
            cache_bytes=row_cache_bytes(self.cache_size, problem.Q.n),
            double_rows=double,
            rule=PAIR_RULES.index(self.rule),
            sticky_steps=int(self.sticky),
            control=control,
        )
        return DecompositionRun.of(run)

    def _checked_in_double(
        self, problem: Problem, beta: Array, run: DecompositionRun, control: RunControl
    ) -> DecompositionRun:
        """Compute f in double precision; continue with float64 rows if float32 rows were insufficient for `tol`."""
        access, Q = problem.Q.access, problem.Q
        if run.status is Status.INTERRUPTED or (run.status is Status.TIME_LIMIT and not access.compiled):
            return replace(run, exact=False)
        used = int(np.count_nonzero(beta))
        if run.status is Status.TIME_LIMIT and not fits(control, DOUBLE_VALUE_SECONDS * used * Q.n - OVERRUN_SECONDS):
            return replace(run, exact=False, support_exact=False)
        f = access.matvec(beta.reshape(Q.slots, Q.n).sum(axis=0))
        error = float(np.max(np.abs(f - run.f), initial=0.0)) if run.exact else 0.0
        run = replace(run, f=f, exact=True)
        if self._is_tolerable(problem, error, run.objective):
            return run
        if run.status in (Status.MAX_ITER, Status.TIME_LIMIT):
            return without_history(run)
        rest = self._run(problem, beta, True, steps_left(self.max_iter, run.iterations), control)
        return replace(rest, iterations=run.iterations + rest.iterations)

    def _is_tolerable(self, problem: Problem, error: float, objective: float) -> bool:
        """Whether an error of f changes the quantity that `tol` limits by at most half of it."""
        if self.stop == "kkt":
            return error <= 0.5 * self.tol
        width = problem.upper - problem.lower
        return bool(error * np.sum(width[np.isfinite(width)]) <= 0.5 * self.tol * abs(objective))
