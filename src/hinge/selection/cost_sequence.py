"""All problems of some folds, for all costs, in one call of the compiled core."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hinge import _core
from hinge.kernels import GramAccess
from hinge.kernels.memory import MEGABYTE
from hinge.problems import Array, Status
from hinge.selection.folds import Fold, Part, Solved
from hinge.solvers import Auto
from hinge.solvers.auto import DENSE_N, patience


@dataclass(frozen=True)
class Limits:
    """What the solver may use."""

    tol: float
    max_iter: int
    cache_bytes: int
    threads: int


@dataclass
class Ladder:
    """The problems of `folds`, side by side in flat arrays; costs fall, and each solution starts the next one."""

    folds: list[Fold]
    costs: Array
    limits: Limits

    def __post_init__(self) -> None:
        self.parts: list[Part] = []
        self.owner: list[int] = []
        for k, fold in enumerate(self.folds):
            new = fold.parts()
            self.parts += new
            self.owner += [k] * len(new)
        sizes = [len(part.samples) for part in self.parts]
        self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.samples = np.concatenate([part.samples for part in self.parts]).astype(np.int32)
        variables = [part.formulation(1.0).dual().variables() for part in self.parts]
        _, self.linear, self.lower, self.upper = (np.concatenate(arrays) for arrays in zip(*variables, strict=True))
        own = self.limits.max_iter
        self.patience = np.array([patience(n) if own < 0 else own for n in sizes], dtype=np.int64)
        shape = (len(self.parts), len(self.costs))
        self.coefficients = np.zeros(len(self.costs) * len(self.samples))
        self.offset, self.seconds = np.zeros(shape), np.zeros(shape)
        self.status = np.empty(shape, dtype=np.int8)
        self.iterations = np.zeros(shape, dtype=np.int64)

    def climb(self, access: GramAccess, max_time: float | None, double: bool) -> None:
        """Solve everything there is time for; `double`: kernel rows are kept in double precision."""
        began = time.monotonic()
        self.status.fill(-1)
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
            self.patience,
            self.costs,
            self.coefficients,
            self.offset,
            self.seconds,
            self.status,
            self.iterations,
            self.limits.tol,
            -1.0 if max_time is None else max_time,
            self.limits.cache_bytes,
            double,
            self.limits.threads,
        )
        if self.limits.max_iter < 0:
            self._insist(access, None if max_time is None else began + max_time)

    def _insist(self, access: GramAccess, deadline: float | None) -> None:
        """Where SMO creeps (large costs, badly scaled data), the solver that estimators use."""
        for p, c in np.argwhere(np.isin(self.status, (Status.MAX_ITER, Status.NUMERICAL))):
            max_time = None if deadline is None else max(0.0, deadline - time.monotonic())
            if max_time == 0.0:
                return
            part, solved = self.parts[p], self.solved(p)
            if len(part.samples) > DENSE_N and self.status[p, c] == Status.MAX_ITER:
                continue  # the same solver has tried as long as it would
            problem = part.formulation(self.costs[c]).build(access.subset(part.samples))
            limits, megabytes = self.limits, self.limits.cache_bytes / MEGABYTE
            solver = Auto(tol=limits.tol, max_time=max_time, threads=limits.threads, cache_size=megabytes)
            found = solver.solve(problem)
            if found.error is not None:
                raise found.error
            expansion = part.formulation(self.costs[c]).recover(*found.point)
            solved.coefficients[c], solved.offsets[c] = expansion.coefficients, expansion.intercept
            self.status[p, c] = found.status

    def solved(self, p: int) -> Solved:
        """The solutions of problem p: views."""
        m = len(self.costs)
        first, last = m * self.start[p], m * self.start[p + 1]
        return Solved(self.coefficients[first:last].reshape(m, -1), self.offset[p])

    def of_fold(self, k: int) -> list[int]:
        """The problems of fold k."""
        return [p for p, owner in enumerate(self.owner) if owner == k]

    def finished(self, problems: list[int]) -> NDArray[np.bool_]:
        """For which costs all of these problems have an answer."""
        open_end = np.isin(self.status[problems], (-1, Status.TIME_LIMIT, Status.INTERRUPTED))
        return np.logical_not(np.any(open_end, axis=0))
