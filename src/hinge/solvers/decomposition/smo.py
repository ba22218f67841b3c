"""Sequential minimal optimisation."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hinge import _core
from hinge.control import RunControl
from hinge.kernels import cache_bytes
from hinge.problems import Array, History, Problem, Solution, Status, optimal_offset
from hinge.solvers.base import Capabilities, Solver, Start
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.decomposition.run import DecompositionRun, Polish
from hinge.solvers.diagonal import fold_diagonal, unfold_diagonal
from hinge.solvers.feasibility import groups_of, nearest_feasible
from hinge.solvers.refinement.polish import polish
from hinge.solvers.refinement.verify import borne_out

#: Up to this many samples the answer is polished; that of one of several problems up to half as many.
POLISHED_N = 1000

#: Up to this many samples, for tolerances below FINE_TOL, and where the rounding error of one kernel value times the
#: largest coefficient is beyond half the tolerance, kernel rows are kept in float64.
SMALL_N = 512
FINE_TOL = 1e-4
FLOAT32 = float(np.finfo(np.float32).eps) / 2


def signed_bounds(problem: Problem) -> tuple[Array, Array]:
    """The boxes of β = sign ∘ α."""
    low, high = problem.Q.sign * problem.lower, problem.Q.sign * problem.upper
    return np.minimum(low, high), np.maximum(low, high)


@dataclass(frozen=True, kw_only=True)
class SMO(Solver):
    """Two variables at a time, the pair with the largest second-order gain.    LwK §10.5, docs/math (6)–(9)

    For every machine: pairs of one group where there are equality rows, single variables where there are none.
    A step costs two kernel rows and O(n) operations; memory is the row cache.

    Cost: two kernel rows and O(n) a step, often n steps and more; memory is the row cache.
    Certificate: the KKT violation is at most `tol`, or with `stop="gap"` the relative gap; where polished, both to
    rounding.

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
        How kernel rows are kept. "auto": float64 for small problems and fine tolerances, float32 otherwise. Where
        float32 turns out to be too coarse for `tol` (kernel values far larger than their differences), the run goes
        on in float64.
    polish : bool
        Small problems (up to 1,000 samples) end with an exact solve on the free variables. Where it succeeds, as
        `Solution.polished` says, the answer is right to rounding whatever `tol` was.
    """

    capabilities: ClassVar = Capabilities(
        tol="kkt_violation", equality_rows="groups", options=("tol", "cache_size", "shrinking")
    )

    tol: float = 1e-3
    stop: str = "kkt"
    shrinking: bool = True
    cache_size: float | str = "auto"
    precision: str = "auto"
    polish: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stop not in ("kkt", "gap"):
            raise ValueError(f"stop={self.stop!r} must be 'kkt' or 'gap'")
        if self.precision not in ("auto", "float32", "float64"):
            raise ValueError(f"precision={self.precision!r} must be 'auto', 'float32' or 'float64'")

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem` from `start`, which is made feasible first."""
        self.check(problem)
        if problem.term is not None:
            return unfold_diagonal(problem, self.solve(fold_diagonal([problem])[0], start, control))
        control = self.started(control)
        beta = self._begin(problem, start)
        double = self._wants_double(problem)
        run = self._run(problem, beta, double, control)
        if not double:
            run = self._in_double(problem, beta, run, control)
        return self._conclude(problem, beta, run)

    def _begin(self, problem: Problem, start: Start) -> Array:
        """A feasible point in signed coordinates."""
        return problem.Q.sign * nearest_feasible(problem, start.alpha if isinstance(start, Solution) else start)

    def _conclude(
        self, problem: Problem, beta: Array, run: DecompositionRun, polished_n: int = POLISHED_N
    ) -> Solution:
        """What the compiled run left, polished where that is possible."""
        Q = problem.Q
        if not run.exact and run.status is Status.TIME_LIMIT and Q.access.compiled:  # worth a certificate
            run = replace(run, exact=True, f=Q.access.matvec(beta.reshape(Q.slots, Q.n).sum(axis=0)))
        alpha = Q.sign * beta
        gradient = Q.spread(run.f) + problem.p
        status = run.status
        polished = run.polish is Polish.DONE
        # NUMERICAL: steps on pairs could not tell the last digits apart; a system of equations may
        ended = status is Status.SOLVED or (status is Status.NUMERICAL and bool(np.isfinite(gradient).all()))
        if self.polish and ended and Q.n <= polished_n and run.polish in (Polish.UNTRIED, Polish.SINGULAR):
            with single_thread() if Q.n > 100 else nullcontext():  # below that BLAS does not think of threads
                better = polish(problem, alpha, gradient)
            alpha, gradient = better or (alpha, gradient)
            polished = better is not None
            status = Status.SOLVED if polished else status
        found = Solution(
            alpha=alpha,
            mu=optimal_offset(problem, alpha, gradient),
            gradient=gradient,
            status=status,
            iterations=run.iterations,
            history=run.history,
            exact=run.exact,
            rounded=run.single_precision,
            polished=polished,
            error=run.error,
            counters=run.counters,
        )
        unclear = polished and self.stop == "kkt" and not (run.polish is Polish.DONE and run.violation <= self.tol)
        return borne_out(problem, found, self.tol) if unclear else found

    def _run(self, problem: Problem, beta: Array, double: bool, control: RunControl) -> DecompositionRun:
        """Improve `beta` in place."""
        Q = problem.Q
        lower, upper = signed_bounds(problem)
        run = _core.smo(
            Q.access.gram,
            linear=Q.sign * problem.p,
            lower=lower,
            upper=upper,
            group=groups_of(problem),
            slots=Q.slots,
            beta=beta,
            tolerance=self.tol,
            stop_on_gap=self.stop == "gap",
            shrinking=self.shrinking,
            max_iterations=self.max_iter,
            max_seconds=control.max_seconds(),
            cache_bytes=cache_bytes(self.cache_size),
            double_rows=double,
            control=control,
        )
        return DecompositionRun.of(run)

    def _in_double(
        self, problem: Problem, beta: Array, run: DecompositionRun, control: RunControl
    ) -> DecompositionRun:
        """What came of rows in single precision, with f in double; where there is no time for that, not exact."""
        if run.status is Status.INTERRUPTED or (run.status is Status.TIME_LIMIT and not problem.Q.access.compiled):
            return replace(run, exact=False)
        run, good = self._second_look(problem, beta, run)
        return run if good else self._again_in_double(problem, beta, run, control)

    def _second_look(self, problem: Problem, beta: Array, run: DecompositionRun) -> tuple[DecompositionRun, bool]:
        """The same with f in double precision, and whether the one from rows in single precision would have done."""
        Q = problem.Q
        f = Q.access.matvec(beta.reshape(Q.slots, Q.n).sum(axis=0))
        error = float(np.max(np.abs(f - run.f), initial=0.0)) if run.exact else 0.0
        run = replace(run, f=f, exact=True)
        if self.stop == "kkt":
            return run, error <= 0.5 * self.tol
        width = problem.upper - problem.lower
        return run, bool(error * np.sum(width[np.isfinite(width)]) <= 0.5 * self.tol * abs(run.objective))

    def _again_in_double(
        self, problem: Problem, beta: Array, run: DecompositionRun, control: RunControl
    ) -> DecompositionRun:
        """The rest of the way with rows in double precision; where none is left, without a history that is wrong."""
        if run.status in (Status.INTERRUPTED, Status.MAX_ITER, Status.TIME_LIMIT):
            return replace(run, history=History.empty())
        finer = replace(self, max_iter=-1 if self.max_iter < 0 else max(0, self.max_iter - run.iterations))
        rest = finer._run(problem, beta, True, control)
        return replace(rest, iterations=run.iterations + rest.iterations)

    def _wants_double(self, problem: Problem) -> bool:
        if self.precision != "auto":
            return self.precision == "float64"
        if problem.Q.n <= SMALL_N or self.tol < FINE_TOL:
            return True
        largest = np.max(problem.upper - problem.lower)
        if largest == np.inf:
            width = problem.upper - problem.lower
            largest = np.max(width[np.isfinite(width)], initial=1.0)
        return bool(FLOAT32 * np.max(np.abs(problem.Q.access.diagonal())) * largest > 0.5 * self.tol)
