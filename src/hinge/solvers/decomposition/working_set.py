"""Working-set method: SMO on subsets of the samples, kernel rows in blocks, several problems at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import ClassVar

from hinge import _core
from hinge.control import RunControl
from hinge.kernels import SubsetAccess
from hinge.problems import Array, History, KnownBounds, Problem, Solution, Status
from hinge.problems.solution import run_columns
from hinge.solvers.base import Capabilities, Start, register
from hinge.solvers.decomposition.base import (
    COUNTERS,
    MAX_POLISHED_SAMPLES,
    RULES,
    Polish,
    WorkingSetOptions,
    default_max_steps,
    polished_solution,
    row_cache_bytes,
    signed_start,
    steps_left,
    stores_double_rows,
)
from hinge.solvers.diagonal import fold_diagonal, unfold_diagonal
from hinge.solvers.time_budget import estimated_offset

#: Status of a run of the compiled core by its number.
STATUSES = tuple(Status)

#: Runs that are not continued in double precision.
ENDED = (Status.INTERRUPTED, Status.MAX_ITER, Status.TIME_LIMIT)


@register("working_set")
@dataclass(frozen=True, kw_only=True)
class WorkingSet(WorkingSetOptions):
    """SMO on working sets of the most violating samples.      LwK §10.4; docs/math (6)–(8)

    Kernel rows are computed in blocks, with matrix products on all threads. If few samples are active, all of them are
    the working set. Several problems over the same kernel matrix are solved in parallel.

    Cost: kernel rows of the support vectors and the most violating samples, measured n^1.4 to n^1.6; memory for the row
    cache.
    Certificate: as `SMO`.

    Parameters
    ----------
    size : int
        Samples of a working set; 0 for the default (256 to 2,048, and more if more variables are free).
    rule : {"gradient", "gap", "multiplier"}
        Choice of the samples (LwK Table 10.1): those with the largest gradient, with the largest contribution to the
        duality gap, or with the largest distance to the bound that the gradient points to. As many samples are chosen
        whose variable increases as samples whose variable decreases, and always the pair with the largest gradients.
    threads : int
        Threads for kernel rows and updates of the gradient. The solution is the same, bit by bit, for any number.

    Notes
    -----
    All other parameters are those of `SMO`.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import WorkingSet
    >>> hinge.SVC(solver=WorkingSet(size=64)).fit([[0.0], [1.0], [2.0]], [0, 1, 1]).status_.name
    'SOLVED'
    """

    capabilities: ClassVar = Capabilities(
        tol="kkt_violation", equality_rows="groups", batch=True,
        options=("cache_size", "shrinking", "threads"),
    )  # fmt: skip

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem` from `start`, which is made feasible first."""
        return self.solve_batch([problem], [start], control)[0]

    def solve_batch(
        self,
        problems: Sequence[Problem],
        starts: Sequence[Start] | None = None,
        control: RunControl | None = None,
        max_steps: Sequence[int] | None = None,
    ) -> list[Solution]:
        """Solve problems, in parallel if they share a kernel matrix; each solution is the same as alone.

        `max_steps` replaces `max_iter` by a limit for each problem.
        """
        control = self.started(control)
        folded = problems
        for problem in problems:
            if problem.term is not None:
                self.check(problem)
                folded = fold_diagonal(problems)
                break
        solutions = self._solve_folded(folded, starts, control, max_steps)
        if folded is problems:
            return solutions
        return [unfold_diagonal(problem, solution) for problem, solution in zip(problems, solutions, strict=True)]

    def _solve_folded(
        self,
        problems: Sequence[Problem],
        starts: Sequence[Start] | None,
        control: RunControl,
        max_steps: Sequence[int] | None,
    ) -> list[Solution]:
        """Solve problems without a term h."""
        max_polished = 0 if not self.polish else MAX_POLISHED_SAMPLES // (1 if len(problems) == 1 else 2)
        solutions: list[Solution] = [None] * len(problems)  # type: ignore[list-item]
        error: BaseException | None = None
        for gram, members in _by_matrix(problems):
            points, parts, samples = [], [], 0
            for k in members:
                problem = problems[k]
                points.append(signed_start(problem, None if starts is None else starts[k]))
                limit = self.max_iter if max_steps is None else max_steps[k]
                limit = default_max_steps(problem.Q.n) if limit < 0 else limit
                double = stores_double_rows(self, problem)
                parts.append(_core_problem(problem, gram, points[-1], limit, double, max_polished))
                samples += problem.p.size
            runs = self._run(gram, parts, samples, control, error)
            stopped = error
            for k, beta, run in zip(members, points, runs, strict=True):
                if run.insufficient_precision:
                    found = self._continued_in_double(problems[k], beta, run, control, stopped)
                else:
                    found = self._solution(problems[k], run, stopped)
                solutions[k] = polished_solution(
                    self, problems[k], found, Polish(run.polish), run.violation, max_polished
                )
                error = run.error if error is None else error
        return solutions

    def _run(
        self,
        gram: _core.Gram,
        parts: list[_core.WorkingSetProblem],
        samples: int,
        control: RunControl,
        error: BaseException | None = None,
    ) -> list[_core.WorkingSetRun]:
        """Run the compiled method on problems that share a matrix; after an `error` they keep their initial points."""
        if error is not None:
            control = control.without_callback().limited_to(0.0)
        return _core.working_set(
            gram,
            parts,
            tolerance=self.tol,
            stop_on_gap=self.stop == "gap",
            shrinking=self.shrinking,
            max_seconds=control.max_seconds(),
            cache_bytes=row_cache_bytes(self.cache_size, samples),
            size=self.size,
            threads=self.threads,
            selection=RULES.index(self.rule),
            control=control,
        )

    def _continued_in_double(
        self,
        problem: Problem,
        beta: Array,
        run: _core.WorkingSetRun,
        control: RunControl,
        stopped: BaseException | None,
    ) -> Solution:
        """Continue with float64 rows, unless the run had to end.

        The history of the first run is not reliable, because it was computed with float32 rows.
        """
        if stopped is not None or STATUSES[run.status] in ENDED:
            return replace(self._solution(problem, run, stopped), history=History.empty())
        gram = problem.Q.access.gram
        limit = default_max_steps(problem.Q.n) if self.max_iter < 0 else self.max_iter
        part = _core_problem(problem, gram, beta, steps_left(limit, run.iterations), True, max_polished=0)
        rest = self._solution(problem, self._run(gram, [part], problem.p.size, control)[0], None)
        return replace(rest, iterations=run.iterations + rest.iterations)

    def _solution(self, problem: Problem, run: _core.WorkingSetRun, stopped: BaseException | None) -> Solution:
        """Return the solution at the last point of a run; `stopped` is an exception that ended the runs before."""
        status, error = STATUSES[run.status], run.error
        alpha, gradient, mu, bounds = run.alpha, run.gradient, run.mu, run.bounds
        unknown = not (run.exact or run.support_exact) and status is Status.TIME_LIMIT and run.iterations == 0
        if unknown and problem.Q.access.compiled:  # rows of a Python function may take long
            mu = estimated_offset(problem, alpha)
        if stopped is not None:
            status, error = Status.INTERRUPTED, stopped
        return Solution(
            alpha=alpha,
            mu=mu,
            gradient=gradient,
            status=status,
            iterations=run.iterations,
            history=History(*run_columns(run.history)),
            exact=run.exact,
            support_exact=run.support_exact,
            rounded=not isfinite(run.run_error),
            polished=run.polish == Polish.DONE,
            error=error,
            counters={name: getattr(run, name) for name in COUNTERS},
            gradient_error=run.f_error if isfinite(run.f_error) else None,
            known_bounds=None if bounds is None else KnownBounds(problem, alpha, mu, gradient, bounds),
        )


def _core_problem(
    problem: Problem, gram: _core.Gram, beta: Array, max_steps: int, double: bool, max_polished: int
) -> _core.WorkingSetProblem:
    """The problem as an argument of the compiled method, which updates `beta` in place."""
    Q = problem.Q
    access = Q.access
    return _core.WorkingSetProblem(
        access.index if isinstance(access, SubsetAccess) and gram is access.whole.gram else None,
        Q.sign,
        problem.p,
        problem.lower,
        problem.upper,
        problem.A,
        problem.d,
        problem.bounds_error,
        problem.totals_error,
        access.largest(),
        Q.slots,
        beta,
        double,
        max_steps,
        Q.size <= max_polished * Q.slots,
    )


def _by_matrix(problems: Sequence[Problem]) -> list[tuple[_core.Gram, list[int]]]:
    """Positions of problems by the kernel matrix they share; a single problem uses the matrix of its own samples."""
    shared: dict[int, list[int]] = {}
    for k, problem in enumerate(problems):
        access = problem.Q.access
        whole = access.whole if isinstance(access, SubsetAccess) else access
        shared.setdefault(id(whole), []).append(k)
    groups = []
    for members in shared.values():
        access = problems[members[0]].Q.access
        if isinstance(access, SubsetAccess) and (len(members) > 1 or access.whole.kernel.nodes() is None):
            groups.append((access.whole.gram, members))
        else:
            groups.append((access.gram, members))
    return groups
