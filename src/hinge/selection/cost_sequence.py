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
    """The problems of `folds` in flat arrays. Each is solved for decreasing costs with warm starts."""

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
        sizes = [len(part.samples) for part in self.parts]
        self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.samples = np.concatenate([part.samples for part in self.parts]).astype(np.int32)
        variables = [part.formulation(1.0).dual().variables() for part in self.parts]
        _, self.linear, self.lower, self.upper = (np.concatenate(arrays) for arrays in zip(*variables, strict=True))
        max_iter = self.limits.max_iter
        self.max_iter = np.array([step_budget(n) if max_iter < 0 else max_iter for n in sizes], dtype=np.int64)
        shape = (len(self.parts), len(self.costs))
        self.coefficients = np.zeros(len(self.costs) * len(self.samples))
        self.offset, self.seconds = np.zeros(shape), np.zeros(shape)
        self.status = np.empty(shape, dtype=np.int8)
        self.iterations = np.zeros(shape, dtype=np.int64)

    def solve(self, access: GramAccess, control: RunControl, double: bool) -> None:
        """Solve all problems for all costs until the deadline; `double`: kernel rows are stored in double precision."""
        remaining = control.remaining()
        self.status.fill(NOT_STARTED)
        self.seconds.fill(0.0)
        self.iterations.fill(0)
        _core.solve_cost_sequences(
            access.gram,
            self.samples,
            self.start,
            self.linear,
            self.lower,
            self.upper,
            len(self.linear) // len(self.samples),
            self.max_iter,
            self.costs,
            self.coefficients,
            self.offset,
            self.seconds,
            self.status,
            self.iterations,
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
        m = len(self.costs)
        first, last = m * self.start[p], m * self.start[p + 1]
        return PartSolutions(self.coefficients[first:last].reshape(m, -1), self.offset[p])

    def of_fold(self, k: int) -> list[int]:
        """Return the problems of fold k."""
        return [p for p, fold in enumerate(self.fold_of_part) if fold == k]

    def finished(self, problems: list[int]) -> NDArray[np.bool_]:
        """Return for every cost whether all of these problems have a solution."""
        unfinished = np.isin(self.status[problems], (NOT_STARTED, Status.TIME_LIMIT, Status.INTERRUPTED))
        return np.logical_not(np.any(unfinished, axis=0))
