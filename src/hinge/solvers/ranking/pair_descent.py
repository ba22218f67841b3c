"""Problem (1) over pairs of samples: block coordinate descent, and Newton's method for the end."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hinge import _core
from hinge.control import RunControl
from hinge.kernels import Linear, PairAccess
from hinge.kernels.samples import view
from hinge.problems import Array, Diagonal, History, Problem, Solution, Status
from hinge.solvers.base import Capabilities, Solver, Start
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.decomposition.smo import seconds_left
from hinge.solvers.diagonal import fold_diagonal
from hinge.solvers.ranking.pair_newton import PairNewton
from hinge.solvers.refinement.polish import polish

#: Epochs of descent before Newton's method is asked; with a linear kernel it is cheap, with squared errors it is short.
EPOCHS = 120
EPOCHS_LINEAR = 15
EPOCHS_LINEAR_SQUARED = 2

#: Columns of a history, and how Newton's method may end.
COLUMNS = ("iteration", "seconds", "violation", "primal", "dual", "gap", "active", "exact")
ENDS = {
    "solved": Status.SOLVED,
    "time": Status.TIME_LIMIT,
    "steps": Status.MAX_ITER,
    "stalled": Status.MAX_ITER,
    "interrupted": Status.INTERRUPTED,
}

#: Up to this many pairs the answer is polished.
POLISHED_N = 1000
FINE_TOL = 1e-6
FINEST_TOL = 1e-12


@dataclass(frozen=True, kw_only=True)
class PairDescent(Solver):
    """One variable at a time within the few samples of a block; then Newton.     docs/math (436)–(440)

    Up to 1,000 pairs the answer is polished to rounding where that succeeds.
    For problems over pairs (`RankingSVM`). An epoch costs O(pairs) and, for a linear kernel, one pass over the samples,
    else one product with their kernel matrix.

    Cost: O(pairs) an epoch and a pass over the samples (linear), or a product with K.
    Certificate: the relative gap is at most `tol`, or with `stop="kkt"` the KKT violation.

    Parameters
    ----------
    tol : float
        When to stop: on the relative duality gap, or on the KKT violation.
    stop : {"gap", "kkt"}
        Which of the two `tol` means.
    method : {"auto", "descent", "newton"}
        "auto" descends, and after some epochs turns to Newton's method (and back, should rounding stop that).
    max_iter : int
        Epochs and Newton steps; −1 for no limit.
    max_time : float or None
        Seconds.
    threads : int
        Threads for products with the kernel matrix; the answer does not depend on it.
    seed : int
        Of the random order.
    """

    capabilities: ClassVar = Capabilities(
        tol="relative_gap", equality_rows="groups", kernel="pairs", options=("tol", "threads")
    )

    tol: float = 1e-3
    stop: str = "gap"
    method: str = "auto"
    threads: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stop not in ("gap", "kkt"):
            raise ValueError(f"stop={self.stop!r} must be 'gap' or 'kkt'")
        if self.method not in ("auto", "descent", "newton"):
            raise ValueError(f"method={self.method!r} must be 'auto', 'descent' or 'newton'")

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve a problem over pairs from `start` (moved into its box where it is not)."""
        pairs, ridge = _as_pairs(problem)
        control = self.started(control)
        if problem.size <= POLISHED_N and self.tol > FINE_TOL and self.max_iter < 0 and control.deadline is None:
            return self._solve_small(problem, start, control)
        began = time.monotonic()
        given = start.alpha if isinstance(start, Solution) else start
        alpha = np.zeros(problem.size) if given is None else np.clip(given, 0.0, problem.upper)
        alpha = np.ascontiguousarray(alpha, dtype=np.float64)
        linear = isinstance(getattr(pairs.base, "kernel", None), Linear)
        epochs = (EPOCHS_LINEAR_SQUARED if len(ridge) else EPOCHS_LINEAR) if linear else EPOCHS
        first = {"auto": epochs, "newton": 0}.get(self.method, -1)
        story, used, status, error = _History(began), 0, Status.MAX_ITER, None
        for _ in range(3):  # descent, Newton, and descent again where Newton gave up
            run = self._descend(pairs, problem.upper, ridge, alpha, self._epochs(first, used), control)
            status, error = Status(run.status), run.error
            used += run.iterations
            story.add(History.from_run(run.history))
            if status is not Status.MAX_ITER or not self._allowed(used) or first < 0:
                break
            newton = PairNewton(pairs, problem.upper, alpha, ridge, control.deadline, self._steps_left(used))
            end, error = self._newton(newton, story, control)
            alpha, used = newton.alpha, used + newton.steps
            status = ENDS[end]
            if end != "stalled":
                break
            first = -1
        gradient, better = _gradient(pairs, alpha), None
        if status is Status.SOLVED and problem.size <= POLISHED_N:
            with single_thread():
                better = _polished(problem, alpha, gradient, ridge)
            alpha, gradient = better or (alpha, gradient)
        exact = better is not None
        return Solution(alpha, np.empty(0), gradient, status, used, story.history(), polished=exact, error=error)

    def _solve_small(self, problem: Problem, start: Start, control: RunControl) -> Solution:
        """Near enough to be polished; where that fails (pairs depend on each other), as near as rounding lets."""
        near = replace(self, tol=FINE_TOL).solve(problem, start, control)
        if near.polished or near.status is not Status.SOLVED:
            return near
        nearer = replace(self, tol=FINEST_TOL, stop="gap", method="newton", max_iter=500).solve(problem, near, control)
        story = near.history.then(nearer.history)
        status = Status.SOLVED if nearer.error is None else nearer.status
        return replace(nearer, status=status, iterations=near.iterations + nearer.iterations, history=story)

    def _newton(
        self, newton: PairNewton, story: _History, control: RunControl
    ) -> tuple[str, BaseException | None]:
        """How Newton's method ended, and what interrupted it; its best point is kept in any case."""

        def tell(now: PairNewton) -> None:
            story.note(now)
            if not control.report(story.last()):
                now.asked_to_stop = True

        with single_thread():
            try:
                with control.interruptible():
                    return newton.run(self._is_enough, tell), None
            except BaseException as error:
                if not control.is_interrupt(error):
                    raise
                return "interrupted", error

    def _steps_left(self, used: int) -> int:
        return -1 if self.max_iter < 0 else max(0, self.max_iter - used)

    def _is_enough(self, newton: PairNewton) -> bool:
        if self.stop == "kkt":
            return newton.violation <= self.tol
        return newton.gap <= self.tol * 0.5 * (abs(newton.primal) + abs(newton.dual))

    def _allowed(self, used: int) -> bool:
        return self.max_iter < 0 or used < self.max_iter

    def _epochs(self, wanted: int, used: int) -> int:
        if self.max_iter < 0:
            return wanted
        left = max(0, self.max_iter - used)
        return left if wanted < 0 else min(wanted, left)

    def _descend(
        self,
        pairs: PairAccess,
        cost: Array,
        ridge: Array,
        alpha: Array,
        epochs: int,
        control: RunControl,
    ) -> _core.PairRun:
        """Improve alpha in place."""
        base: Any = pairs.base
        linear = isinstance(getattr(base, "kernel", None), Linear)
        return _core.pair_descent(
            base.gram,
            view(base.factor()).native if linear else None,
            pairs.first,
            pairs.second,
            cost,
            pairs.block_starts,
            ridge,
            alpha,
            tolerance=self.tol,
            stop_on_gap=self.stop == "gap",
            max_iterations=epochs,
            max_seconds=seconds_left(control),
            threads=self.threads,
            seed=self.seed,
            control=control,
        )


class _History:
    """Snapshots of both methods, as rows."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.parts: list[History] = []
        self.notes: list[tuple[float, ...]] = []

    def add(self, part: History) -> None:
        self._flush()
        self.parts.append(part)

    def note(self, newton: PairNewton) -> None:
        seconds = time.monotonic() - self.began - sum(float(part.seconds[-1]) for part in self.parts if len(part))
        bounds = (newton.violation, newton.primal, newton.dual, newton.gap)
        self.notes.append((newton.steps, seconds, *bounds, len(newton.alpha), True))

    def last(self) -> dict[str, Any]:
        return dict(zip(COLUMNS, self.notes[-1], strict=True))

    def _flush(self) -> None:
        if self.notes:
            columns = map(np.array, zip(*self.notes, strict=True))
            self.parts.append(History.from_columns(dict(zip(COLUMNS, columns, strict=True))))
            self.notes = []

    def history(self) -> History:
        self._flush()
        whole = self.parts[0]
        for part in self.parts[1:]:
            whole = whole.then(part)
        return whole


def _as_pairs(problem: Problem) -> tuple[PairAccess, Array]:
    """Access to the pairs, and the ridge of squared errors (empty for others)."""
    access: Any = problem.Q.access
    ridge = problem.term.d if isinstance(problem.term, Diagonal) else np.empty(0)
    plain = len(problem.d) == 0 and np.all(problem.Q.sign == 1) and np.all(problem.p == -1) and not problem.lower.any()
    if len(ridge):
        known = bool(np.all(ridge > 0)) and bool(np.isinf(problem.upper).all())
    else:
        known = problem.term is None and bool(np.isfinite(problem.upper).all())
    if not isinstance(access, PairAccess) or not plain or not known:
        raise ValueError(
            "PairDescent solves problems over pairs of samples, with finite costs or squared errors: use SMO for others"
        )
    return access, ridge


def _polished(problem: Problem, alpha: Array, gradient: Array, ridge: Array) -> tuple[Array, Array] | None:
    """`polish`, for which the ridge belongs to the matrix."""
    if not len(ridge):
        return polish(problem, alpha, gradient)
    better = polish(fold_diagonal([problem])[0], alpha, gradient + ridge * alpha)
    return None if better is None else (better[0], better[1] - ridge * better[0])


def _gradient(pairs: PairAccess, alpha: Array) -> Array:
    """DKDᵀα − 1; through w where the kernel is linear."""
    base: Any = pairs.base
    if not isinstance(getattr(base, "kernel", None), Linear):
        return pairs.matvec(alpha) - 1
    X, beta = base.factor(), pairs.coefficients(alpha)
    return pairs.differences(np.asarray(X @ (X.T @ beta), dtype=np.float64)) - 1
