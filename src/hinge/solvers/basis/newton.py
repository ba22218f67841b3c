"""Reduced-basis Newton method: functions of a few given basis functions, for all classes at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hinge.control import RunControl
from hinge.problems import Array, History, Status
from hinge.solvers.base import SolverOptions
from hinge.solvers.basis.descent import FIRST_PASSES, Iterate, RiskDescent
from hinge.solvers.basis.preconditioner import Preconditioner
from hinge.solvers.basis.problem import ReducedBasisProblem
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.run_log import RunLog

#: Newton steps if `max_iter` sets no limit; then the run ends with Status.MAX_ITER.
DEFAULT_MAX_ITER = 100

#: Rows per basis function in the subsample of the preconditioner.
PRECONDITIONER_ROWS = 4

#: Rows per basis function in the subsample of the first steps, and the number of these steps. All steps use all rows
#: unless there are more than twice as many rows as in the subsample.
SUBSAMPLE_ROWS, SUBSAMPLE_STEPS = 8, 4


@dataclass(frozen=True)
class ReducedBasisSolution:
    """Weights (n × k), offsets (k) and outputs f = K^mn w at all samples (m × k)."""

    weights: Array
    offsets: Array
    outputs: NDArray[np.float32]
    status: Status
    iterations: int
    history: History
    error: BaseException | None = None
    rounded: ClassVar[bool] = True  # the values of the history do not include rounding errors


@dataclass(frozen=True, kw_only=True)
class ReducedBasisNewton(SolverOptions):
    """Newton steps by preconditioned conjugate gradients, for all classes in one pass over K^mn.  docs/math (388)

    The preconditioner and the first steps use a subsample of the rows. A step with all rows makes its passes over the
    rows with a positive loss, the only ones in the Hessian, and one more pass over all rows.

    Cost: a Gram matrix of 4n rows and two factorizations of order n, 4n³; then O(mnk) per pass for k classes, 10 to 50
    passes for labels and some hundred for a small gap.
    Certificate: the relative gap, of the problem with these basis functions, is at most `tol`.

    Parameters
    ----------
    tol : float
        Relative duality gap of the sum over all classes.
    max_iter : int
        Steps with all rows; −1 for the default of 100.
    max_time : float or None
        Seconds.
    seed : int
        Seed of the subsample of rows.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import ReducedBasisNewton
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> ReducedBasisNewton().tol, hinge.LowRankSVC(gamma=1.0, n_basis=50).fit(X, y).status_.name
    (0.01, 'SOLVED')
    """

    tol: float = 1e-2
    seed: int = 0

    def solve(self, problem: ReducedBasisProblem, control: RunControl | None = None) -> ReducedBasisSolution:
        """Solve the problems of all columns of signs."""
        log = RunLog(self.tol, DEFAULT_MAX_ITER if self.max_iter < 0 else self.max_iter, self.started(control))
        m, n = problem.columns.shape
        k = problem.sign.shape[1]
        order = np.random.default_rng(self.seed).permutation(m)
        iterate = Iterate(np.zeros((n, k)), np.zeros(k), np.zeros((m, k), dtype=np.float32))
        with single_thread(), ThreadPoolExecutor(1) as pool:
            problem.inner  # noqa: B018 - computed before the thread starts, which uses it too
            future = pool.submit(Preconditioner, problem, np.sort(order[: PRECONDITIONER_ROWS * n]))
            problem.root  # noqa: B018 - raises here, not within the run, if the kernel is indefinite
            preconditioner = future.result()
            status = log.run(lambda: _run(problem, iterate, preconditioner, order, log))
        return ReducedBasisSolution(
            iterate.weights, iterate.offsets, iterate.outputs, status, log.iterations, log.history(), log.error
        )


def _run(
    problem: ReducedBasisProblem,
    iterate: Iterate,
    preconditioner: Preconditioner,
    order: NDArray[np.intp],
    log: RunLog,
) -> Status:
    """Take the first steps with a subsample of the rows, if there are many, and the others with all rows."""
    m, n = problem.columns.shape
    if 2 * SUBSAMPLE_ROWS * n < m:
        rows = np.sort(order[: SUBSAMPLE_ROWS * n])
        descent = RiskDescent(problem, iterate, preconditioner, rows)
        for _ in range(SUBSAMPLE_STEPS):
            if log.stop_status() is not None or not descent.step(FIRST_PASSES):
                break
        iterate.outputs = problem.columns.times(iterate.weights)
    return RiskDescent(problem, iterate, preconditioner).run(log)


__all__ = ["ReducedBasisNewton", "ReducedBasisSolution"]
