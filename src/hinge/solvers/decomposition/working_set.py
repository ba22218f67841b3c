"""The training engine: SMO on working sets, kernel rows in blocks, several problems at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import ClassVar

from hinge import _core
from hinge.control import RunControl
from hinge.kernels import SubsetAccess, cache_bytes
from hinge.problems import Array, Problem, Solution, Status
from hinge.solvers.base import Capabilities, Start, check_threads
from hinge.solvers.decomposition.run import DecompositionRun
from hinge.solvers.decomposition.smo import POLISHED_N, SMO, signed_bounds
from hinge.solvers.diagonal import fold_diagonal, unfold_diagonal
from hinge.solvers.feasibility import group_totals, groups_of

#: How the samples of a working set are chosen, in the order of the core's `Selection`.
RULES = ("gradient", "gap", "multiplier")


@dataclass(frozen=True, kw_only=True)
class WorkingSet(SMO):
    """The worst violators of either side, solved together by SMO, again and again.      LwK §10.4; docs/math (6)–(8)

    Kernel rows are made by the block, with matrix products on all threads. Where the active samples are few, all of
    them are the working set. Rows in single precision are corrected in double where `tol` asks for more than they can
    tell. Several problems over the same kernel matrix are solved side by side.

    Cost: kernel rows of the samples that matter, n^1.4 to n^1.6 where it was measured; memory is the cache.
    Certificate: as `SMO`.

    Parameters
    ----------
    size : int
        Samples of a working set; 0 for the default (256 to 2,048, and more where more variables are free).
    rule : {"gradient", "gap", "multiplier"}
        Which samples are the worst (LwK Table 10.1): those with the largest gradient, those that contribute most to the
        duality gap, or those whose multiplier is farthest from where the gradient pushes it. In every case as many that
        would rise as would fall, and the pair with the largest gradients among them.
    threads : int
        For kernel rows and for bringing the gradient up to date. The answer is the same, bit by bit, for any number.

    Notes
    -----
    All other parameters are those of `SMO`.
    """

    capabilities: ClassVar = Capabilities(
        tol="kkt_violation", equality_rows="groups", batch=True,
        options=("tol", "cache_size", "shrinking", "threads"),
    )  # fmt: skip

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

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve `problem` from `start`, which is made feasible first."""
        return self.solve_batch([problem], [start], control)[0]

    def solve_batch(
        self, problems: Sequence[Problem], starts: Sequence[Start] | None = None, control: RunControl | None = None
    ) -> list[Solution]:
        """Solve problems, in parallel if they share a kernel matrix; each solution is the same as alone."""
        for problem in problems:
            self.check(problem)
        limits, starts = [self.max_iter] * len(problems), starts or [None] * len(problems)
        found = self._solve_batch(fold_diagonal(problems), starts, self.started(control), limits)
        return [unfold_diagonal(*pair) for pair in zip(problems, found, strict=True)]

    def _solve_batch(
        self, problems: Sequence[Problem], starts: Sequence[Start], control: RunControl, limits: Sequence[int]
    ) -> list[Solution]:
        points = [self._begin(problem, start) for problem, start in zip(problems, starts, strict=True)]
        polished_n = self._polished_n(problems)
        runs = self._run_shared(problems, points, limits, polished_n, control)
        for k, (problem, point, run) in enumerate(zip(problems, points, runs, strict=True)):
            if run.insufficient_precision:
                runs[k] = self._again_in_double(problem, point, run, control)
        return [self._conclude(*each, polished_n) for each in zip(problems, points, runs, strict=True)]

    def _polished_n(self, problems: Sequence[Problem]) -> int:
        """Up to how many samples answers are polished."""
        return 0 if not self.polish else POLISHED_N if len(problems) == 1 else POLISHED_N // 2

    def _run_shared(
        self,
        problems: Sequence[Problem],
        points: Sequence[Array],
        limits: Sequence[int],
        polished_n: int,
        control: RunControl,
    ) -> list[DecompositionRun]:
        """Improve the points in place; one call for all problems that share a matrix."""
        runs: dict[int, DecompositionRun] = {}
        stopped: BaseException | None = None
        for gram, members in _by_matrix(problems):
            parts = [
                self._part(
                    task, points[k], self._wants_double(task), limits[k], _is_part(task, gram), task.Q.n <= polished_n
                )
                for k, task in ((k, problems[k]) for k in members)
            ]
            found = self._call(
                gram, parts, control if stopped is None else control.without_callback().limited_to(0.0)
            )
            if stopped is not None:  # the points they start from are all there will be
                found = [replace(run, status=Status.INTERRUPTED, error=stopped) for run in found]
            stopped = stopped or next((run.error for run in found if run.error is not None), None)
            runs.update(zip(members, found, strict=True))
        return [runs[k] for k in range(len(problems))]

    def _run(self, problem: Problem, beta: Array, double: bool, control: RunControl) -> DecompositionRun:
        part = self._part(problem, beta, double, self.max_iter, shared=False, polish=False)
        return self._call(problem.Q.access.gram, [part], control)[0]

    def _part(
        self, problem: Problem, beta: Array, double: bool, limit: int, shared: bool, polish: bool
    ) -> _core.WorkingSetProblem:
        """The problem as an argument of the core."""
        Q = problem.Q
        lower, upper = signed_bounds(problem)
        samples = Q.access.index if shared and isinstance(Q.access, SubsetAccess) else None
        return _core.WorkingSetProblem(
            samples=samples,
            linear=Q.sign * problem.p,
            lower=lower,
            upper=upper,
            group=groups_of(problem),
            slots=Q.slots,
            beta=beta,
            double_rows=double,
            max_iterations=limit,
            polish=polish,
            totals=group_totals(problem),
        )

    def _call(
        self, gram: _core.Gram, parts: list[_core.WorkingSetProblem], control: RunControl
    ) -> list[DecompositionRun]:
        runs = _core.working_set(
            gram,
            parts,
            tolerance=self.tol,
            stop_on_gap=self.stop == "gap",
            shrinking=self.shrinking,
            max_seconds=control.max_seconds(),
            cache_bytes=cache_bytes(self.cache_size),
            size=self.size,
            threads=self.threads,
            selection=RULES.index(self.rule),
            control=control,
        )
        return [DecompositionRun.of(run) for run in runs]


def _by_matrix(problems: Sequence[Problem]) -> list[tuple[_core.Gram, list[int]]]:
    """Problems by the matrix they are a part of; one that is alone gets a matrix of its own, where that is cheap."""
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


def _is_part(problem: Problem, gram: _core.Gram) -> bool:
    access = problem.Q.access
    return isinstance(access, SubsetAccess) and gram is access.whole.gram
