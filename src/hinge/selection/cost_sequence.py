"""Cost sequences: problems of several folds solved for decreasing C with warm starts, in one compiled call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge import _core
from hinge.control import RunControl
from hinge.kernels import GramAccess
from hinge.kernels.memory import MEGABYTE
from hinge.problems import Array, Status
from hinge.selection.folds import Fold, Part, PartSolutions
from hinge.solvers import Auto
from hinge.solvers.auto import MAX_DENSE_SAMPLES, step_budget

NOT_STARTED = -1  # status of a problem that the time limit left unsolved


@dataclass(frozen=True)
class Limits:
    """Tolerance, iteration limit, memory and threads of the solver."""

    tol: float
    max_iter: int
    cache_bytes: int
    threads: int


@dataclass
class CostSequences:
    """The problems of `folds`, each solved for decreasing costs with warm starts.

    The tables `offset`, `seconds`, `status` and `iterations` have a row for each problem and a column for each cost.
    """

    folds: list[Fold]
    costs: Array
    limits: Limits

    def __post_init__(self) -> None:
        self.parts: list[Part] = []
        self.fold_of_part: list[int] = []
        for k, fold in enumerate(self.folds):
            parts = fold.parts()
            self.parts += parts
            self.fold_of_part += [k] * len(parts)
        shape = (len(self.parts), len(self.costs))
        self.coefficients = [np.zeros((len(self.costs), len(part.samples))) for part in self.parts]
        self.offset, self.seconds = np.zeros(shape), np.zeros(shape)
        self.status = np.empty(shape, dtype=np.int8)
        self.iterations = np.zeros(shape, dtype=np.int64)
        self.problems = [self._problem(p) for p in range(len(self.parts))]

    def _problem(self, p: int) -> _core.CostSequenceProblem:
        """Return problem p for the compiled core, which writes the solutions to row p of the tables."""
        part, max_iter = self.parts[p], self.limits.max_iter
        _, linear, lower, upper = part.formulation(1.0).dual().variables()
        return _core.CostSequenceProblem(
            part.samples.astype(np.int32),
            linear,
            lower,
            upper,
            slots=len(linear) // len(part.samples),
            max_iterations=step_budget(len(part.samples)) if max_iter < 0 else max_iter,
            coefficients=self.coefficients[p],
            offset=self.offset[p],
            seconds=self.seconds[p],
            status=self.status[p],
            iterations=self.iterations[p],
        )

    def solve(self, access: GramAccess, control: RunControl, double: bool) -> None:
        """Solve all problems for all costs until the deadline; `double`: kernel rows are stored in double precision."""
        remaining = control.remaining()
        self.status.fill(NOT_STARTED)
        self.seconds.fill(0.0)
        self.iterations.fill(0)
        _core.solve_cost_sequences(
            access.gram,
            self.problems,
            self.costs,
            self.limits.tol,
            -1.0 if remaining is None else remaining,
            self.limits.cache_bytes,
            double,
            self.limits.threads,
        )
        if self.limits.max_iter < 0:
            self._solve_remaining(access, control)

    def _solve_remaining(self, access: GramAccess, control: RunControl) -> None:
        """Solve problems that did not converge (large costs, badly scaled data) with `Auto`, as the estimators do."""
        for p, c in np.argwhere(np.isin(self.status, (Status.MAX_ITER, Status.NUMERICAL))):
            if control.expired():
                return
            part, solutions = self.parts[p], self.solutions(p)
            if len(part.samples) > MAX_DENSE_SAMPLES and self.status[p, c] == Status.MAX_ITER:
                continue  # `Auto` would run the same method again
            formulation = part.formulation(self.costs[c])
            limits, megabytes = self.limits, self.limits.cache_bytes / MEGABYTE
            solver = Auto(tol=limits.tol, threads=limits.threads, cache_size=megabytes)
            solution = solver.solve(formulation.build(access.subset(part.samples)), control=control)
            if solution.error is not None:
                raise solution.error
            expansion = formulation.recover(*solution.point)
            solutions.coefficients[c], solutions.offsets[c] = expansion.coefficients, expansion.intercept
            self.status[p, c] = solution.status

    def solutions(self, p: int) -> PartSolutions:
        """Return views of the solutions of problem p."""
        return PartSolutions(self.coefficients[p], self.offset[p])

    def of_fold(self, k: int) -> list[int]:
        """Return the problems of fold k."""
        return [p for p, fold in enumerate(self.fold_of_part) if fold == k]

    def finished(self, problems: list[int]) -> NDArray[np.bool_]:
        """Return for every cost whether all of these problems have a solution."""
        unfinished = np.isin(self.status[problems], (NOT_STARTED, Status.TIME_LIMIT, Status.INTERRUPTED))
        return np.logical_not(np.any(unfinished, axis=0))
