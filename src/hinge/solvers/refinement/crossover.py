"""Crossover: from an interior or rough point to the exact solution of a quadratic program.

The proximal-point method (373) with a decreasing weight δ. Each of its problems has a smooth dual, which Newton steps
on the free samples minimize in finitely many steps.  docs/math (373)–(378)
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from hinge.problems import Array, Diagonal, Problem, dot
from hinge.solvers.refinement.newton_step import Mask, NewtonStep, row_basis

#: First and last weight δ of the proximal term, in units of the mean kernel value k(x, x).
FIRST_WEIGHT, LAST_WEIGHT = 0.1, 1e-9

#: Factors by which the weight decreases after a round, and after a round that changes no variable.
WEIGHT_DECREASE, WEIGHT_DECREASE_UNCHANGED = 0.2, 1e-3

#: Factor on the first weight if samples have two variables: with a larger weight both would be free.
TWO_SLOTS_WEIGHT = 0.2

#: The weight is increased by a factor of ten, up to this value, while no variable is free in the first round.
MAX_WEIGHT = 10.0

#: First weights from a point near the solution: the second one is tried if the first one fails.
NEAR_WEIGHTS = (1e-4, 1e-2)

#: Newton steps before crossover fails: in all rounds, in one round, and in one round from a point near the solution.
MAX_STEPS, MAX_ROUND_STEPS, MAX_NEAR_ROUND_STEPS = 120, 40, 30

#: Rounds with the last weight before crossover ends with the best point.
MAX_LAST_ROUNDS = 4

#: Relative violation of a row above which the gap of a point counts as infinite.
MAX_ROW_VIOLATION = 1e-8

#: Relative violation of a row that counts as zero. It may be exceeded if free variables are clipped to their bounds:
#: then they are fixed and the system is solved again, at most MAX_FIXINGS times per round.
ROW_ROUNDING, MAX_FIXINGS = 1e-14, 5

#: Relative gap at which the rounds end unless the violation still decreases.
FINAL_GAP = 1e-12

#: KKT violations below this share of the largest slope are rounding errors.
VIOLATION_ROUNDING = 1e-13

#: Relative uncertainty of f in units of the largest kernel value times ‖α‖.
F_ROUNDING = 4 * float(np.finfo(float).eps)

#: Above this weight a round may end although this share of the free variables still changes.
EXACT_WEIGHT, INEXACT_SHARE = 1e-4, 0.02

#: Share of the initial slope at which the line search ends, and its largest number of trials.
LINE_SEARCH_SLOPE, MAX_LINE_SEARCH_STEPS = 0.1, 20


@dataclass
class CrossoverResult:
    """Result of crossover.

    `x`, `f` = Kβ and `mu` are the point, `steps` the number of Newton steps; `exact` if the KKT violation is a rounding
    error.
    """

    x: Array
    f: Array
    mu: Array
    steps: int = 0
    exact: bool = False


@dataclass(frozen=True)
class _Quality:
    """Optimality of a point, and the part of it that may be rounding errors of α.  docs/math (377)"""

    gap: float
    violation: float
    gap_rounding: float
    violation_rounding: float


class ProximalNewton:
    """min ½xᵀQx + pᵀx + ½xᵀdx + ½δ‖x − c‖²  s.t.  Ax = d,  l ≤ x ≤ u  for a decreasing δ; c is the last solution.

    Parameters
    ----------
    problem : Problem
        With no term or a diagonal term.
    K : ndarray
        The kernel matrix.
    deadline : float, optional
        Time of `time.monotonic` after which crossover fails.
    """

    def __init__(self, problem: Problem, K: Array, deadline: float | None = None) -> None:
        self.row_basis = row_basis(problem)
        self.problem = replace(problem, A=self.row_basis @ problem.A, d=self.row_basis @ problem.d)
        self.K, self.deadline = K, deadline
        self.slots, self.sign = problem.Q.slots, problem.Q.sign
        self.diagonal = problem.term.d if isinstance(problem.term, Diagonal) else np.zeros(problem.size)
        self.unit, self.largest = float(np.mean(np.diagonal(K))) or 1.0, float(np.max(np.diagonal(K), initial=0.0))
        self.largest_p = float(np.max(np.abs(problem.p), initial=0.0))
        self.steps, self.max_steps, self.max_round_steps = 0, MAX_STEPS, MAX_ROUND_STEPS
        self.strict = False  # whether every round must end without changes
        self.free: Mask | None = None  # variables between their bounds after the last round
        self.at_upper: Mask | None = None  # variables at their upper bounds after the last round

    def run(self, x: Array, mu: Array, tol: float, near: bool = False) -> CrossoverResult | None:
        """The solution, or None if the relative gap is not at most `tol` or a rounding error.

        If x is `near` the solution, its free variables are the first guess of the free variables.
        """
        mu = np.asarray(np.linalg.solve(self.row_basis.T, mu), dtype=np.float64)
        if near:
            result = self._run_from_near(x, mu, tol)
        else:
            result = self._run_rounds(x, mu, tol, self._first_weight())
            if result is None and self.free is not None and not self._is_late():  # inexact rounds may have failed
                self.strict, self.free, self.at_upper = True, None, None
                self.max_steps = self.steps + MAX_STEPS
                result = self._run_rounds(x, mu, tol, self._first_weight())
        return result if result is None else replace(result, mu=result.mu @ self.row_basis)

    def _run_from_near(self, x: Array, mu: Array, tol: float) -> CrossoverResult | None:
        """A small first weight; a larger one if that fails."""
        inside = (x > self.problem.lower) & (x < self.problem.upper)
        self.max_round_steps = MAX_NEAR_ROUND_STEPS
        for weight in NEAR_WEIGHTS:
            self.free, self.at_upper = inside, (x >= self.problem.upper) & ~inside
            self.max_steps = self.steps + MAX_STEPS
            result = self._run_rounds(x, mu, tol, weight)
            if result is not None or self._is_late():
                return result
        return None

    def _run_rounds(self, x: Array, mu: Array, tol: float, weight: float) -> CrossoverResult | None:
        """Rounds with decreasing weight; the point with the smallest violation among those with a small gap."""
        problem = self.problem
        self.center = np.minimum(np.maximum(x, problem.lower), problem.upper)
        self.beta, self.mu = problem.Q.coefficients(self.center), mu.copy()
        self.f = self.K @ self.beta
        last_rounds, best, least = 0, None, np.inf
        while self.steps < self.max_steps:
            steps = self._run_round(weight * self.unit)
            if steps is None:
                if self.free is None and weight < MAX_WEIGHT:
                    weight *= 10.0
                    continue
                break
            quality = self._quality()
            decreased = quality.violation < 0.5 * least
            is_exact = quality.violation <= quality.violation_rounding
            if (quality.gap <= max(tol, quality.gap_rounding) or is_exact) and quality.violation < least:
                best, least = CrossoverResult(self.center, self.f, self.mu, self.steps, is_exact), quality.violation
            last_rounds += weight == LAST_WEIGHT
            converged = best is not None and (best.exact or (quality.gap <= FINAL_GAP and not decreased))
            if converged or last_rounds > MAX_LAST_ROUNDS:
                break
            weight = max(weight * (WEIGHT_DECREASE_UNCHANGED if steps == 0 else WEIGHT_DECREASE), LAST_WEIGHT)
        return best

    def _is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def _first_weight(self) -> float:
        """Smaller for wide boxes, and if samples have two variables."""
        problem = self.problem
        width = problem.upper - problem.lower
        width = width[np.isfinite(width) & (width > 0)]
        wide = float(np.mean(width)) * self.unit / (float(np.mean(np.abs(problem.p))) or 1.0) if width.size else 1.0
        return FIRST_WEIGHT * max(wide, 1.0) ** -0.25 * (1.0 if self.slots == 1 else TWO_SLOTS_WEIGHT)

    def _quality(self) -> _Quality:
        """Relative gap and KKT violation of the last solution; infinite if a row without free variables is violated."""
        problem, x = self.problem, self.center
        row_scale = np.abs(problem.A) @ np.abs(x) + np.abs(problem.d)
        if np.any(np.abs(problem.equality_residual(x)) > MAX_ROW_VIOLATION * row_scale):
            return _Quality(np.inf, np.inf, 0.0, 0.0)
        lower, upper = problem.lower, problem.upper
        gradient = problem.Q.spread(self.f) + problem.p
        r = gradient + self.mu @ problem.A
        value = max(abs(problem.value(x, gradient)), 1e-300)
        slope = r + self.diagonal * x
        movable = np.where(slope > 0, x > lower, x < upper)
        rounding = rounding_of(problem, x, self.largest)
        violation_rounding = max(VIOLATION_ROUNDING * (1.0 + float(np.max(np.abs(gradient), initial=0.0))), rounding)
        if problem.term is not None:
            gap = float(np.sum(problem.term.gap(x, r, lower, upper)))
        else:
            distance = np.where(r > 0, x - lower, upper - x)
            gap = float(np.sum(np.abs(r) * np.where(movable, np.minimum(distance, 1e300), 0.0)))
        violation = float(np.max(np.abs(slope[movable]), initial=0.0))
        gap_rounding = rounding * free_width(problem, x) / value
        return _Quality(gap / value, violation, gap_rounding, violation_rounding)

    # ---- one round --------------------------------------------------------------------------------------------

    def _run_round(self, delta: float) -> int | None:
        """Minimize with this δ; the number of Newton steps, 0 if one step changed nothing; None if they fail."""
        problem, sign = self.problem, self.sign
        lower, upper, A = problem.lower, problem.upper, problem.A
        max_changes = INEXACT_SHARE if delta >= EXACT_WEIGHT * self.unit and not self.strict else 0.0
        curvature = delta + self.diagonal
        inverse = 1.0 / curvature
        newton = NewtonStep(problem, self.K, self.center, delta, inverse)
        raw = (newton.constant - self._residual()) * inverse  # x without its bounds
        free, at_upper = (raw > lower) & (raw < upper), raw >= upper
        full_step, fixings = (1 if self.free is not None else 0), 0  # the step that has length one
        if self.free is not None and self.at_upper is not None:  # better than `raw`, which depends on δ
            free, at_upper = self.free, self.at_upper
        for step in range(1, self.max_round_steps + 1):
            self.steps += 1
            if self._is_late():
                return None
            x = np.where(free, 0.0, np.where(at_upper, upper, lower))
            solved = newton.solve(x, free, self.beta, self.mu, self.f)
            if solved is None:
                return None
            d_beta, d_mu = solved[0] - self.beta, solved[1] - self.mu
            d_f = self.K @ d_beta
            change = (sign * np.tile(d_f, self.slots) + d_mu @ A) * inverse
            length = 1.0 if step == full_step else self._step_length(raw, change, d_beta, d_f, d_mu, curvature)
            self.beta, self.mu, self.f = self.beta + length * d_beta, self.mu + length * d_mu, self.f + length * d_f
            raw = (newton.constant - self._residual()) * inverse
            new_free, new_upper = (raw > lower) & (raw < upper), raw >= upper
            rounding = F_ROUNDING * (float(np.max(np.abs(self.f), initial=0.0)) + self.largest_p) * inverse
            near_bound = np.minimum(np.abs(raw - lower), np.abs(raw - upper)) <= rounding  # rounding decides their side
            changes = np.count_nonzero((new_free != free) & ~near_bound)
            changes += np.count_nonzero((new_upper != at_upper) & ~near_bound)
            if length == 1.0 and changes <= max_changes * np.count_nonzero(free):
                outside = self._outside(x, free) if fixings < MAX_FIXINGS and not max_changes else None
                if outside is not None:  # rounding put them outside: fix them at their bounds and solve again
                    free, at_upper = free & ~outside, np.where(outside, x > upper, at_upper)
                    full_step, fixings = step + 1, fixings + 1
                    continue
                self.free, self.at_upper = new_free, new_upper
                self.center = self._clipped(x)
                return step if step > 1 or changes else 0
            free, at_upper = new_free, new_upper
        return None

    def _outside(self, x: Array, free: Mask) -> Mask | None:
        """The free variables outside of their boxes, if clipping them violates a row; else None."""
        problem = self.problem
        violation = np.abs(problem.equality_residual(self._clipped(x)))
        if not np.any(violation > ROW_ROUNDING * (np.abs(problem.A) @ np.abs(x) + np.abs(problem.d))):
            return None
        outside: Mask = free & ((x < problem.lower) | (x > problem.upper))
        return outside if outside.any() else None

    def _clipped(self, x: Array) -> Array:
        """x within its bounds; the other variable of a sample takes the clipped part, so that f does not change."""
        lower, upper = self.problem.lower, self.problem.upper
        inside = np.minimum(np.maximum(x, lower), upper)
        if self.slots == 2:
            lost = self.sign * np.tile(self.problem.Q.coefficients(x - inside), 2)
            inside = np.where(inside == x, np.minimum(np.maximum(x + lost, lower), upper), inside)
        return inside

    def _residual(self) -> Array:
        """S f + Aᵀμ."""
        return self.sign * np.tile(self.f, self.slots) + self.mu @ self.problem.A

    def _step_length(
        self, raw: Array, change: Array, d_beta: Array, d_f: Array, d_mu: Array, curvature: Array
    ) -> float:
        """The minimizer of the dual along the step: a root of its slope (376), which is piecewise linear."""
        lower, upper = self.problem.lower, self.problem.upper
        constant, linear = dot(self.beta, d_f) + float(d_mu @ self.problem.d), dot(d_beta, d_f)
        weighted = change * curvature

        def slope(length: float) -> float:
            x = np.minimum(np.maximum(raw - length * change, lower), upper)
            return constant + length * linear - dot(x, weighted)

        first = slope(0.0)
        if first >= 0:  # minimal to rounding
            return 1.0
        low, high, at_low, at_high = 0.0, 1.0, first, slope(1.0)
        if at_high <= -1e-9 * first:
            return 1.0
        length = 1.0
        for trial in range(MAX_LINE_SEARCH_STEPS):
            share = at_low / (at_low - at_high) if trial % 3 < 2 else 0.5
            length = low + (high - low) * float(np.clip(share, 0.02, 0.98))
            here = slope(length)
            if abs(here) <= -LINE_SEARCH_SLOPE * first:
                break
            if here > 0:
                high, at_high = length, here
            else:
                low, at_low = length, here
        return length


def rounding_of(problem: Problem, x: Array, largest: float) -> float:
    """Error of f if every variable is rounded to its last place; `largest` is the largest k(x, x).  docs/math (377)"""
    return F_ROUNDING * (largest * float(np.linalg.norm(x)) + float(np.max(np.abs(problem.p), initial=0.0)))


def free_width(problem: Problem, x: Array) -> float:
    """Σ (u − l) of the free variables: the factor of an error of f in the gap.  docs/math (377)"""
    width = problem.upper - problem.lower
    inside = (x > problem.lower) & (x < problem.upper)
    return float(np.sum(np.where(np.isfinite(width), width, np.abs(x))[inside]))
