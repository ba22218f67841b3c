"""Convex quadratic programs with balls as data, and bounds on their optima from any point."""

from __future__ import annotations

from dataclasses import dataclass, field

from flint import arb, arb_mat

from .numbers import HALF, ONE, ZERO, dot, product, total

INFINITY = arb.pos_inf()

#: The scaling of a function to satisfy constraints is increased by this factor, so that they hold as balls.
OUTWARD = ONE + ONE / 2**400

#: Sums that agree to almost all digits are compared after the multiplication of one side by this factor.
INWARD = ONE - ONE / 2**400


@dataclass
class Program:
    """min ½xᵀQx + Σ (½ rᵥxᵥ² + tᵥ|xᵥ| + pᵥxᵥ)  subject to  Ax = d,  l ≤ x ≤ u,  l ≤ 0 ≤ u.

    `optimum` below means minus this minimum: the optimal value of the primal problem of the estimator. Infinite bounds
    are None. Every variable is in at most one row of A unless `shared_rows`; entries of A are 0 or ±1.
    """

    Q: arb_mat
    p: list
    lower: list
    upper: list
    A: list
    d: list
    ridge: list | None = None
    tube: list | None = None
    shared_rows: bool = False
    size: int = field(init=False)

    def __post_init__(self):
        self.size = len(self.p)
        self.ridge = self.ridge or [ZERO] * self.size
        self.tube = self.tube or [ZERO] * self.size

    def hard(self, v):
        """Whether the loss of a variable is infinite for some function values."""
        return (self.upper[v] is None or self.lower[v] is None) and self.ridge[v].is_zero()

    # ---- lower bound ---------------------------------------------------------------------------------------------

    def lower_bound(self, x):
        """Return minus the objective at the feasible point next to x, or −∞ if no such point was found."""
        x = self.feasible(x)
        if x is None:
            return -INFINITY
        value = HALF * dot(x, product(self.Q, x))
        for v in range(self.size):
            value += x[v] * (self.p[v] + HALF * self.ridge[v] * x[v]) + self.tube[v] * abs(x[v])
        return (-value).lower()

    def clipped(self, x):
        result = []
        for value, low, high in zip(x, self.lower, self.upper, strict=True):
            value = value if low is None else value.max(low)
            result.append(value if high is None else value.min(high))
        return result

    def feasible(self, x):
        """Clip x to its box and move it to the rows; the balls contain a point that satisfies both exactly."""
        x = self.clipped(x)
        if self.shared_rows:
            return self._projected(x)
        for row, right in zip(self.A, self.d, strict=True):
            members = [v for v in range(self.size) if row[v] != 0]
            moved = self._balanced(x, row, members) if right.is_zero() else self._with_total(x, row, members, right)
            if moved is None:
                return None
            x = moved
        return x

    def _balanced(self, x, row, members):
        """Make the sum of a row zero: the side with the larger sum shrinks."""
        x, sides = list(x), {True: [v for v in members if row[v] * x[v] > 0], False: []}
        sides[False] = [v for v in members if v not in set(sides[True])]
        sums = {side: abs(total(row[v] * x[v] for v in found)) for side, found in sides.items()}
        if sums[True] - sums[False] == 0:
            return x
        larger = bool(sums[True] > sums[False])
        if not larger and not sums[False] > sums[True]:  # almost equal: shrink one side until the order is certain
            sums[False] *= INWARD
            for v in sides[False]:
                x[v] *= INWARD
            larger = True
            if not sums[True] > sums[False]:
                return None
        factor = sums[not larger] / sums[larger]
        for v in sides[larger]:
            x[v] *= factor
        return x

    def _with_total(self, x, row, members, right):
        """Make the sum of a row of variables of one sign equal to `right`: they shrink, or approach their bounds."""
        x, found = list(x), total(row[v] * x[v] for v in members)
        if (found - right).is_zero():
            return x
        if not abs(found) > abs(right):
            for v in members:
                x[v] *= INWARD
            found *= INWARD
            far = {v: self.upper[v] if (row[v] > 0) == (right > 0) else self.lower[v] for v in members}
            if any(bound is None for bound in far.values()):
                return None
            distance = total(row[v] * (far[v] - x[v]) for v in members)
            share = (right - found) / distance if abs(distance) > 0 else None
            if share is None or not (share >= 0 and share <= 1):
                return self._at_far_bounds(x, far, row, right)
            for v in members:
                x[v] += share * (far[v] - x[v])
            return x
        for v in members:
            x[v] *= right / found
        return x

    @staticmethod
    def _at_far_bounds(x, far, row, right):
        """Return the bounds themselves if they are the only point with this sum."""
        if not (total(row[v] * far[v] for v in far) - right).is_zero():
            return None
        for v, bound in far.items():
            x[v] = bound
        return x

    def _projected(self, x):
        """Solve for the interior variables such that all rows hold; None if the result leaves the box."""
        interior = [v for v in range(self.size) if _inside(x[v], self.lower[v], self.upper[v])]
        rows = independent([[row[v] for v in interior] for row in self.A])
        if rows:
            small = arb_mat([[self.A[k][v] for v in interior] for k in rows])
            missing = arb_mat(len(rows), 1, [self.d[k] - self._row_sum(k, x) for k in rows])
            try:
                step = small.transpose() * (small * small.transpose()).solve(missing)
            except ZeroDivisionError:
                return None
            for v, s in zip(interior, step.entries(), strict=True):
                x[v] += s
                if not _inside(x[v], self.lower[v], self.upper[v]):
                    return None
        for k in range(len(self.A)):
            # Rows that depend on the others hold exactly, or up to the radius of the balls because they are implied.
            if not (self._row_sum(k, x) - self.d[k]).contains(0):
                return None
        return x

    def _row_sum(self, k, x):
        return total(self.A[k][v] * x[v] for v in range(self.size) if self.A[k][v])

    # ---- upper bound ---------------------------------------------------------------------------------------------

    def upper_bound(self, x, mu):
        """Return ½xᵀQx + Σ max over z in the box of −(Qx + p + Aᵀμ)ᵥz − ½rᵥz² − tᵥ|z|, plus μᵀd."""
        f = product(self.Q, x)
        offset = self.row_values(mu)
        factor = self._feasible_scale([a + b for a, b in zip(f, offset, strict=True)])
        if factor is None:
            return INFINITY
        value = HALF * factor * factor * dot(x, f) + factor * dot(mu, self.d)
        for v in range(self.size):
            value += self._loss(v, -(factor * (f[v] + offset[v]) + self.p[v]))
        return value.upper()

    def row_values(self, mu):
        """Return Aᵀμ."""
        values = [ZERO] * self.size
        for row, multiplier in zip(self.A, mu, strict=True):
            for v in range(self.size):
                if row[v]:
                    values[v] = values[v] + row[v] * multiplier
        return values

    def _feasible_scale(self, f):
        """Return the factor of the function with which all infinite losses are zero, or None."""
        factor = ONE
        for v in range(self.size):
            if self.hard(v) and not self._loss(v, -(f[v] + self.p[v])).is_finite():
                margin = f[v] / -self.p[v]
                if not margin > 0:
                    return None
                factor = factor.max(OUTWARD / margin.lower())
        return factor

    def _loss(self, v, s):
        """Return the maximum over the box of sz − ½rz² − t|z|, or a slightly larger value."""
        excess, ridge = abs(s) - self.tube[v], self.ridge[v]
        below = None if self.lower[v] is None else -self.lower[v]
        if s > 0:
            return self._side(self.upper[v], excess, ridge)
        if s < 0:
            return self._side(below, excess, ridge)
        return self._side(self.upper[v], excess, ridge).max(self._side(below, excess, ridge))

    @staticmethod
    def _side(bound, excess, ridge):
        """Return the maximum over 0 ≤ z ≤ bound of excess · z − ½ ridge z²."""
        if excess <= 0 or (bound is not None and bound.is_zero()):
            return ZERO
        excess = excess.max(ZERO)
        if ridge.is_zero():
            return INFINITY if bound is None else bound * excess
        if bound is not None and excess > ridge * bound:
            return bound * (excess - HALF * ridge * bound)
        return excess * excess / (2 * ridge)


def _inside(value, low, high):
    """Whether a value lies strictly between its bounds."""
    return (low is None or value > low) and (high is None or value < high)


def independent(rows):
    """Return the positions of a maximal set of linearly independent rows of integers."""
    kept, reduced = [], []
    for k, row in enumerate(rows):
        row = [arb(value) for value in row]
        for pivot, other in reduced:
            if not row[pivot].is_zero():
                factor = row[pivot] / other[pivot]
                row = [a - factor * b for a, b in zip(row, other, strict=True)]
                row[pivot] = ZERO
        pivot = next((j for j, value in enumerate(row) if abs(value) > ONE / 2**100), None)
        if pivot is not None:
            kept.append(k)
            reduced.append((pivot, row))
    return kept
