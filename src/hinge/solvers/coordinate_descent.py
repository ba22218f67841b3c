"""Linear machines: dual coordinate descent, and Newton's method where it is faster."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hinge import _core
from hinge.kernels import Linear
from hinge.kernels.samples import view
from hinge.problems import (
    Array,
    Bias,
    CrammerSingerProblem,
    CrammerSingerSolution,
    History,
    LinearProblem,
    LinearSolution,
    Problem,
    Solution,
    Status,
    constant_function,
)
from hinge.solvers import crammer_singer_interior, polish_linear
from hinge.solvers.absorb import ridge_of
from hinge.solvers.groups import groups_of
from hinge.solvers.limits import check_limits
from hinge.solvers.monitor import Monitor

METHODS = {"auto": 0, "descent": 1, "newton": 2}

#: Targets are far from zero where their middle is so many times their range away.
FAR = 10.0

#: Epochs after which descent creeps.
CREEPING = 200

#: Ends that may come before there is a point.
CUT_OFF = (Status.TIME_LIMIT, Status.INTERRUPTED)


@dataclass(frozen=True, kw_only=True)
class CoordinateDescent:
    """One dual variable at a time, w alongside; Newton's method where that is cheaper.   docs/math.md (108)–(129)

    For linear machines, and for problem (1) where its kernel is linear. Stops when the relative duality gap is proven
    to be at most `tol`.

    Cost: an epoch is a pass over X, O(nnz); a Newton step some passes, or O(nd²) with few features.
    Certificate: the relative gap is at most `tol`, recomputed from X by `certify_linear`.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    method : {"auto", "descent", "newton"}
        "auto" begins with fewer samples and Newton's method where there are few features; else it descends, and turns
        to Newton's method when the epochs so far let it look cheaper (and back, should it disappoint). Newton's method
        is on the primal; for losses that are not squared, on a sequence of smoothed ones.
    max_iter : int
        Epochs (n steps of one variable each) and Newton steps; −1 for no limit.
    max_time : float or None
        Seconds.
    threads : int
        Threads for passes over all samples, and up to two for descent; the answer does not depend on it.
    seed : int
        Of the random order of the samples.
    block_bytes : int
        Where X is a map of a file: how much of it to hold at a time. 0: everything.
    """

    tol: float = 1e-4
    method: str = "auto"
    max_iter: int = -1
    max_time: float | None = None
    threads: int = 1
    seed: int = 0
    block_bytes: int = 0

    def __post_init__(self) -> None:
        check_limits(self)
        if self.method not in METHODS:
            raise ValueError(f"method={self.method!r} must be one of {', '.join(map(repr, METHODS))}")
        if self.threads < 1:
            raise ValueError(f"threads={self.threads!r} must be at least 1")

    def solve_linear(
        self,
        problem: LinearProblem,
        start: Array | None = None,
        monitor: Monitor | None = None,
        expansion: bool = False,
    ) -> LinearSolution:
        """Solve a linear machine from the dual point `start` (moved into its box where it is not).

        Newton's method ends with w and β that need not belong together; where `expansion`, the answer is w = Xᵀβ.
        """
        centre = _far_centre(problem)
        if centre != 0:  # the offset takes it up, and no digits of the residuals are lost to it
            nearer = replace(problem, target=problem.target - centre)
            found = self.solve_linear(nearer, start, monitor, expansion)
            return replace(found, offset=found.offset + centre)
        began = time.monotonic()
        beta = np.zeros(problem.n) if start is None else np.ascontiguousarray(start, dtype=np.float64)
        run = _core.linear(
            view(problem.X, mapped=self.block_bytes > 0).native,
            target=problem.target,
            lower=problem.lower,
            upper=problem.upper,
            ridge=problem.ridge,
            tube=problem.tube,
            bias=int(problem.bias),
            bias_scale=problem.bias_scale,
            total=problem.total,
            beta=beta,
            tolerance=self.tol,
            method=METHODS[self.method],
            max_iterations=self.max_iter,
            max_seconds=-1.0 if self.max_time is None else self.max_time,
            threads=self.threads,
            seed=self.seed,
            expansion=expansion,
            block_bytes=self.block_bytes,
            progress=monitor,
        )
        found = LinearSolution(
            weights=run["weights"],
            offset=run["offset"],
            beta=run["beta"],
            primal=run["primal"],
            dual=run["dual"],
            gap=run["gap"],
            violation=run["violation"],
            status=Status(run["status"]),
            iterations=run["iterations"],
            history=History.from_columns(run["history"]),
            error=run["error"],
            floor=run["floor"],
            counters={name: int(run[name]) for name in ("epochs", "newton_steps", "sample_steps", "passes", "work")},
        )
        if not np.isfinite(found.gap) and found.status in CUT_OFF and problem.total == 0:  # before there was a point
            return constant_function(problem, found.status, found.error)
        if self.method != "auto" or not polish_linear.is_small(problem):
            return found
        if found.status is Status.SOLVED:
            return polish_linear.polish_linear(problem, found)
        crept = found.status is Status.MAX_ITER and found.iterations >= CREEPING
        if not crept and found.status is not Status.NUMERICAL:
            return found
        left = None if self.max_time is None else max(0.0, self.max_time - (time.monotonic() - began))
        return polish_linear.by_interior_point(problem, found, self.tol, left, monitor)

    def solve_crammer_singer(
        self, problem: CrammerSingerProblem, start: Array | None = None, monitor: Monitor | None = None
    ) -> CrammerSingerSolution:
        """Solve for all classes at once; `start` is n × classes.

        Where descent creeps and there are few features, an interior point method goes on (not with method="descent").
        """
        began = time.monotonic()
        n, classes = len(problem.cost), problem.classes
        few = self.method != "descent" and crammer_singer_interior.is_small(problem)
        limit = self.max_iter if not few or 0 <= self.max_iter <= CREEPING else CREEPING
        alpha = np.zeros((n, classes)) if start is None else np.ascontiguousarray(start, dtype=np.float64)
        run = _core.crammer_singer(
            view(problem.X).native,
            label=problem.label,
            cost=problem.cost,
            classes=classes,
            bias=int(problem.bias),
            bias_scale=problem.bias_scale,
            alpha=alpha.ravel(),
            tolerance=self.tol,
            max_iterations=limit,
            max_seconds=-1.0 if self.max_time is None else self.max_time,
            seed=self.seed,
            progress=monitor,
        )
        found = CrammerSingerSolution(
            weights=run["weights"].reshape(classes, -1),
            offset=run["offset"],
            alpha=run["alpha"].reshape(n, classes),
            primal=run["primal"],
            dual=run["dual"],
            gap=run["gap"],
            violation=run["violation"],
            status=Status(run["status"]),
            iterations=run["iterations"],
            history=History.from_columns(run["history"]),
            error=run["error"],
        )
        if not few or found.status is not Status.MAX_ITER or limit != CREEPING:
            return found
        left = None if self.max_time is None else max(0.0, self.max_time - (time.monotonic() - began))
        return crammer_singer_interior.by_interior_point(problem, found, self.tol, left, monitor)

    def solve(
        self, problem: Problem, start: Solution | Array | None = None, monitor: Monitor | None = None
    ) -> Solution:
        """Solve problem (1) with a linear kernel as the linear machine that it is."""
        linear = as_linear(problem)
        alpha = start.alpha if isinstance(start, Solution) else start
        found = self.solve_linear(linear, None if alpha is None else problem.Q.coefficients(alpha), monitor, True)
        Q, beta = problem.Q, found.beta
        if Q.slots == 2:
            alpha = np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
        else:
            alpha = Q.sign * beta
        return Solution(
            alpha=alpha,
            mu=np.array([found.offset] if len(problem.d) else []),
            gradient=problem.gradient(alpha),
            status=found.status,
            iterations=found.iterations,
            history=found.history,
            error=found.error,
            counters=found.counters or {},
        )


def _far_centre(problem: LinearProblem) -> float:
    """The middle of targets that lie far from zero, close together; 0 where an offset would not take it up."""
    if problem.bias is not Bias.FREE or problem.total != 0 or not problem.n:
        return 0.0
    low, high = float(np.min(problem.target)), float(np.max(problem.target))
    middle = 0.5 * low + 0.5 * high
    return middle if abs(middle) > FAR * (high - low) else 0.0


def as_linear(problem: Problem) -> LinearProblem:
    """Problem (1) as a linear machine; a ValueError that says why where it is none."""
    access: Any = problem.Q.access
    if not isinstance(getattr(access, "kernel", None), Linear):
        raise ValueError("CoordinateDescent needs a linear kernel: use SMO or another solver of hinge.solvers")
    group = groups_of(problem)
    if len(problem.d) > 1 or (len(problem.d) == 1 and not np.all(group == 0)):
        raise ValueError("CoordinateDescent needs at most one equality row over all variables: use SMO")
    bias = Bias.FREE if len(problem.d) else Bias.NONE
    total = float(problem.d[0] / problem.A[0, 0] * problem.Q.sign[0]) if len(problem.d) else 0.0
    n, linear = problem.Q.n, problem.Q.sign * problem.p
    low, high = problem.Q.sign * problem.lower, problem.Q.sign * problem.upper
    low, high = np.minimum(low, high), np.maximum(low, high)
    tube = 0.0
    if problem.Q.slots == 2:
        tubes = 0.5 * (linear[:n] - linear[n:])
        tube = float(tubes[0])
        if not (tube >= 0 and np.allclose(tubes, tube) and np.all(low[:n] == 0) and np.all(high[n:] == 0)):
            raise ValueError("CoordinateDescent needs one tube for all samples: use SMO")
        linear, low, high = 0.5 * (linear[:n] + linear[n:]), low[n:], high[:n]
    ridge = np.zeros(n) if problem.term is None else ridge_of(problem)
    return LinearProblem(access.factor(), -linear, low, high, ridge, tube, bias, 1.0, total)
