"""A point on its way along the central path, and its steps."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.problems import Array, Diagonal, Problem
from hinge.solvers.feasibility import forced
from hinge.solvers.interior_point.newton_system import NewtonSystem

#: How far to go towards the boundary.
FRACTION = 0.995

#: The first products of slacks and multipliers, in units of the mean slope times the mean slack.
START_PUSH = 1.0

#: The first steps, and the start itself, need not be precise.
ROUGH = 1e-3

#: How far from the bounds to start, in units of the mean size of the variables.
START_ROOM = 1.0

#: Curvatures of bounds and terms below these fractions of the largest kernel value are raised to it, if need be.
SMALLEST_CURVATURES = (1e-13, 1e-11, 1e-9)

#: Halvings of a step after which the optimality conditions are violated more than before.
MAX_HALVINGS = 8

#: Corrections of a step towards the centre, steps that need none, how much further they aim, the share of that which
#: they must gain, and the factor that products may be off.
CENTRALITY, LONG, FURTHER, GAIN, OFF_CENTRE = 2, 0.9, 0.3, 0.1, 10.0

Direction = tuple[Array, Array, Array, Array]


class InteriorState:
    """x strictly inside its box with slacks s and t, multipliers z of lower and w of upper bounds, and μ of the rows.

    docs/math (323)–(326); LwK (10.39)–(10.46), SVR tutorial app. A.
    """

    def __init__(
        self,
        problem: Problem,
        K: Array | None = None,
        careful: bool = False,
        near: tuple[Array, Array] | None = None,
    ) -> None:
        self.problem, Q = problem, problem.Q
        self.K = Q.kernel_matrix() if K is None else K
        self.system = NewtonSystem(Q, self.K)
        curved = problem.term is not None and not isinstance(problem.term, Diagonal)
        self.careful = careful or curved  # then the path is followed to its end
        fixed, values = forced(problem)
        self.moves = (problem.lower < problem.upper) & ~fixed
        self.has_lower = np.isfinite(problem.lower) & self.moves
        self.has_upper = np.isfinite(problem.upper) & self.moves
        self.bounds = max(1, int(self.has_lower.sum() + self.has_upper.sum()))
        self.rough = near is not None  # a point with bounds in it, to cross from: no step leads on
        if near is None:
            self._start(fixed, values)
        else:
            self._place(*near)

    def _place(self, x: Array, mu: Array) -> None:
        """At this point, with the multipliers of the rows, and at bounds those that fit them."""
        problem = self.problem
        self.x, self.mu, self.gradient = x, mu, self.gradient_at(x)
        self.s = np.where(self.has_lower, x - problem.lower, 1.0)
        self.t = np.where(self.has_upper, problem.upper - x, 1.0)
        r = problem.slope(x, self.gradient) + mu @ problem.A
        self.z = np.where(self.has_lower & (self.s == 0), np.maximum(r, 0.0), 0.0)
        self.w = np.where(self.has_upper & (self.t == 0), np.maximum(-r, 0.0), 0.0)
        self._measure()

    def _measure(self) -> None:
        """The sizes of forces and of the objective that other numbers are compared with."""
        self.force = float(np.max(np.abs(self.gradient) + np.abs(self.problem.p), initial=0.0)) or 1.0
        size = 1e-8 * self.force * float(np.sum(np.abs(self.x)))  # an objective that is zero has none
        self.scale = max(abs(self.problem.value(self.x, self.gradient)), size, 1e-300)

    # ---- the start --------------------------------------------------------------------------------------------

    def _start(self, fixed: NDArray[np.bool_], values: Array) -> None:
        """Near the solution of a problem without bounds, kept away from them; multipliers that fit it.      (323)"""
        problem = self.problem
        low = np.where(self.has_lower, problem.lower, -np.inf)
        high = np.where(self.has_upper, problem.upper, np.inf)
        guess, size = self._without_bounds()
        room = np.minimum(np.where(self.has_lower & self.has_upper, 0.5 * (high - low), np.inf), size)
        with np.errstate(invalid="ignore"):
            inside = np.clip(guess, low + room, high - room)
        self.x = np.where(fixed, values, np.where(self.moves, inside, problem.lower))
        self.s = np.where(self.has_lower, self.x - low, 1.0)
        self.t = np.where(self.has_upper, high - self.x, 1.0)
        self.mu = np.zeros(len(problem.d))
        self.gradient = self.gradient_at(self.x)
        self._measure()
        slope = problem.slope(self.x, self.gradient)
        usual = float(np.mean(self._room()[self.moves])) if self.moves.any() else 1.0
        product = START_PUSH * (float(np.mean(np.abs(slope))) or 1.0) * usual
        self.z = np.where(self.has_lower, np.maximum(slope, 0.0) + product / self.s, 0.0)
        self.w = np.where(self.has_upper, np.maximum(-slope, 0.0) + product / self.t, 0.0)

    def _without_bounds(self) -> tuple[Array, float]:
        """The minimum of the problem with a quadratic in place of bounds and h, and the usual size of its variables."""
        problem, moves = self.problem, self.moves
        sizes = np.where(np.isfinite(problem.upper - problem.lower), 0.5 * (problem.upper - problem.lower), np.inf)
        if problem.term is not None:
            sizes = np.minimum(sizes, np.abs(problem.term.answer(problem.p, problem.lower, problem.upper)) + 1e-300)
        force = float(np.mean(np.abs(problem.p))) or 1.0
        known = sizes[np.isfinite(sizes) & moves & (sizes > 0)]
        usual = float(np.mean(known)) if known.size else 1.0
        try:
            unit = 0.0 if self.careful else float(np.mean(np.abs(self.system.diagonal)))
            curvature = max(force / usual, unit, 1e-290)
            self.system.factor(np.full(problem.size, curvature), moves, rough=not self.careful)
        except scipy.linalg.LinAlgError:  # an indefinite matrix: no minimum without bounds
            return np.zeros(problem.size), usual
        columns = np.column_stack([-problem.p, problem.A.T]) if len(problem.d) else -problem.p[:, None]
        solved = self.system.solve(np.where(moves[:, None], columns, 0.0), 1e-14 if self.careful else ROUGH)
        x = solved[:, 0]
        if len(problem.d):
            rows = solved[:, 1:]
            x = x - rows @ np.linalg.lstsq(problem.A @ rows, problem.A @ x - problem.d, rcond=None)[0]
        total = float(np.max(np.abs(problem.d), initial=0.0)) / problem.size
        size = START_ROOM * float(np.mean(np.abs(x[moves]))) if moves.any() else 1.0
        if not np.isfinite(x).all() or not np.isfinite(size):
            return np.zeros(problem.size), usual
        return x, max(size, total) or usual

    def gradient_at(self, x: Array) -> Array:
        Q = self.problem.Q
        return Q.spread(self.K @ Q.coefficients(x)) + self.problem.p

    # ---- measures ---------------------------------------------------------------------------------------------

    def complementarity(self) -> float:
        return float(self.s @ self.z + self.t @ self.w)

    def residuals(self) -> tuple[Array, Array]:
        """What is missing to dual and primal feasibility."""
        problem = self.problem
        slope = problem.slope(self.x, self.gradient)
        dual = -(slope + self.mu @ problem.A - self.z + self.w)
        return np.where(self.moves, dual, 0.0), problem.d - problem.A @ self.x

    def gap(self) -> tuple[float, float]:
        """The duality gap (4), (314) of x with the multipliers μ at hand, and the objective."""
        return self.gap_of(self.x, self.gradient, self.mu), self.problem.value(self.x, self.gradient)

    def gap_of(self, x: Array, gradient: Array, mu: Array) -> float:
        """The gap of any point; what pushes into the open counts as the products of slacks and multipliers do."""
        problem = self.problem
        r = gradient + mu @ problem.A
        if problem.term is not None:
            return float(np.sum(problem.term.gap(x, r, problem.lower, problem.upper)))
        towards = np.where(r > 0, problem.lower, problem.upper)
        closed = np.isfinite(towards)
        gap = float(np.sum(r[closed] * (x - towards)[closed]))
        return gap if closed.all() else gap + self.complementarity()

    def is_feasible(self, accuracy: float) -> bool:
        problem = self.problem
        masses = np.abs(problem.A) @ np.abs(self.x) + np.abs(problem.d)
        return bool(np.all(np.abs(problem.d - problem.A @ self.x) <= accuracy * masses))

    # ---- a step -----------------------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Predict along the tangent, correct back to the path; False when no step is left in floating point."""
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                return self._advance()
        except (scipy.linalg.LinAlgError, ValueError, FloatingPointError):  # not positive definite, or not finite
            return False

    def _advance(self) -> bool:
        curvature = self.z / self.s + self.w / self.t
        if self.problem.term is not None:
            curvature = curvature + self.problem.term.curvature(self.x)
        self._factor(np.minimum(curvature, 1e290))
        dual, primal = self.residuals()
        push = np.where(self.moves, dual - self.z + self.w, 0.0)
        accuracy = self._accuracy()
        both = self.system.solve(np.column_stack([push, np.where(self.moves, self.problem.A, 0.0).T]), accuracy)
        self._rows = both[:, 1:]
        predictor = self._direction(primal, both[:, 0], -self.z, -self.w)
        step = self._length(predictor, 1.0)
        dx, _, dz, dw = predictor
        target = self.complementarity() / self.bounds
        ahead = float((self.s + step * dx)[self.has_lower] @ (self.z + step * dz)[self.has_lower])
        ahead += float((self.t - step * dx)[self.has_upper] @ (self.w + step * dw)[self.has_upper])
        centring = min(1.0, (max(ahead, 0.0) / self.bounds / target) ** 3) if target > 0 else 0.0
        pull_z = np.where(self.has_lower, (centring * target - dx * dz) / self.s - self.z, 0.0)
        pull_w = np.where(self.has_upper, (centring * target + dx * dw) / self.t - self.w, 0.0)
        corrector = self._corrected(dual, primal, pull_z, pull_w, accuracy)
        step = self._length(corrector, FRACTION)
        for _ in range(CENTRALITY if self.careful else 0):
            if step >= LONG:
                break
            more_z, more_w = self._towards_centre(corrector, min(1.0, step + FURTHER), centring * target)
            pull_z, pull_w = pull_z + more_z, pull_w + more_w
            other = self._corrected(dual, primal, pull_z, pull_w, accuracy)
            length = self._length(other, FRACTION)
            if not length >= step + GAIN * FURTHER:
                break
            corrector, step = other, length
        if not step > 1e-12 or not all(np.isfinite(part).all() for part in corrector):
            return False
        return self._take(step, corrector, self._imbalance(self._room()))

    def _corrected(self, dual: Array, primal: Array, pull_z: Array, pull_w: Array, accuracy: float) -> Direction:
        dx = self.system.solve(np.where(self.moves, dual + pull_z - pull_w, 0.0)[:, None], accuracy)[:, 0]
        return self._direction(primal, dx, pull_z, pull_w)

    def _towards_centre(self, direction: Direction, step: float, target: float) -> tuple[Array, Array]:
        """Pulls that bring products which a longer step would leave far from their target nearer to it.  (327)"""
        dx, _, dz, dw = direction
        pulls = []
        for slack, change, value, its in ((self.s, dx, self.z, dz), (self.t, -dx, self.w, dw)):
            product = (slack + step * change) * (value + step * its)
            missing = np.clip(product, target / OFF_CENTRE, target * OFF_CENTRE) - product
            pulls.append(np.maximum(missing, -OFF_CENTRE * target) / slack)
        return np.where(self.has_lower, pulls[0], 0.0), np.where(self.has_upper, pulls[1], 0.0)

    def _accuracy(self) -> float:
        """Of the steps: errors become violations of dual feasibility, which must fall faster than the products do."""
        value = abs(self.problem.value(self.x, self.gradient))
        products = self.complementarity() / max(value, 1e-300)
        if self.careful:
            return float(np.clip(1e-4 * products, 1e-14, 1e-8))
        return float(np.clip(1e-3 * products, 1e-14, ROUGH))

    def _factor(self, curvature: Array) -> None:
        """Factorise; where Q is singular and curvatures too small to tell, with larger ones: a shorter, safe step."""
        scale = float(np.max(np.abs(self.system.diagonal), initial=0.0)) or 1.0
        for least in SMALLEST_CURVATURES:
            try:
                self.system.factor(np.maximum(curvature, least * scale), self.moves, rough=self._accuracy() >= ROUGH)
            except scipy.linalg.LinAlgError:
                if least == SMALLEST_CURVATURES[-1]:
                    raise
            else:
                return

    def _take(self, step: float, direction: Direction, before: float) -> bool:
        """Go; not so far that a term's curvature makes dual feasibility worse than centrality allows."""
        dx, d_mu, dz, dw = direction
        x, s, t, z, w, mu = self.x, self.s, self.t, self.z, self.w, self.mu
        room, free = self._room(), self.problem.term is None or isinstance(self.problem.term, Diagonal)
        for _ in range(MAX_HALVINGS):
            self.s = np.where(self.has_lower, s + step * dx, 1.0)
            self.t = np.where(self.has_upper, t - step * dx, 1.0)
            self.z, self.w, self.mu = z + step * dz, w + step * dw, mu + step * d_mu
            near_lower = self.has_lower & (~self.has_upper | (self.s <= self.t))
            inside = np.where(self.has_upper, self.problem.upper - self.t, x + step * dx)
            self.x = np.where(near_lower, self.problem.lower + self.s, inside)
            self.gradient = self.gradient_at(self.x)
            if free or self._imbalance(room) <= max(before, self.complementarity()):
                return True
            step *= 0.5
        return False

    def _room(self) -> Array:
        """The distance to the nearest bound; the size of a variable that has none."""
        room = np.minimum(np.where(self.has_lower, self.s, np.inf), np.where(self.has_upper, self.t, np.inf))
        return np.where(np.isfinite(room), room, np.abs(self.x))

    def _imbalance(self, room: Array) -> float:
        """What is missing to dual feasibility, in units of the gap."""
        missing = float(np.abs(self.residuals()[0]) @ room)
        return missing if np.isfinite(missing) else np.inf

    def merit(self) -> float:
        """What all steps together are to bring to zero."""
        return self.complementarity() + self._imbalance(self._room())

    def _direction(self, primal: Array, dx: Array, pull_z: Array, pull_w: Array) -> Direction:
        """From the solution without equality rows to one with them, and what follows for the multipliers.   (325)"""
        A = self.problem.A
        d_mu = np.zeros(len(A))
        if len(A):
            d_mu = np.asarray(np.linalg.lstsq(A @ self._rows, A @ dx - primal, rcond=None)[0], dtype=np.float64)
            dx = dx - self._rows @ d_mu
        dz = np.where(self.has_lower, pull_z - self.z / self.s * dx, 0.0)
        dw = np.where(self.has_upper, pull_w + self.w / self.t * dx, 0.0)
        return dx, d_mu, dz, dw

    def _length(self, direction: Direction, fraction: float) -> float:
        dx, _, dz, dw = direction
        limit = 1.0 / fraction
        for value, change, used in (
            (self.s, dx, self.has_lower), (self.t, -dx, self.has_upper),
            (self.z, dz, self.has_lower), (self.w, dw, self.has_upper),
        ):  # fmt: skip
            shrinks = used & (change < 0)
            limit = min(limit, float(np.min(value[shrinks] / -change[shrinks], initial=np.inf)))
        return min(1.0, fraction * limit)
