"""Linear machines: dual coordinate descent, and Newton's method where it is faster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hinge import _core
from hinge.control import RunControl
from hinge.kernels.samples import view
from hinge.problems import (
    Array,
    CrammerSingerProblem,
    CrammerSingerSolution,
    History,
    LinearProblem,
    LinearSolution,
    Problem,
    Solution,
    Status,
    constant_function,
    kernel_variables,
    linear_form,
)
from hinge.solvers.base import Capabilities, Solver, Start, check_threads
from hinge.solvers.decomposition.smo import seconds_left
from hinge.solvers.interior_point import crammer_singer as crammer_singer_interior
from hinge.solvers.linear import small_problems
from hinge.solvers.linear.centering import nearer
from hinge.solvers.refinement.verify_linear import all_borne_out, borne_out

METHODS = {"auto": 0, "descent": 1, "newton": 2}

#: Epochs after which descent creeps, and steps that are then left to an interior point method.
CREEPING = 200
INTERIOR_STEPS = 50

#: Ends that may come before there is a point.
CUT_OFF = (Status.TIME_LIMIT, Status.INTERRUPTED)

#: Counters of the compiled solver, as reported in `LinearSolution.counters`.
COUNTERS = ("epochs", "newton_steps", "sample_steps", "passes", "work")


@dataclass(frozen=True, kw_only=True)
class CoordinateDescent(Solver):
    """One dual variable at a time, w alongside; Newton's method where that is cheaper.   docs/math (108)–(129)

    For linear machines, and for problem (1) where its kernel is linear. Stops when the relative duality gap is proven
    to be at most `tol`.

    Cost: an epoch is a pass over X, O(nnz); a Newton step some passes, or O(nd²) with few features.
    Certificate: the relative gap is at most `tol`, recomputed from X by `certify_linear`.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    method : {"auto", "descent", "newton"}
        "auto" begins with fewer samples and Newton's method where there are few features; else it descends, and turns
        to Newton's method when the epochs so far let it look cheaper (and back, should it disappoint). Newton's method
        is on the primal; for losses that are not squared, on a sequence of smoothed ones.
    max_iter : int
        Epochs (n steps of one variable each) and Newton steps; −1 for no limit.
    max_time : float or None
        Seconds.
    threads : int
        Threads for passes over all samples, and up to two for descent; the answer does not depend on it.
    seed : int
        Of the random order of the samples.
    block_bytes : int
        Where X is a map of a file: how much of it to hold at a time; "auto" then descends, since Newton's method has no
        such limit. 0: everything.
    """

    capabilities: ClassVar = Capabilities(
        tol="relative_gap", equality_rows="groups", kernel="linear", options=("threads",)
    )

    tol: float = 1e-4
    method: str = "auto"
    threads: int = 1
    seed: int = 0
    block_bytes: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method not in METHODS:
            raise ValueError(f"method={self.method!r} must be one of {', '.join(map(repr, METHODS))}")
        check_threads(self.threads)
        if self.method == "newton" and self.block_bytes > 0:
            raise ValueError(
                "method='newton' needs all samples at hand and cannot hold "
                f"block_bytes={self.block_bytes} of them at a time: use method='auto' or 'descent', or block_bytes=0"
            )

    def solve_linear(
        self,
        problem: LinearProblem,
        start: Array | None = None,
        control: RunControl | None = None,
        expansion: bool = False,
    ) -> LinearSolution:
        """Solve a linear machine from the dual point `start` (moved into its box where it is not).

        Newton's method ends with w and β that need not belong together; where `expansion`, the answer is w = Xᵀβ.
        """
        control = self.started(control)
        near = nearer(problem, small_problems.is_small(problem) and self.block_bytes == 0 and not expansion)
        if near is None:
            found = self._solve_near(problem, start, control, expansion)
        else:
            found = near.back(self._solve_near(near.problem, start, control, expansion))
        return borne_out(problem, found, self.tol, moved=near is not None and near.centre is not None)

    def _solve_near(
        self, problem: LinearProblem, start: Array | None, control: RunControl, expansion: bool
    ) -> LinearSolution:
        small = self.method == "auto" and self.block_bytes == 0 and small_problems.is_small(problem)
        beta = np.zeros(problem.n) if start is None else np.ascontiguousarray(start, dtype=np.float64)
        run = _core.linear(
            view(problem.X, mapped=self.block_bytes > 0, threads=self.threads).native,
            target=problem.target,
            lower=problem.lower,
            upper=problem.upper,
            ridge=problem.ridge,
            tube=problem.tube,
            bias=int(problem.bias),
            bias_scale=problem.bias_scale,
            total=problem.total,
            beta=beta,
            tolerance=self.tol,
            method=METHODS["descent" if self.block_bytes > 0 else self.method],
            max_iterations=self._first_steps(small),
            max_seconds=seconds_left(control),
            threads=self.threads,
            seed=self.seed,
            expansion=expansion,
            block_bytes=self.block_bytes,
            control=control,
        )
        found = LinearSolution(
            weights=run.weights,
            offset=run.offset,
            beta=run.beta,
            primal=run.primal,
            dual=run.dual,
            gap=run.gap,
            violation=run.violation,
            status=Status(run.status),
            iterations=run.iterations,
            history=History.from_run(run.history),
            error=run.error,
            floor=run.floor,
            counters={name: int(getattr(run, name)) for name in COUNTERS},
        )
        if not np.isfinite(found.gap) and found.status in CUT_OFF and problem.total == 0:  # before there was a point
            return constant_function(problem, found.status, found.error)
        if not small:
            return found
        found = borne_out(problem, found, self.tol)  # what comes next is compared with it
        if found.status is Status.SOLVED:
            return small_problems.polish_linear(problem, found)
        crept = found.status is Status.MAX_ITER and found.iterations >= CREEPING
        most = self._steps_left(found.iterations)
        if most == 0 or (not crept and found.status is not Status.NUMERICAL):
            return found
        return small_problems.by_interior_point(problem, found, self.tol, control, most)

    def solve_crammer_singer(
        self, problem: CrammerSingerProblem, start: Array | None = None, control: RunControl | None = None
    ) -> CrammerSingerSolution:
        """Solve for all classes at once; `start` is n × classes.

        Where descent creeps and there are few features, an interior point method goes on (not with method="descent").
        """
        if self.method == "newton":
            raise ValueError("method='newton' is none for all classes at once: use method='auto' or 'descent'")
        control = self.started(control)
        n, classes = len(problem.cost), problem.classes
        few = self.method == "auto" and crammer_singer_interior.is_small(problem)
        alpha = np.zeros((n, classes)) if start is None else np.ascontiguousarray(start, dtype=np.float64)
        run = _core.crammer_singer(
            view(problem.X).native,
            label=problem.label,
            cost=problem.cost,
            classes=classes,
            bias=int(problem.bias),
            bias_scale=problem.bias_scale,
            alpha=alpha.ravel(),
            tolerance=self.tol,
            max_iterations=CREEPING if few and not 0 <= self.max_iter <= CREEPING else self.max_iter,
            max_seconds=seconds_left(control),
            seed=self.seed,
            control=control,
        )
        found = CrammerSingerSolution(
            weights=run.weights.reshape(classes, -1),
            offset=run.offset,
            alpha=run.alpha.reshape(n, classes),
            primal=run.primal,
            dual=run.dual,
            gap=run.gap,
            violation=run.violation,
            status=Status(run.status),
            iterations=run.iterations,
            history=History.from_run(run.history),
            error=run.error,
        )
        most = self._steps_left(found.iterations)
        found = all_borne_out(problem, found, self.tol)
        if not few or found.status not in (Status.MAX_ITER, Status.NUMERICAL) or most == 0:
            return found
        return crammer_singer_interior.by_interior_point(problem, found, self.tol, control, most)

    def _first_steps(self, small: bool) -> int:
        """The limit of descent and Newton's method: where they creep, the last steps are those of another method."""
        return self.max_iter - INTERIOR_STEPS if small and self.max_iter >= CREEPING + INTERIOR_STEPS else self.max_iter

    def _steps_left(self, iterations: int) -> int:
        return -1 if self.max_iter < 0 else max(0, self.max_iter - iterations)

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve problem (1) with a linear kernel as the linear machine that it is."""
        linear = linear_form(problem)
        alpha = start.alpha if isinstance(start, Solution) else start
        found = self.solve_linear(linear, None if alpha is None else problem.Q.coefficients(alpha), control, True)
        alpha = kernel_variables(problem, found.beta)
        return Solution(
            alpha=alpha,
            mu=np.array([found.offset] if len(problem.d) else []),
            gradient=problem.gradient(alpha),
            status=found.status,
            iterations=found.iterations,
            history=found.history,
            error=found.error,
            counters=found.counters or {},
        )
