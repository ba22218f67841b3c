"""Newton's method on one linear problem, as a generator that yields passes over the samples and receives their sums.

The generator holds the state of the method: (w, b), the width of smoothing and the samples of a band. `training.py`
runs the generators of all classes together, so that they share passes over the data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hinge.dask.linear.band import improve_band
from hinge.dask.linear.objective import Direction, Objective
from hinge.dask.linear.passes import Certify, Evaluate, Pass, Product, Search
from hinge.dask.linear.response import Point
from hinge.dask.linear.sums import CertificateSums, NewtonSums
from hinge.problems import Array, Certificate, History, LinearSolution, Status
from hinge.problems.certificate import relative

#: A method: yields passes, receives their sums, and returns its result.
Steps = Generator[Pass, Any, Any]

ROUNDING_SHARE = 1e-2  # share of `tol` that rounding errors may contribute before twice the precision is used
ARMIJO = 1e-4  # share of the predicted decrease that a full step must achieve
ROUNDING = 1e-15  # relative changes of the objective up to this are rounding errors
SEARCH_POINTS = 15  # step lengths that one pass of a line search evaluates
MAX_SEARCHES = 3  # passes of a line search
SEARCH_TOL = 0.1  # slope, relative to the initial one, at which a line search ends
CG_TOL = 0.05  # residual of conjugate gradients, relative to the gradient, far from the solution
MAX_CG_STEPS = 250  # steps of conjugate gradients before the direction is used as it is
MAX_STALLED_STEPS = 3  # Newton steps without progress before a numerical stall is reported
WIDTH_FACTOR = 0.25  # factor by which the width of smoothing decreases
PROXIMAL_WIDTH = 1e-5  # width, relative to the first one, at which the proximal-point method starts
PROXIMAL_DECREASE = 0.2  # decrease of the gap by a proximal-point step that needs no smaller width
MAX_ANCHORS = 30  # proximal-point steps; each of them adds a product with X to all later passes
CENTERING_SHARE = 0.1  # gap of a smoothed problem, relative to the change by smoothing, at which its solution ends


@dataclass
class Run:
    """State of the method for one problem: best point, certificate and history.

    Parameters
    ----------
    objective : Objective
    tol : float
        Relative gap at which the run ends.
    max_iter : int
        Limit of Newton steps; −1 for no limit.
    smooth : bool
        Whether the losses are differentiable; otherwise they are smoothed.
    hessian : bool
        Whether Newton systems are factorized; otherwise they are solved by conjugate gradients.
    band_limit : int
        Largest number of samples that the client collects.
    tube : float
    report : callable
        Called with a snapshot after every step.
    """

    objective: Objective
    tol: float
    max_iter: int
    smooth: bool
    hessian: bool
    band_limit: int
    tube: float
    report: Callable[[dict[str, Any]], bool] = lambda snapshot: True
    status: Status = Status.MAX_ITER
    iterations: int = 0
    certificate: Certificate | None = None
    point: Point | None = None
    sums: NewtonSums | None = None
    final: tuple[Array, float] | None = None  # (w, b) without centering, if it was certified
    started: float = field(default_factory=time.monotonic)
    rows: list[tuple[float, ...]] = field(default_factory=list)

    # ---- records ----------------------------------------------------------------------------------------------------

    def record(self, point: Point, sums: NewtonSums) -> None:
        """Store a point, and report it."""
        self.point, self.sums = point, sums
        primal, dual = self.objective.primal(point, sums), self.objective.dual(sums)
        gradient, offset = self.objective.gradient(point, sums)
        violation = float(max(np.max(np.abs(gradient), initial=0.0), abs(offset)))
        seconds = time.monotonic() - self.started
        self.rows.append((self.iterations, seconds, violation, primal, dual, primal - dual, sums.near[0], 1.0))
        names = ("iteration", "seconds", "violation", "primal", "dual", "gap", "active", "exact")
        snapshot: dict[str, Any] = dict(zip(names, self.rows[-1], strict=True))
        snapshot["active"] = int(snapshot["active"])
        if not self.report(snapshot):
            self.status = Status.INTERRUPTED

    def gap(self) -> float:
        """Relative gap of the last point, without rounding errors."""
        assert self.point is not None
        assert self.sums is not None
        primal, dual = self.objective.primal(self.point, self.sums), self.objective.dual(self.sums)
        return relative(max(0.0, primal - dual), primal, dual)

    def may_continue(self) -> bool:
        """Whether the limit of iterations allows another step, and the callback did not ask to stop."""
        return self.status is not Status.INTERRUPTED and (self.max_iter < 0 or self.iterations < self.max_iter)

    def accept(self, certificate: Certificate, w: Array, b: float) -> bool:
        """Store a certified point if it is the best one; True if its gap is at most `tol`."""
        if self.certificate is None or certificate.gap <= self.certificate.gap:
            self.certificate, self.final = certificate, (w, b)
        if certificate.relative_gap <= self.tol:
            self.status = Status.SOLVED
        return self.status is Status.SOLVED

    def solution(self) -> LinearSolution:
        """The best certified point. The dual point stays on the workers."""
        assert self.certificate is not None
        assert self.final is not None
        columns = np.array(self.rows, dtype=np.float64).reshape(-1, 8).T
        names = ("iteration", "seconds", "violation", "primal", "dual", "gap", "active", "exact")
        history = History.from_columns(dict(zip(names, columns, strict=True)))
        c = self.certificate
        return LinearSolution(
            *self.final, np.empty(0), c.primal, c.dual, c.gap, c.kkt_violation, self.status, self.iterations, history
        )

    # ---- passes -----------------------------------------------------------------------------------------------------

    def evaluate(self, point: Point) -> Generator[Pass, Any, NewtonSums]:
        """Evaluate the losses at a point."""
        sums: NewtonSums = yield Evaluate(point, self.hessian)
        return sums

    def certify(self) -> Generator[Pass, Any, bool]:
        """Certify the last point; in twice the precision if rounding errors matter."""
        assert self.point is not None
        assert self.sums is not None
        w, b = self.objective.original(self.point)
        for accurate in (False, True):
            sums: CertificateSums = yield Certify(self.point, self.objective.factors(self.sums), w, b, accurate)
            found = self.objective.certificate(sums, w, b)
            size = max(abs(found.primal), abs(found.dual))
            if accurate or found.rounding <= ROUNDING_SHARE * self.tol * size < np.inf:
                break
        return self.accept(found, w, b)


def minimize(run: Run, n_features: int) -> Steps:
    """Solve the problem of `run`; its results are stored there.

    Smooth losses: Newton steps until the gap is at most `tol`. Losses with kinks: Newton steps on smoothed losses of
    decreasing width, until the gap is at most `tol` or the samples near a kink are few enough for `improve_band`. If
    many samples lie on a kink, the proximal-point method (115) follows.
    """
    point = Point(np.zeros(n_features), 0.0, None if run.smooth else 1.0)
    sums = yield from run.evaluate(point)
    if not run.smooth:  # the first width is the scale of the losses
        width = max(4.0 * sums.exact / max(1e-300, float(np.sum(np.abs(sums.total)))), 1e-8)
        point = replace(point, width=width)
        sums = yield from run.evaluate(point)
    run.record(point, sums)
    schedule, stalled, last_slope = Schedule(point.width), 0, np.inf
    while run.may_continue():
        if run.gap() <= run.tol and (yield from run.certify()):
            return
        if point.width is not None and is_centered(run, point, sums):
            if not point.anchors and sums.near[1] <= run.band_limit and (yield from improve_band(run, point)):
                return
            following = schedule.next(point, run.gap())
            if following is None:
                break
            point = following
            sums = yield from run.evaluate(point)
        else:
            before = run.objective.smooth(point, sums)
            direction = yield from newton_direction(run, point, sums)
            point, sums = yield from line_search(run, point, sums, direction)
            slope = float(np.linalg.norm(run.objective.gradient(point, sums)[0]))
            progress = before - run.objective.smooth(point, sums) > ROUNDING * before or slope < 0.5 * last_slope
            stalled, last_slope = 0 if progress else stalled + 1, slope
            if stalled >= MAX_STALLED_STEPS:
                break
        run.iterations += 1
        run.record(point, sums)
    ended_early = run.may_continue()  # neither by the limit of iterations nor by the callback
    if not (yield from run.certify()) and ended_early:
        run.status = Status.NUMERICAL


def is_centered(run: Run, point: Point, sums: NewtonSums) -> bool:
    """Whether the gap (112) of the smoothed problem is small, relative to the change of the losses by smoothing."""
    gradient, offset = run.objective.gradient(point, sums)
    gap = 0.5 * float(gradient @ gradient) + abs(offset) * (1.0 + abs(point.b))
    return gap <= CENTERING_SHARE * (abs(sums.smooth - sums.exact) + run.tol * run.objective.primal(point, sums))


@dataclass
class Schedule:
    """Widths of smoothing and anchors of the proximal-point method."""

    first_width: float | None
    last_gap: float = np.inf

    def next(self, point: Point, gap: float) -> Point | None:
        """Return the next point after the problem of this width is solved; None if there is no smaller width."""
        assert point.width is not None
        assert self.first_width is not None
        slow, self.last_gap = gap > PROXIMAL_DECREASE * self.last_gap, gap
        if not point.anchors and point.width > PROXIMAL_WIDTH * self.first_width:
            return replace(point, width=WIDTH_FACTOR * point.width)
        if len(point.anchors) >= MAX_ANCHORS:
            return None
        width = WIDTH_FACTOR * point.width if point.anchors and slow else point.width
        return replace(point, width=width, anchors=(*point.anchors, replace(point, anchors=())))


# ---- Newton steps ---------------------------------------------------------------------------------------------------


def newton_direction(run: Run, point: Point, sums: NewtonSums) -> Generator[Pass, Any, Direction]:
    """Return the Newton direction, by factorization or by preconditioned conjugate gradients on (113)."""
    if run.hessian:
        return run.objective.newton_direction(point, sums)
    gradient, offset = run.objective.gradient(point, sums)
    corner = run.objective.corner(sums)
    border = sums.border if corner > 0 else np.zeros_like(gradient)
    corner = corner or 1.0
    diagonal = np.maximum(1.0 + sums.diagonal - border**2 / corner, 1.0)
    residual = border * (offset / corner) - gradient
    norm = float(np.linalg.norm(residual))
    target = norm * min(CG_TOL, norm / max(1e-300, float(np.linalg.norm(point.w))))  # quadratic convergence
    w, scaled = np.zeros_like(gradient), residual / diagonal
    direction, product = scaled, float(residual @ scaled)
    for _ in range(MAX_CG_STEPS):
        if float(np.linalg.norm(residual)) <= max(target, 1e-300):
            break
        image = (yield Product(point, direction)).product + direction
        image -= border * (float(border @ direction) / corner)
        length = product / float(direction @ image)
        w += length * direction
        residual = residual - length * image
        scaled = residual / diagonal
        before, product = product, float(residual @ scaled)
        direction = scaled + (product / before) * direction
    return run.objective.with_offset(point, sums, w)


def moved(point: Point, direction: Direction, step: float) -> Point:
    """Return the point at a step length along a direction."""
    return replace(point, w=point.w + step * direction.w, b=point.b + step * direction.b)


def line_search(
    run: Run, point: Point, sums: NewtonSums, direction: Direction
) -> Generator[Pass, Any, tuple[Point, NewtonSums]]:
    """Try the full step; if it does not decrease the objective enough, find the root of the slope (114).

    A pass evaluates the slope at several step lengths. The objective is convex along the direction and its slope is
    piecewise linear, so that the secant of a small bracket is close to the root.
    """
    objective = run.objective
    full = moved(point, direction, 1.0)
    full_sums = yield from run.evaluate(full)
    gradient, offset = objective.gradient(full, full_sums)
    end = float(gradient @ direction.w) + offset * direction.b
    decrease = objective.smooth(full, full_sums) - objective.smooth(point, sums)
    flat = abs(decrease) <= 100 * ROUNDING * objective.smooth(point, sums) and end <= SEARCH_TOL * abs(direction.slope)
    if end <= 0 or decrease <= ARMIJO * direction.slope or flat:
        return full, full_sums
    low, high, at_low, at_high = 0.0, 1.0, direction.slope, end
    for _ in range(MAX_SEARCHES):
        if low == 0:  # the root may be orders of magnitude smaller than one
            steps = np.concatenate([[0.0], high * 0.25 ** np.arange(SEARCH_POINTS, -1, -1)])
        else:
            steps = np.linspace(low, high, SEARCH_POINTS + 2)
        slopes = (yield Search(point, direction.w, direction.b, steps[1:-1])).slope
        slopes = slopes + _penalty_slopes(objective, point, direction, steps[1:-1])
        slopes = np.concatenate([[at_low], slopes, [at_high]])
        k = int(np.argmax(slopes > 0))  # the last slope is positive
        low, high, at_low, at_high = steps[k - 1], steps[k], slopes[k - 1], slopes[k]
        if at_high - at_low <= SEARCH_TOL * abs(direction.slope):
            break
    chosen = moved(point, direction, low - at_low * (high - low) / (at_high - at_low))
    return chosen, (yield from run.evaluate(chosen))


def _penalty_slopes(objective: Objective, point: Point, direction: Direction, steps: Array) -> Array:
    """Slopes of the terms without losses."""
    slopes = float(point.w @ direction.w) + steps * float(direction.w @ direction.w)
    if objective.bias.name == "PENALIZED":
        slopes = slopes + (point.b + steps * direction.b) * direction.b / objective.bias_scale**2
    return np.asarray(slopes)
