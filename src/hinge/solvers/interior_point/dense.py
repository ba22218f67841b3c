"""Primal–dual interior-point method for problems whose kernel matrix fits into memory."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from hinge.control import RunControl
from hinge.kernels import available_bytes
from hinge.problems import Problem, Solution, Status
from hinge.solvers.base import Capabilities, Solver, Start, interrupted_solution, register, stop_status
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.interior_point.initial_point import has_initial_point, initial_point
from hinge.solvers.interior_point.iterate import Iterate
from hinge.solvers.interior_point.predictor_corrector import advance
from hinge.solvers.interior_point.termination import (
    ZERO_OBJECTIVE_AT_END,
    Point,
    cross_over,
    polish_iterate,
    solution_from,
)
from hinge.solvers.refinement import verify
from hinge.solvers.time_budget import MULTIPLICATION_SECONDS, fits, matrix_seconds, unsolved_at_limit

#: Iterations if `max_iter` sets no limit; then the run ends with Status.MAX_ITER.
DEFAULT_MAX_ITER = 100

#: Iterations without a noticeable decrease of the merit function after which the path ends.
MAX_STALLED_ITERATIONS = 15

#: Relative gap that counts as solved if rounding errors prevent further steps.
ROUNDING_TOL = 1e-8

#: The gap is divided by at least this share of the first objective, because the optimum may be zero.
ZERO_OBJECTIVE = 1e-14

#: Kernel matrices in memory at the same time: K, the factorized matrix, and a copy of K in single precision. If they
#: need more memory than is free, the solver raises MemoryError.
MATRICES_IN_MEMORY = 2.5

#: Crossover is tried once the complementarity, relative to the objective, is below the first value, or after a number
#: of iterations; and again each time the complementarity has decreased by the factor.
CROSSOVER_COMPLEMENTARITY = 1.0
CROSSOVER_ITERATION = 2
CROSSOVER_DECREASE = 1e-3

#: CROSSOVER_COMPLEMENTARITY on a path with accurate steps, which starts after crossover has failed.
CROSSOVER_COMPLEMENTARITY_ACCURATE = 1e-6

#: Relative complementarity, as a multiple of `tol`, at which the path ends even if rounding errors hide the gap.
FINAL_COMPLEMENTARITY = 1e-3


@register("interior_point")
@dataclass(frozen=True, kw_only=True)
class InteriorPoint(Solver):
    """Primal–dual path-following method for problem (1).   LwK §10.3, SVR tutorial app. A; docs/math (321)–(326)

    Accepts every formulation and every convex loss, with a positive semidefinite Q. For quadratic programs a few SMO
    steps give an initial point, from which Newton steps on the free samples lead to the exact solution (crossover,
    (373)–(376)): some 5 to 25 factorizations of their size (`Solution.counters` has the number). The central path is
    followed only if crossover fails or is turned off. For other convex losses an iteration costs one Cholesky
    factorization whose order is the number of samples that are not at a bound (regression has two variables for each
    sample, but not a larger matrix), and some 5 to 25 iterations give ten digits for any C and any scale of the data.
    Offset, ρ and ε are the multipliers of the equality rows.

    Cost: 10 n SMO steps and 3 to 45 factorizations of the free samples, or 5 to 25 of n³/3; 20 n² bytes.
    Certificate: the relative gap is at most `tol`; if float64 cannot represent such a point, that of `alpha` +
    `remainder`.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    max_iter : int
        Iterations; −1 for the default of 100.
    max_time : float or None
        Seconds.
    crossover : bool
        Whether to try crossover to the exact solution of a quadratic program before the end of the central path. With
        False the path is followed to its end, and only the last point is polished.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import InteriorPoint
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> model = hinge.SVC(loss="logistic", gamma=1.0, solver=InteriorPoint()).fit(X, y)
    >>> model.status_.name, bool(model.certificate_.relative_gap <= 1e-10)
    ('SOLVED', True)
    """

    capabilities: ClassVar = Capabilities(tol="relative_gap", terms=("none", "diagonal", "convex"))

    tol: float = 1e-10
    crossover: bool = True

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem`; `start` is not used, since interior-point methods do not benefit from one."""
        control = self.started(control)
        solution = self.solve_unverified(problem, control)
        verified = control.interruptible_call(partial(verify, problem, solution, self.tol, "relative_gap"))
        if verified is None:
            return replace(solution, status=Status.INTERRUPTED, error=control.interrupt)
        return verified

    def solve_unverified(self, problem: Problem, control: RunControl | None = None) -> Solution:
        """Solve without the final verification: SOLVED may also mean that rounding errors prevent further steps."""
        needed, available = MATRICES_IN_MEMORY * 8 * problem.Q.n**2, available_bytes()
        if needed > available:
            raise MemoryError(
                f"the interior-point method needs {needed / 2**30:.1f} GB for {problem.Q.n} samples, but only "
                f"{available / 2**30:.1f} GB are free; use solver='working_set' or fewer samples"
            )
        control = self.started(control)
        if not fits(control, matrix_seconds(problem.Q.n, 0.0 if has_initial_point(problem) else 1.0)):
            return unsolved_at_limit(problem)
        with single_thread():
            run = control.interruptible_call(lambda: _Run(self, problem, control))
            return interrupted_solution(problem, control) if run is None else run.solve()


class _Run:
    """One run: the current iterate, its history, and the state of crossover and of the stall check."""

    def __init__(self, solver: InteriorPoint, problem: Problem, control: RunControl) -> None:
        self.began = time.monotonic()
        self.solver, self.problem, self.control = solver, problem, control
        self.records: list[dict[str, float]] = []
        self.exact: Point | None = None
        self.is_exact = True
        self.initial_steps = self.crossover_steps = 0
        self.error: BaseException | None = None
        self.best_merit, self.stalled = np.inf, 0
        self.crossover_below = CROSSOVER_COMPLEMENTARITY if solver.crossover else -1.0
        self.crossover_iteration = CROSSOVER_ITERATION
        K = problem.Q.kernel_matrix()
        if solver.crossover and has_initial_point(problem):
            initial = initial_point(problem, K, control)
            self.iterate = Iterate(problem, K, point=(initial.alpha, initial.mu))
            self.initial_steps, self.error = initial.iterations, initial.error
        else:
            self.iterate = Iterate(problem, K, accurate=not solver.crossover)

    def solve(self) -> Solution:
        status, error = Status.MAX_ITER, None
        try:
            with self.control.interruptible():
                if self.error is not None:
                    raise self.error
                status = self._follow_path()
                if self.exact is None and status in (Status.SOLVED, Status.NUMERICAL, Status.MAX_ITER):
                    self.exact = polish_iterate(self.iterate, self.control.deadline)
                    status = Status.SOLVED if self.exact is not None else status
        except BaseException as interruption:  # a signal, or an exception of the callback
            status, error = Status.INTERRUPTED, interruption
        solution = solution_from(self.iterate, self.exact, status, self.records, self.solver.tol)
        return replace(
            solution,
            error=error,
            polished=self.exact is not None and self.is_exact,
            counters={"initial_steps": self.initial_steps, "crossover_steps": self.crossover_steps},
        )

    def _follow_path(self) -> Status:
        """Iterate until the gap is small enough, crossover succeeds, or no further step is possible."""
        max_iter = self.solver.max_iter
        for iteration in range(1 + (DEFAULT_MAX_ITER if max_iter < 0 else max_iter)):
            self.records.append(_snapshot(self.iterate, iteration, time.monotonic() - self.began))
            self._count_stalled()
            if self.iterate.is_interior and _relative_gap(self.iterate, ZERO_OBJECTIVE) <= self.solver.tol:
                return Status.SOLVED
            status = stop_status(self.control, self.records[-1])
            if status is None:
                status = self._try_crossover(iteration)
            if status is not None:
                return status
            if _complementarity(self.iterate) <= FINAL_COMPLEMENTARITY * self.solver.tol:
                return self._final_status()
            if not fits(self.control, MULTIPLICATION_SECONDS * len(self.iterate.system.active) ** 3 / 3):
                return Status.TIME_LIMIT
            may_step = max_iter < 0 or iteration < max_iter
            if may_step and (self.stalled > MAX_STALLED_ITERATIONS or not advance(self.iterate)):
                return self._final_status()
        return Status.MAX_ITER

    def _count_stalled(self) -> None:
        merit = self.iterate.merit()
        if merit < 0.9 * self.best_merit:
            self.best_merit, self.stalled = merit, 0
        else:
            self.stalled += 1

    def _try_crossover(self, iteration: int) -> Status | None:
        """Try crossover if it is due; restart the path after its first failures."""
        iterate = self.iterate
        products = _complementarity(iterate)
        due = products <= self.crossover_below or (iteration == self.crossover_iteration and not iterate.accurate)
        if iterate.is_interior and not due:
            return None
        self.crossover_below = min(products, self.crossover_below) * CROSSOVER_DECREASE
        self.exact, self.is_exact, steps = cross_over(iterate, self.control.deadline, self.solver.tol)
        self.crossover_steps += steps
        if self.exact is not None:
            return Status.SOLVED
        if self.control.expired():
            return Status.TIME_LIMIT
        if not iterate.accurate:
            # After the initial point: a path with approximate steps. After that one: a path with accurate steps.
            accurate = iterate.is_interior
            self.crossover_below = CROSSOVER_COMPLEMENTARITY_ACCURATE if accurate else CROSSOVER_COMPLEMENTARITY
            self.iterate = Iterate(self.problem, iterate.K, accurate=accurate)
            self.best_merit, self.stalled = np.inf, 0
            self.crossover_iteration = iteration + CROSSOVER_ITERATION
        return None

    def _final_status(self) -> Status:
        """Status if no further step is possible."""
        tol = max(self.solver.tol, ROUNDING_TOL)
        return Status.SOLVED if _relative_gap(self.iterate, ZERO_OBJECTIVE_AT_END) <= tol else Status.NUMERICAL


def _complementarity(iterate: Iterate) -> float:
    """Sum of the products of slacks and multipliers, relative to the objective."""
    value = abs(iterate.problem.value(iterate.x, iterate.gradient))
    return iterate.complementarity() / max(value, ZERO_OBJECTIVE_AT_END * iterate.objective_scale)


def _relative_gap(iterate: Iterate, zero: float) -> float:
    """Relative gap; infinite at an infeasible point, where the gap is no bound."""
    gap, value = iterate.gap()
    scale = max(0.5 * (abs(value) + abs(gap - value)), zero * iterate.objective_scale)
    return gap / scale if iterate.is_feasible(1e-10) and np.isfinite(gap) else np.inf


def _snapshot(iterate: Iterate, iteration: int, seconds: float) -> dict[str, float]:
    """Values for the history; primal, dual and gap are NaN at an infeasible point, where they are not bounds."""
    dual, primal = iterate.residuals()
    gap, value = iterate.gap()
    feasible = iterate.is_feasible(1e-13)
    violation = float(max(np.max(np.abs(dual), initial=0.0), np.max(np.abs(primal), initial=0.0)))
    return {
        "iteration": iteration, "seconds": seconds, "violation": violation,
        "primal": gap - value if feasible else np.nan, "dual": -value if feasible else np.nan,
        "gap": gap if feasible else np.nan, "active": len(iterate.system.active), "exact": True,
    }  # fmt: skip
