"""Dual coordinate descent for linear problems, with Newton's method if it is faster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from hinge import _core
from hinge.control import RunControl
from hinge.kernels.samples import view
from hinge.problems import (
    Array,
    Bias,
    CrammerSingerProblem,
    CrammerSingerSolution,
    History,
    KnownProducts,
    LinearProblem,
    LinearSolution,
    Problem,
    Solution,
    Status,
    constant_function,
    kernel_variables,
    linear_form,
)
from hinge.problems.solution import run_columns
from hinge.solvers.base import Capabilities, Solver, Start, check_threads, register
from hinge.solvers.interior_point import crammer_singer
from hinge.solvers.linear.small_problems import interior_point_fallback, polish_linear
from hinge.solvers.refinement.verification import verify_crammer_singer, verify_linear

METHODS = {"auto": 0, "descent": 1, "newton": 2}

#: Orders of the samples in an epoch, as `VisitOrder` in the compiled core.
ORDERS = ("permutation", "sequential", "fixed_permutation", "random")

#: Largest numbers of samples and features of small problems, which are centered, verified and polished.
MAX_SMALL_SAMPLES = 1000
MAX_SMALL_FEATURES = 4000

#: Number of epochs after which a small problem that is not solved is passed to the interior-point method.
SLOW_EPOCHS = 200

#: Number of the `max_iter` iterations that are reserved for the interior-point method, if `max_iter` is large enough.
INTERIOR_POINT_STEPS = 50

STOPPED = (Status.TIME_LIMIT, Status.INTERRUPTED)

#: Targets are centered if their midrange exceeds their range by this factor.
MIN_RELATIVE_TARGET_SHIFT = 10.0

#: Features are centered if the midrange of one of them, in a subsample, exceeds its range by this factor: a mean of
#: about five standard deviations.
MIN_RELATIVE_FEATURE_SHIFT = 1.5

#: Size of the subsample.
SUBSAMPLE_SIZE = 16

#: Number of corrections of Σβ before it is left nonzero. Each one reduces Σβ to the rounding errors of the correction.
MAX_SUM_CORRECTIONS = 3

#: Counters of the compiled solver, as reported in `LinearSolution.counters`.
COUNTERS = ("epochs", "newton_steps", "sample_steps", "passes", "work")
_counters = attrgetter(*COUNTERS)


@register("coordinate_descent")
@dataclass(frozen=True, kw_only=True)
class CoordinateDescent(Solver):
    """Coordinate descent on the dual of a linear problem, with w = Xᵀβ updated alongside.   docs/math (108)–(129)

    Solves linear problems, and problem (1) with a linear kernel. Switches to Newton's method if that is estimated to be
    faster. Stops if the relative duality gap is proven to be at most `tol`.

    Cost: an epoch is a pass over X, O(nnz); a Newton step some passes, or O(nd²) with few features.
    Certificate: the relative gap is at most `tol`, recomputed from X by `linear_optimality`.

    Parameters
    ----------
    tol : float
        Relative duality gap.
    method : {"auto", "descent", "newton"}
        "auto" starts with Newton's method on a subsample if there are few features. Otherwise it starts with descent,
        changes to Newton's method when the epochs so far suggest that it is faster, and changes back if it is not.
        Newton's method solves the primal problem; if the loss is not squared, it solves a sequence of problems with
        smoothed losses.
    max_iter : int
        Epochs (n steps of one variable each) and Newton steps; −1 for no limit.
    max_time : float or None
        Seconds.
    threads : int
        Threads for passes over all samples, and up to two for descent; the solution does not depend on it.
    seed : int
        Seed of the random order of the samples.
    order : {"permutation", "sequential", "fixed_permutation", "random"}
        Order of the samples in an epoch of descent: a new permutation in every epoch, as stored, one permutation for
        all epochs, or random draws with replacement; docs/math (805). Extrapolation and descent on two threads need
        "permutation".
    shrinking : bool
        Leave out samples that did not change in their last two visits until the next check of all samples.
    block_bytes : int
        Bytes of X to hold in memory if X is a memory-mapped file; "auto" then uses descent only, since Newton's method
        needs all of X. 0 for all of X.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import CoordinateDescent
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(200, random_state=0)
    >>> model = hinge.LinearSVC(solver=CoordinateDescent(tol=1e-6, method="descent")).fit(X, y)
    >>> model.status_.name, bool(model.certificate_.relative_gap <= 1e-6)
    ('SOLVED', True)
    """

    capabilities: ClassVar = Capabilities(
        tol="relative_gap", equality_rows="groups", kernel="linear", options=("shrinking", "threads")
    )

    tol: float = 1e-4
    method: str = "auto"
    threads: int = 1
    seed: int = 0
    order: str = "permutation"
    shrinking: bool = True
    block_bytes: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method not in METHODS:
            raise ValueError(f"method={self.method!r} must be one of {', '.join(map(repr, METHODS))}")
        if self.order not in ORDERS:
            raise ValueError(f"order={self.order!r} must be one of {', '.join(map(repr, ORDERS))}")
        if self.order != "permutation" and self.block_bytes > 0:
            raise ValueError(
                f"order={self.order!r} needs all samples in memory and does not support block_bytes="
                f"{self.block_bytes}: use order='permutation', or block_bytes=0"
            )
        check_threads(self.threads)
        if self.method == "newton" and self.block_bytes > 0:
            raise ValueError(
                f"method='newton' needs all samples in memory and does not support block_bytes={self.block_bytes}: use "
                "method='auto' or 'descent', or block_bytes=0"
            )

    def solve(self, problem: Problem, start: Start = None, control: RunControl | None = None) -> Solution:
        """Solve problem (1) with a linear kernel through its linear form."""
        alpha = start.alpha if isinstance(start, Solution) else start
        beta = None if alpha is None else problem.Q.coefficients(alpha)
        solution = self.solve_linear(linear_form(problem), beta, control, expansion=True)
        alpha = kernel_variables(problem, solution.beta)
        return Solution(
            alpha=alpha,
            mu=np.array([solution.offset] if len(problem.d) else []),
            gradient=problem.Q.spread(_values(problem, alpha)) + problem.p,
            status=solution.status,
            iterations=solution.iterations,
            history=solution.history,
            error=solution.error,
            counters=solution.counters or {},
        )

    def solve_linear(
        self,
        problem: LinearProblem,
        start: Array | None = None,
        control: RunControl | None = None,
        expansion: bool = False,
    ) -> LinearSolution:
        """Solve a linear problem from the dual point `start`, which is projected onto its box.

        Newton's method determines w and β separately. With `expansion`, w = Xᵀβ.
        """
        control = self.started(control)
        small = self.block_bytes == 0 and problem.n <= MAX_SMALL_SAMPLES and problem.X.shape[1] <= MAX_SMALL_FEATURES
        centering = centered(problem, features=small and not expansion)
        small = small and self.method == "auto"
        if centering is None:
            solution = self._solve_centered(problem, start, control, expansion, small)
            return solution if small else verify_linear(problem, solution, self.tol)
        solution = self._solve_centered(centering.problem, start, control, expansion, small)
        restored = centering.restore(solution)
        return verify_linear(problem, restored, self.tol, transformed=centering.feature_shift is not None)

    def _solve_centered(
        self, problem: LinearProblem, start: Array | None, control: RunControl, expansion: bool, small: bool
    ) -> LinearSolution:
        """Solve by descent and Newton's method; verify small problems, and polish them or use the fallback."""
        solution = self._descend(problem, start, control, expansion, self._max_descent_iter(small))
        if not np.isfinite(solution.gap) and solution.status in STOPPED and problem.total == 0:
            return constant_function(problem, solution.status, solution.error)  # stopped before the first point
        if not small:
            return solution
        solution = verify_linear(problem, solution, self.tol)  # the following steps compare their gap with this one
        if solution.status is Status.SOLVED:
            # Newton's method solves problems with squared losses exactly.
            return solution if np.any(problem.ridge > 0) else polish_linear(problem, solution, control)
        slow = solution.status is Status.MAX_ITER and solution.iterations >= SLOW_EPOCHS
        max_steps = self._remaining_iter(solution.iterations)
        if max_steps == 0 or (not slow and solution.status is not Status.NUMERICAL):
            return solution
        return interior_point_fallback(problem, solution, self.tol, control, max_steps)

    def _descend(
        self, problem: LinearProblem, start: Array | None, control: RunControl, expansion: bool, max_iter: int
    ) -> LinearSolution:
        """Run the compiled solver."""
        run = _core.linear(
            view(problem.X, mapped=self.block_bytes > 0, threads=self.threads).native,
            target=problem.target,
            lower=problem.lower,
            upper=problem.upper,
            ridge=problem.ridge,
            tube=problem.tube,
            bias=int(problem.bias),
            bias_scale=problem.bias_scale,
            total=problem.total,
            beta=np.zeros(problem.n) if start is None else np.ascontiguousarray(start, dtype=np.float64),
            tolerance=self.tol,
            method=METHODS["descent" if self.block_bytes > 0 else self.method],
            max_iterations=max_iter,
            max_seconds=control.max_seconds(),
            threads=self.threads,
            seed=self.seed,
            expansion=expansion,
            block_bytes=self.block_bytes,
            order=ORDERS.index(self.order),
            shrinking=self.shrinking,
            control=control,
        )
        weights, beta, products = run.weights, run.beta, None
        if len(run.f) > 0:
            values = _core.LinearProducts(run.f, run.reach, run.distance)
            products = KnownProducts(problem.X, weights, beta, values)
        return LinearSolution(
            weights=weights,
            offset=run.offset,
            beta=beta,
            primal=run.primal,
            dual=run.dual,
            gap=run.gap,
            violation=run.violation,
            status=Status(run.status),
            iterations=run.iterations,
            history=History(*run_columns(run.history)),
            error=run.error,
            floor=run.floor,
            counters=dict(zip(COUNTERS, map(int, _counters(run)), strict=True)),
            products=products,
        )

    def solve_crammer_singer(
        self, problem: CrammerSingerProblem, start: Array | None = None, control: RunControl | None = None
    ) -> CrammerSingerSolution:
        """Solve the problem of Crammer and Singer; `start` is n × classes.

        If descent converges slowly and there are few features, an interior-point method continues, unless method is
        "descent".
        """
        if self.method == "newton":
            raise ValueError(
                "method='newton' does not support multi_class='crammer_singer': use method='auto' or 'descent'"
            )
        control = self.started(control)
        n, classes = len(problem.cost), problem.classes
        small = self.method == "auto" and crammer_singer.is_small(problem)
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
            max_iterations=SLOW_EPOCHS if small and not 0 <= self.max_iter <= SLOW_EPOCHS else self.max_iter,
            max_seconds=control.max_seconds(),
            seed=self.seed,
            control=control,
        )
        solution = CrammerSingerSolution(
            weights=run.weights.reshape(classes, -1),
            offset=run.offset,
            alpha=run.alpha.reshape(n, classes),
            primal=run.primal,
            dual=run.dual,
            gap=run.gap,
            violation=run.violation,
            status=Status(run.status),
            iterations=run.iterations,
            history=History(*run_columns(run.history)),
            error=run.error,
        )
        solution = verify_crammer_singer(problem, solution, self.tol)
        max_steps = self._remaining_iter(solution.iterations)
        if not small or solution.status not in (Status.MAX_ITER, Status.NUMERICAL) or max_steps == 0:
            return solution
        return crammer_singer.interior_point_fallback(problem, solution, self.tol, control, max_steps)

    def _max_descent_iter(self, small: bool) -> int:
        """Iterations of descent and Newton's method: for small problems, some are reserved for the fallback."""
        reserve = small and self.max_iter >= SLOW_EPOCHS + INTERIOR_POINT_STEPS
        return self.max_iter - INTERIOR_POINT_STEPS if reserve else self.max_iter

    def _remaining_iter(self, iterations: int) -> int:
        return -1 if self.max_iter < 0 else max(0, self.max_iter - iterations)


# ---- centering ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CenteredProblem:
    """A problem with shifted targets and, unless `feature_shift` is None, shifted features.     docs/math (147)

    The shift leaves the solution of a problem with a free offset unchanged. With Σβ = 0, w = Σ βᵢxᵢ = Σ βᵢ(xᵢ − m): the
    problem with targets t − c and features x − m has the same w and β, and the offset b − c + ⟨w, m⟩. Without the
    shift, data far from zero lose digits.
    """

    problem: LinearProblem
    target_shift: float
    feature_shift: Array | None

    def restore(self, solution: LinearSolution) -> LinearSolution:
        """Return the solution of the original problem, which is the same function of the original features.

        Σβ is reduced to zero, because a nonzero sum would be multiplied by the shift of the features.
        """
        if self.feature_shift is None:
            return replace(solution, offset=solution.offset + self.target_shift)
        offset = solution.offset + self.target_shift - float(solution.weights @ self.feature_shift)
        return replace(solution, offset=offset, beta=_with_zero_sum(solution.beta))


def centered(problem: LinearProblem, features: bool) -> CenteredProblem | None:
    """Center the problem. Return None if centering is not needed or the offset is not free.

    Features are centered only if `features` is true and they are dense, because centering copies them.
    """
    if problem.bias is not Bias.FREE or problem.total != 0 or not problem.n:
        return None
    target_shift = _target_shift(problem.target)
    feature_shift = _feature_shift(np.asarray(problem.X)) if features and not sp.issparse(problem.X) else None
    if target_shift == 0 and feature_shift is None:
        return None
    X = problem.X if feature_shift is None else np.asarray(problem.X, dtype=np.float64) - feature_shift
    return CenteredProblem(replace(problem, X=X, target=problem.target - target_shift), target_shift, feature_shift)


def _with_zero_sum(beta: Array) -> Array:
    """Return β with Σβ = 0. Variables of the sign with the larger sum are scaled down and stay in bounds.   (109)"""
    for _ in range(MAX_SUM_CORRECTIONS):
        surplus = float(np.sum(beta))
        prevailing = np.maximum(beta, 0.0) if surplus > 0 else np.minimum(beta, 0.0)
        if surplus == 0 or not np.any(prevailing):
            break
        beta = beta - surplus * (prevailing / np.sum(prevailing))
    return beta


def _target_shift(target: Array) -> float:
    """Midrange of the targets if it is large relative to their range, else 0."""
    low, high = float(np.min(target)), float(np.max(target))
    midrange = 0.5 * low + 0.5 * high
    return midrange if abs(midrange) > MIN_RELATIVE_TARGET_SHIFT * (high - low) else 0.0


def _feature_shift(X: Array) -> Array | None:
    """Mean of the features if one of them is far from zero in a subsample, else None."""
    subsample = X[:: -(-len(X) // SUBSAMPLE_SIZE)]
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.minimum.reduce(subsample), np.maximum.reduce(subsample)
        is_far = np.abs(0.5 * low + 0.5 * high) > MIN_RELATIVE_FEATURE_SHIFT * (high - low)
        if not np.logical_or.reduce(is_far):
            return None
        mean = np.asarray(X.mean(axis=0, dtype=np.float64))
    return mean if np.isfinite(mean).all() else None


def _values(problem: Problem, alpha: Array) -> Array:
    """Return f = Kβ of a linear kernel: O(n d) with the weights, not O(n²d) with the kernel matrix."""
    X = problem.Q.access.factor()
    return np.asarray(X @ (X.T @ problem.Q.coefficients(alpha)), dtype=np.float64)
