"""Cost sequences: problems of several folds solved for decreasing C with warm starts."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge import _core
from hinge.control import RunControl
from hinge.formulations import ConvexLoss, Formulation
from hinge.kernels import GramAccess
from hinge.kernels.memory import MEGABYTE
from hinge.model import Expansion
from hinge.problems import Array, Solution, Status
from hinge.selection.folds import Fold, Part, PartSolutions
from hinge.solvers import Auto
from hinge.solvers.auto import MAX_DENSE_SAMPLES, step_budget


def is_box_constrained(formulation: Formulation) -> bool:
    """Whether the dual problem has bounds proportional to C, one equality row, and no diagonal or separable term."""
    if isinstance(formulation, ConvexLoss) and formulation.loss.quadratic_conjugate is None:
        return False
    dual = formulation.dual()
    return dual.ridge is None and len(dual.total) == 1


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

    Box-constrained problems are solved in one compiled call. Others (squared or smooth losses, no intercept) are solved
    by `Auto`.
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
        self.compiled = all(is_box_constrained(part.formulation(1.0)) for part in self.parts)
        self.problems = [self._problem(p) for p in range(len(self.parts))] if self.compiled else []

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
        if not self.compiled:
            self._solve_by_auto(access, control)
            return
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

    def _solve_by_auto(self, access: GramAccess, control: RunControl) -> None:
        """Solve the problems of one cost after the other; each solution is the start for the next, smaller cost."""
        solver, expansions = self._solver(), list[Expansion]()
        for c, cost in enumerate(self.costs):
            if control.expired():
                return
            formulations = [part.formulation(cost) for part in self.parts]
            problems = [
                formulation.build(access.subset(part.samples))
                for formulation, part in zip(formulations, self.parts, strict=True)
            ]
            starts = None
            if expansions:
                pairs = zip(formulations, expansions, strict=True)
                starts = [formulation.dual_point(expansion)[0] for formulation, expansion in pairs]
            start = time.monotonic()
            solutions = solver.solve_batch(problems, starts, control)
            self.seconds[:, c] = (time.monotonic() - start) / len(problems)
            expansions = [self._store(p, c, formulations[p], solution) for p, solution in enumerate(solutions)]

    def _solver(self) -> Auto:
        limits = self.limits
        return Auto(
            tol=limits.tol, max_iter=limits.max_iter, threads=limits.threads, cache_size=limits.cache_bytes / MEGABYTE
        )

    def _store(self, p: int, c: int, formulation: Formulation, solution: Solution) -> Expansion:
        """Write a solution to the tables, and return its decision function."""
        if solution.error is not None:
            raise solution.error
        expansion = formulation.recover(*solution.point)
        self.coefficients[p][c], self.offset[p, c] = expansion.coefficients, expansion.intercept
        self.status[p, c], self.iterations[p, c] = solution.status, solution.iterations
        return expansion

    def _solve_remaining(self, access: GramAccess, control: RunControl) -> None:
        """Solve problems that did not converge (large costs, badly scaled data) with `Auto`, as the estimators do."""
        for p, c in np.argwhere(np.isin(self.status, (Status.MAX_ITER, Status.NUMERICAL))):
            if control.expired():
                return
            part, iterations = self.parts[p], self.iterations[p, c]
            if len(part.samples) > MAX_DENSE_SAMPLES and self.status[p, c] == Status.MAX_ITER:
                continue  # `Auto` would run the same method again
            formulation = part.formulation(self.costs[c])
            solution = self._solver().solve(formulation.build(access.subset(part.samples)), control=control)
            self._store(p, c, formulation, solution)
            self.iterations[p, c] += iterations

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
