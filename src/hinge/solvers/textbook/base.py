"""What the iterative methods share: options, an approximation of the kernel matrix if wanted, systems to solve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from hinge.control import attempt, hearing
from hinge.kernels import Access, GramAccess, Linear, SubsetAccess
from hinge.lowrank import SGMA, LowRankAccess, Nystrom, PivotedCholesky, low_rank_access
from hinge.problems import Array, Problem, Quadratic, Solution, optimal_offset
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.callback import Monitor
from hinge.solvers.interior_point.low_rank_system import LowRankSystem
from hinge.solvers.limits import check_limits, cut_off
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.dense_system import DenseSystem
from hinge.solvers.textbook.primal import Primal


@dataclass(frozen=True, kw_only=True)
class IterativeMethod:
    """Options and the frame of a run; a method says what it is for in `_check` and works in `_run`."""

    tol: float = 1e-4
    max_iter: int = -1
    max_time: float | None = None
    approximation: SGMA | PivotedCholesky | Nystrom | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        check_limits(self)
        if isinstance(self.threads, bool) or not isinstance(self.threads, Integral) or self.threads < 1:
            raise ValueError(f"threads={self.threads!r} must be a whole number, at least 1")
        if self.approximation is not None and not isinstance(self.approximation, SGMA | PivotedCholesky | Nystrom):
            raise ValueError(
                f"approximation={self.approximation!r} must be SGMA(...), PivotedCholesky(...), Nystrom(...) or None"
            )

    def _enough(self) -> int:
        """Iterations where `max_iter` sets no limit."""
        raise NotImplementedError

    def _check(self, problem: Problem) -> None:
        """A ValueError that names the remedy where the method is not for this problem."""

    def approximate(self, access: Access) -> Any:
        """LLᵀ in the place of the matrix behind `access` if an approximation is asked for; L = X if it is linear."""
        if isinstance(access, LowRankAccess):
            return access
        if self.approximation is not None or _few_features(access):
            method = self.approximation or SGMA()
            seconds = None if self.max_time is None else 0.5 * self.max_time
            with single_thread(), hearing():
                return low_rank_access(access, method, threads=self.threads, max_time=seconds)
        return access

    def solve(
        self, problem: Problem, start: Solution | Array | None = None, monitor: Monitor | None = None
    ) -> Solution:
        """Solve `problem`; a start is not used."""
        self._check(problem)
        story = RunLog(self.tol, self._enough() if self.max_iter < 0 else self.max_iter, self.max_time, monitor)
        access = attempt(lambda: self.approximate(problem.Q.access))
        if access is None:
            return cut_off(problem)
        same = access is problem.Q.access
        low = problem if same else replace(problem, Q=Quadratic(access, problem.Q.sign))
        with single_thread():
            found = self._run(low, story)
        if same:
            return found
        gradient = problem.gradient(found.alpha)
        return replace(found, gradient=gradient, mu=optimal_offset(problem, found.alpha, gradient))

    def _run(self, problem: Problem, story: RunLog) -> Solution:
        """A feasible α with its status, and what `story` has kept."""
        raise NotImplementedError


def _few_features(access: Access) -> bool:
    """A linear kernel with fewer features than samples: its factor is the data."""
    whole = access.whole if isinstance(access, SubsetAccess) else access
    if not isinstance(whole, GramAccess) or not isinstance(whole.kernel, Linear):
        return False
    return bool(whole.data.shape[1] < min(access.n, 1000))


def system_of(primal: Primal, accuracy: float = 1e-10) -> DenseSystem | LowRankSystem:
    """The solver of (Q + D) x = r that suits the access."""
    Q = primal.problem.Q
    if isinstance(Q.access, LowRankAccess):
        return LowRankSystem(Q.access.blocks, Q, accuracy, skip_rows=False)
    if primal.matrix.K is None:
        raise ValueError(
            f"the kernel matrix of {Q.n} samples does not fit into memory; use approximation=SGMA(), or a solver that "
            "computes rows when it needs them ('auto')"
        )
    return DenseSystem(primal.matrix.K, Q)


def plus_rows(x: Array, X: Array, A: Array, missing: Array) -> tuple[Array, Array]:
    """(x − X δ, δ) with A(x − X δ) = missing, X being the solution for the rows of A."""
    if not len(A):
        return x, np.zeros(0)
    delta = np.asarray(np.linalg.lstsq(A @ X, A @ x - missing, rcond=None)[0], dtype=np.float64)
    return x - X @ delta, delta
