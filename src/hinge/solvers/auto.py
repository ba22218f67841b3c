"""The default: the quick method first, the certain one where the quick one does not get there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from hinge.control import RunControl
from hinge.problems import Diagonal, Problem, Solution, Status, certify
from hinge.solvers.base import Capabilities, Start
from hinge.solvers.decomposition.working_set import WorkingSet
from hinge.solvers.diagonal import fold_diagonal, unfold_diagonal
from hinge.solvers.interior_point.dense import DEFAULT_MAX_ITER, InteriorPoint
from hinge.solvers.interior_point.low_rank import LowRankInteriorPoint
from hinge.solvers.interior_point.rank import estimated_rank, exact_factorization, is_factorable, steps_before_factor
from hinge.solvers.refinement.verify import borne_out

#: Up to this many samples the kernel matrix is small enough for an interior point method.
DENSE_N = 2000

#: Below this tolerance a small problem goes to the interior point method at once.
PRECISE_TOL = 1e-8

#: An interior point method costs about as much as so many steps for every sample: who allows these allows it.
STEPS_PER_SAMPLE = 20

#: Where the interior point method fails too (a kernel that is not positive semidefinite), SMO gets so many times more.
LAST_PATIENCE = 5

#: Those that get there do it within a third of these iterations.
FACTOR_ITERATIONS = 50

#: The relative gap of the true problem below which a factor was good enough.
FACTORED_GAP = 1e-8

#: Where nothing else says when to stop: so many steps, or so many for every sample if that is more.
ENOUGH = 10_000_000
ENOUGH_PER_SAMPLE = 100


@dataclass(frozen=True, kw_only=True)
class Auto(WorkingSet):
    """Working sets; on small problems that they do not solve within a fair number of steps, or that are to be solved
    very precisely, interior point.

    Badly scaled data and large C make SMO creep. An interior point method does not mind, but costs O(n³), or O(nr²)
    where the kernel matrix has a small rank r: linear kernels of few features; of other kernels the rank is probed on
    a few samples, once working sets have taken long enough to make that cheap. A large problem of high rank that is
    not solved after ten million steps (100 n, if that is more) is given up, with `Status.MAX_ITER`.

    Cost: that of the solver taken; `hinge.solvers.explain` says which, and why.
    Certificate: that of the solver taken.
    """

    capabilities: ClassVar = Capabilities(
        tol="kkt_violation", terms=("none", "diagonal", "convex"), batch=True,
        options=("tol", "cache_size", "shrinking", "threads"),
    )  # fmt: skip

    def solve_batch(
        self, problems: Sequence[Problem], starts: Sequence[Start] | None = None, control: RunControl | None = None
    ) -> list[Solution]:
        """Solve problems, in parallel if they share a kernel matrix."""
        control = self.started(control)
        with control.capture_signals(raises=False):  # a signal between two methods keeps the result of the first
            return _with_error(self._in_turn(problems, starts, control), control.interrupt)

    def _in_turn(
        self, problems: Sequence[Problem], starts: Sequence[Start] | None, control: RunControl
    ) -> list[Solution]:
        starts = starts or [None] * len(problems)
        found: dict[int, Solution] = {}
        for k, (problem, start) in enumerate(zip(problems, starts, strict=True)):
            if needs_interior(problem):
                found[k] = self._curved(problem, control)
            elif start is None and self.tol < PRECISE_TOL and self._may_be_dense(problem):
                precise = self._interior(problem, control)
                if precise.status is Status.SOLVED or precise.error is not None:
                    found[k] = self._honest(problem, precise)
        rest = [k for k in range(len(problems)) if k not in found]
        limits = [self._limit(problems[k]) for k in rest]
        engine = self._engine(self.max_iter)
        folded = fold_diagonal([problems[k] for k in rest])
        plain = engine._solve_batch(folded, [starts[k] for k in rest], control, limits)
        first = [unfold_diagonal(problems[k], solution) for k, solution in zip(rest, plain, strict=True)]
        for k, limit, solution in zip(rest, limits, first, strict=True):
            more = limit != self.max_iter or self._may_be_dense(problems[k])
            if more and solution.status is Status.MAX_ITER:
                stopped = next((s.error for s in found.values() if s.error is not None), control.interrupt)
                solution = self._insist(problems[k], solution, stopped, control)
            found[k] = solution
        return [found[k] for k in range(len(problems))]

    def _may_be_dense(self, problem: Problem) -> bool:
        allowed = self.max_iter < 0 or self.max_iter >= STEPS_PER_SAMPLE * problem.Q.n
        return has_solution(problem) and problem.Q.n <= DENSE_N and allowed

    def _may_be_factored(self, problem: Problem) -> bool:
        plain = problem.term is None and is_factorable(problem)
        return self.max_iter < 0 and problem.Q.n > DENSE_N and plain

    def _curved(self, problem: Problem, control: RunControl) -> Solution:
        """A loss that no solver of boxes can do: on the factor of a matrix of low rank, else on the matrix itself."""
        limit = self._interior_limit()
        found: Solution | None = None
        if problem.Q.n > DENSE_N and is_factorable(problem) and estimated_rank(problem) is not None:
            found = self._factored(problem, control, limit)
            good = certify(problem, *found.point, found.gradient).relative_gap <= FACTORED_GAP
            if found.status in (Status.TIME_LIMIT, Status.INTERRUPTED) or (found.status is Status.SOLVED and good):
                return found
        try:
            return InteriorPoint(max_iter=limit).solve(problem, None, control)
        except MemoryError:
            if found is None:
                raise
            return replace(found, status=Status.NUMERICAL)

    def _patience(self, problem: Problem) -> int:
        """Steps to try before an interior point method."""
        steps = patience(problem.Q.n)
        return steps if self.max_iter < 0 else min(steps, self.max_iter)

    def _limit(self, problem: Problem) -> int:
        """Steps after which something else is tried.  Without bounds there may be no solution: then that is the end."""
        if self._may_be_dense(problem):
            return self._patience(problem)
        if self._may_be_factored(problem):
            return int(min(steps_before_factor(problem), enough(problem.Q.n)))
        if self.max_iter < 0 and not has_solution(problem):
            return LAST_PATIENCE * (20_000 + 200 * problem.Q.n)
        return enough(problem.Q.n) if self.max_iter < 0 else self.max_iter

    def _insist(
        self, problem: Problem, first: Solution, stopped: BaseException | None, control: RunControl
    ) -> Solution:
        """Working sets have not got there; nothing is begun where something has asked to stop."""
        if stopped is not None:
            return replace(first, status=Status.INTERRUPTED, error=stopped)
        if self._may_be_factored(problem):
            if estimated_rank(problem) is not None:
                return self._by_factor(problem, first, control)
            left = enough(problem.Q.n) - first.iterations
            return first.then(self._engine(left).solve(problem, first, control)) if left > 0 else first
        if not self._may_be_dense(problem):
            return first if has_solution(problem) else replace(first, status=Status.NUMERICAL)
        second = self._interior(problem, control)
        if second.status is Status.SOLVED:
            return first.then(self._honest(problem, second))
        if second.status in (Status.TIME_LIMIT, Status.INTERRUPTED):  # half-way an interior point is of no use
            return replace(first, status=second.status, error=second.error)
        patience = self._patience(problem)
        limit = LAST_PATIENCE * patience if self.max_iter < 0 else self.max_iter - patience
        rest = self._engine(limit).solve(problem, first, control)
        if rest.status is not Status.SOLVED and rest.error is None and _value(problem, second) < _value(problem, rest):
            rest = replace(second, status=Status.NUMERICAL)
        if rest.status is Status.MAX_ITER and self.max_iter < 0:
            rest = replace(rest, status=Status.NUMERICAL)
        return first.then(rest)

    def _by_factor(self, problem: Problem, first: Solution, control: RunControl) -> Solution:
        """Interior point on the factor of the kernel matrix; working sets carry on where it was not made exact."""
        second = self._factored(problem, control, FACTOR_ITERATIONS)
        if second.status is Status.SOLVED and second.polished:
            return first.then(second)
        if second.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
            return replace(first, status=second.status, error=second.error)
        better = first.then(second) if _value(problem, second) < _value(problem, first) else first
        return better.then(self._engine(enough(problem.Q.n)).solve(problem, better, control))

    def _factored(self, problem: Problem, control: RunControl, limit: int) -> Solution:
        return LowRankInteriorPoint(
            approximation=exact_factorization(problem), tol=1e-10, max_iter=limit, threads=self.threads
        ).solve(problem, None, control)

    def _interior(self, problem: Problem, control: RunControl) -> Solution:
        """Interior point; where its answer could not be polished, SMO carries it from the interior to the bounds."""
        inside = InteriorPoint().solve_unverified(problem, control)
        if inside.status is not Status.SOLVED or inside.polished:
            return inside
        outside = self._engine(self._patience(problem)).solve(problem, inside, control)
        return inside.then(outside) if outside.status is Status.SOLVED or outside.error is not None else inside

    def _honest(self, problem: Problem, solution: Solution) -> Solution:
        """An interior point has a small gap; whether it meets `tol`, a bound on the KKT violation, is to be seen."""
        return solution if self.stop == "gap" else borne_out(problem, solution, self.tol)

    def _interior_limit(self) -> int:
        """Iterations where there is no other way than interior point: as many as steps are allowed."""
        return -1 if self.max_iter < 0 else min(self.max_iter, DEFAULT_MAX_ITER)

    def _engine(self, max_iter: int) -> WorkingSet:
        """The working-set solver; its deadline is that of the run control."""
        options = {field.name: getattr(self, field.name) for field in fields(WorkingSet)}
        return WorkingSet(**{**options, "max_iter": max_iter, "max_time": None})


def patience(n: int) -> int:
    """Steps after which other means are tried: an interior point method would take about as long, or is too much."""
    return 20_000 + n * n // 4 if n <= DENSE_N else enough(n)


def enough(n: int) -> int:
    """Steps after which a problem is given up."""
    return max(ENOUGH, ENOUGH_PER_SAMPLE * n)


def needs_interior(problem: Problem) -> bool:
    """Whether h is more than a diagonal, or equality rows share variables: no solver of boxes can do that."""
    general = problem.term is not None and not isinstance(problem.term, Diagonal)
    return general or (len(problem.A) > 1 and bool(np.any(np.count_nonzero(problem.A, axis=0) > 1)))


def has_solution(problem: Problem) -> bool:
    """Whether boxes, or curvature of their own, keep all variables from running away."""
    held = np.isfinite(problem.upper - problem.lower)
    if isinstance(problem.term, Diagonal):
        held |= problem.term.d > 0
    return bool(held.all())


def _value(problem: Problem, solution: Solution) -> float:
    return problem.value(solution.alpha, solution.gradient)


def _with_error(solutions: list[Solution], interrupt: BaseException | None) -> list[Solution]:
    """Add an interrupt that came after the last solver had ended to the last solution."""
    if interrupt is not None and all(solution.error is None for solution in solutions):
        solutions[-1:] = [replace(solution, error=interrupt) for solution in solutions[-1:]]
    return solutions
