"""Common options and run of the textbook solvers: approximation of the kernel matrix, linear systems."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from hinge.control import RunControl
from hinge.kernels import Access, GramAccess, Linear, SubsetAccess
from hinge.lowrank import SGMA, LowRankAccess, Nystrom, PivotedCholesky, low_rank_access
from hinge.problems import Problem, Quadratic, Solution, optimal_offset
from hinge.solvers.base import Solver, Start, check_threads, interrupted_solution
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.interior_point.low_rank_system import LowRankSystem
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.dense_system import DenseSystem
from hinge.solvers.textbook.primal import Primal
from hinge.solvers.time_budget import fits, matrix_seconds, unsolved_at_limit

#: A linear kernel with fewer features than this, and than samples, is used through its features.
MAX_FEATURES = 1000

#: Seconds per kernel value that are reserved for the gradient at the end of a run.
GRADIENT_SECONDS = 1.5e-9

#: Share of the time limit that the approximation of the kernel matrix may take.
APPROXIMATION_TIME_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class TextbookSolver(Solver):
    """Options and run of the textbook solvers; a subclass implements `check` and `_run`."""

    default_max_iter: ClassVar[int]

    #: Factorizations of the kernel matrix before the first iteration.
    factorizations: ClassVar[float] = 0.0

    tol: float = 1e-4
    approximation: SGMA | PivotedCholesky | Nystrom | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_threads(self.threads)
        if self.approximation is not None and not isinstance(self.approximation, SGMA | PivotedCholesky | Nystrom):
            raise ValueError(
                f"approximation={self.approximation!r} must be SGMA(...), PivotedCholesky(...), Nystrom(...) or None"
            )

    def approximate(self, access: Access, control: RunControl | None = None) -> Access:
        """LLᵀ in place of the kernel matrix if an approximation is requested or the kernel is linear (then L = X)."""
        if isinstance(access, LowRankAccess):
            return access
        if self.approximation is not None or _has_few_features(access):
            method = self.approximation or SGMA()
            control = self.started(control)
            remaining = control.remaining()
            seconds = None if remaining is None else APPROXIMATION_TIME_SHARE * remaining
            with single_thread(), control.interruptible():
                return low_rank_access(
                    access, method, threads=self.threads, max_time=seconds, progress=control.on_step
                )
        return access

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem`; `start` is not used."""
        self.check(problem)
        control = self.started(control)
        control = control.reserving(GRADIENT_SECONDS * problem.Q.n**2)
        log = RunLog(self.tol, self.default_max_iter if self.max_iter < 0 else self.max_iter, control)
        access = control.unless_interrupted(lambda: self.approximate(problem.Q.access, control))
        if access is None:
            return interrupted_solution(problem, control)
        unchanged = access is problem.Q.access
        n = problem.Q.n
        if not isinstance(access, LowRankAccess) and not fits(control, matrix_seconds(n, self.factorizations)):
            return unsolved_at_limit(problem)
        approximated = problem if unchanged else replace(problem, Q=Quadratic(access, problem.Q.sign))
        with single_thread():
            solution = self._run(approximated, log)
        if unchanged:
            return solution
        gradient = problem.gradient(solution.alpha)
        mu = optimal_offset(problem, solution.alpha, gradient)
        return replace(solution, gradient=gradient, mu=mu, gradient_error=None)

    @abstractmethod
    def _run(self, problem: Problem, log: RunLog) -> Solution:
        """Return a feasible α with its status, and the history that `log` has recorded."""


def _has_few_features(access: Access) -> bool:
    """Whether the kernel is linear with fewer features than samples: its factor is X."""
    whole = access.whole if isinstance(access, SubsetAccess) else access
    if not isinstance(whole, GramAccess) or not isinstance(whole.kernel, Linear):
        return False
    return bool(whole.data.shape[1] < min(access.n, MAX_FEATURES))


def linear_system(primal: Primal, accuracy: float = 1e-10) -> DenseSystem | LowRankSystem:
    """Solver of (Q + D) x = r: with the factor of a low-rank matrix, else with the kernel matrix in memory."""
    Q = primal.problem.Q
    if isinstance(Q.access, LowRankAccess):
        return LowRankSystem(Q.access.blocks, Q, accuracy, skip_rows=False)
    if primal.matrix.K is None:
        raise ValueError(
            f"the kernel matrix of {Q.n} samples does not fit into memory; use approximation=SGMA(), or a solver that "
            "computes kernel rows on demand, such as 'auto'"
        )
    return DenseSystem(primal.matrix.K, Q)
