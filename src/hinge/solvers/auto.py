"""Default solver: the working-set method, and interior-point methods if it converges slowly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar

import numpy as np

from hinge.control import RunControl
from hinge.problems import Diagonal, Problem, Solution, Status, optimality
from hinge.solvers.base import Capabilities, Start, register
from hinge.solvers.decomposition.base import WorkingSetOptions, default_max_steps
from hinge.solvers.decomposition.working_set import WorkingSet
from hinge.solvers.interior_point.dense import DEFAULT_MAX_ITER, InteriorPoint
from hinge.solvers.interior_point.low_rank import LowRankInteriorPoint
from hinge.solvers.interior_point.rank import estimated_rank, exact_factorization, is_factorable, steps_before_factor
from hinge.solvers.refinement import verify

#: Number of samples up to which the dense interior-point method is used: it factorizes the kernel matrix.
MAX_DENSE_SAMPLES = 2000

#: Below this tolerance a problem of at most MAX_DENSE_SAMPLES samples starts with the interior-point method.
INTERIOR_POINT_TOL = 1e-8

#: Cost of the interior-point method in working-set steps per sample. It is not used if `max_iter` allows fewer steps.
STEPS_PER_SAMPLE = 20

#: Steps that take as long as the interior-point method for few samples, most of which is independent of their number.
SMALL_PROBLEM_STEPS = 100_000

#: Factor by which the step budget of the working-set method is multiplied if the interior-point method fails, as for a
#: kernel that is not positive semidefinite, or if the problem may be unbounded.
LAST_BUDGET_FACTOR = 5

#: Iteration limit of the low-rank interior-point method, which converges within a third of it or not at all.
MAX_FACTOR_ITERATIONS = 50

#: A solution with a factor is accepted if its relative gap, computed with the true kernel matrix, is at most this.
FACTOR_GAP = 1e-8

#: Tolerance of the low-rank interior-point method.
FACTOR_TOL = 1e-10


@register("auto")
@dataclass(frozen=True, kw_only=True)
class Auto(WorkingSetOptions):
    """Working-set method with interior-point methods as fallback.

    The working-set method converges slowly on badly scaled data and for large C. Interior-point methods do not, but
    cost O(n³), or O(nr²) if the kernel matrix has a small rank r (linear kernels of few features; the rank of other
    kernels is estimated from a few samples). A problem of at most 2,000 samples changes to the interior-point method
    after a step budget, and starts with it if `tol` is below 1e-8. A larger problem of small rank changes to the
    low-rank interior-point method. All other problems end with `Status.MAX_ITER` after ten million steps, or 100 n if
    that is more.

    Cost: that of the chosen solver; `hinge.solvers.explain` states the choice and its reasons.
    Certificate: that of the chosen solver.

    Notes
    -----
    The parameters are those of `WorkingSet`.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import Auto
    >>> hinge.SVC(solver=Auto(tol=1e-6)).fit([[0.0], [1.0], [2.0]], [0, 1, 1]).status_.name
    'SOLVED'
    """

    capabilities: ClassVar = Capabilities(
        tol="kkt_violation", terms=("none", "diagonal", "convex"), batch=True,
        options=("cache_size", "shrinking", "threads"),
    )  # fmt: skip

    #: The working-set method with these options; its deadline is that of the run control.
    _working_set: WorkingSet = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        options = {}
        for option in fields(WorkingSet):
            options[option.name] = getattr(self, option.name)
        object.__setattr__(self, "_working_set", WorkingSet(**options))  # which validates them

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem` from `start`, which is made feasible first."""
        return self.solve_batch([problem], [start], control)[0]

    def solve_batch(
        self, problems: Sequence[Problem], starts: Sequence[Start] | None = None, control: RunControl | None = None
    ) -> list[Solution]:
        """Solve problems, in parallel if they share a kernel matrix.

        Without a `control`, signals are captured: an interrupt between two methods keeps the result of the first one
        and is stored in `Solution.error`. With a `control`, its owner captures signals.
        """
        if control is None:
            control = self.started(control)
            with control.capture_signals(raises=False):
                return _with_error(self.solve_batch(problems, starts, control), control.interrupt)
        control = self.started(control)
        mixed = self.tol < INTERIOR_POINT_TOL
        for problem in problems:
            mixed = mixed or needs_interior_point(problem)
        solve = self._solve_mixed if mixed else self._solve_by_working_sets
        return solve(problems, starts, control)

    def _solve_mixed(
        self, problems: Sequence[Problem], starts: Sequence[Start] | None, control: RunControl
    ) -> list[Solution]:
        """Solve some problems by the interior-point method at once, and the others by the working-set method."""
        starts = starts or [None] * len(problems)
        solutions: dict[int, Solution] = {}
        for k, (problem, start) in enumerate(zip(problems, starts, strict=True)):
            if needs_interior_point(problem):
                solutions[k] = self._solve_convex(problem, control)
            elif start is None and self.tol < INTERIOR_POINT_TOL and self._allows_dense(problem):
                solution = self._solve_dense(problem, control)
                if solution.status is Status.SOLVED or solution.error is not None:
                    solutions[k] = self._verified(problem, solution)
        rest = [k for k in range(len(problems)) if k not in solutions]
        error = next((s.error for s in solutions.values() if s.error is not None), None)
        others = self._solve_by_working_sets([problems[k] for k in rest], [starts[k] for k in rest], control, error)
        solutions.update(zip(rest, others, strict=True))
        return [solutions[k] for k in range(len(problems))]

    def _solve_by_working_sets(
        self,
        problems: Sequence[Problem],
        starts: Sequence[Start] | None,
        control: RunControl,
        error: BaseException | None = None,
    ) -> list[Solution]:
        """Run the working-set method within its step budget, then the fallback, unless there was an `error`."""
        budgets = list(map(self._step_budget, problems))
        solutions = self._working_set.solve_batch(problems, starts, control, budgets)
        slow = []
        for k, solution in enumerate(solutions):
            error = solution.error if error is None else error
            if solution.status is Status.MAX_ITER and (budgets[k] != self.max_iter or self._allows_dense(problems[k])):
                slow.append(k)
        for k in slow:
            error = control.interrupt if error is None else error
            solutions[k] = self._fallback(problems[k], solutions[k], error, control)
            error = solutions[k].error if error is None else error
        return solutions

    # ---- budgets ----------------------------------------------------------------------------------------------

    def _allows_dense(self, problem: Problem) -> bool:
        """Whether the dense interior-point method may be used."""
        n = problem.p.size // problem.Q.slots
        allowed = self.max_iter < 0 or self.max_iter >= STEPS_PER_SAMPLE * n
        return n <= MAX_DENSE_SAMPLES and allowed and is_bounded(problem)

    def _allows_factor(self, problem: Problem) -> bool:
        """Whether the low-rank interior-point method may be used."""
        has_no_limit = self.max_iter < 0 and problem.Q.n > MAX_DENSE_SAMPLES
        return has_no_limit and problem.term is None and is_factorable(problem)

    def _dense_budget(self, problem: Problem) -> int:
        """Steps before the dense interior-point method."""
        steps = step_budget(problem.p.size // problem.Q.slots)
        return steps if self.max_iter < 0 else min(steps, self.max_iter)

    def _step_budget(self, problem: Problem) -> int:
        """Steps of the working-set method before the fallback."""
        if self._allows_dense(problem):
            return self._dense_budget(problem)
        if self._allows_factor(problem):
            return int(min(steps_before_factor(problem), default_max_steps(problem.Q.n)))
        if self.max_iter < 0 and not is_bounded(problem):
            return LAST_BUDGET_FACTOR * (20_000 + 200 * problem.Q.n)
        return default_max_steps(problem.Q.n) if self.max_iter < 0 else self.max_iter

    # ---- methods ----------------------------------------------------------------------------------------------

    def _fallback(
        self, problem: Problem, first: Solution, error: BaseException | None, control: RunControl
    ) -> Solution:
        """Continue from `first`, the result of the working-set method, with another method."""
        if error is not None:
            return replace(first, status=Status.INTERRUPTED, error=error)
        if self._allows_factor(problem):
            if estimated_rank(problem) is not None:
                return self._continue_with_factor(problem, first, control)
            steps = default_max_steps(problem.Q.n) - first.iterations
            return self._continue_with_working_sets(problem, first, steps, control) if steps > 0 else first
        if not self._allows_dense(problem):
            return first if is_bounded(problem) else replace(first, status=Status.NUMERICAL)
        return self._continue_with_dense(problem, first, control)

    def _continue_with_working_sets(
        self, problem: Problem, first: Solution, steps: int, control: RunControl
    ) -> Solution:
        solver = replace(self._working_set, max_iter=steps)
        return first.then(solver.solve(problem, first, control))

    def _continue_with_dense(self, problem: Problem, first: Solution, control: RunControl) -> Solution:
        """The dense interior-point method; if it fails, the working-set method with a larger budget."""
        second = self._solve_dense(problem, control)
        if second.status is Status.SOLVED:
            return first.then(self._verified(problem, second))
        if second.status in (Status.TIME_LIMIT, Status.INTERRUPTED):  # its unfinished iterate is worse than `first`
            return replace(first, status=second.status, error=second.error)
        budget = self._dense_budget(problem)
        steps = LAST_BUDGET_FACTOR * budget if self.max_iter < 0 else self.max_iter - budget
        last = replace(self._working_set, max_iter=steps).solve(problem, first, control)
        if last.status is not Status.SOLVED and last.error is None and _value(problem, second) < _value(problem, last):
            last = replace(second, status=Status.NUMERICAL)
        if last.status is Status.MAX_ITER and self.max_iter < 0:
            last = replace(last, status=Status.NUMERICAL)
        return first.then(last)

    def _continue_with_factor(self, problem: Problem, first: Solution, control: RunControl) -> Solution:
        """The low-rank interior-point method; if it is not polished, the working-set method continues."""
        second = self._solve_low_rank(problem, MAX_FACTOR_ITERATIONS, control)
        if second.status is Status.SOLVED and second.polished:
            return first.then(second)
        if second.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
            return replace(first, status=second.status, error=second.error)
        better = first.then(second) if _value(problem, second) < _value(problem, first) else first
        return self._continue_with_working_sets(problem, better, default_max_steps(problem.Q.n), control)

    def _solve_convex(self, problem: Problem, control: RunControl) -> Solution:
        """A problem that only interior-point methods solve: with a factor if the rank is small, else dense."""
        limit = -1 if self.max_iter < 0 else min(self.max_iter, DEFAULT_MAX_ITER)
        low_rank: Solution | None = None
        if problem.Q.n > MAX_DENSE_SAMPLES and is_factorable(problem) and estimated_rank(problem) is not None:
            low_rank = self._solve_low_rank(problem, limit, control)
            gap = optimality(problem, *low_rank.point, low_rank.gradient).relative_gap
            solved = low_rank.status is Status.SOLVED and gap <= FACTOR_GAP
            if solved or low_rank.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
                return low_rank
        try:
            return InteriorPoint(tol=self._gap(), max_iter=limit).solve(problem, None, control)
        except MemoryError:
            if low_rank is None:
                raise
            return replace(low_rank, status=Status.NUMERICAL)

    def _solve_low_rank(self, problem: Problem, max_iter: int, control: RunControl) -> Solution:
        factor = exact_factorization(problem)
        solver = LowRankInteriorPoint(approximation=factor, tol=FACTOR_TOL, max_iter=max_iter, threads=self.threads)
        return solver.solve(problem, None, control)

    def _solve_dense(self, problem: Problem, control: RunControl) -> Solution:
        """The dense interior-point method, continued by the working-set method if its solution is not polished."""
        tol = self._gap() if self.stop == "gap" else InteriorPoint.tol  # a KKT violation is verified after polishing
        interior = InteriorPoint(tol=tol).solve_unverified(problem, control)
        if interior.status is not Status.SOLVED or interior.polished:
            return interior
        solver = replace(self._working_set, max_iter=self._dense_budget(problem))
        at_bounds = solver.solve(problem, interior, control)
        improved = at_bounds.status is Status.SOLVED or at_bounds.error is not None
        return interior.then(at_bounds) if improved else interior

    def _gap(self) -> float:
        """The relative gap of interior-point methods, by the rule for solvers that an estimator selects by name."""
        return min(self.tol, InteriorPoint.tol)

    def _verified(self, problem: Problem, solution: Solution) -> Solution:
        """Verify the KKT violation if `tol` limits it, because interior-point methods stop on the gap."""
        return solution if self.stop == "gap" else verify(problem, solution, self.tol, "kkt_violation")


def step_budget(n: int) -> int:
    """Steps of the working-set method that take about as long as an interior-point method for n samples."""
    return SMALL_PROBLEM_STEPS + n * n // 4 if n <= MAX_DENSE_SAMPLES else default_max_steps(n)


def needs_interior_point(problem: Problem) -> bool:
    """Whether decomposition methods do not apply: h cannot be folded into Q, or rows are more than two or overlap."""
    general = problem.term is not None and not (isinstance(problem.term, Diagonal) and not problem.has_common_descent())
    rows = problem.A
    return general or len(rows) > 2 or (len(rows) == 2 and bool(((rows[0] != 0) & (rows[1] != 0)).any()))


def is_bounded(problem: Problem) -> bool:
    """Whether every variable has finite bounds or a positive diagonal term; otherwise there may be no solution."""
    if problem.is_box:
        return True
    bounded = np.isfinite(problem.upper - problem.lower)
    if isinstance(problem.term, Diagonal):
        bounded |= problem.term.d > 0
    return bool(bounded.all())


def _value(problem: Problem, solution: Solution) -> float:
    return problem.value(solution.alpha, solution.gradient)


def _with_error(solutions: list[Solution], interrupt: BaseException | None) -> list[Solution]:
    """Add an interrupt that arrived after the last solver had ended to the last solution."""
    if interrupt is not None and all(solution.error is None for solution in solutions):
        solutions[-1:] = [replace(solution, error=interrupt) for solution in solutions[-1:]]
    return solutions
