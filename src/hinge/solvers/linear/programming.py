"""Linear programming solver of ℓ1-regularized problems: HiGHS, through SciPy."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # scipy.optimize is loaded on first use
from scipy import sparse

from hinge.control import RunControl
from hinge.problems import Array, Certificate, History, LPProblem, LPSolution, Status, certify_lp
from hinge.problems.lp import best_constant
from hinge.solvers.base import SolverOptions

#: Seconds between two checks for signals while HiGHS runs in a thread.
SIGNAL_CHECK_SECONDS = 0.05

#: Smallest feasibility tolerance that HiGHS accepts; smaller values of `tol` are raised to it.
MIN_TOL = 1e-10

#: Time that is reserved for the conversions of `linprog` and for the certificates, in multiples of the time that
#: building the program took.
RESERVED_BUILD_TIMES = 2

#: Share of the time limit from which on HiGHS's "limit reached" counts as the time limit, not as the iteration limit.
TIME_LIMIT_SHARE = 0.9

#: Iterations per row and column, and for small programs, after which a run without `max_iter` ends: HiGHS may cycle.
MAX_ITER_PER_VARIABLE = 100
MIN_MAX_ITER = 10_000

#: Columns of the design matrix are centered if the midrange of one exceeds its range by this factor.
MIN_RELATIVE_SHIFT = 10.0

#: Status codes of `scipy.optimize.linprog`; others become Status.NUMERICAL.
STATUS = {0: Status.SOLVED, 1: Status.MAX_ITER, 4: Status.NUMERICAL}


@dataclass(frozen=True, kw_only=True)
class LinearProgramming(SolverOptions):
    """Simplex or interior-point method of HiGHS.                                         docs/math (331)–(333)

    There is one equality row for each sample, f + ξ − ξ* + t = target with |t| ≤ tube, so that the multipliers of the
    rows are the dual point. If the offset is free, functions far from zero are centered, which changes neither a nor β:
    Φa + b = (Φ − 1mᵀ)a + (b + mᵀa).

    Cost: a linear program with n rows and two columns for each function of the dictionary: some hundred samples.
    Certificate: feasible to `tol`; `certify_lp` gives the gap of the program.

    Parameters
    ----------
    tol : float
        Feasibility of the primal and the dual point; not below 1e-10.
    max_iter : int
        Iterations of HiGHS; −1 for 100 per row and column, at least 10,000, because HiGHS may cycle.
    max_time : float or None
        Seconds.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import LinearProgramming
    >>> LinearProgramming().tol, hinge.LPSVC().fit([[0.0], [1.0]], [0, 1]).status_.name
    (1e-09, 'SOLVED')
    """

    tol: float = 1e-9

    def solve_lp(self, problem: LPProblem, control: RunControl | None = None) -> LPSolution:
        """Solve; if HiGHS ends without a point, the result is the constant function with the smallest loss."""
        began = time.monotonic()
        control = self.started(control)
        max_time = control.remaining()
        shift = _column_shift(problem)
        with control.interruptible():
            arguments = self._arguments(problem, shift)
        started, limit = time.monotonic(), None
        if max_time is not None:
            limit = max(max_time - (1 + RESERVED_BUILD_TIMES) * (started - began), 0.0)
            arguments["options"]["time_limit"] = limit
        result = _run_in_thread(arguments, control)
        if result.x is None:
            a, b, beta = np.zeros(problem.design.shape[1]), best_constant(problem), np.zeros(problem.n)
        else:
            a, b, beta = _point(problem, result, shift)
        ended = time.monotonic()
        seconds = ended - began
        status = STATUS.get(int(result.status), Status.NUMERICAL)
        if status is Status.MAX_ITER and limit is not None and ended - started >= TIME_LIMIT_SHARE * limit:
            status = Status.TIME_LIMIT
        history = _history(certify_lp(problem, a, b, beta), problem.n, int(result.nit), seconds)
        return LPSolution(a, b, beta, status, int(result.nit), history)

    def _arguments(self, problem: LPProblem, shift: Array | None) -> dict[str, Any]:
        """Arguments of `linprog`: the columns are a⁺, a⁻, b, ξ, ξ* and, if there is a tube, t."""
        n, width = problem.design.shape
        eye = sparse.identity(n, format="csc")  # columns, the format of HiGHS, are stacked without conversions
        offset = sparse.csc_matrix(np.ones((n, 1)) if problem.bias else np.empty((n, 0)))
        design = sparse.csc_matrix(problem.design if shift is None else problem.design - shift)
        has_tube = bool(np.any(problem.tube > 0))
        blocks = [design, -design, offset, eye, -eye] + [eye] * has_tube
        bounds = [
            np.tile([0.0, np.inf], (2 * width, 1)),
            np.tile([-np.inf, np.inf], (offset.shape[1], 1)),
            np.tile([0.0, np.inf], (2 * n, 1)),
            *([np.column_stack([-problem.tube, problem.tube])] * has_tube),
        ]
        cost = [problem.price, problem.price, np.zeros(offset.shape[1]), problem.upper, -problem.lower]
        options: dict[str, Any] = {
            "primal_feasibility_tolerance": max(self.tol, MIN_TOL),
            "dual_feasibility_tolerance": max(self.tol, MIN_TOL),
        }
        variables = n + sum(block.shape[1] for block in blocks)
        default_limit = max(MIN_MAX_ITER, MAX_ITER_PER_VARIABLE * variables)
        options["maxiter"] = self.max_iter if self.max_iter >= 0 else default_limit
        return {
            "c": np.concatenate([*cost, *([np.zeros(n)] * has_tube)]),
            "A_eq": sparse.hstack(blocks, format="csc"),
            "b_eq": problem.target,
            "bounds": np.vstack(bounds),
            "method": "highs",
            "options": options,
        }


def _column_shift(problem: LPProblem) -> Array | None:
    """Return the midranges of the columns of the design matrix if one of them is far from zero, else None."""
    if not problem.bias or problem.design.size == 0:
        return None
    low, high = np.min(problem.design, axis=0), np.max(problem.design, axis=0)
    midrange = 0.5 * low + 0.5 * high
    is_far = np.abs(midrange) > MIN_RELATIVE_SHIFT * (high - low)
    return np.where(is_far, midrange, 0.0) if np.any(is_far) else None


def _point(problem: LPProblem, result: Any, shift: Array | None) -> tuple[Array, float, Array]:
    """a, b and β from the variables and the multipliers of the program; a = a⁺ − a⁻."""
    width = problem.design.shape[1]
    a = result.x[:width] - result.x[width : 2 * width]
    b = float(result.x[2 * width]) if problem.bias else 0.0
    if shift is not None:
        b -= float(shift @ a)
    beta = np.asarray(result.eqlin.marginals, dtype=np.float64)
    return a, b, beta


def _history(certificate: Certificate, n: int, iterations: int, seconds: float) -> History:
    """A history with the final point only: HiGHS reports no others."""
    record = {
        "iteration": iterations, "seconds": seconds, "violation": certificate.kkt_violation,
        "primal": certificate.primal, "dual": certificate.dual, "gap": certificate.gap, "active": n, "exact": True,
    }  # fmt: skip
    return History.from_records([record])


def _run_in_thread(arguments: dict[str, Any], control: RunControl) -> Any:
    """Run HiGHS, which does not handle signals, in a thread while the main thread waits for signals."""
    if threading.current_thread() is not threading.main_thread():
        return scipy.optimize.linprog(**arguments)
    results: list[Any] = []

    def work() -> None:
        try:
            results.append(scipy.optimize.linprog(**arguments))
        except BaseException as error:  # raised again below
            results.append(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    with control.interruptible():  # an interrupt loses no result: HiGHS returns no point before its end
        while worker.is_alive():
            worker.join(SIGNAL_CHECK_SECONDS)
            if control.expired() and worker.is_alive():  # HiGHS checks its time limit seldom; its point would be late
                return scipy.optimize.OptimizeResult(x=None, status=1, nit=0)
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]
