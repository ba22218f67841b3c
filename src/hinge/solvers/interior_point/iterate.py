"""Iterate of the dense interior-point method: its starting point and its optimality measures."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.problems import Array, Diagonal, Problem
from hinge.solvers.feasibility import fixed_by_rows
from hinge.solvers.interior_point.newton_system import NewtonSystem

#: First products of slacks and multipliers, relative to the mean slope times the mean slack.
INITIAL_COMPLEMENTARITY = 1.0

#: First distance to the bounds, relative to the mean size of the variables.
INITIAL_SLACK = 1.0

#: Relative accuracy of linear solutions that is enough for the starting point and the first steps.
LOW_ACCURACY = 1e-3


class Iterate:
    """x inside its box with slacks s and t, multipliers z of the lower and w of the upper bounds, and μ of the rows.

    docs/math (323)–(326); LwK (10.39)–(10.46), SVR tutorial app. A.

    Parameters
    ----------
    problem : Problem
    K : ndarray
        The kernel matrix.
    accurate : bool
        Solve linear systems to more digits and correct steps towards the center, as the end of the path requires. A
        convex term that is not quadratic implies it: its problems have no crossover, and the path is followed to its
        end.
    point : tuple of ndarray or None
        (x, μ), with variables on their bounds. `is_interior` is then False: crossover can start from such an iterate,
        an interior-point step cannot.
    """

    def __init__(
        self,
        problem: Problem,
        K: Array,
        accurate: bool = False,
        point: tuple[Array, Array] | None = None,
    ) -> None:
        self.problem = problem
        self.K, self.system = K, NewtonSystem(problem.Q, K)
        self.accurate = accurate or not is_quadratic(problem)
        fixed, values = fixed_by_rows(problem)
        self.movable = (problem.lower < problem.upper) & ~fixed
        self.has_lower = np.isfinite(problem.lower) & self.movable
        self.has_upper = np.isfinite(problem.upper) & self.movable
        self.bounds = max(1, int(self.has_lower.sum() + self.has_upper.sum()))
        self.is_interior = point is None
        if point is None:
            self._start(fixed, values)
        else:
            self._place(*point)

    def _place(self, x: Array, mu: Array) -> None:
        """Take the point (x, μ); multipliers of the bounds are positive only where x is on a bound."""
        problem = self.problem
        self.x, self.mu, self.gradient = x, mu, self.gradient_at(x)
        self.s = np.where(self.has_lower, x - problem.lower, 1.0)
        self.t = np.where(self.has_upper, problem.upper - x, 1.0)
        r = problem.objective_gradient(x, self.gradient) + mu @ problem.A
        self.z = np.where(self.has_lower & (self.s == 0), np.maximum(r, 0.0), 0.0)
        self.w = np.where(self.has_upper & (self.t == 0), np.maximum(-r, 0.0), 0.0)
        self._set_scales()

    def _set_scales(self) -> None:
        """Set the magnitudes of gradient and objective that tolerances are relative to."""
        self.gradient_scale = float(np.max(np.abs(self.gradient) + np.abs(self.problem.p), initial=0.0)) or 1.0
        # The objective of the starting point may be zero by coincidence.
        least = 1e-8 * self.gradient_scale * float(np.sum(np.abs(self.x)))
        self.objective_scale = max(abs(self.problem.value(self.x, self.gradient)), least, 1e-300)

    # ---- starting point ---------------------------------------------------------------------------------------

    def _start(self, fixed: NDArray[np.bool_], values: Array) -> None:
        """Start near the minimum without bounds, at a distance from the bounds, with multipliers that fit.   (323)"""
        problem = self.problem
        low = np.where(self.has_lower, problem.lower, -np.inf)
        high = np.where(self.has_upper, problem.upper, np.inf)
        unbounded, size = self._unbounded_minimum()
        distance = np.minimum(np.where(self.has_lower & self.has_upper, 0.5 * (high - low), np.inf), size)
        with np.errstate(invalid="ignore"):
            inside = np.clip(unbounded, low + distance, high - distance)
        self.x = np.where(fixed, values, np.where(self.movable, inside, problem.lower))
        self.s = np.where(self.has_lower, self.x - low, 1.0)
        self.t = np.where(self.has_upper, high - self.x, 1.0)
        self.mu = np.zeros(len(problem.d))
        self.gradient = self.gradient_at(self.x)
        self._set_scales()
        slope = problem.objective_gradient(self.x, self.gradient)
        mean_slack = float(np.mean(self.smallest_slack()[self.movable])) if self.movable.any() else 1.0
        product = INITIAL_COMPLEMENTARITY * (float(np.mean(np.abs(slope))) or 1.0) * mean_slack
        self.z = np.where(self.has_lower, np.maximum(slope, 0.0) + product / self.s, 0.0)
        self.w = np.where(self.has_upper, np.maximum(-slope, 0.0) + product / self.t, 0.0)

    def _unbounded_minimum(self) -> tuple[Array, float]:
        """Minimum with a quadratic in place of bounds and h, and the mean size of its variables."""
        problem, movable = self.problem, self.movable
        mean_size = self._mean_box_size()
        slope = float(np.mean(np.abs(problem.p))) or 1.0
        try:
            least = 0.0 if self.accurate else float(np.mean(np.abs(self.system.diagonal)))
            curvature = max(slope / mean_size, least, 1e-290)
            self.system.factor(np.full(problem.size, curvature), movable, approximate=not self.accurate)
        except scipy.linalg.LinAlgError:  # Q is indefinite: without bounds there is no minimum
            return np.zeros(problem.size), mean_size
        columns = np.column_stack([-problem.p, problem.A.T]) if len(problem.d) else -problem.p[:, None]
        solved = self.system.solve(np.where(movable[:, None], columns, 0.0), 1e-14 if self.accurate else LOW_ACCURACY)
        x = solved[:, 0]
        if len(problem.d):
            rows = solved[:, 1:]
            x = x - rows @ np.linalg.lstsq(problem.A @ rows, problem.A @ x - problem.d, rcond=None)[0]
        row_size = float(np.max(np.abs(problem.d), initial=0.0)) / problem.size
        size = INITIAL_SLACK * float(np.mean(np.abs(x[movable]))) if movable.any() else 1.0
        if not np.isfinite(x).all() or not np.isfinite(size):
            return np.zeros(problem.size), mean_size
        return x, max(size, row_size) or mean_size

    def _mean_box_size(self) -> float:
        """Mean half width of the boxes; for variables without bounds, the size that the term h gives them."""
        problem = self.problem
        sizes = np.where(np.isfinite(problem.upper - problem.lower), 0.5 * (problem.upper - problem.lower), np.inf)
        if problem.term is not None:
            sizes = np.minimum(sizes, np.abs(problem.term.answer(problem.p, problem.lower, problem.upper)) + 1e-300)
        known = sizes[np.isfinite(sizes) & self.movable & (sizes > 0)]
        return float(np.mean(known)) if known.size else 1.0

    def gradient_at(self, x: Array) -> Array:
        """Qx + p."""
        Q = self.problem.Q
        return Q.spread(self.K @ Q.coefficients(x)) + self.problem.p

    # ---- optimality measures ----------------------------------------------------------------------------------

    def complementarity(self) -> float:
        """sᵀz + tᵀw."""
        return float(self.s @ self.z + self.t @ self.w)

    def residuals(self) -> tuple[Array, Array]:
        """Residuals of dual and of primal feasibility."""
        problem = self.problem
        slope = problem.objective_gradient(self.x, self.gradient)
        dual = -(slope + self.mu @ problem.A - self.z + self.w)
        return np.where(self.movable, dual, 0.0), problem.d - problem.A @ self.x

    def gap(self) -> tuple[float, float]:
        """Duality gap (4), (314) of x with the multipliers μ of this iterate, and the objective."""
        return self.gap_of(self.x, self.gradient, self.mu), self.problem.value(self.x, self.gradient)

    def gap_of(self, x: Array, gradient: Array, mu: Array) -> float:
        """Duality gap of any point; slopes towards an infinite bound count as complementarity."""
        problem = self.problem
        r = gradient + mu @ problem.A
        if problem.term is not None:
            return float(np.sum(problem.term.gap(x, r, problem.lower, problem.upper)))
        bound = np.where(r > 0, problem.lower, problem.upper)
        finite = np.isfinite(bound)
        gap = float(np.sum(r[finite] * (x - bound)[finite]))
        return gap if finite.all() else gap + self.complementarity()

    def is_feasible(self, accuracy: float) -> bool:
        """Whether the rows hold to a relative `accuracy`."""
        problem = self.problem
        masses = np.abs(problem.A) @ np.abs(self.x) + np.abs(problem.d)
        return bool(np.all(np.abs(problem.d - problem.A @ self.x) <= accuracy * masses))

    def smallest_slack(self) -> Array:
        """Distance to the nearest bound; |x| for a variable without bounds."""
        slack = np.minimum(np.where(self.has_lower, self.s, np.inf), np.where(self.has_upper, self.t, np.inf))
        return np.where(np.isfinite(slack), slack, np.abs(self.x))

    def weighted_infeasibility(self, slack: Array) -> float:
        """Dual residuals times slacks: dual infeasibility in units of the gap."""
        sum_of_products = float(np.abs(self.residuals()[0]) @ slack)
        return sum_of_products if np.isfinite(sum_of_products) else np.inf

    def merit(self) -> float:
        """Complementarity plus weighted dual infeasibility, which the steps reduce to zero."""
        return self.complementarity() + self.weighted_infeasibility(self.smallest_slack())


def is_quadratic(problem: Problem) -> bool:
    """Whether the problem is a quadratic program: h is absent or ½ Σ dα²."""
    return problem.term is None or isinstance(problem.term, Diagonal)
