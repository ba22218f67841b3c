"""From a rough interior point to the exact solution of a quadratic program: Newton steps on the free samples."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from hinge.problems import Array, Diagonal, Problem, dot

#: The first weight of the proximal term, in units of the mean kernel value k(x, x), and the last one.
FIRST_WEIGHT, LAST_WEIGHT = 0.1, 1e-9

#: What the weight is multiplied with from round to round; where a round changed nothing it is the smaller one.
SHRINK, SHRINK_FASTER = 0.2, 1e-3

#: Where a sample has several variables it is lower by this.
TWO_SLOTS = 0.2

#: Where nothing is free with the first weight: a higher one.
HIGHEST_WEIGHT = 10.0

#: Rows are met to this precision; what is missing then is given to the variable with most room.
FEASIBLE = 1e-8

#: A row that is met to this precision is met; and times in a round that variables outside are held at their bounds.
MET, MAX_HOLDS = 1e-14, 5

#: The relative gap that is aimed at.
EXACT = 1e-12

#: Violations of the optimality conditions below this, in units of the largest slope, are rounding.
ROUNDING = 1e-13

#: Values of f are as uncertain as this times the largest kernel value times ‖α‖, whatever is computed.
UNCERTAIN = 4 * float(np.finfo(float).eps)

#: Down to this weight a round may end with so small a share of changes.
EXACT_WEIGHT, FEW = 1e-4, 0.02

#: Newton steps, in all and in a round, and rounds with the last weight.
MAX_STEPS, MAX_ROUND, MAX_LAST = 120, 40, 4

#: The first weights to try, and the Newton steps of a round, from a point that is near the solution.
NEAR_WEIGHTS, NEAR_ROUND = (1e-4, 1e-2), 30

#: Steps are as long as it takes to bring the slope along them down to this fraction.
SLOPE = 0.1
MAX_TRIALS = 20

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]


@dataclass
class Crossing:
    """Where the steps have led: x with its function f = Kβ and multipliers, the steps it took, and how it ended."""

    x: Array
    f: Array
    mu: Array
    steps: int = 0
    exact: bool = False


class ProximalNewton:
    """min ½xᵀQx + pᵀx + ½xᵀdx + ½δ‖x − c‖²  s.t.  Ax = d,  l ≤ x ≤ u  for a falling δ, c the last solution.

    Every one of these problems has a smooth dual, a function of f and μ whose Newton steps are linear systems of the
    size of the samples that have a free variable; with a line search they find its minimum in finitely many steps,
    however singular K is.  Once the free variables are those of the solution, one round with a small δ is
    exact but for δ(x − c).                                                                docs/math (373)–(376)
    """

    def __init__(self, problem: Problem, K: Array, deadline: float | None = None) -> None:
        self.turn = turn_of(problem)
        self.problem = replace(problem, A=self.turn @ problem.A, d=self.turn @ problem.d)
        self.K, self.deadline = K, deadline
        self.n, self.slots, self.sign = problem.Q.n, problem.Q.slots, problem.Q.sign
        self.ridge = problem.term.d if isinstance(problem.term, Diagonal) else np.zeros(problem.size)
        self.unit, self.largest = float(np.mean(np.diagonal(K))) or 1.0, float(np.max(np.diagonal(K), initial=0.0))
        self.slopes = float(np.max(np.abs(problem.p), initial=0.0))
        self.steps, self.limit, self.round_limit, self.strict = 0, MAX_STEPS, MAX_ROUND, False
        self.free: Mask | None = None
        self.high: Mask | None = None

    def run(self, x: Array, mu: Array, tol: float, near: bool = False) -> Crossing | None:
        """The solution, to rounding where that is possible; None without a relative gap of `tol`, or what rounding
        makes of one.  Where x is `near` the solution its free variables are a first guess."""
        turned = np.asarray(np.linalg.solve(self.turn.T, mu), dtype=np.float64)
        found = self._from_near(x, turned, tol) if near else self._rounds(x, turned, tol, self._first_weight())
        if found is None and not near and self.free is not None and not self._late():  # ending early led astray
            self.strict, self.free, self.high, self.limit = True, None, None, self.steps + MAX_STEPS
            found = self._rounds(x, turned, tol, self._first_weight())
        return found if found is None else replace(found, mu=found.mu @ self.turn)

    def _from_near(self, x: Array, mu: Array, tol: float) -> Crossing | None:
        """Little weight from the start; if that fails, more."""
        inside = (x > self.problem.lower) & (x < self.problem.upper)
        self.round_limit = NEAR_ROUND
        for weight in NEAR_WEIGHTS:
            self.free, self.high, self.limit = inside, (x >= self.problem.upper) & ~inside, self.steps + MAX_STEPS
            found = self._rounds(x, mu, tol, weight)
            if found is not None or self._late():
                return found
        return None

    def _rounds(self, x: Array, mu: Array, tol: float, weight: float) -> Crossing | None:
        problem = self.problem
        self.centre = np.minimum(np.maximum(x, problem.lower), problem.upper)
        self.beta, self.mu = problem.Q.coefficients(self.centre), mu.copy()
        self.f = self.K @ self.beta
        last, found, least = 0, None, np.inf
        while self.steps < self.limit:
            steps = self._round(weight * self.unit)
            if steps is None:
                if self.free is None and weight < HIGHEST_WEIGHT:  # nothing was free: with more weight more is
                    weight *= 10.0
                    continue
                break
            gap, violation, noise, limit = self._quality()
            better = violation < 0.5 * least
            if (gap <= max(tol, limit) or violation <= noise) and violation < least:
                found, least = Crossing(self.centre, self.f, self.mu, self.steps, violation <= noise), violation
            last += weight == LAST_WEIGHT
            settled = found is not None and (found.exact or (gap <= EXACT and not better))
            if settled or last > MAX_LAST:
                break
            weight = max(weight * (SHRINK_FASTER if steps == 0 else SHRINK), LAST_WEIGHT)
        return found

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def _first_weight(self) -> float:
        """Less for wide boxes, and where a sample has two variables, which would both be free."""
        problem = self.problem
        width = problem.upper - problem.lower
        width = width[np.isfinite(width) & (width > 0)]
        wide = float(np.mean(width)) * self.unit / (float(np.mean(np.abs(problem.p))) or 1.0) if width.size else 1.0
        return FIRST_WEIGHT * max(wide, 1.0) ** -0.25 * (1.0 if self.slots == 1 else TWO_SLOTS)

    def _quality(self) -> tuple[float, float, float, float]:
        """(relative gap, largest violation of the optimality conditions, and what rounding α makes of these two).

        The gap is infinite where a row without free variables is not met.
        """
        problem, x = self.problem, self.centre
        residual = np.abs(problem.equality_residual(x))
        if np.any(residual > FEASIBLE * (np.abs(problem.A) @ np.abs(x) + np.abs(problem.d))):
            return np.inf, np.inf, 0.0, 0.0
        lower, upper = problem.lower, problem.upper
        gradient = problem.Q.spread(self.f) + problem.p
        r = gradient + self.mu @ problem.A
        value = max(abs(problem.value(x, gradient)), 1e-300)
        slope = r + self.ridge * x
        pushed = np.where(slope > 0, x > lower, x < upper)
        shaky = rounding_of(problem, x, self.largest)
        noise = max(ROUNDING * (1.0 + float(np.max(np.abs(gradient), initial=0.0))), shaky)
        if problem.term is not None:
            gap = float(np.sum(problem.term.gap(x, r, lower, upper)))
        else:
            width = np.where(r > 0, x - lower, upper - x)
            gap = float(np.sum(np.abs(r) * np.where(pushed, np.minimum(width, 1e300), 0.0)))
        limit = shaky * room_of(problem, x) / value
        return gap / value, float(np.max(np.abs(slope[pushed]), initial=0.0)), noise, limit

    # ---- one round --------------------------------------------------------------------------------------------

    def _round(self, delta: float) -> int | None:
        """Minimise with this δ.  The number of steps, zero if one confirmed what was known; None if they fail."""
        problem, sign = self.problem, self.sign
        lower, upper, A = problem.lower, problem.upper, problem.A
        allowed = FEW if delta >= EXACT_WEIGHT * self.unit and not self.strict else 0.0
        inverse = 1.0 / (delta + self.ridge)
        known, self.delta = delta * self.centre - problem.p, delta
        raw = (known - self._force()) * inverse
        free, high = (raw > lower) & (raw < upper), raw >= upper
        full, holds = (1 if self.free is not None else 0), 0  # the step to take at full length
        if self.free is not None and self.high is not None:  # those of the last round are better than what r says
            free, high = self.free, self.high
        for step in range(1, self.round_limit + 1):
            self.steps += 1
            if self._late():
                return None
            x = np.where(free, 0.0, np.where(high, upper, lower))
            found = self._solve(x, free, known, inverse)
            if found is None:
                return None
            beta, mu = found
            d_beta, d_mu = beta - self.beta, mu - self.mu
            d_f = self.K @ d_beta
            change = (sign * np.tile(d_f, self.slots) + d_mu @ A) * inverse
            length = 1.0 if step == full else self._length(raw, change, d_beta, d_f, d_mu, delta + self.ridge)
            self.beta, self.mu, self.f = self.beta + length * d_beta, self.mu + length * d_mu, self.f + length * d_f
            raw = (known - self._force()) * inverse
            now, now_high = (raw > lower) & (raw < upper), raw >= upper
            shaky = UNCERTAIN * (float(np.max(np.abs(self.f), initial=0.0)) + self.slopes) * inverse
            beside = np.minimum(np.abs(raw - lower), np.abs(raw - upper)) <= shaky  # inside or not: rounding decides
            changes = np.count_nonzero((now != free) & ~beside) + np.count_nonzero((now_high != high) & ~beside)
            if length == 1.0 and changes <= allowed * np.count_nonzero(free):
                cut = self._cut(x, free) if holds < MAX_HOLDS and not allowed else None
                if cut is not None:  # what rounding could not place is outside: hold it at its bound, and solve again
                    free, high, full, holds = free & ~cut, np.where(cut, x > upper, high), step + 1, holds + 1
                    continue
                self.free, self.high = now, now_high
                self.centre = self._inside(x)
                return step if step > 1 or changes else 0
            free, high = now, now_high
        return None

    def _cut(self, x: Array, free: Mask) -> Mask | None:
        """The free variables outside of their boxes, if cutting them off is seen in a row."""
        problem = self.problem
        missing = np.abs(problem.equality_residual(self._inside(x)))
        if not np.any(missing > MET * (np.abs(problem.A) @ np.abs(x) + np.abs(problem.d))):
            return None
        outside: Mask = free & ((x < problem.lower) | (x > problem.upper))
        return outside if outside.any() else None

    def _inside(self, x: Array) -> Array:
        """x within its box; of a sample with two variables the other one takes what a bound has cut off: f stays."""
        lower, upper = self.problem.lower, self.problem.upper
        inside = np.minimum(np.maximum(x, lower), upper)
        if self.slots == 2:
            lost = self.sign * np.tile(self.problem.Q.coefficients(x - inside), 2)
            inside = np.where(inside == x, np.minimum(np.maximum(x + lost, lower), upper), inside)
        return inside

    def _force(self) -> Array:
        """S f + Aᵀμ."""
        return self.sign * np.tile(self.f, self.slots) + self.mu @ self.problem.A

    def _length(self, raw: Array, change: Array, d_beta: Array, d_f: Array, d_mu: Array, curvature: Array) -> float:
        """Where the dual is smallest along the step: its slope grows with the length, piecewise linearly."""
        lower, upper = self.problem.lower, self.problem.upper
        still, moving = dot(self.beta, d_f) + float(d_mu @ self.problem.d), dot(d_beta, d_f)
        push = change * curvature

        def slope(length: float) -> float:
            x = np.minimum(np.maximum(raw - length * change, lower), upper)
            return still + length * moving - dot(x, push)

        first = slope(0.0)
        if first >= 0:  # as small as rounding lets it be
            return 1.0
        low, high, at_low, at_high = 0.0, 1.0, first, slope(1.0)
        if at_high <= -1e-9 * first:
            return 1.0
        length = 1.0
        for trial in range(MAX_TRIALS):
            weight = at_low / (at_low - at_high) if trial % 3 < 2 else 0.5
            length = low + (high - low) * float(np.clip(weight, 0.02, 0.98))
            here = slope(length)
            if abs(here) <= -SLOPE * first:
                break
            if here > 0:
                high, at_high = length, here
            else:
                low, at_low = length, here
        return length

    # ---- the linear system ------------------------------------------------------------------------------------

    def _solve(self, x: Array, free: Mask, known: Array, inverse: Array) -> tuple[Array, Array] | None:
        """β and μ of a Newton step; x, which holds the values at bounds, gets those of the free variables."""
        problem, n, slots, sign = self.problem, self.n, self.slots, self.sign
        A, members = problem.A, np.flatnonzero(free)
        bound = problem.Q.coefficients(x)
        need = problem.d - A @ x
        if members.size == 0:
            return None if np.any(np.abs(need) > 1e-14 * (np.abs(A) @ np.abs(x))) else (bound, self.mu)
        weight: Array = np.bincount(members % n, inverse[members], minlength=n).astype(np.float64)
        S = np.flatnonzero(weight)
        inner = known * inverse
        rows = [sign * inner] + [sign * inverse * row for row in A]
        if slots == 1:
            columns = np.stack([row[S] for row in rows], axis=1)
        else:
            columns = np.stack([np.bincount(members % n, row[members], minlength=n)[S] for row in rows], axis=1)
        weight = weight[S]
        columns /= weight[:, None]
        B = self.K[S].take(S, axis=1)
        now, G = (self.beta - bound)[S], columns[:, 1:]
        right = columns.copy()
        right[:, 0] -= self._image(bound, S) + now / weight + G @ self.mu  # what is missing now: steps mend each other
        B.flat[:: len(S) + 1] += 1.0 / weight
        factor, info = lapack.dpotrf(B.T, lower=0, overwrite_a=1, clean=0)
        if info != 0:
            return None
        solved = np.asarray(lapack.dpotrs(factor, right, lower=0)[0])
        own, mu = now + solved[:, 0], self.mu
        if len(A):
            H, rest = self._doubles(members, S, inverse, weight)
            missing = G.T @ own + rest - H @ mu - need
            inner_rows = G.T @ solved[:, 1:] + H
            unit = np.sqrt(np.maximum(np.diagonal(inner_rows), 1e-300))
            change = np.linalg.lstsq(inner_rows / np.outer(unit, unit), missing / unit, rcond=1e-14)[0] / unit
            change = np.where(np.diagonal(inner_rows) > 0, change, 0.0)  # a row without free variables has any μ
            mu, own = mu + change, own - solved[:, 1:] @ change
        beta = bound
        if slots == 1:
            x[S] = sign[S] * own
        else:
            self._share(x, members, mu, inverse, S, own, weight)
        beta[S] += own
        return beta, mu

    def _share(self, x: Array, members: Index, mu: Array, inverse: Array, S: Index, own: Array, weight: Array) -> None:
        """What the free variables of a sample have together, own, given to them one by one.

        The forces on them come in parts, which cancel one by one: their sum, divided by δ, would not.
        """
        n, sign, at = self.n, self.sign[members], members % self.n
        inside = self.delta * self._apart(self.centre, members, S, inverse, weight)
        for factor, part in zip([1.0, *mu], [self.problem.p, *self.problem.A], strict=True):
            inside -= factor * self._apart(part, members, S, inverse, weight)
        x[members] = inverse[members] * inside
        missing, total = np.zeros(n), np.ones(n)
        missing[S], total[S] = own, weight
        missing -= np.bincount(at, sign * x[members], minlength=n)
        x[members] += sign * inverse[members] / total[at] * missing[at]

    def _image(self, bound: Array, S: Index) -> Array:
        """K β on S for what the other samples have at their bounds, and those of S now."""
        change = bound - self.beta
        change[S] = 0.0
        others = np.flatnonzero(change)
        if 3 * len(others) > self.n:
            return np.asarray(self.f[S] + (self.K @ change)[S])
        return self.f[S] + self.K[S[:, None], others] @ change[others] if others.size else self.f[S]

    def _doubles(self, members: Index, S: Index, inverse: Array, weight: Array) -> tuple[Array, Array]:
        """What samples with more than one free variable add to the equations of the rows; for others it is zero."""
        A, n, rows = self.problem.A, self.n, len(self.problem.A)
        if self.slots == 1 or np.max(np.bincount(members % n, minlength=n)) == 1:
            return np.zeros((rows, rows)), np.zeros(rows)
        parts = np.stack([self._apart(row, members, S, inverse, weight) for row in A])
        known = self.delta * self._apart(self.centre, members, S, inverse, weight)
        known -= self._apart(self.problem.p, members, S, inverse, weight)
        weighted = parts * inverse[members]
        return weighted @ parts.T, weighted @ known

    def _apart(self, values: Array, members: Index, S: Index, inverse: Array, weight: Array) -> Array:
        """Of values of the free variables, what does not act on their sample as a whole: zero for the only one."""
        n, sign, at = self.n, self.sign[members], members % self.n
        total = np.ones(n)
        total[S] = weight
        several = (np.bincount(at, minlength=n) > 1)[at]
        mean = np.bincount(at, sign * inverse[members] * values[members], minlength=n) / total
        return np.where(several, values[members] - sign * mean[at], 0.0)


def rounding_of(problem: Problem, x: Array, largest: float) -> float:
    """What rounding every variable to its last place makes of a value of f, if their errors have any sign.  (377)"""
    return UNCERTAIN * (largest * float(np.linalg.norm(x)) + float(np.max(np.abs(problem.p), initial=0.0)))


def room_of(problem: Problem, x: Array) -> float:
    """Σ (u − l) of the free variables: what an error of f is multiplied with in the gap.    (377)"""
    width = problem.upper - problem.lower
    inside = (x > problem.lower) & (x < problem.upper)
    return float(np.sum(np.where(np.isfinite(width), width, np.abs(x))[inside]))


def turn_of(problem: Problem) -> Array:
    """Sum and difference of the two rows of a machine with two slots: where both variables of a sample are free the sum
    is δ⁻¹ times heavier than the difference, which would be lost in rounding.                              (378)"""
    if len(problem.d) == 2 and problem.Q.slots == 2 and not np.any(problem.A[0] * problem.A[1]):
        return np.array([[1.0, -1.0], [1.0, 1.0]])
    return np.eye(len(problem.d))
