"""Step of the dense interior-point method: predictor, corrector and centrality corrections."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from hinge.problems import Array
from hinge.solvers.interior_point.iterate import LOW_ACCURACY, Iterate, is_quadratic
from hinge.solvers.interior_point.step_length import max_step

#: Share of the largest feasible step that is taken.
STEP_FRACTION = 0.995

#: Where the factorization fails, curvatures of bounds and terms are raised to these multiples of the largest kernel
#: value, one after the other; after the last one the step fails.
MIN_CURVATURES = (1e-13, 1e-11, 1e-9)

#: Halvings of a step that increases infeasibility before the step fails.
MAX_HALVINGS = 8

#: Largest number of centrality corrections (Gondzio) of one step, and the step length from which on none is made.
MAX_CENTRALITY_CORRECTIONS = 2
LONG_STEP = 0.9

#: Increase of the step length that a centrality correction aims at. It is rejected if the increase is less than a share
#: of this.
CENTRALITY_STEP_GAIN = 0.3
MIN_SHARE_OF_GAIN = 0.1

#: Complementarity products within this factor of their target need no centrality correction.
CENTRALITY_FACTOR = 10.0

Direction = tuple[Array, Array, Array, Array]


def advance(iterate: Iterate) -> bool:
    """Move the iterate by a predictor–corrector step; False if floating-point accuracy allows no further step."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return _Step(iterate).take()
    except (scipy.linalg.LinAlgError, ValueError, FloatingPointError):  # not positive definite, or not finite
        return False


class _Step:
    """Directions from one iterate, which share a factorization."""

    def __init__(self, iterate: Iterate) -> None:
        self.iterate, problem = iterate, iterate.problem
        curvature = iterate.z / iterate.s + iterate.w / iterate.t
        if problem.term is not None:
            curvature = curvature + problem.term.curvature(iterate.x)
        self.accuracy = self._accuracy()
        self._factor(np.minimum(curvature, 1e290))
        self.dual, self.primal = iterate.residuals()

    def take(self) -> bool:
        """Predict along the tangent of the central path, correct, and move."""
        iterate = self.iterate
        movable = iterate.movable
        right = np.where(movable, self.dual - iterate.z + iterate.w, 0.0)
        rows = np.where(movable, iterate.problem.A, 0.0).T
        solved = iterate.system.solve(np.column_stack([right, rows]), self.accuracy)
        self.rows_solved = solved[:, 1:]
        predictor = self._direction(solved[:, 0], -iterate.z, -iterate.w)
        corrector, step = self._corrected(predictor)
        if not step > 1e-12 or not all(np.isfinite(part).all() for part in corrector):
            return False
        return self._move(step, corrector)

    def _corrected(self, predictor: Direction) -> tuple[Direction, float]:
        """Second-order corrector with Mehrotra's centering, and its step length.   (326)"""
        iterate = self.iterate
        dx, _, dz, dw = predictor
        step = self._length(predictor, 1.0)
        mean = iterate.complementarity() / iterate.bounds
        s, t, lower, upper = iterate.s, iterate.t, iterate.has_lower, iterate.has_upper
        predicted = float((s + step * dx)[lower] @ (iterate.z + step * dz)[lower])
        predicted += float((t - step * dx)[upper] @ (iterate.w + step * dw)[upper])
        centering = min(1.0, (max(predicted, 0.0) / iterate.bounds / mean) ** 3) if mean > 0 else 0.0
        target = centering * mean
        right_z = np.where(lower, (target - dx * dz) / s - iterate.z, 0.0)
        right_w = np.where(upper, (target + dx * dw) / t - iterate.w, 0.0)
        corrector = self._solve(right_z, right_w)
        step = self._length(corrector, STEP_FRACTION)
        for _ in range(MAX_CENTRALITY_CORRECTIONS if iterate.accurate else 0):
            if step >= LONG_STEP:
                break
            change_z, change_w = self._centrality(corrector, min(1.0, step + CENTRALITY_STEP_GAIN), target)
            right_z, right_w = right_z + change_z, right_w + change_w
            recentered = self._solve(right_z, right_w)
            length = self._length(recentered, STEP_FRACTION)
            if not length >= step + MIN_SHARE_OF_GAIN * CENTRALITY_STEP_GAIN:
                break
            corrector, step = recentered, length
        return corrector, step

    def _solve(self, right_z: Array, right_w: Array) -> Direction:
        """Direction for these right sides of the linearized complementarity conditions."""
        right = np.where(self.iterate.movable, self.dual + right_z - right_w, 0.0)
        return self._direction(self.iterate.system.solve(right[:, None], self.accuracy)[:, 0], right_z, right_w)

    def _direction(self, dx: Array, right_z: Array, right_w: Array) -> Direction:
        """Add the equality rows to a solution without them, and derive the steps of the multipliers.   (325)"""
        iterate, A = self.iterate, self.iterate.problem.A
        d_mu = np.zeros(len(A))
        if len(A):
            inner = A @ self.rows_solved
            d_mu = np.asarray(np.linalg.lstsq(inner, A @ dx - self.primal, rcond=None)[0], dtype=np.float64)
            dx = dx - self.rows_solved @ d_mu
        dz = np.where(iterate.has_lower, right_z - iterate.z / iterate.s * dx, 0.0)
        dw = np.where(iterate.has_upper, right_w + iterate.w / iterate.t * dx, 0.0)
        return dx, d_mu, dz, dw

    def _centrality(self, direction: Direction, step: float, target: float) -> tuple[Array, Array]:
        """Changes of the right sides that bring outlying products of a longer step back to the target.   (327)"""
        iterate = self.iterate
        dx, _, dz, dw = direction
        changes = []
        for slack, d_slack, multiplier, d_multiplier in (
            (iterate.s, dx, iterate.z, dz), (iterate.t, -dx, iterate.w, dw),
        ):  # fmt: skip
            product = (slack + step * d_slack) * (multiplier + step * d_multiplier)
            missing = np.clip(product, target / CENTRALITY_FACTOR, target * CENTRALITY_FACTOR) - product
            changes.append(np.maximum(missing, -CENTRALITY_FACTOR * target) / slack)
        return np.where(iterate.has_lower, changes[0], 0.0), np.where(iterate.has_upper, changes[1], 0.0)

    def _length(self, direction: Direction, fraction: float) -> float:
        iterate = self.iterate
        return max_step(
            (iterate.s, iterate.t, iterate.z, iterate.w), direction, iterate.has_lower, iterate.has_upper, fraction
        )

    def _accuracy(self) -> float:
        """Accuracy of the linear solutions: their errors become dual infeasibility, which has to fall faster than the
        complementarity products."""
        iterate = self.iterate
        value = abs(iterate.problem.value(iterate.x, iterate.gradient))
        products = iterate.complementarity() / max(value, 1e-300)
        if iterate.accurate:
            return float(np.clip(1e-4 * products, 1e-14, 1e-8))
        return float(np.clip(1e-3 * products, 1e-14, LOW_ACCURACY))

    def _factor(self, curvature: Array) -> None:
        """Factorize; if Q is singular and the curvatures are too small, with larger ones: the step becomes shorter."""
        iterate = self.iterate
        scale = float(np.max(np.abs(iterate.system.diagonal), initial=0.0)) or 1.0
        for least in MIN_CURVATURES:
            try:
                raised, approximate = np.maximum(curvature, least * scale), self.accuracy >= LOW_ACCURACY
                iterate.system.factor(raised, iterate.movable, approximate)
            except scipy.linalg.LinAlgError:
                if least == MIN_CURVATURES[-1]:
                    raise
            else:
                return

    def _move(self, step: float, direction: Direction) -> bool:
        """Move; halve the step while the curvature of h makes dual infeasibility larger than complementarity."""
        iterate, problem = self.iterate, self.iterate.problem
        dx, d_mu, dz, dw = direction
        x, s, t, z, w, mu = iterate.x, iterate.s, iterate.t, iterate.z, iterate.w, iterate.mu
        slack = iterate.smallest_slack()
        before = iterate.weighted_infeasibility(slack)
        for _ in range(MAX_HALVINGS):
            iterate.s = np.where(iterate.has_lower, s + step * dx, 1.0)
            iterate.t = np.where(iterate.has_upper, t - step * dx, 1.0)
            iterate.z, iterate.w, iterate.mu = z + step * dz, w + step * dw, mu + step * d_mu
            near_lower = iterate.has_lower & (~iterate.has_upper | (iterate.s <= iterate.t))
            inside = np.where(iterate.has_upper, problem.upper - iterate.t, x + step * dx)
            iterate.x = np.where(near_lower, problem.lower + iterate.s, inside)
            iterate.gradient = iterate.gradient_at(iterate.x)
            if is_quadratic(problem):
                return True
            if iterate.weighted_infeasibility(slack) <= max(before, iterate.complementarity()):
                return True
            step *= 0.5
        return False
