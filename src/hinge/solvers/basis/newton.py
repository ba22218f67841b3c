"""Newton's method for machines of a few given basis functions, all of them at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge import _core
from hinge.control import RunControl
from hinge.lowrank.columns import Columns
from hinge.problems import Array, History, Status
from hinge.solvers.base import SolverOptions
from hinge.solvers.basis.problem import ReducedBasisProblem
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.run_log import RunLog

#: All rows, for products.
EVERYONE = np.empty(0, dtype=np.int64)

#: Newton steps where `max_iter` sets no limit.
ENOUGH = 100

#: Rows for a basis function in the sample that the preconditioner is made from, and the share of their losses that is
#: expected to be curved.
SAMPLE, CURVED = 4, 0.1

#: Rows for a basis function in the sample that the first steps see, and how many these are.
FIRST_ROWS, FIRST_STEPS = 8, 4

#: Conjugate gradients: passes for the first step, twice as many for the next, at most MANY; the square of what the
#: residual has to fall to.
FEW_PASSES, MANY_PASSES, FALL = 3, 60, 1e-4

#: Steps for b between two steps of all.
OFFSET_STEPS = 60

#: Times that a step is halved before it is given up.
HALVINGS = 12

#: A ridge of the preconditioner, relative to its largest diagonal entry: what float32 leaves of small eigenvalues.
RIDGE = 3e-6


@dataclass(frozen=True)
class ReducedBasisSolution:
    """weights (n × k), offsets (k) and the values of the functions at all samples."""

    weights: Array
    offsets: Array
    outputs: NDArray[np.float32]
    status: Status
    iterations: int
    history: History
    error: BaseException | None = None


@dataclass(frozen=True, kw_only=True)
class ReducedBasisNewton(SolverOptions):
    """Newton steps by preconditioned conjugate gradients, for all classes in one pass over K^mn.  docs/math (388)

    The first steps see a sample of the rows; what the preconditioner is made of, too.  A step with all rows makes its
    passes over those with a positive loss alone, which are all that the Hessian knows, and one more over all.

    Cost: a Gram matrix of 4n rows and two factorisations of order n, 4n³; then O(mnk) a pass for k machines, ten to
    fifty of them for labels and some hundred for a small gap.
    Certificate: the relative gap, of the problem with these basis functions, is at most `tol`.

    Parameters
    ----------
    tol : float
        Stop at this relative duality gap, all machines together.
    max_iter : int
        Steps with all rows; −1 for the default of 100.
    max_time : float or None
        Seconds.
    seed : int
        Of the sample of rows.
    """

    tol: float = 1e-2
    seed: int = 0

    def solve(self, problem: ReducedBasisProblem, control: RunControl | None = None) -> ReducedBasisSolution:
        """Solve all machines of `problem`."""
        story = RunLog(self.tol, ENOUGH if self.max_iter < 0 else self.max_iter, self.started(control))
        run = _Run(problem, self.tol, self.seed)
        with single_thread(), ThreadPoolExecutor(1) as beside:
            problem.inner  # noqa: B018 - both threads need it: made once, before they part
            prepared = beside.submit(run.precondition_by_a_sample)
            problem.root  # noqa: B018 - a kernel without one is refused here, not in the run
            prepared.result()
            status = story.run(lambda: run.follow(story))
        return ReducedBasisSolution(
            run.weights, run.offsets, run.outputs, status, story.iterations, story.history(), story.error
        )


@dataclass
class _Run:
    problem: ReducedBasisProblem
    tol: float
    seed: int
    weights: Array = field(init=False)
    offsets: Array = field(init=False)
    outputs: NDArray[np.float32] = field(init=False)

    def __post_init__(self) -> None:
        m, n = self.problem.columns.shape
        k = self.problem.sign.shape[1]
        self.order = np.random.default_rng(self.seed).permutation(m)
        self.weights, self.offsets = np.zeros((n, k)), np.zeros(k)
        self.outputs = np.zeros((m, k), dtype=np.float32)

    def follow(self, story: RunLog) -> Status:
        m, n = self.problem.columns.shape
        if 2 * FIRST_ROWS * n < m:
            self._on_a_sample(story, np.sort(self.order[: FIRST_ROWS * n]))
            self.outputs = self.problem.columns.times(self.weights)
        everyone = _Part(self, None, 1.0)
        return everyone.descend(story)

    def precondition_by_a_sample(self) -> None:
        """K^nn + 2 CURVED Σ Cᵢ kᵢkᵢᵀ over the sample, scaled to all rows."""
        problem = self.problem
        sample = np.sort(self.order[: SAMPLE * problem.columns.shape[1]])
        scale = problem.columns.shape[0] / max(len(sample), 1)
        self.inner = replace(problem.columns, values=problem.inner.astype(np.float32), rows=EVERYONE)
        P = problem.columns.gram(sample, 2.0 * CURVED * scale * problem.cost[sample])
        P += self.inner.values
        ridge = RIDGE * float(np.max(np.diagonal(P), initial=0.0))
        P[np.diag_indices_from(P)] += np.float32(ridge)
        while True:
            try:
                self.factor = scipy.linalg.cholesky(P, lower=True, check_finite=False)
                return
            except scipy.linalg.LinAlgError:
                if P.dtype == np.float32:  # first with more digits, then with a larger ridge
                    P = P.astype(np.float64)
                    continue
                if not ridge < 1e-2 * float(np.max(np.diagonal(P))):
                    raise
                ridge *= 10
                P[np.diag_indices_from(P)] += ridge

    def _on_a_sample(self, story: RunLog, sample: NDArray[np.intp]) -> None:
        part = _Part(self, sample, self.problem.columns.shape[0] / len(sample))
        for _ in range(FIRST_STEPS):
            if story.stop_status() is not None or not part.step(FEW_PASSES):
                break

    def precondition(self, residual: Array) -> Array:
        """P⁻¹r, in the precision of P: it need not be exact, only the same in every pass."""
        size = np.max(np.abs(residual), axis=0, initial=1e-300)
        narrow = (residual / size).astype(self.factor.dtype)
        return size * scipy.linalg.cho_solve((self.factor, True), narrow, check_finite=False).astype(np.float64)


class _Part:
    """All rows, or some of them with costs that make up for the others."""

    def __init__(self, run: _Run, rows: NDArray[np.intp] | None, scale: float) -> None:
        problem = run.problem
        self.run, self.problem = run, problem
        self.rows = np.arange(problem.columns.shape[0]) if rows is None else rows
        self.whole = rows is None
        self.columns = problem.columns if rows is None else problem.columns.subset(rows)
        self.sign = problem.sign if rows is None else problem.sign[rows]
        cost = (scale * problem.cost[self.rows]).astype(np.float32)[:, None]
        self.cost = np.ascontiguousarray(np.broadcast_to(cost, self.sign.shape))
        self.outputs = run.outputs if rows is None else np.zeros(self.sign.shape, dtype=np.float32)
        self.missing = np.empty_like(self.outputs)
        self.pulled = problem.inner @ run.weights
        self._settle()

    def _margins(self, outputs: NDArray[np.float32], offsets: Array) -> Array:
        """ξ = max(0, 1 − s (f + b)), and for every machine Σ Cᵢ of those above 0, Σ Cᵢ sᵢ ξᵢ and Σ Cᵢ ξᵢ²."""
        sums = np.empty((3, outputs.shape[1]))
        _core.slack_sums(outputs, self.sign, self.cost, offsets, self.missing, sums, self.columns.threads)
        return sums

    def _settle(self) -> None:
        """b by Newton steps of its own, and what follows from it.

        Alone they can go round in circles: a step that leaves what earlier slopes say about b is replaced by a half.
        """
        run = self.run
        low, high = np.full(len(run.offsets), -np.inf), np.full(len(run.offsets), np.inf)
        curved, pull, losses = self._margins(self.outputs, run.offsets)
        for _ in range(OFFSET_STEPS if self.problem.bias else 0):
            low, high = np.where(pull > 0, run.offsets, low), np.where(pull < 0, run.offsets, high)
            offsets = run.offsets + pull / np.maximum(curved, 1e-300)
            astray = ((offsets <= low) | (offsets >= high)) & np.isfinite(low) & np.isfinite(high) & (pull != 0)
            offsets[astray] = 0.5 * (low[astray] + high[astray])
            step, run.offsets = offsets - run.offsets, offsets
            curved, pull, losses = self._margins(self.outputs, run.offsets)
            if np.all(np.abs(step) <= 1e-6 * (1.0 + np.abs(run.offsets))):
                break
        self.pull = pull
        self.norm = np.sum(run.weights * self.pulled, axis=0)
        self.value = 0.5 * self.norm + losses

    def descend(self, story: RunLog) -> Status:
        for iteration in range(story.max_iter + 1):
            gap, violation = self._gap(last=iteration == story.max_iter)
            now = float(np.sum(self.value))
            active = int(np.count_nonzero(np.any(self.missing > 0, axis=1)))
            status = story.note(iteration, now, now - gap, gap, violation, active)
            if status is not None:
                return status
            if not self.step(min(MANY_PASSES, FEW_PASSES << min(iteration, 8))):
                return Status.NUMERICAL
        return Status.MAX_ITER

    def _gradient(self, alone: bool = False) -> tuple[NDArray[np.intp], Array, Array, NDArray[np.float32]]:
        """The rows with a loss, the gradient, Kᵀ D 1 and D = 2C where the loss is curved; `alone`: no Kᵀ D 1."""
        rows = np.flatnonzero(np.any(self.missing > 0, axis=1))
        missing, cost = self.missing[rows], 2 * self.cost[rows]
        curved = np.where(missing > 0, cost, np.float32(0))
        k = missing.shape[1]
        gradient = self.pulled
        if len(rows) == 0:
            return rows, gradient, np.zeros_like(gradient), curved
        pulls = cost * self.sign[rows] * missing
        both = self._of(rows).transposed(pulls if alone else np.concatenate([pulls, curved], axis=1))
        return rows, gradient - both[:, :k], both[:, k:], curved

    def _of(self, rows: NDArray[np.intp]) -> Columns:
        return self.problem.columns.subset(self.rows[rows])

    def _gap(self, last: bool) -> tuple[float, float]:
        """½ gᵀ(K^nn + δI)⁻¹g, and what b would have to pay for; the largest entry of g.  No step follows the last."""
        self.known = self._gradient(alone=last)
        gradient = self.known[1]
        white = scipy.linalg.solve_triangular(self.problem.root, gradient, lower=True, check_finite=False)
        gap = 0.5 * float(np.sum(white**2)) + 2.0 * float(np.abs(self.run.offsets) @ np.abs(self.pull))
        return gap, float(np.max(np.abs(gradient), initial=0.0))

    def step(self, passes: int) -> bool:
        """One Newton step; whether the risk has fallen."""
        rows, gradient, sums, curved = self.known if self.whole else self._gradient()
        x, shift = self._newton(rows, gradient, sums, curved, passes)
        change = self.columns.times(x)
        slope = np.sum(x * self.pulled, axis=0)
        pulled = self.problem.inner @ x
        bent = np.sum(x * pulled, axis=0)
        t = np.ones(x.shape[1])
        for trial in range(HALVINGS + 1):
            offsets, outputs = self.run.offsets + t * shift, self.outputs + t.astype(np.float32) * change
            losses = self._margins(outputs, offsets)[2]
            value = 0.5 * self.norm + t * slope + 0.5 * t**2 * bent + losses
            higher = value > self.value
            if not np.any(higher):
                break
            t[higher] *= 0.5 if trial < HALVINGS - 1 else 0.0
        weights = self.run.weights + t * x
        self.pulled = self.pulled + t * pulled
        before = float(np.sum(self.value))
        self.run.weights, self.run.offsets, self.outputs = weights, offsets, outputs
        if self.whole:
            self.run.outputs = outputs
        self._settle()
        return float(np.sum(self.value)) < before

    def _newton(
        self,
        rows: NDArray[np.intp],
        gradient: Array,
        sums: Array,
        curved: NDArray[np.float32],
        passes: int,
    ) -> tuple[Array, Array]:
        """(x, change of b) with H x ≈ −g, b eliminated: H = K^nn + δI + KᵀDK − sums sumsᵀ / ΣD.       (388)"""
        mass = np.maximum(np.sum(curved, axis=0, dtype=np.float64), 1e-300)
        columns, inner = self._of(rows), self.run.inner
        x, r = np.zeros_like(gradient), -gradient
        z = self.run.precondition(r)
        p, size = z, np.sum(r * z, axis=0)
        goal = FALL * size
        for _ in range(passes):
            hp = inner.times(p).astype(np.float64)
            if len(rows):
                hp = hp + columns.weighted(p, curved)[1]
            if self.problem.bias:
                hp = hp - sums * (np.sum(sums * p, axis=0) / mass)
            slope = np.sum(p * hp, axis=0)
            length = np.where(slope > 0, size / np.where(slope > 0, slope, 1.0), 0.0)
            x, r = x + length * p, r - length * hp
            z = self.run.precondition(r)
            before, size = size, np.sum(r * z, axis=0)
            if np.all(size <= goal):
                break
            p = z + np.where(before > 0, size / np.where(before > 0, before, 1.0), 0.0) * p
        shift = -np.sum(sums * x, axis=0) / mass if self.problem.bias else np.zeros(x.shape[1])
        return x, shift


__all__ = ["ReducedBasisNewton", "ReducedBasisSolution"]
