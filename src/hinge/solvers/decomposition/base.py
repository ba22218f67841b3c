"""Common parts of the decomposition methods: options, arguments of the compiled core, and results."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from numbers import Integral
from operator import attrgetter
from typing import Any, Self

import numpy as np

from hinge import _core
from hinge.kernels import cache_bytes
from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.problems import Array, History, Problem, Solution, Status, optimal_offset
from hinge.problems.solution import run_columns
from hinge.solvers.base import Solver, Start, check_threads
from hinge.solvers.feasibility import groups_of, nearest_feasible
from hinge.solvers.refinement import refine
from hinge.solvers.time_budget import estimated_offset

#: Number of samples up to which solutions are polished; half as many for each problem of a batch.
MAX_POLISHED_SAMPLES = 1000

#: With precision="auto", the kernel rows of at most this many samples are stored as float64.
MAX_DOUBLE_SAMPLES = 512
#: With precision="auto", kernel rows are stored as float64 below this tolerance, and if the rounding error of a float32
#: kernel value times the largest coefficient exceeds half the tolerance.
DOUBLE_TOL = 1e-4
FLOAT32_ROUNDING = float(np.finfo(np.float32).eps) / 2

#: Row cache with cache_size="auto" for at most MAX_DOUBLE_SAMPLES samples, in bytes: all their rows fit, so the free
#: memory is not queried.
SMALL_CACHE_BYTES = 1 << 28

#: Steps after which a problem without an iteration limit ends with MAX_ITER: the larger of the first two limits, but
#: for few samples at most SMALL_STEPS + SMALL_STEPS_PER_SAMPLE · n. Without finite bounds the latter is the limit, and
#: the problem counts as unbounded, with the status NUMERICAL.
MAX_STEPS = 10_000_000
MAX_STEPS_PER_SAMPLE = 100
SMALL_STEPS, SMALL_STEPS_PER_SAMPLE = 1_000_000, 10_000

#: Rules for the choice of a working set, in the order of `Selection` in the compiled core.
RULES = ("gradient", "gap", "multiplier")

#: Counters of the compiled solvers, as reported in `Solution.counters`.
COUNTERS = ("row_hits", "row_misses", "reconstructions", "recomputations")


@dataclass(frozen=True, kw_only=True)
class DecompositionOptions(Solver):
    """Stopping criterion, shrinking, kernel rows and polishing; described in `SMO`."""

    tol: float = 1e-3
    stop: str = "kkt"
    shrinking: bool = True
    cache_size: float | str = "auto"
    precision: str = "auto"
    polish: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stop not in ("kkt", "gap"):
            raise ValueError(f"stop={self.stop!r} must be 'kkt' or 'gap'")
        if self.precision not in ("auto", "float32", "float64"):
            raise ValueError(f"precision={self.precision!r} must be 'auto', 'float32' or 'float64'")


    def without_polishing(self) -> Self:
        return replace(self, polish=False)


@dataclass(frozen=True, kw_only=True)
class WorkingSetOptions(DecompositionOptions):
    """Size and choice of working sets, and threads; described in `WorkingSet`."""

    size: int = 0
    rule: str = "gradient"
    threads: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.size, Integral) or self.size < 0 or self.size == 1:
            raise ValueError(f"size={self.size!r} must be an integer: 0 (default) or at least 2")
        if self.rule not in RULES:
            raise ValueError(f"rule={self.rule!r} must be one of {', '.join(map(repr, RULES))}")
        check_threads(self.threads)


class Polish(IntEnum):
    """Outcome of polishing by the core. After SINGULAR a least-squares solution may still succeed."""

    UNTRIED, DONE, SINGULAR, FAILED = range(4)


@dataclass(frozen=True)
class DecompositionRun:
    """f = Kβ at the final point, the status of the run, and its precision.

    `exact`: f belongs to β.
    `support_exact`: if f is not exact, whether it is at the samples with a coefficient.
    `f_error`: bound on the errors of f; `run_error`: the same during the run, before polishing.
    `travel`: sum of the absolute changes of β.
    `single_precision`: kernel rows were stored as float32.
    `insufficient_precision`: float32 rows do not determine f to the tolerance.
    """

    status: Status
    exact: bool
    f: Array
    iterations: int
    history: History
    error: BaseException | None
    violation: float = float("nan")
    objective: float = float("nan")
    support_exact: bool = False
    f_error: float = float("inf")
    run_error: float = float("inf")
    travel: float = 0.0
    single_precision: bool = False
    insufficient_precision: bool = False
    polish: Polish = Polish.UNTRIED
    counters: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, run: _core.SmoRun) -> DecompositionRun:
        """From the record of the compiled solver."""
        return cls(
            status=Status(run.status),
            exact=run.exact,
            f=run.f,
            iterations=run.iterations,
            history=History(*run_columns(run.history)),
            error=run.error,
            violation=run.violation,
            objective=run.objective,
            support_exact=run.support_exact,
            f_error=run.f_error,
            run_error=run.run_error,
            travel=run.travel,
            single_precision=run.single_precision,
            insufficient_precision=run.insufficient_precision,
            polish=Polish(run.polish),
            counters=dict(zip(COUNTERS, attrgetter(*COUNTERS)(run), strict=True)),
        )


# ---- arguments of the core ---------------------------------------------------------------------------------------


def signed_start(problem: Problem, start: Start) -> Array:
    """The initial point β = sign ∘ α: `start` made feasible, or the feasible point nearest to zero."""
    if start is None and not any(problem.d.tolist()) and problem.has_zero:
        return np.zeros(problem.p.size)
    return problem.Q.sign * nearest_feasible(problem, start.alpha if isinstance(start, Solution) else start)


def signed_arguments(problem: Problem) -> dict[str, Any]:
    """Linear term, bounds and groups in the coordinates β, as arguments of the core."""
    sign = problem.Q.sign
    low, high = sign * problem.lower, sign * problem.upper
    row = sign * problem.A[0] if len(problem.A) == 1 else None
    one_group = row is not None and row.size > 0 and row[0] != 0 and bool(np.all(row == row[0]))
    return {
        "linear": sign * problem.p,
        "lower": np.minimum(low, high),
        "upper": np.maximum(low, high),
        "group": np.zeros(sign.size, dtype=np.int8) if one_group else groups_of(problem),
        "slots": problem.Q.slots,
    }


def stores_double_rows(options: DecompositionOptions, problem: Problem) -> bool:
    """Whether kernel rows are stored as float64."""
    if options.precision != "auto":
        return options.precision == "float64"
    if problem.p.size <= MAX_DOUBLE_SAMPLES * problem.Q.slots or options.tol < DOUBLE_TOL:
        return True
    largest = np.max(problem.upper - problem.lower)
    if largest == np.inf:
        width = problem.upper - problem.lower
        largest = np.max(width[np.isfinite(width)], initial=1.0)
    return bool(FLOAT32_ROUNDING * np.max(np.abs(problem.Q.access.diagonal())) * largest > 0.5 * options.tol)


def row_cache_bytes(cache_size: float | str, samples: int) -> int:
    """Memory for the kernel rows of problems with this total number of samples."""
    if cache_size == "auto" and samples <= MAX_DOUBLE_SAMPLES:
        return SMALL_CACHE_BYTES
    return cache_bytes(cache_size)


# ---- solution ----------------------------------------------------------------------------------------------------


def default_max_steps(n: int) -> int:
    """Steps after which a problem of n samples without `max_iter` ends with MAX_ITER."""
    return min(max(MAX_STEPS, MAX_STEPS_PER_SAMPLE * n), _small_limit(n))


def _small_limit(n: int) -> int:
    return SMALL_STEPS + SMALL_STEPS_PER_SAMPLE * n


def max_steps_of(problem: Problem) -> int:
    """Steps without `max_iter`. Without finite bounds there may be no solution, and fewer steps are tried."""
    if np.isfinite(problem.upper - problem.lower).all():
        return default_max_steps(problem.Q.n)
    return _small_limit(problem.Q.n)


def steps_left(max_iter: int, iterations: int) -> int:
    """Steps that are left of `max_iter`, −1 for no limit."""
    return -1 if max_iter < 0 else max(0, max_iter - iterations)


def without_history(run: DecompositionRun) -> DecompositionRun:
    """The run without its history if the history is not reliable, because it was computed with float32 rows."""
    return replace(run, history=History.empty())


def bounded_history(problem: Problem, beta: Array, run: DecompositionRun) -> History:
    """The history of a run with bounds that include rounding errors, if the errors of f are known.

    Along the run f has at most its final error. The objective is the sum of the decreases of all steps, in which the
    errors of f are multiplied with the changes of β.                                          docs/math (613)
    """
    history = run.history
    if len(history.iteration) == 0 or not np.isfinite(run.run_error):
        return history
    error, operations = run.run_error, 8 * UNIT_ROUNDOFF * (run.iterations + problem.size)
    sums = run.travel + float(np.sum(np.abs(beta)))  # bounds Σ|β| of all iterates
    gradient = problem.Q.access.largest() * sums + float(np.max(np.abs(problem.p)))
    of_objective = sums * (2 * error + operations * gradient)
    width = float(np.sum(problem.upper - problem.lower))
    of_primal = of_objective + width * (error + operations * gradient)
    return replace(
        history,
        primal=history.primal + of_primal,
        dual=history.dual - of_objective,
        gap=history.gap + of_primal + of_objective,
    )


def solution_of(
    options: DecompositionOptions, problem: Problem, beta: Array, run: DecompositionRun, max_polished: int
) -> Solution:
    """The solution at β: polished if it has at most `max_polished` samples, and verified if it was polished."""
    Q = problem.Q
    alpha = Q.sign * beta
    gradient = Q.spread(run.f) + problem.p
    unknown = not (run.exact or run.support_exact) and run.status is Status.TIME_LIMIT and run.iterations == 0
    if not (unknown and Q.access.compiled):  # rows of a Python function may take long
        mu = optimal_offset(problem, alpha, gradient)
    else:
        mu = estimated_offset(problem, alpha)
    solution = Solution(
        alpha=alpha,
        mu=mu,
        gradient=gradient,
        status=run.status,
        iterations=run.iterations,
        history=bounded_history(problem, beta, run),
        exact=run.exact,
        support_exact=run.support_exact,
        rounded=not np.isfinite(run.run_error),
        polished=run.polish is Polish.DONE,
        error=run.error,
        counters=run.counters,
        gradient_error=run.f_error if np.isfinite(run.f_error) else None,
    )
    return polished_solution(options, problem, solution, run.polish, run.violation, max_polished)


def polished_solution(
    options: DecompositionOptions,
    problem: Problem,
    solution: Solution,
    polish: Polish,
    violation: float,
    max_polished: int,
) -> Solution:
    """The solution polished, if it has at most `max_polished` samples, and verified if it was polished.

    `polish` is the outcome of polishing by the core, and `violation` the KKT violation after it.
    """
    if polish is Polish.DONE and (options.stop == "gap" or violation <= options.tol):
        return solution
    # After NUMERICAL, SMO steps are rounding errors, and after the default limit of steps they converge too slowly; the
    # linear system may still determine the solution.
    slow = solution.status is Status.MAX_ITER and solution.iterations >= default_max_steps(problem.Q.n)
    failed = slow or solution.status is Status.NUMERICAL
    ended = solution.status is Status.SOLVED or (failed and bool(np.isfinite(solution.gradient).all()))
    may_polish = options.polish and ended and problem.p.size <= max_polished * problem.Q.slots
    polishes = may_polish and polish in (Polish.UNTRIED, Polish.SINGULAR)
    if not polishes and not solution.polished:
        return solution
    return refine(problem, solution, options.tol, "kkt_violation" if options.stop == "kkt" else None, polishes=polishes)
