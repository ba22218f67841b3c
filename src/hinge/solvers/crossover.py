"""From a rough interior point to the exact solution of a quadratic program: Newton steps on the free samples."""

from __future__ import annotations

import time
from dataclasses import dataclass

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
FEASIBLE = 1e-9

#: Violations of the optimality conditions below this, in units of the largest slope, are rounding.
ROUNDING = 1e-13

#: Down to this weight a round may end with so small a share of changes.
EXACT_WEIGHT, FEW = 1e-5, 0.02

#: Newton steps, in all and in a round, and rounds with the last weight.
MAX_STEPS, MAX_ROUND, MAX_LAST = 120, 40, 4

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
    exact but for δ(x − c).                                                                docs/math.md (373)–(376)
    """

    def __init__(self, problem: Problem, K: Array, deadline: float | None = None) -> None:
        self.problem, self.K, self.deadline = problem, K, deadline
        self.n, self.slots, self.sign = problem.Q.n, problem.Q.slots, problem.Q.sign
        self.ridge = problem.term.d if isinstance(problem.term, Diagonal) else np.zeros(problem.size)
        self.unit = float(np.mean(np.diagonal(K))) or 1.0
        self.steps = 0
        self.free: Mask | None = None
        self.high: Mask | None = None

    def run(self, x: Array, mu: Array, tol: float) -> Crossing | None:
        """The solution, to rounding where that is possible; None where not even a relative gap of `tol` is reached."""
        problem = self.problem
        self.centre = np.minimum(np.maximum(x, problem.lower), problem.upper)
        self.beta, self.mu = problem.Q.coefficients(self.centre), mu.copy()
        self.f = self.K @ self.beta
        weight, last, found, least = self._first_weight(), 0, None, np.inf
        while self.steps < MAX_STEPS:
            steps = self._round(weight * self.unit)
            if steps is None:
                if self.free is None and weight < HIGHEST_WEIGHT:  # nothing was free: with more weight more is
                    weight *= 10.0
                    continue
                break
            gap, violation, noise = self._quality()
            better = violation < 0.5 * least
            if gap <= tol and violation < least:
                found, least = Crossing(self.centre, self.f, self.mu, self.steps, violation <= noise), violation
            last += weight == LAST_WEIGHT
            if (found is not None and (found.exact or not better)) or last > MAX_LAST:
                break
            weight = max(weight * (SHRINK_FASTER if steps == 0 else SHRINK), LAST_WEIGHT)
        return found

    def _first_weight(self) -> float:
        """Less for wide boxes, and where a sample has two variables, which would both be free."""
        problem = self.problem
        width = problem.upper - problem.lower
        width = width[np.isfinite(width) & (width > 0)]
        wide = float(np.mean(width)) * self.unit / (float(np.mean(np.abs(problem.p))) or 1.0) if width.size else 1.0
        return FIRST_WEIGHT * max(wide, 1.0) ** -0.25 * (1.0 if self.slots == 1 else TWO_SLOTS)

    def _quality(self) -> tuple[float, float, float]:
        """(relative gap, largest violation of the optimality conditions, what rounding makes of it).

        The gap is infinite where a row without free variables is not met.
        """
        problem, x = self.problem, self.centre
        if np.any(np.abs(problem.excess(x)) > FEASIBLE * (np.abs(problem.A) @ np.abs(x) + np.abs(problem.d))):
            return np.inf, np.inf, 0.0
        lower, upper = problem.lower, problem.upper
        gradient = problem.Q.spread(self.f) + problem.p
        r = gradient + self.mu @ problem.A
        value = max(abs(problem.value(x, gradient)), 1e-300)
        slope = r + self.ridge * x
        pushed = np.where(slope > 0, x > lower, x < upper)
        noise = ROUNDING * (1.0 + float(np.max(np.abs(gradient), initial=0.0)))
        if problem.term is not None:
            gap = float(np.sum(problem.term.gap(x, r, lower, upper)))
        else:
            width = np.where(r > 0, x - lower, upper - x)
            gap = float(np.sum(np.abs(r) * np.where(pushed, np.minimum(width, 1e300), 0.0)))
        return gap / value, float(np.max(np.abs(slope[pushed]), initial=0.0)), noise

    # ---- one round --------------------------------------------------------------------------------------------

    def _round(self, delta: float) -> int | None:
        """Minimise with this δ.  The number of steps, zero if one confirmed what was known; None if they fail."""
        problem, sign = self.problem, self.sign
        lower, upper, A = problem.lower, problem.upper, problem.A
        allowed = FEW if delta >= EXACT_WEIGHT * self.unit else 0.0
        inverse = 1.0 / (delta + self.ridge)
        known = delta * self.centre - problem.p
        raw = (known - self._force()) * inverse
        free, high = (raw > lower) & (raw < upper), raw >= upper
        guess = self.free is not None
        if self.free is not None and self.high is not None:  # those of the last round are better than what r says
            free, high = self.free, self.high
        for step in range(1, MAX_ROUND + 1):
            self.steps += 1
            if self.deadline is not None and time.monotonic() > self.deadline:
                return None
            x = np.where(free, 0.0, np.where(high, upper, lower))
            found = self._solve(x, free, known, inverse)
            if found is None:
                return None
            beta, mu = found
            d_beta, d_mu = beta - self.beta, mu - self.mu
            d_f = self.K @ d_beta
            change = (sign * np.tile(d_f, self.slots) + d_mu @ A) * inverse
            length = 1.0 if guess and step == 1 else self._length(raw, change, d_beta, d_f, d_mu, delta + self.ridge)
            self.beta, self.mu, self.f = self.beta + length * d_beta, self.mu + length * d_mu, self.f + length * d_f
            raw = (known - self._force()) * inverse
            now, now_high = (raw > lower) & (raw < upper), raw >= upper
            changes = np.count_nonzero(now != free) + np.count_nonzero(now_high != high)
            if length == 1.0 and changes <= allowed * np.count_nonzero(free):
                self.free, self.high = now, now_high
                self.centre = np.minimum(np.maximum(x, lower), upper)
                return step if step > 1 or changes else 0
            free, high = now, now_high
        return None

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
        B = self.K[S[:, None], S]
        right = columns.copy()
        right[:, 0] -= self._image(bound, S, B)
        B.flat[:: len(S) + 1] += 1.0 / weight
        factor, info = lapack.dpotrf(B.T, lower=0, overwrite_a=1, clean=0)
        if info != 0:
            return None
        solved = np.asarray(lapack.dpotrs(factor, right, lower=0)[0])
        own, G = solved[:, 0], columns[:, 1:]
        mu = self.mu
        if len(A):
            H, rest = self._doubles(members, S, inner, inverse, columns, weight)
            mu = np.linalg.lstsq(G.T @ solved[:, 1:] + H, G.T @ own + rest - need, rcond=1e-14)[0]
            mu = np.where(np.any(G != 0, axis=0), mu, self.mu)  # a row without free variables has any
            own = own - solved[:, 1:] @ mu
        beta = bound
        if slots == 1:
            x[S] = sign[S] * own
        else:
            self._share(x, members, known - mu @ A, inverse, S, own, weight)
        beta[S] += own
        return beta, mu

    def _share(
        self, x: Array, members: Index, push: Array, inverse: Array, S: Index, own: Array,
        weight: Array,
    ) -> None:  # fmt: skip
        """What the free variables of a sample have together, own, given to them one by one."""
        n, sign = self.n, self.sign[members]
        at, inverse = members % n, inverse[members]
        total, mean = np.ones(n), np.zeros(n)
        total[S] = weight
        mean[S] = np.bincount(at, sign * inverse * push[members], minlength=n)[S] / weight
        several = (np.bincount(at, minlength=n) > 1)[at]
        x[members] = np.where(several, inverse * (push[members] - sign * mean[at]), 0.0)
        missing = np.zeros(n)
        missing[S] = own
        missing -= np.bincount(at, sign * x[members], minlength=n)
        x[members] += sign * inverse / total[at] * missing[at]

    def _image(self, bound: Array, S: Index, B: Array) -> Array:
        """(K bound)_S, from the present f where few values are others than there."""
        change = bound - self.beta
        inside = change[S]
        change[S] = 0.0
        others = np.flatnonzero(change)
        if 3 * len(others) > self.n:
            return np.asarray((self.K @ bound)[S])
        image = self.f[S] + B @ inside
        return image + self.K[S[:, None], others] @ change[others] if others.size else image

    def _doubles(
        self, members: Index, S: Index, inner: Array, inverse: Array, columns: Array, weight: Array
    ) -> tuple[Array, Array]:
        """What samples with more than one free variable add to the equations of the rows; for others it is zero."""
        A, n, rows = self.problem.A, self.n, len(self.problem.A)
        H, rest = np.zeros((rows, rows)), np.zeros(rows)
        if self.slots == 1:
            return H, rest
        several = np.bincount(members % n, minlength=n) > 1
        chosen = members[several[members % n]]
        if chosen.size == 0:
            return H, rest
        part = several[S]
        G, AV = columns[part, 1:], A[:, chosen]
        H = (AV * inverse[chosen]) @ AV.T - (G * weight[part, None]).T @ G
        rest = AV @ inner[chosen] - G.T @ (columns[part, 0] * weight[part])
        return H, rest
