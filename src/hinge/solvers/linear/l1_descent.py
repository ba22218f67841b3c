"""Coordinate descent on working sets of features for linear problems with an ℓ1 penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hinge import _core
from hinge.control import RunControl
from hinge.kernels.samples import view
from hinge.problems import Array, Bias, History, LinearProblem, LinearSolution, Status
from hinge.problems.solution import run_columns
from hinge.solvers.base import SolverOptions, check_threads

#: Costs increase in stages if max |Xᵀβ| at w = 0 exceeds FIRST_RATIO: the first stage has about this value.
FIRST_RATIO = 20.0
STAGES_PER_DECADE, MAX_STAGES = 2, 12

#: Relative gap of the stages before the last one.
STAGE_TOL = 1e-2


@dataclass(frozen=True, kw_only=True)
class L1CoordinateDescent(SolverOptions):
    """Coordinate descent on working sets of features, with Newton steps in the nonzero weights.   docs/math (861)–(869)

    Stops if the relative duality gap is at most `tol`.

    Cost: a pass over X for every working set, some ten of them; an epoch reads the features of the working set only.
    Certificate: the relative gap is at most `tol`, recomputed from X by `certify_linear`.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    max_iter : int
        Newton steps and passes over X, with descent on some features in units of a pass; −1 for no limit.
    max_time : float or None
        Seconds.
    threads : int
        Threads for passes over all samples; the solution does not depend on it.
    seed : int
        Seed of the order of the features.
    """

    tol: float = 1e-4
    threads: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_threads(self.threads)

    def solve_linear(
        self, problem: LinearProblem, start: Array | None = None, control: RunControl | None = None
    ) -> LinearSolution:
        """Solve a linear problem with an ℓ1 penalty; `start` holds the weights and, as its last entry, the offset."""
        if not problem.l1:
            raise ValueError("L1CoordinateDescent needs a problem with an l1 penalty: use CoordinateDescent")
        control = self.started(control)
        if start is None:
            start, iterations, stopped = self._continuation(problem, control)
        else:
            start, iterations, stopped = np.asarray(start, dtype=np.float64), 0, False
        limit = 0 if stopped else self.max_iter if self.max_iter < 0 else max(0, self.max_iter - iterations)
        run = self._run(problem, start, self.tol, limit, control)
        return LinearSolution(
            weights=run.weights,
            offset=run.offset,
            beta=run.beta,
            primal=run.primal,
            dual=run.dual,
            gap=run.gap,
            violation=run.violation,
            status=Status.INTERRUPTED if stopped else Status(run.status),
            iterations=iterations + run.iterations,
            history=History(*run_columns(run.history)),
            error=run.error,
            counters={"epochs": run.epochs, "working_sets": run.rounds},
        )

    def _continuation(self, problem: LinearProblem, control: RunControl) -> tuple[Array, int, bool]:
        """Return a start from rough solutions for increasing costs, the iterations, and whether the run was stopped.

        There are no such problems if few weights of the solution are nonzero.                                   (869)
        """
        point, iterations = np.zeros(problem.X.shape[1] + 1), 0
        ratio = null_gradient(problem)
        stages = int(np.floor(STAGES_PER_DECADE * np.log10(ratio / FIRST_RATIO))) if ratio > FIRST_RATIO else 0
        for k in range(min(stages, MAX_STAGES), 0, -1):
            if control.expired() or 0 <= self.max_iter <= iterations or control.interrupt is not None:
                break
            factor = 10.0 ** (-k / STAGES_PER_DECADE)
            smaller = replace(
                problem, ridge=problem.ridge / factor, lower=problem.lower * factor, upper=problem.upper * factor
            )
            limit = self.max_iter if self.max_iter < 0 else self.max_iter - iterations
            answers: list[bool | None] = []
            run = self._run(smaller, point, max(STAGE_TOL, self.tol), limit, _remembering(control, answers))
            point, iterations = np.append(run.weights, run.offset), iterations + run.iterations
            if Status(run.status) is Status.INTERRUPTED or False in answers:  # the callback may return False at the end
                return point, iterations, True
            if Status(run.status) is not Status.SOLVED:
                break
        return point, iterations, False

    def _run(
        self, problem: LinearProblem, start: Array, tol: float, max_iter: int, control: RunControl
    ) -> _core.L1LinearRun:
        return _core.l1_linear(
            view(problem.X, threads=self.threads).native,
            target=problem.target,
            lower=problem.lower,
            upper=problem.upper,
            ridge=problem.ridge,
            bias=int(problem.bias),
            bias_scale=problem.bias_scale,
            weights=np.ascontiguousarray(start[:-1]),
            offset=float(start[-1]),
            tolerance=tol,
            max_iterations=max_iter,
            max_seconds=control.max_seconds(),
            threads=self.threads,
            seed=self.seed,
            control=control,
        )


def _remembering(control: RunControl, answers: list[bool | None]) -> RunControl:
    """Return the control with a callback that also appends what it returns to `answers`."""
    callback = control.callback
    if callback is None:
        return control

    def remember(snapshot: dict[str, Any]) -> bool | None:
        answers.append(callback(snapshot))
        return answers[-1]

    return control.with_callback(remember, control.on_step)


def null_gradient(problem: LinearProblem) -> float:
    """Return max |Xᵀβ| at w = 0 with the offset of least squares: 1 or less if w = 0 is nearly optimal."""
    ridge, target = problem.ridge, problem.target
    offset = float(np.sum(target / ridge) / np.sum(1 / ridge)) if problem.bias is Bias.FREE else 0.0
    beta = np.clip((target - offset) / ridge, problem.lower, problem.upper)
    return float(np.max(np.abs(problem.X.T @ beta), initial=0.0))
