"""Primal-dual path following for problems whose kernel matrix fits into memory."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from hinge.control import RunControl
from hinge.kernels import available_bytes
from hinge.problems import Array, History, Problem, Solution, Status, certify, optimal_offset
from hinge.solvers.base import Capabilities, Solver, Start, interrupted_solution, stop_status
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.feasibility import nearest_feasible
from hinge.solvers.interior_point.initial_point import has_initial_point, initial_point, over_kernel_matrix
from hinge.solvers.interior_point.iterate import Iterate, is_quadratic
from hinge.solvers.interior_point.predictor_corrector import advance
from hinge.solvers.refinement.crossover import ProximalNewton, room_of, rounding_of
from hinge.solvers.refinement.iterative_refinement import refine
from hinge.solvers.refinement.polish import MAX_SINGULAR, balance, polish
from hinge.solvers.refinement.verify import gap_borne_out

#: A relative gap that is accepted where rounding allows no further step.
ROUNDING_TOL = 1e-8

#: Of the objective's first value: a gap below this times `tol` is small even where the optimum is zero.
NOTHING = 1e-4

#: The same while there are steps to take: an objective below this times its first value is zero.
ZERO = 1e-14

#: Iterations, unless told otherwise; and those without a gain after which rounding has the last word.
MAX_ITER = 100
IDLE = 15

#: Kernel matrices that are in memory at a time: K, what is factorised, and a copy in single precision.
MATRICES = 2.5

#: Of the width of a box: what is closer to a bound than that is at it.
CRUMB = 1e-14

#: An exact end is tried when the products of slacks and multipliers fall below this, relative to the objective, or
#: after so many iterations; and again whenever they have fallen by that factor.
CROSSING = 1.0
CROSSING_ITERATION = 2
CROSSING_STEP = 1e-3

#: Where the first attempt failed the path is followed with more care, and these products are waited for.
CROSSING_AGAIN = 1e-6

#: Products of slacks and multipliers this far below `tol` end the path, whatever rounding says of the gap.
END = 1e-3

#: Of the gap that was asked for: above this, pairs of doubles take over from doubles.
DOUBT = 0.1

#: Variables up to which a linear program finds the best multipliers of rows that share variables.
SMALL_PROGRAM = 2000

EMPTY = {name: np.empty(0) for name in (f.name for f in fields(History))}


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(Solver):
    """Predictor-corrector steps along the central path.     LwK §10.3, SVR tutorial app. A; docs/math (321)–(326)

    For every machine and every convex loss, with a positive semidefinite Q. Where the dual is a quadratic program a
    rough point is found first, by a few steps on pairs of variables; from there Newton steps on the free samples lead
    to the exact solution, (373)–(376): some 5 to 25 factorisations of their size (`Solution.counters` has the number),
    and the path is followed only where they fail, or if asked for. With a curved loss an iteration costs
    one Cholesky factorisation of the size of the samples that have not come to rest (not of the number of variables: a
    regression has two for each sample), and some 5 to 25 iterations give ten digits, whatever C and the scale of the
    data are. Memory is 20 n² bytes. Offset, ρ and ε are the multipliers of the equality rows.

    Cost: 10 n steps on pairs and 3 to 45 factorisations of the free samples, or 5 to 25 of n³/3; 20 n² bytes.
    Certificate: the relative gap is at most `tol`; where doubles cannot hold it, that of `alpha` + `remainder`.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    max_iter : int
        Iterations; −1 for the default of 100.
    max_time : float or None
        Seconds.
    crossover : bool
        Whether to look for the exact solution of a quadratic program before the path has come to its end. With False
        the path is followed all the way, and only its last point is made exact.
    """

    capabilities: ClassVar = Capabilities(tol="relative_gap", terms=("none", "diagonal", "convex"), options=())

    tol: float = 1e-10
    crossover: bool = True

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem`; a start is of no use to an interior point method and is ignored."""
        return gap_borne_out(problem, self.follow(problem, control), self.tol)

    def follow(self, problem: Problem, control: RunControl | None = None) -> Solution:
        """The same for callers who judge the end themselves: SOLVED may mean that rounding allows no further step."""
        needed, there = MATRICES * 8 * problem.Q.n**2, available_bytes()
        if needed > there:
            raise MemoryError(
                f"the interior point method needs {needed / 2**30:.1f} GB for {problem.Q.n} samples, and "
                f"{there / 2**30:.1f} GB are free; use solver='working_set', or fewer samples"
            )
        with single_thread():
            return self._follow(problem, self.started(control))

    def _follow(self, problem: Problem, control: RunControl) -> Solution:
        began = time.monotonic()
        deadline = control.deadline
        begun = control.interruptible_call(lambda: self._start(problem, control))
        if begun is None:
            return interrupted_solution(problem, control)
        state, initial_steps, error = begun
        records: list[dict[str, float]] = []
        status = Status.MAX_ITER
        best, idle, crossing = np.inf, 0, CROSSING if self.crossover else -1.0
        polished: tuple[Array, Array] | None = None
        exact, crossed, cross_at = True, 0, CROSSING_ITERATION
        try:
            with control.interruptible():
                if error is not None:
                    raise error
                for iteration in range(1 + (MAX_ITER if self.max_iter < 0 else self.max_iter)):
                    records.append(_snapshot(state, iteration, time.monotonic() - began))
                    gap = _relative_gap(state, ZERO)
                    merit = state.merit()
                    best, idle = (merit, 0) if merit < 0.9 * best else (best, idle + 1)
                    if gap <= self.tol and state.is_interior:
                        status = Status.SOLVED
                        break
                    stopped = stop_status(control, records[-1])
                    if stopped is not None:
                        status = stopped
                        break
                    products = _products(state)
                    if not state.is_interior or products <= crossing or (iteration == cross_at and not state.accurate):
                        crossing = min(products, crossing) * CROSSING_STEP
                        polished, exact, steps = _cross(state, deadline, self.tol)
                        crossed += steps
                        if polished is not None:
                            status = Status.SOLVED
                            break
                        if control.expired():
                            status = Status.TIME_LIMIT
                            break
                        if not state.accurate:  # along the path, then: a little of it first
                            crossing = CROSSING if not state.is_interior else CROSSING_AGAIN
                            state = Iterate(problem, state.K, accurate=state.is_interior)
                            best, idle, products, cross_at = np.inf, 0, _products(state), iteration + CROSSING_ITERATION
                    if products <= END * self.tol:  # the rest is rounding
                        status = _end(state, self.tol)
                        break
                    if (self.max_iter < 0 or iteration < self.max_iter) and (idle > IDLE or not advance(state)):
                        status = _end(state, self.tol)
                        break
                if polished is None and status in (Status.SOLVED, Status.NUMERICAL, Status.MAX_ITER):
                    polished = _polish(state, deadline)
                    status = Status.SOLVED if polished is not None else status  # exact, wherever the path ended
        except BaseException as interruption:  # a signal, or an exception of the callback
            status, error = Status.INTERRUPTED, interruption
        found = _solution(state, polished, exact, status, records, error, self.tol)
        return replace(found, counters={"initial_steps": initial_steps, "crossover_steps": crossed})

    def _start(self, problem: Problem, control: RunControl) -> tuple[Iterate, int, BaseException | None]:
        """A rough point to cross from, and the steps it took; else the beginning of the path."""
        K = problem.Q.kernel_matrix()
        if not self.crossover or not has_initial_point(problem):
            return Iterate(problem, K, accurate=not self.crossover), 0, None
        rough = initial_point(problem, K, control)
        return Iterate(problem, K, point=(rough.alpha, rough.mu)), rough.iterations, rough.error


def _end(state: Iterate, tol: float) -> Status:
    """Where the path leads no further."""
    return Status.SOLVED if _relative_gap(state) <= max(tol, ROUNDING_TOL) else Status.NUMERICAL


def _products(state: Iterate) -> float:
    """Products of slacks and multipliers, relative to the objective."""
    return state.complementarity() / max(abs(state.gap()[1]), NOTHING * state.objective_scale)


def _relative_gap(state: Iterate, nothing: float = NOTHING) -> float:
    """Infinite where the point is not feasible: its gap proves nothing."""
    gap, value = state.gap()
    scale = max(0.5 * (abs(value) + abs(gap - value)), nothing * state.objective_scale)
    return gap / scale if state.is_feasible(1e-10) and np.isfinite(gap) else np.inf


def _snapshot(state: Iterate, iteration: int, seconds: float) -> dict[str, float]:
    """Bounds only where they are bounds: at a feasible point, with the gap (4) of the multipliers μ at hand."""
    dual, primal = state.residuals()
    gap, value = state.gap()
    feasible = state.is_feasible(1e-13)
    worst = float(max(np.max(np.abs(dual), initial=0.0), np.max(np.abs(primal), initial=0.0)))
    return {
        "iteration": iteration, "seconds": seconds, "violation": worst,
        "primal": gap - value if feasible else np.nan, "dual": -value if feasible else np.nan,
        "gap": gap if feasible else np.nan, "active": len(getattr(state.system, "active", state.x)), "exact": True,
    }  # fmt: skip


# ---- the end ---------------------------------------------------------------------------------------------------


def _cross(state: Iterate, deadline: float | None, tol: float) -> tuple[tuple[Array, Array] | None, bool, int]:
    """(alpha, gradient) of the solution of a quadratic program, whether it is one to rounding, and steps.

    docs/math (373)–(376)
    """
    problem = state.problem
    if not is_quadratic(problem):
        return None, False, 0
    newton = ProximalNewton(problem, state.K, deadline)
    found = newton.run(state.x, state.mu, tol, near=not state.is_interior)
    if found is None:
        return None, False, newton.steps
    alpha = _without_crumbs(problem, found.x)
    inside = np.flatnonzero((alpha > problem.lower) & (alpha < problem.upper))
    if not balance(problem, alpha, inside):
        return None, False, newton.steps
    gradient = state.gradient_at(alpha)
    scale = max(abs(problem.value(alpha, gradient)), NOTHING * state.objective_scale)
    limit = rounding_of(problem, alpha, newton.largest) * room_of(problem, alpha)
    if not state.gap_of(alpha, gradient, found.mu) <= max(10 * tol * scale, 10 * limit):
        return None, False, newton.steps
    state.mu = found.mu
    return (alpha, gradient), found.exact, newton.steps


def _without_crumbs(problem: Problem, alpha: Array) -> Array:
    """Variables that only rounding keeps from their bound are at it: as free ones they would fix the offset."""
    width = problem.upper - problem.lower
    crumb = CRUMB * np.where(np.isfinite(width), width, np.max(np.abs(alpha), initial=0.0))
    alpha = np.where(alpha - problem.lower <= crumb, problem.lower, alpha)
    return np.where(problem.upper - alpha <= crumb, problem.upper, alpha)


def _polish(state: Iterate, deadline: float | None) -> tuple[Array, Array] | None:
    """Put variables next to a bound onto it and solve for the others exactly; (alpha, gradient) if that worked.

    That is possible for quadratic programs only; variables at a bound stay there in any case, if that costs nothing.
    """
    problem = state.problem
    if problem.term is not None and (problem.Q.slots > 1 or not is_quadratic(problem)):
        _empty_slots(state)
        return None
    width = problem.upper - problem.lower
    width = np.where(np.isfinite(width), width, np.max(np.abs(state.x), initial=1e-300))
    down = state.has_lower & (state.s * state.gradient_scale < state.z * width) & (state.z >= state.w)
    up = state.has_upper & (state.t * state.gradient_scale < state.w * width) & (state.w > state.z)
    alpha = np.where(down, problem.lower, np.where(up, problem.upper, state.x))
    plain = over_kernel_matrix(problem, state.K)
    found = polish(
        plain, alpha, plain.gradient(alpha), state.x, plain.gradient(state.x), max_free=problem.size,
        max_singular=MAX_SINGULAR, deadline=deadline,
    )  # fmt: skip
    if found is None:
        _take_bounds(state, alpha)
        return None
    return found[0], found[1] if problem.term is None else state.gradient_at(found[0])


def _empty_slots(state: Iterate) -> None:
    """Of two slots with opposite signs one is empty: that changes no function, and costs less."""
    Q, lower = state.problem.Q, state.problem.lower
    A = state.problem.A
    if Q.slots == 2 and np.all(Q.sign[: Q.n] == -Q.sign[Q.n :]) and np.all(A[:, : Q.n] == -A[:, Q.n :]):
        both = np.minimum(state.x[: Q.n] - lower[: Q.n], state.x[Q.n :] - lower[Q.n :])
        state.x = state.x - np.tile(np.maximum(both, 0.0), 2)


def _take_bounds(state: Iterate, alpha: Array) -> None:
    """Without an exact solution: stay on the bounds found, if that costs nothing."""
    problem = state.problem
    inside = np.flatnonzero((alpha > problem.lower) & (alpha < problem.upper))
    if not balance(problem, alpha, inside):
        return
    gradient = state.gradient_at(alpha)
    points = (alpha, gradient), (state.x, state.gradient)
    there, here = (state.gap_of(x, g, optimal_offset(problem, x, g)) for x, g in points)
    if there <= 1.1 * here:
        state.x, state.gradient = alpha, gradient


def _solution(
    state: Iterate,
    polished: tuple[Array, Array] | None,
    exact: bool,
    status: Status,
    records: list[dict[str, float]],
    error: BaseException | None,
    tol: float,
) -> Solution:
    """The polished point if there is one, else the last one, made feasible."""
    alpha, gradient = polished or _repaired(state)
    mu = _multipliers(state, alpha, gradient)
    if status is Status.NUMERICAL and _all_rounding(state, alpha, mu, gradient):
        status = Status.SOLVED
    remainder = None
    if status is Status.SOLVED and state.problem.term is None and not _within(state, alpha, gradient, mu, tol):
        finer = refine(state.problem, state.K, alpha, mu, tol)
        (alpha, left), (mu, mu_left) = finer.alpha, finer.mu
        gradient, remainder = state.gradient_at(alpha), (left, mu_left)  # of the doubles, as models have them
    columns = {name: np.array([record[name] for record in records]) for name in records[0]} if records else EMPTY
    return Solution(
        alpha=alpha,
        mu=mu,
        gradient=gradient,
        status=status,
        iterations=max(0, len(records) - 1),
        history=History.from_columns(columns),
        error=error,
        polished=polished is not None and exact,
        remainder=remainder,
    )


def _within(state: Iterate, alpha: Array, gradient: Array, mu: Array, tol: float) -> bool:
    """Whether doubles have the gap that was asked for, beyond doubt."""
    return state.gap_of(alpha, gradient, mu) <= DOUBT * tol * abs(state.problem.value(alpha, gradient))


def _all_rounding(state: Iterate, alpha: Array, mu: Array, gradient: Array) -> bool:
    """Whether no variable is pushed harder than rounding errors of the gradient push: then no step can do better,
    however large the gap may look beside a small objective."""
    found = certify(state.problem, alpha, mu, gradient)
    reach = float(np.max(np.abs(state.K), initial=0.0)) * float(np.sum(np.abs(alpha)))
    noise = 4 * np.finfo(float).eps * (reach + float(np.max(np.abs(state.problem.p), initial=0.0)))
    off = 1e-12 * (1.0 + float(np.max(np.abs(alpha), initial=0.0)))
    return bool(found.kkt_violation <= noise and found.infeasibility <= off)


def _multipliers(state: Iterate, alpha: Array, gradient: Array) -> Array:
    """The best ones for this point, or those found with it; these alone where rows share variables and are many."""
    problem = state.problem
    shared = bool(np.any(np.count_nonzero(problem.A, axis=0) > 1))
    if shared and problem.size > SMALL_PROGRAM:
        return state.mu
    best = optimal_offset(problem, alpha, gradient)
    there, here = (state.gap_of(alpha, gradient, mu) for mu in (best, state.mu))
    rounding = np.finfo(float).eps * abs(problem.value(alpha, gradient))
    return state.mu if here < there - rounding else best


def _repaired(state: Iterate) -> tuple[Array, Array]:
    """The point itself if it is feasible to rounding, else one close by that is."""
    problem = state.problem
    shared = np.any(np.count_nonzero(problem.A, axis=0) > 1)
    if state.is_feasible(1e-14) or shared:
        return state.x, state.gradient
    alpha = nearest_feasible(problem, state.x)
    return alpha, state.gradient_at(alpha)
