"""Primal–dual interior-point method for large numbers of samples: low-rank kernel matrices and the linear kernel."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hinge.control import RunControl
from hinge.kernels import Access
from hinge.lowrank import SGMA, LowRankAccess, Nystrom, PivotedCholesky, low_rank_access
from hinge.problems import Array, Diagonal, Problem, Quadratic, Solution, Status, optimal_offset, optimality
from hinge.solvers.base import Capabilities, Solver, Start, check_threads, interrupted_solution, register
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.interior_point.fixing import fix_samples, fixable_samples
from hinge.solvers.interior_point.low_rank_run import FLOAT64_TOL, LowRankRun
from hinge.solvers.refinement import verify

#: An approximation whose residual is at most this share of the trace counts as exact.
EXACT_RESIDUAL = 1e-11

#: Attempts with fixed samples, each with fewer of them, before the problem is solved with all samples.
MAX_FIXING_ATTEMPTS = 3

#: Share of the time limit for the factor.
APPROXIMATION_TIME_SHARE = 0.25

STOPPED = (Status.TIME_LIMIT, Status.INTERRUPTED)


@register("low_rank_interior_point")
@dataclass(frozen=True, kw_only=True)
class LowRankInteriorPoint(Solver):
    """Interior-point method with the Sherman–Morrison–Woodbury formula.         LwK §10.3.4; docs/math (350)–(357)

    The kernel matrix is replaced by LLᵀ of n ≪ m basis functions (the linear kernel is used exactly). An iteration
    costs O(mn²) time and a few passes over L, in blocks of rows. The solution is the best function in the span of the
    basis functions, and the model is expressed in them.

    Cost: O(mn²) per iteration, some 15 to 55 iterations; memory for the factor, 4 or 8 bytes × mn, or a file.
    Certificate: the relative gap with LLᵀ is at most `tol`; estimators add the error of LLᵀ.

    Parameters
    ----------
    approximation : SGMA, PivotedCholesky or Nystrom
        Method that chooses the basis functions, with their number.
    tol : float
        Relative duality gap of the problem with LLᵀ in place of K.
    max_iter : int
        Iterations; −1 for the default of 100.
    max_time : float or None
        Seconds. The factor may take a quarter of it, and has fewer basis functions if that does not suffice.
    threads : int
        Threads for the choice of the basis functions.
    dtype : {"auto", "float64", "float32"}
        Type of L; "auto" is float32 for a tolerance of at least 1e-5.
    cache_size : float or "auto"
        Megabytes for L; a larger one is stored in a temporary file and read in blocks.
    folder : str or None
        Folder of that file.
    exact_bound : bool
        Compute the lower bound with the true kernel matrix instead of bounding the difference; see `approximation_`
        of the estimators.
    rounds : int
        Estimators start with few basis functions and double them from round to round, up to the rank of
        `approximation`. Samples at their bounds are fixed, and checked at the end of the round. The rounds end early if
        the regularized risk decreases by no more than `tol` of its value (LwK §10.3.4, "iterative improvement").

    Examples
    --------
    >>> import hinge
    >>> from hinge.lowrank import SGMA
    >>> from hinge.solvers import LowRankInteriorPoint
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> solver = LowRankInteriorPoint(approximation=SGMA(rank=60, tol=0), exact_bound=True)
    >>> model = hinge.SVC(gamma=1.0, solver=solver).fit(X, y)
    >>> model.status_.name, model.approximation_.rank
    ('SOLVED', 60)
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
        """The solvers of the rounds, each with twice the basis functions of the one before."""
        rank = self.approximation.rank
        ranks = sorted({max(1, rank >> k) for k in range(self.rounds)})
        return [replace(self, approximation=replace(self.approximation, rank=r), rounds=1) for r in ranks]

    def approximate(self, access: Access, control: RunControl | None = None) -> LowRankAccess:
        """LLᵀ in place of the kernel matrix."""
        single = self.dtype == "float32" or (self.dtype == "auto" and self.tol >= FLOAT64_TOL)
        control = self.started(control)
        remaining = control.remaining()
        with single_thread(), control.interruptible():
            return low_rank_access(
                access,
                self.approximation,
                threads=self.threads,
                dtype=np.float32 if single else np.float64,
                cache_size=self.cache_size,
                folder=self.folder,
                max_time=None if remaining is None else APPROXIMATION_TIME_SHARE * remaining,
                progress=control.on_step,
            )

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem` with LLᵀ in place of its kernel matrix.

        If `start` is a solution, samples that are at a bound in it are fixed. The gradient of the solution is that of
        `problem` itself, so that its certificate holds for the true kernel matrix.
        """
        self.check(problem)
        began = time.monotonic()
        control = self.started(control)
        access = control.unless_interrupted(lambda: self.approximate(problem.Q.access, control))
        if access is None:
            return interrupted_solution(problem, control)
        unchanged = access is problem.Q.access
        approximated = problem if unchanged else replace(problem, Q=Quadratic(access, problem.Q.sign))
        lossless = unchanged or access.origin.relative_residual <= EXACT_RESIDUAL
        with single_thread():
            solution = None
            if isinstance(start, Solution) and self.tol >= FLOAT64_TOL and problem.term is None:
                solution = self._solve_with_fixing(approximated, start.alpha, began, control)
            if solution is None:
                run = self._run(approximated, began, control)
                solution = run.solve()
                if self.tol < FLOAT64_TOL and lossless:
                    solution = _polished(run, problem, solution, control)
        stopped = lossless and solution.status in STOPPED  # then O(n²) kernel values for a gradient take too long
        if unchanged or solution.polished or stopped:
            return solution
        solution = _with_gradient(problem, solution, control)
        if self.tol < FLOAT64_TOL and lossless:  # LLᵀ equals K up to rounding: the tolerance refers to K too
            solution = verify(problem, solution, self.tol, "relative_gap")
        return solution

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if not np.all(np.isfinite(problem.upper - problem.lower) | _is_curved(problem)):
            raise ValueError(
                "the low-rank interior-point method needs finite bounds; use solver='smo' for a problem without them"
            )

    def _run(self, problem: Problem, began: float, control: RunControl) -> LowRankRun:
        return LowRankRun(problem, self.tol, self.max_iter, self.cache_size, began, control)

    def _solve_with_fixing(self, problem: Problem, alpha: Array, began: float, control: RunControl) -> Solution | None:
        """Solve with samples fixed at their bounds in `alpha`; None if that is not possible.            (357)

        Samples whose optimality conditions are violated at the end of an attempt are not fixed in the next one.
        """
        fixed, history, iterations = np.ones(problem.Q.n, dtype=bool), None, 0
        for _ in range(MAX_FIXING_ATTEMPTS):
            gradient = problem.gradient(alpha)
            r = problem.reduced_gradient(gradient, optimal_offset(problem, alpha, gradient))
            fixed &= fixable_samples(problem, alpha, r)
            part = fix_samples(problem, fixed, r)
            if part is None:
                return None
            inner = self._run(part.problem, began, control).solve()
            alpha, iterations = part.whole(inner.alpha), iterations + inner.iterations
            inner_history = inner.history.without_bounds()  # its bounds are those of another problem
            history = inner_history if history is None else history.then(inner_history)
            gradient = problem.gradient(alpha)
            mu = optimal_offset(problem, alpha, gradient)
            solution = replace(
                inner,
                alpha=alpha,
                gradient=gradient,
                mu=mu,
                iterations=iterations,
                history=history,
                gradient_error=None,
            )
            if inner.status is not Status.SOLVED or optimality(problem, alpha, mu, gradient).relative_gap <= self.tol:
                return solution
        return None


def _polished(run: LowRankRun, problem: Problem, solution: Solution, control: RunControl) -> Solution:
    """The solution polished with the kernel matrix of `problem`, unless the run was stopped."""
    if solution.status in STOPPED:
        return solution
    polished = control.interruptible_call(lambda: run.polished(problem, solution))
    return polished or replace(solution, status=Status.INTERRUPTED, error=control.interrupt)


def _with_gradient(problem: Problem, solution: Solution, control: RunControl) -> Solution:
    """The solution with the gradient of K; if a signal interrupts it, `exact` is False: bounds of LLᵀ do not hold."""
    gradient = control.interruptible_call(lambda: problem.gradient(solution.alpha))
    if gradient is None:
        return replace(solution, status=Status.INTERRUPTED, error=control.interrupt, exact=False)
    mu = optimal_offset(problem, solution.alpha, gradient)
    return replace(solution, gradient=gradient, mu=mu, gradient_error=None)


def _is_curved(problem: Problem) -> NDArray[np.bool_]:
    """Variables whose term h is strictly convex, so that they need no bounds."""
    if isinstance(problem.term, Diagonal):
        return np.asarray(problem.term.d > 0)
    return np.full(problem.size, problem.term is not None)


__all__ = ["LowRankInteriorPoint"]
