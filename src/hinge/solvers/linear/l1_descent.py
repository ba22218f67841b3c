"""Coordinate descent on working sets of features for linear problems with an ℓ1 penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge import _core
from hinge.control import RunControl
from hinge.kernels.samples import view
from hinge.problems import Array, History, LinearProblem, LinearSolution, Status
from hinge.problems.solution import run_columns
from hinge.solvers.base import SolverOptions, check_threads


@dataclass(frozen=True, kw_only=True)
class L1CoordinateDescent(SolverOptions):
    """Coordinate descent on working sets of features, with Newton steps in the nonzero weights.   docs/math (861)–(868)

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
        start = np.zeros(problem.X.shape[1] + 1) if start is None else np.asarray(start, dtype=np.float64)
        run = _core.l1_linear(
            view(problem.X, threads=self.threads).native,
            target=problem.target,
            lower=problem.lower,
            upper=problem.upper,
            ridge=problem.ridge,
            bias=int(problem.bias),
            bias_scale=problem.bias_scale,
            weights=np.ascontiguousarray(start[:-1]),
            offset=float(start[-1]),
            tolerance=self.tol,
            max_iterations=self.max_iter,
            max_seconds=control.max_seconds(),
            threads=self.threads,
            seed=self.seed,
            control=control,
        )
        return LinearSolution(
            weights=run.weights,
            offset=run.offset,
            beta=run.beta,
            primal=run.primal,
            dual=run.dual,
            gap=run.gap,
            violation=run.violation,
            status=Status(run.status),
            iterations=run.iterations,
            history=History(*run_columns(run.history)),
            error=run.error,
            counters={"epochs": run.epochs, "working_sets": run.rounds},
        )
