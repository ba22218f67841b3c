"""The compiled active set engine with a problem in motion: start, follow, ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hinge import _core
from hinge.control import RunControl
from hinge.kernels import Access, PairAccess, Precomputed, cache_bytes, open_access
from hinge.paths.breakpoints import Pieces
from hinge.problems import Array, ParametricProblem, Status
from hinge.solvers import SMO

#: A kernel matrix up to this share of the memory budget is computed once and for all.
WHOLE_SHARE = 0.6

#: How near the optimum the point must be from which a path is started; it need not be nearer.
START_TOL = 1e-3

#: KKT violations above this, relative to the scale of the problem, are not an answer.
EXACT = 1e-9

Progress = Callable[[dict[str, Any]], Any]


class PathError(RuntimeError):
    """A path that could not be followed to its end."""


@dataclass(frozen=True)
class Counts:
    """What happened on the way."""

    events: int = 0
    exchanges: int = 0
    idle: int = 0
    repairs: int = 0
    refactorings: int = 0
    violation: float = 0.0
    mean_margin: float = 0.0

    @classmethod
    def of(cls, run: _core.PathRun) -> Counts:
        """From the record of the compiled engine."""
        same = ("events", "exchanges", "idle", "repairs", "refactorings", "violation")
        return cls(**{name: getattr(run, name) for name in same}, mean_margin=run.margin_sum / max(1, run.events))


@dataclass
class Engine:
    """An `ActiveSet` over the kernel matrix behind `access`."""

    access: Access
    group: Any
    slots: int
    cache_size: float | str = "auto"
    threads: int = 1
    set: Any = field(init=False)

    def __post_init__(self) -> None:
        budget, access = cache_bytes(self.cache_size), self.access
        if isinstance(access, PairAccess):  # f lives on samples, and so do rows
            pairs = (access.first, access.second)
            self.set = _core.ActiveSet(access.base.gram, 1, self.group, budget, self.threads, *pairs)
        else:
            self.set = _core.ActiveSet(access.gram, self.slots, self.group, budget, self.threads)

    def start(
        self, motion: ParametricProblem, theta: float, beta: Array | None = None, max_time: float | None = None
    ) -> Counts:
        """The optimum at θ, from `beta` or from a solver's answer."""
        if beta is None:
            quick = SMO(tol=START_TOL, max_iter=2000 + 20 * motion.size, max_time=max_time, cache_size=self.cache_size)
            beta = motion.sign * quick.solve(motion.problem(self.access, theta)).alpha
        run = self.set.start(np.ascontiguousarray(beta), *motion.at(theta), max_time or 0.0, -1)
        self._check(run)
        if Status(run.status) is not Status.SOLVED:
            raise TimeoutError(f"max_time={max_time} s was over before the beginning of the path was found")
        return Counts.of(run)

    def follow(
        self,
        motion: ParametricProblem,
        low: float,
        high: float,
        *,
        record: bool = True,
        max_time: float | None = None,
        max_events: int = -1,
        progress: Progress | None = None,
    ) -> tuple[Pieces | None, Counts, Status, float]:
        """Along θ from `low`, where the engine stands, to `high`: the pieces, what happened, and how far it got."""
        run = self.set.follow(
            *motion.rates(), low, high - low, record, max_time or 0.0, max_events, RunControl(callback=progress)
        )
        self._check(run)
        pieces = None if run.record is None else Pieces.from_record(run.record)
        return pieces, Counts.of(run), Status(run.status), run.reached

    @staticmethod
    def _check(run: _core.PathRun) -> None:
        if run.error is not None:
            raise run.error
        if run.infeasible:
            raise PathError(
                f"at {run.reached:.6g} the problem has no feasible point any more: one side has no sample of "
                "positive weight left. Keep at least one sample of each class"
            )
        inexact = run.status == Status.SOLVED and not run.violation <= EXACT
        if run.status == Status.NUMERICAL or inexact:
            raise PathError(
                f"rounding errors stopped the path at {run.reached:.6g} (KKT violation "
                f"{run.violation:.1e}). Scale the data, for example with StandardScaler"
            )


def path_access(kernel: Any, X: Any, cache_size: float | str = "auto", threads: int = 1) -> Access:
    """Kernel access for a path: the whole matrix where it fits the budget, rows on demand otherwise."""
    budget = cache_bytes(cache_size)
    access = open_access(kernel, X, budget_bytes=budget, threads=threads)
    if isinstance(kernel, Precomputed) or 8 * access.n**2 > WHOLE_SHARE * budget:
        return access
    everything = np.arange(access.n)
    return open_access(Precomputed(), access.block(everything, everything), threads=threads)
