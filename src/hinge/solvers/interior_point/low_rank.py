"""Primal-dual path following for very many samples: kernel matrices of low rank, and the linear kernel."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.control import RunControl
from hinge.kernels import Access, cache_bytes
from hinge.lowrank import SGMA, LowRankAccess, Nystrom, PivotedCholesky, RowBlocks, low_rank_access
from hinge.problems import Array, Diagonal, History, Problem, Quadratic, Solution, Status, certify, optimal_offset
from hinge.solvers.base import Capabilities, Solver, Start, check_threads, interrupted_solution
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.feasibility import nearest_feasible
from hinge.solvers.interior_point.fixing import fix_samples, fixable_samples
from hinge.solvers.interior_point.low_rank_iterate import ZERO_OBJECTIVE_AT_END, LowRankIterate
from hinge.solvers.refinement.polish import balance, polish
from hinge.solvers.refinement.verify import gap_borne_out

#: Iterations where `max_iter` sets no limit.
ENOUGH = 100

#: Below this tolerance the factor is kept in float64, and the end is made exact where that is possible.
PRECISE = 1e-5

#: An approximation with no more residual than this fraction of the trace is the matrix itself.
NOTHING_LEFT = 1e-11

#: A relative gap that is accepted for a point without crumbs beside its bounds.
ROUNDING_TOL = 1e-8

#: Times that samples which were set aside too early are taken back, before all of them are.
MAX_RETURNS = 3

#: Free variables up to which the end is made exact.
MAX_FREE = 2000


class OutOfTime(Exception):
    """`max_time` is over."""


@dataclass(frozen=True, kw_only=True)
class LowRankInteriorPoint(Solver):
    """Interior point with Sherman–Morrison–Woodbury.                    LwK §10.3.4; docs/math (350)–(357)

    The kernel matrix is replaced by LLᵀ of n ≪ m basis functions (the linear kernel is used as it is), and an iteration
    costs O(mn²) time and a few passes over L, in blocks of rows.  What is found is the best function among those made
    of the basis functions; the model consists of these.

    Cost: O(mn²) an iteration, some 15 to 55 of them; memory is the factor, 4 or 8 bytes × mn, or a file.
    Certificate: the relative gap with LLᵀ is at most `tol`; estimators add what LLᵀ leaves of the true K.

    Parameters
    ----------
    approximation : SGMA, PivotedCholesky or Nystrom
        How basis functions are chosen, and how many.
    tol : float
        Relative duality gap of the problem with LLᵀ in the place of K.
    max_iter : int
        Iterations; −1 for the default of 100.
    max_time : float or None
        Seconds.  Choosing basis functions may take half of it.
    threads : int
    dtype : {"auto", "float64", "float32"}
        What L is kept in; "auto" is float32 for a tolerance of at least 1e-5.
    cache_size : float or "auto"
        Megabytes for L; a larger one goes to a temporary file and is read in blocks.
    folder : str or None
        Where that file is.
    exact_bound : bool
        Compute the lower bound with the true kernel matrix instead of bounding the difference; see `approximation_`
        of the estimators.
    rounds : int
        Estimators begin with few basis functions and double them from round to round, up to the rank of
        `approximation`; samples that have settled at their bounds are set aside, and looked at again at the end of the
        round.  They stop early where the regularised risk falls by no more than `tol` of its value (LwK §10.3.4,
        "iterative improvement").
    """

    capabilities: ClassVar = Capabilities(
        tol="relative_gap", terms=("none", "diagonal", "convex"), factor="required", options=("cache_size", "threads")
    )

    approximation: SGMA | PivotedCholesky | Nystrom = field(default_factory=SGMA)
    tol: float = 1e-3
    threads: int = 1
    dtype: str = "auto"
    cache_size: float | str = "auto"
    folder: str | None = None
    exact_bound: bool = False  # type: ignore[misc]
    rounds: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_threads(self.threads)
        if not isinstance(self.approximation, SGMA | PivotedCholesky | Nystrom):
            raise ValueError(
                f"approximation={self.approximation!r} must be SGMA(...), PivotedCholesky(...) or Nystrom(...)"
            )
        if self.dtype not in ("auto", "float64", "float32"):
            raise ValueError(f"dtype={self.dtype!r} must be 'auto', 'float64' or 'float32'")
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, Integral) or self.rounds < 1:
            raise ValueError(f"rounds={self.rounds!r} must be an integer of at least 1")

    def stages(self) -> list[LowRankInteriorPoint]:
        """The rounds, each with twice the basis functions of the one before."""
        rank = self.approximation.rank
        ranks = sorted({max(1, rank >> k) for k in range(self.rounds)})
        return [replace(self, approximation=replace(self.approximation, rank=few), rounds=1) for few in ranks]

    def approximate(self, access: Access, control: RunControl | None = None) -> LowRankAccess:
        """LLᵀ in the place of the matrix behind `access`."""
        narrow = self.dtype == "float32" or (self.dtype == "auto" and self.tol >= PRECISE)
        control = self.started(control)
        remaining = control.remaining()
        seconds = None if remaining is None else 0.5 * remaining
        with single_thread(), control.interruptible():
            return low_rank_access(
                access,
                self.approximation,
                threads=self.threads,
                dtype=np.float32 if narrow else np.float64,
                cache_size=self.cache_size,
                folder=self.folder,
                max_time=seconds,
            )

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem` with LLᵀ in the place of its kernel matrix.

        A start says which samples have settled, if it is a solution: the path is followed without them.  The gradient
        of the solution is that of `problem` itself, so that its certificate tells the truth about it.
        """
        if not np.all(np.isfinite(problem.upper - problem.lower) | _held(problem)):
            raise ValueError("the interior point method needs finite bounds; use SMO for a problem without them")
        began = time.monotonic()
        control = self.started(control)
        access = control.unless_interrupted(lambda: self.approximate(problem.Q.access, control))
        if access is None:
            return interrupted_solution(problem, control)
        same = access is problem.Q.access
        low = problem if same else replace(problem, Q=Quadratic(access, problem.Q.sign))
        lossless = same or access.origin.relative_residual <= NOTHING_LEFT
        with single_thread():
            found = None
            if isinstance(start, Solution) and self.tol >= PRECISE and problem.term is None:
                found = self._without_settled(low, start.alpha, began, control)
            if found is None:
                found = self._along(problem, low, began, control, self.tol < PRECISE and lossless)
        in_a_hurry = lossless and found.status in (Status.TIME_LIMIT, Status.INTERRUPTED)  # n² more are not asked for
        if same or found.polished or in_a_hurry:
            return found
        return _with_gradient(problem, found, control)

    def _along(
        self, problem: Problem, low: Problem, began: float, control: RunControl, exactly: bool
    ) -> Solution:
        """The end of the central path, polished where that is wanted and it was reached."""
        run = _Run(self, low, began, control)
        found = run.follow()
        if not exactly or found.status not in (Status.SOLVED, Status.NUMERICAL, Status.MAX_ITER):
            return found
        polished = control.interruptible_call(lambda: run.polished(problem, found))
        return polished or replace(found, status=Status.INTERRUPTED, error=control.interrupt)

    def _without_settled(
        self, low: Problem, alpha: Array, began: float, control: RunControl
    ) -> Solution | None:
        """The solution without the samples that are settled in `alpha`; None where all have to take part.   (357)"""
        aside, story, iterations = np.ones(low.Q.n, dtype=bool), None, 0
        for _ in range(MAX_RETURNS):
            gradient = low.gradient(alpha)
            r = low.reduced(gradient, optimal_offset(low, alpha, gradient))
            aside &= fixable_samples(low, alpha, r)
            part = fix_samples(low, aside, r)
            if part is None:
                return None
            inner = _Run(self, part.problem, began, control).follow()
            alpha, iterations = part.whole(inner.alpha), iterations + inner.iterations
            lived = inner.history.without_bounds()  # those of a part of the problem
            story = lived if story is None else story.then(lived)
            gradient = low.gradient(alpha)
            mu = optimal_offset(low, alpha, gradient)
            found = replace(inner, alpha=alpha, gradient=gradient, mu=mu, iterations=iterations, history=story)
            if inner.status is not Status.SOLVED or certify(low, alpha, mu, gradient).relative_gap <= self.tol:
                return found
        return None


def _with_gradient(problem: Problem, found: Solution, control: RunControl) -> Solution:
    """The gradient of K itself, unless a signal forbids it: then the bounds of LLᵀ are none of K."""
    gradient = control.interruptible_call(lambda: problem.gradient(found.alpha))
    if gradient is None:
        return replace(found, status=Status.INTERRUPTED, error=control.interrupt, exact=False)
    return replace(found, gradient=gradient, mu=optimal_offset(problem, found.alpha, gradient))


def _held(problem: Problem) -> NDArray[np.bool_]:
    """Variables that a curved loss keeps from running away."""
    if isinstance(problem.term, Diagonal):
        return np.asarray(problem.term.d > 0)
    return np.full(problem.size, problem.term is not None)


def _watcher(control: RunControl) -> Callable[[], None]:
    """Raises when the time is over.  No method of the run: a cycle would keep L alive until it is collected."""

    def watch() -> None:
        if control.expired():
            raise OutOfTime

    return watch


class _Run:
    """One run along the central path."""

    def __init__(self, solver: LowRankInteriorPoint, problem: Problem, began: float, control: RunControl) -> None:
        self.solver, self.problem, self.began, self.control = solver, problem, began, control
        self.records: list[dict[str, Any]] = []
        self.path: LowRankIterate | None = None
        access = problem.Q.access
        assert isinstance(access, LowRankAccess)
        blocks = access.blocks.gathered(cache_bytes(solver.cache_size))
        self.watch = _watcher(control)
        self.blocks: RowBlocks = replace(blocks, wide=solver.tol < PRECISE, watch=self.watch)

    def follow(self) -> Solution:
        status, error, path = Status.MAX_ITER, None, None
        solver = self.solver
        try:
            with self.control.interruptible():
                path = LowRankIterate(self.problem, self.blocks, accuracy=min(1e-6, 1e-3 * solver.tol))
                for iteration in range(ENOUGH if solver.max_iter < 0 else solver.max_iter + 1):
                    self.records.append({"iteration": iteration, "seconds": self._seconds(), **path.snapshot()})
                    if path.is_optimal(solver.tol) and self._confirmed(path):
                        status = Status.SOLVED
                        break
                    if iteration == solver.max_iter:
                        break
                    self.watch()
                    if not self.control.report(self.records[-1]):
                        status = Status.INTERRUPTED
                        break
                    if not path.advance():
                        status = self._at_the_end(path)
                        break
                else:
                    status = self._at_the_end(path) if solver.max_iter < 0 else status
        except OutOfTime:
            status = Status.TIME_LIMIT
        except scipy.linalg.LinAlgError:
            status = Status.NUMERICAL
        except BaseException as interruption:  # a signal, or an exception of the callback
            status, error = Status.INTERRUPTED, interruption
        return self._solution(path, status, error)

    def _at_the_end(self, path: LowRankIterate) -> Status:
        """No step leads on: that is the optimum if what is left of the gap may be rounding."""
        return Status.SOLVED if path.is_optimal(max(self.solver.tol, 1e-8), ZERO_OBJECTIVE_AT_END) else Status.NUMERICAL

    def _confirmed(self, path: LowRankIterate) -> bool:
        """Optimal with products in float64 as well; if not, go on with these."""
        if self.blocks.wide:
            return True
        self.blocks = replace(self.blocks, wide=True)
        path.use_blocks(self.blocks)
        return path.is_optimal(self.solver.tol)

    def _seconds(self) -> float:
        return time.monotonic() - self.began

    def _solution(self, path: LowRankIterate | None, status: Status, error: BaseException | None) -> Solution:
        """The last point, made feasible, with the gradient in float64."""
        self.path = path
        alpha = nearest_feasible(self.problem, None if path is None else path.alpha)
        self.blocks = replace(self.blocks, wide=True, watch=None)
        gradient = self._gradient(alpha)
        return gap_borne_out(self.problem, self._made(alpha, gradient, status, error), self.solver.tol)

    def _gradient(self, alpha: Array) -> Array:
        Q = self.problem.Q
        f = self.blocks.times(self.blocks.transposed(Q.coefficients(alpha)))
        return Q.spread(f) + self.problem.p

    def _made(
        self, alpha: Array, gradient: Array, status: Status, error: BaseException | None, polished: bool = False
    ) -> Solution:
        names = self.records[0] if self.records else NO_RECORD
        columns = {name: np.array([record[name] for record in self.records]) for name in names}
        return Solution(
            alpha=alpha,
            mu=optimal_offset(self.problem, alpha, gradient),
            gradient=gradient,
            status=status,
            iterations=max(0, len(self.records) - 1),
            history=History.from_columns(columns),
            error=error,
            polished=polished,
        )

    def polished(self, problem: Problem, found: Solution) -> Solution:
        """Variables next to a bound onto it, the others exactly; at least the bounds, where they cost nothing."""
        if self.path is None or problem.term is not None:
            return found
        alpha = self.path.at_bounds()
        gradient, known = problem.gradient(alpha), problem.gradient(found.alpha)
        exact = polish(problem, alpha, gradient, found.alpha, known, max_free=MAX_FREE, deadline=self.control.deadline)
        if exact is not None:
            mu = optimal_offset(problem, *exact)
            return replace(
                found, alpha=exact[0], gradient=exact[1], mu=mu, status=Status.SOLVED, polished=True
            )
        inside = np.flatnonzero((alpha > problem.lower) & (alpha < problem.upper))
        if balance(problem, alpha, inside):
            gradient = problem.gradient(alpha)
            there, here = certify(problem, alpha, None, gradient), certify(problem, found.alpha, None, known)
            cleaner = there.kkt_violation <= here.kkt_violation and there.gap <= ROUNDING_TOL * abs(here.dual)
            if cleaner or there.gap <= max(1.1 * here.gap, self.solver.tol * abs(here.dual)):
                return replace(found, alpha=alpha, gradient=gradient, mu=there.mu)
        return found


NO_RECORD = ("iteration", "seconds", "violation", "primal", "dual", "gap", "active", "exact")

__all__ = ["LowRankInteriorPoint"]
