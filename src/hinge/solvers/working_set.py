"""Working sets: SMO on some hundred samples at a time, kernel rows in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hinge import _core
from hinge.kernels import cache_bytes
from hinge.problems import Array, Problem
from hinge.solvers.groups import groups_of
from hinge.solvers.monitor import Monitor
from hinge.solvers.smo import SMO, signed_bounds


@dataclass(frozen=True, kw_only=True)
class WorkingSet(SMO):
    """The worst violators of either side, solved together by SMO, again and again.      LwK §10.4; docs/math.md (6)–(8)

    Kernel rows are made by the block, with matrix products on all threads, and the block of the working set stays in
    the processor's cache. Better than `SMO` where rows are dear (many features, many threads), worse where they are
    cheap. It does not shrink.

    Parameters
    ----------
    size : int
        Samples of a working set; 0 for the default (1,024).
    threads : int
        For kernel rows and for bringing the gradient up to date. The answer is the same, bit by bit, for any number.

    Notes
    -----
    All other parameters are those of `SMO`.
    """

    size: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 0 or self.size == 1:
            raise ValueError(f"size={self.size!r} must be 0 (chosen) or at least 2")
        if self.threads < 1:
            raise ValueError(f"threads={self.threads!r} must be at least 1")

    def _run(self, problem: Problem, beta: Array, double: bool, monitor: Monitor | None) -> dict[str, Any]:
        lower, upper = signed_bounds(problem)
        return _core.working_set(
            problem.Q.access.gram,
            linear=problem.Q.sign * problem.p,
            lower=lower,
            upper=upper,
            group=groups_of(problem),
            slots=problem.Q.slots,
            beta=beta,
            tolerance=self.tol,
            stop_on_gap=self.stop == "gap",
            max_iterations=self.max_iter,
            max_seconds=-1.0 if self.max_time is None else self.max_time,
            cache_bytes=cache_bytes(self.cache_size),
            size=self.size,
            threads=self.threads,
            double_rows=double,
            progress=monitor,
        )
