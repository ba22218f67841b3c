"""What the iterative methods share: options, an approximation of the kernel matrix if wanted, systems to solve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hinge.control import RunControl
from hinge.kernels import Access, GramAccess, Linear, SubsetAccess
from hinge.lowrank import SGMA, LowRankAccess, Nystrom, PivotedCholesky, low_rank_access
from hinge.problems import Array, Problem, Quadratic, Solution, optimal_offset
from hinge.solvers.base import Capabilities, Solver, Start, check_threads, interrupted_solution
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.interior_point.low_rank_system import LowRankSystem
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.dense_system import DenseSystem
from hinge.solvers.textbook.primal import Primal


@dataclass(frozen=True, kw_only=True)
class IterativeMethod(Solver):
    """Options and the frame of a run; a method says what it is for in `_check` and works in `_run`."""

    capabilities: ClassVar = Capabilities(tol="relative_gap", factor="optional", options=("threads",))

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

    def _enough(self) -> int:
        """Iterations where `max_iter` sets no limit."""
        raise NotImplementedError

    def _check(self, problem: Problem) -> None:
        """A ValueError that names the remedy where the method is not for this problem."""

    def approximate(self, access: Access, control: RunControl | None = None) -> Any:
        """LLᵀ in the place of the matrix behind `access` if an approximation is asked for; L = X if it is linear."""
        if isinstance(access, LowRankAccess):
            return access
        if self.approximation is not None or _few_features(access):
            method = self.approximation or SGMA()
            control = self.started(control)
            remaining = control.remaining()
            seconds = None if remaining is None else 0.5 * remaining
            with single_thread(), control.interruptible():
                return low_rank_access(access, method, threads=self.threads, max_time=seconds)
        return access

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem`; a start is not used."""
        self._check(problem)
        control = self.started(control)
        story = RunLog(self.tol, self._enough() if self.max_iter < 0 else self.max_iter, control)
        access = control.unless_interrupted(lambda: self.approximate(problem.Q.access, control))
        if access is None:
            return interrupted_solution(problem, control)
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
