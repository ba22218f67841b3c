"""Sequential minimal optimisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge import _core
from hinge.kernels import cache_bytes
from hinge.problems import Array, History, Problem, Solution, Status, optimal_offset
from hinge.solvers.groups import groups_of, nearest_feasible
from hinge.solvers.monitor import Monitor
from hinge.solvers.polish import polish

#: Up to this many samples the answer is polished.
POLISHED_N = 1000

#: Up to this many samples, and for tolerances below FINE_TOL, kernel rows are kept in float64.
SMALL_N = 4096
FINE_TOL = 1e-4


@dataclass(frozen=True, kw_only=True)
class SMO:
    """Two variables at a time, the pair with the largest second-order gain.    LwK §10.5, docs/math.md (6)–(9)

    For every machine: pairs of one group where there are equality rows, single variables where there are none.
    A step costs two kernel rows and O(n) operations; memory is the row cache.

    Parameters
    ----------
    tol : float
        When to stop: on the KKT violation, or on the relative duality gap.
    stop : {"kkt", "gap"}
        Which of the two `tol` means.
    shrinking : bool
        Set samples aside that rest at their bounds; all of them are checked again before the end.
    max_iter : int
        −1 for no limit.
    max_time : float or None
        Seconds.
    cache_size : float or "auto"
        Megabytes for kernel rows.
    precision : {"auto", "float32", "float64"}
        How kernel rows are kept. "auto": float64 for small problems and fine tolerances, float32 otherwise.
    polish : bool
        Small problems (up to 1,000 samples) end with an exact solve on the free variables: the answer is then right
        to rounding whatever `tol` was.
    """

    tol: float = 1e-3
    stop: str = "kkt"
    shrinking: bool = True
    max_iter: int = -1
    max_time: float | None = None
    cache_size: float | str = "auto"
    precision: str = "auto"
    polish: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.tol < np.inf:
            raise ValueError(f"tol={self.tol!r} must be a positive number")
        if self.stop not in ("kkt", "gap"):
            raise ValueError(f"stop={self.stop!r} must be 'kkt' or 'gap'")
        if self.precision not in ("auto", "float32", "float64"):
            raise ValueError(f"precision={self.precision!r} must be 'auto', 'float32' or 'float64'")
        if self.max_time is not None and not self.max_time >= 0:
            raise ValueError(f"max_time={self.max_time!r} must be None or a number of seconds")

    def solve(
        self, problem: Problem, start: Solution | Array | None = None, monitor: Monitor | None = None
    ) -> Solution:
        """Solve `problem` from `start` (made feasible where it is not), telling `monitor` how it goes."""
        Q = problem.Q
        group = groups_of(problem)
        point = nearest_feasible(problem, start.alpha if isinstance(start, Solution) else start)
        low, high = Q.sign * problem.lower, Q.sign * problem.upper
        beta = Q.sign * point
        run = _core.smo(
            Q.access.gram,
            linear=Q.sign * problem.p,
            lower=np.minimum(low, high),
            upper=np.maximum(low, high),
            group=group,
            slots=Q.slots,
            beta=beta,
            tolerance=self.tol,
            stop_on_gap=self.stop == "gap",
            shrinking=self.shrinking,
            max_iterations=self.max_iter,
            max_seconds=-1.0 if self.max_time is None else self.max_time,
            cache_bytes=cache_bytes(self.cache_size),
            double_rows=self._wants_double(Q.n),
            progress=monitor,
        )
        alpha = Q.sign * beta
        gradient = Q.spread(run["f"]) + problem.p
        status = Status(run["status"])
        if self.polish and status is Status.SOLVED and Q.n <= POLISHED_N:
            alpha, gradient = polish(problem, alpha, gradient) or (alpha, gradient)
        counters = ("row_hits", "row_misses", "reconstructions", "recomputations")
        return Solution(
            alpha=alpha,
            mu=optimal_offset(problem, alpha, gradient),
            gradient=gradient,
            status=status,
            iterations=run["iterations"],
            history=History.from_columns(run["history"]),
            exact=run["exact"],
            error=run["error"],
            counters={name: run[name] for name in counters},
        )

    def _wants_double(self, n: int) -> bool:
        if self.precision == "auto":
            return n <= SMALL_N or self.tol < FINE_TOL
        return self.precision == "float64"
