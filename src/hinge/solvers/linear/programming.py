"""ℓ1 machines by HiGHS, through SciPy."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from hinge.control import RunControl
from hinge.problems import Array, History, LPProblem, LPSolution, Status, certify_lp
from hinge.solvers.base import SolverOptions

#: Seconds between two looks at signals while HiGHS works.
GLANCE = 0.05

STATUS = {0: Status.SOLVED, 1: Status.MAX_ITER, 4: Status.NUMERICAL}


@dataclass(frozen=True, kw_only=True)
class LinearProgramming(SolverOptions):
    """Simplex or interior point, as HiGHS sees fit.                                  docs/math (331)–(333)

    One equality row for each sample, f + ξ − ξ* + t = target with |t| ≤ tube, so that the multipliers of the rows are
    the dual point. Time is that of a linear program with n rows and two columns for each function of the dictionary.

    Cost: a linear program with n rows and 2 columns for each function, by HiGHS: some hundred samples.
    Certificate: feasible to `tol`; `certify_lp` gives the gap of the program.

    Parameters
    ----------
    tol : float
        Feasibility of the primal and the dual point; not below 1e-10.
    max_iter : int
        Of HiGHS; −1 for no limit.
    max_time : float or None
        Seconds.
    """

    tol: float = 1e-9

    def solve_lp(self, problem: LPProblem, control: RunControl | None = None) -> LPSolution:
        """Solve; where HiGHS gives up without a point, the constant function with the smallest loss."""
        began = time.monotonic()
        control = self.started(control)
        max_time = control.remaining()
        answer = _in_background(self._arguments(problem, max_time), control)
        if answer.x is None:
            a, b, beta = np.zeros(problem.design.shape[1]), _best_constant(problem), np.zeros(problem.n)
        else:
            a, b, beta = _point(problem, answer)
        status = STATUS.get(int(answer.status), Status.NUMERICAL)
        if status is Status.MAX_ITER and max_time is not None and time.monotonic() - began >= 0.9 * max_time:
            status = Status.TIME_LIMIT
        found = certify_lp(problem, a, b, beta)
        record = {
            "iteration": int(answer.nit), "seconds": time.monotonic() - began, "violation": found.kkt_violation,
            "primal": found.primal, "dual": found.dual, "gap": found.gap, "active": problem.n, "exact": True,
        }  # fmt: skip
        history = History.from_columns({field.name: [record[field.name]] for field in fields(History)})
        return LPSolution(a, b, beta, status, int(answer.nit), history)

    def _arguments(self, problem: LPProblem, max_time: float | None) -> dict[str, Any]:
        n, width = problem.design.shape
        eye = sparse.identity(n, format="csr")
        offset = sparse.csr_matrix(np.ones((n, 1)) if problem.bias else np.empty((n, 0)))
        tubes = bool(np.any(problem.tube > 0))
        blocks = [problem.design, -problem.design, offset, eye, -eye] + [eye] * tubes
        bounds = [
            np.tile([0.0, np.inf], (2 * width, 1)),
            np.tile([-np.inf, np.inf], (offset.shape[1], 1)),
            np.tile([0.0, np.inf], (2 * n, 1)),
            *([np.column_stack([-problem.tube, problem.tube])] * tubes),
        ]
        cost = [problem.price, problem.price, np.zeros(offset.shape[1]), problem.upper, -problem.lower]
        options: dict[str, Any] = {
            "primal_feasibility_tolerance": max(self.tol, 1e-10),
            "dual_feasibility_tolerance": max(self.tol, 1e-10),
        }
        if self.max_iter >= 0:
            options["maxiter"] = self.max_iter
        if max_time is not None:
            options["time_limit"] = max_time
        return {
            "c": np.concatenate([*cost, *([np.zeros(n)] * tubes)]),
            "A_eq": sparse.hstack(blocks, format="csr"),
            "b_eq": problem.target,
            "bounds": np.vstack(bounds),
            "method": "highs",
            "options": options,
        }


def _point(problem: LPProblem, answer: Any) -> tuple[Array, float, Array]:
    """a, b and β from the variables and the multipliers; what HiGHS left of both signs of a coefficient cancels."""
    width = problem.design.shape[1]
    a = answer.x[:width] - answer.x[width : 2 * width]
    b = float(answer.x[2 * width]) if problem.bias else 0.0
    beta = np.asarray(answer.eqlin.marginals, dtype=np.float64)
    return a, b, beta


def _best_constant(problem: LPProblem) -> float:
    """Where the loss of a constant function turns: a weighted median."""
    if not problem.bias:
        return 0.0
    kinks = np.concatenate([problem.target - problem.tube, problem.target + problem.tube])
    weights = np.concatenate([problem.upper, -problem.lower])
    order = np.argsort(kinks, kind="stable")
    rises = np.cumsum(weights[order]) - float(np.sum(problem.upper))
    return float(kinks[order][np.searchsorted(rises, 0.0)])


def _in_background(arguments: dict[str, Any], control: RunControl) -> Any:
    """HiGHS answers no signals: it works in a thread of its own while this one listens."""
    if threading.current_thread() is not threading.main_thread():
        return linprog(**arguments)
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(linprog(**arguments))
        except BaseException as error:  # for the caller
            found.append(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    with control.interruptible():  # HiGHS has no point before its end
        while worker.is_alive():
            worker.join(GLANCE)
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]
