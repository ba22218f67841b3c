"""Python interface of the compiled parametric active-set method."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from hinge import _core
from hinge.control import RunControl
from hinge.kernels import Access, GramAccess, PairAccess, Precomputed, cache_bytes, open_access
from hinge.paths.breakpoints import Pieces
from hinge.problems import Array, ParametricProblem, Status
from hinge.problems.parametric import Values
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.decomposition.base import MAX_POLISHED_SAMPLES
from hinge.solvers.feasibility import nearest_feasible
from hinge.solvers.refinement.polishing import polish
from hinge.solvers.time_budget import fits, matrix_seconds

#: Share of the memory budget up to which the whole kernel matrix is computed in advance.
WHOLE_MATRIX_SHARE = 0.6

#: Share of the time limit that the whole kernel matrix may take.
WHOLE_MATRIX_TIME_SHARE = 0.25

#: KKT violation at which SMO stops. The active-set method then computes the exact solution.
START_TOL = 1e-3

#: SMO stops after START_ITERATIONS + START_ITERATIONS_PER_VARIABLE · (number of variables) iterations in any case.
START_ITERATIONS, START_ITERATIONS_PER_VARIABLE = 2000, 20

#: KKT violation, relative to the scale of the problem, above which a path is reported as failed.
MAX_VIOLATION = 1e-9

#: Share of the time limit for SMO; the rest includes the release of its memory.
START_TIME_SHARE = 0.9

#: Smallest time limit, in seconds: zero means no limit in the core.
MIN_SECONDS = 1e-9

#: Events after which a path ends with MAX_ITER, plus a number per variable: many times what convex problems need.
MAX_EVENTS, MAX_EVENTS_PER_VARIABLE = 1_000_000, 1_000

#: Last sentence of the error message if a path does not end.
REMEDY = "Scale the data, for example with StandardScaler, and check that the kernel is positive semidefinite"

Progress = Callable[[dict[str, Any]], Any]


class PathError(RuntimeError):
    """A path could not be followed to its end.

    Examples
    --------
    >>> from hinge.paths import PathError
    >>> issubclass(PathError, Exception)
    True
    """


@dataclass(frozen=True)
class Counts:
    """Numbers of events and corrections along a path.

    Attributes
    ----------
    events : int
        Breakpoints: a variable reaches or leaves a bound.
    exchanges : int
        Events at which one variable enters the margin and another one leaves it.
    idle : int
        Events that did not change θ.
    repairs, refactorings : int
        Corrections of index sets, and new factorizations, because of rounding errors.
    violation : float
        Largest relative KKT violation.
    mean_margin : float
        Mean number of variables between their bounds.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> path = hinge.regularization_path(X, y, C_min=0.1, C_max=10.0, gamma=1.0)
    >>> path.counts.events > 10, path.counts.repairs
    (True, 0)
    """

    events: int = 0
    exchanges: int = 0
    idle: int = 0
    repairs: int = 0
    refactorings: int = 0
    violation: float = 0.0
    mean_margin: float = 0.0

    @classmethod
    def from_run(cls, run: _core.PathRun) -> Counts:
        """Return the counts of a run of the core."""
        return cls(
            run.events,
            run.exchanges,
            run.idle,
            run.repairs,
            run.refactorings,
            run.violation,
            run.margin_sum / max(1, run.events),
        )


@dataclass
class Engine:
    """Active-set method for parametric problems over the kernel matrix behind `access`.

    It holds a solution, which `start` computes at one value of θ and `follow` moves to another one.
    """

    access: Access
    group: Any
    slots: int
    cache_bytes: int = -1  # −1: the default budget
    threads: int = 1
    active_set: Any = field(init=False)

    def __post_init__(self) -> None:
        access = self.access
        if self.cache_bytes < 0:
            self.cache_bytes = cache_bytes("auto")
        if isinstance(access, PairAccess):  # f has one value per sample, and so have kernel rows
            pairs = (access.first, access.second)
            self.active_set = _core.ActiveSet(access.base.gram, 1, self.group, self.cache_bytes, self.threads, *pairs)
        else:
            self.active_set = _core.ActiveSet(access.gram, self.slots, self.group, self.cache_bytes, self.threads)

    def start(
        self,
        parametric: ParametricProblem,
        theta: float,
        beta: Array | None = None,
        control: RunControl | None = None,
    ) -> Counts:
        """Compute the solution at θ from the approximate solution `beta`, by default that of SMO."""
        values = parametric.at(theta)
        if control is not None and control.callback is not None:
            control = control.without_callback()  # the callback reports only events along the path
        if beta is None:
            beta = self._approximate_solution(parametric, values, control)
        if control is not None and control.deadline is not None and control.expired():
            raise TimeoutError("max_time was reached before the solution at the start of the path was found")
        limit = MAX_EVENTS + MAX_EVENTS_PER_VARIABLE * len(beta)
        run = self.active_set.start(np.ascontiguousarray(beta), *values, _seconds(control), limit, control)
        check_run(run)
        if run.status == Status.MAX_ITER:
            raise PathError(f"no solution at the start of the path after {limit} events. {REMEDY}")
        if run.status != Status.SOLVED:
            raise TimeoutError("max_time was reached before the solution at the start of the path was found")
        return Counts.from_run(run)

    def _approximate_solution(
        self, parametric: ParametricProblem, values: Values, control: RunControl | None
    ) -> Array:
        """Return a solution by SMO, which is polished if the problem is small.

        If the solution is polished, the active-set method needs no events to correct it.
        """
        problem, sign = parametric.problem_with(self.access, values), parametric.sign
        beta = sign * nearest_feasible(problem) if values.total.any() else np.clip(0.0, values.lower, values.upper)
        run = _core.smo(
            self.access.gram,
            linear=values.linear,
            lower=values.lower,
            upper=values.upper,
            group=self.group,
            slots=self.slots,
            beta=beta,
            tolerance=START_TOL,
            stop_on_gap=False,
            shrinking=True,
            max_iterations=START_ITERATIONS + START_ITERATIONS_PER_VARIABLE * len(beta),
            max_seconds=-1.0 if control is None or control.deadline is None else START_TIME_SHARE * _seconds(control),
            cache_bytes=self.cache_bytes,
            double_rows=True,
            control=control,
        )
        if run.error is not None:
            raise run.error
        if run.status == Status.TIME_LIMIT:  # the active-set method would need many events
            raise TimeoutError("max_time was reached before the solution at the start of the path was found")
        if run.status != Status.SOLVED or len(beta) > MAX_POLISHED_SAMPLES * self.slots:
            return beta
        with single_thread():
            exact = polish(problem, sign * beta, sign * np.tile(run.f, self.slots) + problem.p)
        return beta if exact is None else sign * exact[0]

    def follow(
        self,
        parametric: ParametricProblem,
        low: float,
        high: float,
        *,
        record: bool = True,
        max_events: int = -1,
        control: RunControl | None = None,
    ) -> tuple[Pieces | None, Counts, Status, float]:
        """Follow the solution from the current θ = `low` to `high`.

        Returns
        -------
        pieces : Pieces or None
            The piecewise linear solution, if `record`.
        counts : Counts
        status : Status
            SOLVED, or why the path ends before `high`.
        reached : float
            The last θ.
        """
        limit = MAX_EVENTS + MAX_EVENTS_PER_VARIABLE * len(parametric.sign) if max_events < 0 else max_events
        run = self.active_set.follow(*parametric.rates(), low, high - low, record, _seconds(control), limit, control)
        check_run(run)
        pieces = None
        if run.record is not None:
            columns, shape = run.record, (len(run.record.start), parametric.total.shape[1])
            pieces = Pieces(
                columns.start,
                columns.stop,
                columns.mu.reshape(shape),
                columns.mu_rate.reshape(shape),
                columns.offset,
                columns.margin,
                columns.value,
                columns.rate,
                columns.changed_at,
                columns.changed,
                columns.place,
                columns.violation,
            )
        return pieces, Counts.from_run(run), Status(run.status), run.reached


    def follow_rates(self, rates: Values, control: RunControl | None = None) -> tuple[Counts, Status]:
        """Follow the solution while the data change by `rates`, without a record."""
        limit = MAX_EVENTS + MAX_EVENTS_PER_VARIABLE * len(rates.linear)
        run = self.active_set.follow(*rates, 0.0, 1.0, False, _seconds(control), limit, control)
        check_run(run)
        return Counts.from_run(run), Status(run.status)


def _seconds(control: RunControl | None) -> float:
    """Seconds until the deadline as the core takes them: zero for no limit."""
    if control is None or control.deadline is None:
        return 0.0
    return max(control.max_seconds(), MIN_SECONDS)


def check_run(run: _core.PathRun) -> None:
    """Raise the error of a run of the core, or a PathError if the run failed."""
    if run.error is not None:
        raise run.error
    if run.infeasible:
        raise PathError(
            f"at {run.reached:.6g} the problem has no feasible point: all samples of a class have weight zero. "
            "Keep at least one sample of each class"
        )
    inexact = run.status == Status.SOLVED and not run.violation <= MAX_VIOLATION
    if run.status == Status.NUMERICAL or inexact:
        raise PathError(
            f"rounding errors stopped the path at {run.reached:.6g} (KKT violation "
            f"{run.violation:.1e}). Scale the data, for example with StandardScaler"
        )


def warn_incomplete(parameter: str, reached: float, end: float, status: Status, stacklevel: int) -> None:
    """Issue the warning of scikit-learn for a path that ends early."""
    warn_convergence(
        f"the path ends at {parameter}={reached:.6g}, before {end:.6g}: {status.name}. The part that was computed is "
        "exact",
        stacklevel + 1,
    )


def warn_convergence(message: str, stacklevel: int) -> None:
    """Issue a ConvergenceWarning of scikit-learn."""
    from sklearn.exceptions import ConvergenceWarning  # only if needed: paths do not load scikit-learn

    warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel)


def path_access(
    kernel: Any, X: Any, budget_bytes: int, threads: int = 1, control: RunControl | None = None
) -> GramAccess:
    """Return kernel access for a path: the whole matrix if it fits into the budget, otherwise rows on demand.

    With a deadline, the whole matrix is computed only if that takes a small part of the time.
    """
    access = open_access(kernel, X, budget_bytes=budget_bytes, threads=threads)
    n = X.shape[0]
    if isinstance(kernel, Precomputed) or 8 * n**2 > WHOLE_MATRIX_SHARE * budget_bytes:
        return access
    limited = control is not None and control.deadline is not None
    if limited and not fits(cast(RunControl, control), matrix_seconds(n) / WHOLE_MATRIX_TIME_SHARE):
        return access
    rows = np.arange(n)
    K = access.block(rows, rows)
    return GramAccess(Precomputed(), K, _core.Gram.matrix(K), threads)
