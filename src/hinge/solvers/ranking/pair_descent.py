"""Block coordinate descent for problem (1) over pairs of samples, with Newton's method for the last digits."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from hinge import _core
from hinge.control import RunControl
from hinge.kernels import PairAccess
from hinge.kernels.samples import view
from hinge.problems import Array, Diagonal, History, Problem, Solution, Status
from hinge.problems.solution import run_columns
from hinge.solvers.base import Capabilities, Solver, Start
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.diagonal import fold_diagonal
from hinge.solvers.ranking.pair_newton import PairNewton, linear_features
from hinge.solvers.refinement.polishing import polish

#: Epochs of descent before Newton's method. They are fewer for linear kernels, for which its steps are cheap, and for
#: squared losses, for which it needs few steps.
DESCENT_EPOCHS = 120
DESCENT_EPOCHS_LINEAR = 15
DESCENT_EPOCHS_LINEAR_SQUARED = 2

#: Number of pairs above which the solution is not polished.
MAX_POLISHED_PAIRS = 1000

#: Tolerance to which a problem is solved before it is polished, unless `tol` is smaller.
POLISHING_TOL = 1e-6

#: Tolerance and Newton steps of a problem that could not be polished; then the last point is returned.
UNPOLISHED_TOL = 1e-12
MAX_UNPOLISHED_STEPS = 500

COLUMNS = tuple(field.name for field in fields(History))


@dataclass(frozen=True, kw_only=True)
class PairDescent(Solver):
    """Coordinate descent within the pairs of a block (a query), then Newton's method.        docs/math (436)–(440)

    For problems over pairs (`RankingSVM`). Problems of up to 1,000 pairs are polished if possible.

    Cost: O(pairs) per epoch, and a pass over the samples (linear kernel) or a product with K.
    Certificate: the relative gap is at most `tol`, or with `stop="kkt"` the KKT violation.

    Parameters
    ----------
    tol : float
        Relative duality gap, or KKT violation.
    stop : {"gap", "kkt"}
        Which of the two `tol` bounds.
    method : {"auto", "descent", "newton"}
        "auto" starts with descent and changes to Newton's method after some epochs, and back if that stalls.
    max_iter : int
        Epochs and Newton steps; −1 for ten million updates of pairs, at least 1,000 epochs, and 1,000 Newton steps.
    max_time : float or None
        Seconds.
    threads : int
        Threads for products with the kernel matrix; the solution does not depend on it.
    seed : int
        Seed of the random order.
    """

    capabilities: ClassVar = Capabilities(
        tol="relative_gap", equality_rows="groups", kernel="pairs", options=("threads",)
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
        """Solve a problem over pairs from `start`, which is projected onto its box."""
        self.check(problem)
        control = self.started(control)
        small = problem.size <= MAX_POLISHED_PAIRS
        if small and self.tol > POLISHING_TOL and self.max_iter < 0 and control.deadline is None:
            return self._solve_small(problem, start, control)
        run = _Run(self, problem, start, control)
        status, error = run.solve()
        gradient, point = _gradient(run.pairs, run.alpha), None
        if status is Status.SOLVED and small:
            with single_thread():
                point = _polished(problem, run.alpha, gradient, run.ridge)
        alpha, gradient = point or (run.alpha, gradient)
        return Solution(
            alpha=alpha,
            mu=np.empty(0),
            gradient=gradient,
            status=status,
            iterations=run.iterations,
            history=run.log.history(),
            polished=point is not None,
            error=error,
        )

    def _solve_small(self, problem: Problem, start: Start, control: RunControl) -> Solution:
        """Solve accurately enough for polishing; if that fails, since pairs are dependent, to rounding errors."""
        first = replace(self, tol=POLISHING_TOL).solve(problem, start, control)
        if first.polished or first.status is not Status.SOLVED:
            return first
        newton = replace(self, tol=UNPOLISHED_TOL, stop="gap", method="newton", max_iter=MAX_UNPOLISHED_STEPS)
        second = newton.solve(problem, first, control)
        return replace(
            second,
            status=Status.SOLVED if second.error is None else second.status,
            iterations=first.iterations + second.iterations,
            history=first.history.then(second.history),
        )

    def check(self, problem: Problem) -> None:
        super().check(problem)
        has_standard_form = (
            len(problem.d) == 0 and np.all(problem.Q.sign == 1) and np.all(problem.p == -1) and not problem.lower.any()
        )
        if isinstance(problem.term, Diagonal) and problem.size:
            is_known_loss = bool(np.all(problem.term.d > 0)) and bool(np.isinf(problem.upper).all())
        else:
            is_known_loss = problem.term is None and bool(np.isfinite(problem.upper).all())
        if not isinstance(problem.Q.access, PairAccess) or not has_standard_form or not is_known_loss:
            raise ValueError(
                "PairDescent solves problems over pairs of samples, with finite costs or squared losses: use SMO for "
                "other problems"
            )


class _Run:
    """Descent, Newton's method, and descent again if Newton's method stalls."""

    def __init__(self, solver: PairDescent, problem: Problem, start: Start, control: RunControl) -> None:
        access = problem.Q.access
        assert isinstance(access, PairAccess)
        self.solver, self.problem, self.control, self.pairs = solver, problem, control, access
        self.ridge = problem.term.d if isinstance(problem.term, Diagonal) else np.empty(0)
        self.X = linear_features(access.base)
        self.log = _PairLog()
        alpha = start.alpha if isinstance(start, Solution) else start
        alpha = np.zeros(problem.size) if alpha is None else np.clip(alpha, 0.0, problem.upper)
        self.alpha = np.ascontiguousarray(alpha, dtype=np.float64)
        self.iterations = 0

    def solve(self) -> tuple[Status, BaseException | None]:
        """Status and error; α, the history and the number of iterations are attributes."""
        epochs = self._first_epochs()
        status, error = self._descend(epochs)
        if status is not Status.MAX_ITER or self._remaining() == 0 or epochs < 0:
            return status, error
        status, error = self._newton()
        if status is Status.NUMERICAL:
            return self._descend(-1)
        return status, error

    def _first_epochs(self) -> int:
        """Epochs of descent before Newton's method; −1 if it is not used."""
        if self.solver.method != "auto":
            return 0 if self.solver.method == "newton" else -1
        if self.X is None:
            return DESCENT_EPOCHS
        return DESCENT_EPOCHS_LINEAR_SQUARED if len(self.ridge) else DESCENT_EPOCHS_LINEAR

    def _remaining(self) -> int:
        """Iterations up to `max_iter`; −1 for no limit."""
        max_iter = self.solver.max_iter
        return -1 if max_iter < 0 else max(0, max_iter - self.iterations)

    def _descend(self, epochs: int) -> tuple[Status, BaseException | None]:
        """Descend for at most `epochs`, −1 for no limit; α is updated in place."""
        solver, remaining = self.solver, self._remaining()
        if remaining >= 0:
            epochs = remaining if epochs < 0 else min(epochs, remaining)
        base: Any = self.pairs.base
        run = _core.pair_descent(
            base.gram,
            None if self.X is None else view(self.X).native,
            self.pairs.first,
            self.pairs.second,
            self.problem.upper,
            self.pairs.block_starts,
            self.ridge,
            self.alpha,
            tolerance=solver.tol,
            stop_on_gap=solver.stop == "gap",
            max_iterations=epochs,
            max_seconds=self.control.max_seconds(),
            threads=solver.threads,
            seed=solver.seed,
            control=self.control,
        )
        self.iterations += run.iterations
        self.log.add(History(*run_columns(run.history)))
        return Status(run.status), run.error

    def _newton(self) -> tuple[Status, BaseException | None]:
        """Run Newton's method; its best point is kept even if it is interrupted."""
        newton = PairNewton(self.pairs, self.problem.upper, self.alpha, self.ridge, self.control, self._remaining())

        def record(newton: PairNewton) -> None:
            self.log.record(newton)
            if not self.control.report(self.log.last()):
                newton.stop_requested = True

        status, interrupt = Status.INTERRUPTED, None
        with single_thread():
            try:
                with self.control.interruptible():
                    status = newton.run(self._is_converged, record)
            except BaseException as error:
                if not self.control.is_interrupt(error):
                    raise
                interrupt = error
        self.alpha, self.iterations = newton.alpha, self.iterations + newton.steps
        return status, interrupt

    def _is_converged(self, newton: PairNewton) -> bool:
        if self.solver.stop == "kkt":
            return newton.violation <= self.solver.tol
        return newton.gap <= self.solver.tol * 0.5 * (abs(newton.primal) + abs(newton.dual))


class _PairLog:
    """History of a run: parts from the compiled solver, and snapshots of Newton's method."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.parts: list[History] = []
        self.snapshots: list[tuple[float, ...]] = []

    def add(self, part: History) -> None:
        """Append the history of a run of descent."""
        self._close_snapshots()
        self.parts.append(part)

    def record(self, newton: PairNewton) -> None:
        """Append a snapshot of Newton's method."""
        seconds = time.monotonic() - self.began - sum(float(part.seconds[-1]) for part in self.parts if len(part))
        bounds = (newton.violation, newton.primal, newton.dual, newton.gap)
        self.snapshots.append((newton.steps, seconds, *bounds, len(newton.alpha), True))

    def last(self) -> dict[str, Any]:
        """The last snapshot."""
        return dict(zip(COLUMNS, self.snapshots[-1], strict=True))

    def _close_snapshots(self) -> None:
        """Turn the snapshots of Newton's method into a part."""
        if self.snapshots:
            columns = map(np.array, zip(*self.snapshots, strict=True))
            self.parts.append(History.from_columns(dict(zip(COLUMNS, columns, strict=True))))
            self.snapshots = []

    def history(self) -> History:
        """All parts, one after the other."""
        self._close_snapshots()
        whole = self.parts[0]
        for part in self.parts[1:]:
            whole = whole.then(part)
        return whole


def _polished(problem: Problem, alpha: Array, gradient: Array, ridge: Array) -> tuple[Array, Array] | None:
    """(alpha, gradient) of the polished solution; None if that fails. For squared losses the ridge is folded into Q."""
    if not len(ridge):
        return polish(problem, alpha, gradient)
    point = polish(fold_diagonal([problem])[0], alpha, gradient + ridge * alpha)
    return None if point is None else (point[0], point[1] - ridge * point[0])


def _gradient(pairs: PairAccess, alpha: Array) -> Array:
    """DKDᵀα − 1; through w if the kernel is linear."""
    X = linear_features(pairs.base)
    if X is None:
        return pairs.matvec(alpha) - 1
    beta = pairs.coefficients(alpha)
    return pairs.differences(np.asarray(X @ (X.T @ beta), dtype=np.float64)) - 1
