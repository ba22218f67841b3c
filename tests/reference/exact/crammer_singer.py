"""The program of Crammer and Singer: its losses in closed form, and feasible points."""

from __future__ import annotations

from dataclasses import dataclass

from .numbers import HALF, ZERO, dot, product, total
from .programs import Program


@dataclass
class CrammerSingerProgram(Program):
    """Variables β_im, class by class; the first n rows are Σ_m β_im = 0, the others Σ_i β_im = 0.

    p is 0 for the own class of a sample and 1 for others; upper bounds are Cᵢ and 0, lower bounds 0 and −Cᵢ.
    """

    n: int = 0
    shared_rows: bool = True
    prior: list | None = None  # multipliers that are kept if the optimality conditions do not determine them

    def __post_init__(self):
        super().__post_init__()
        self.prior = self.prior or [ZERO] * len(self.A)

    def of_sample(self, i):
        return range(i, self.size, self.n)

    def own(self, i):
        """The variable of the own class of a sample."""
        return next(v for v in self.of_sample(i) if self.p[v].is_zero())

    def class_values(self, mu):
        """Return the offsets of the classes for all variables."""
        values = [ZERO] * self.size
        for row, offset in zip(self.A[self.n :], mu[self.n :], strict=True):
            for v in range(self.size):
                if row[v]:
                    values[v] = offset
        return values

    def upper_bound(self, x, mu):
        """½Σ‖w_m‖² + Σ Cᵢ max_m (p_im + f_m(xᵢ) − f_yᵢ(xᵢ)); the multipliers of the samples are not used."""
        inner = product(self.Q, x)
        f = [a + b for a, b in zip(inner, self.class_values(mu), strict=True)]
        value = HALF * dot(x, inner)
        for i in range(self.n):
            own, worst = self.own(i), ZERO
            for v in self.of_sample(i):
                worst = worst.max(self.p[v] + f[v] - f[own])
            value += self.upper[own] * worst
        return value.upper()

    def feasible(self, x):
        """Without offsets, the variables of other classes decide; with offsets, solve for the interior variables."""
        x = self.clipped(x)
        if len(self.A) > self.n:
            return self._projected(x)
        for i in range(self.n):
            own = self.own(i)
            others = [v for v in self.of_sample(i) if v != own]
            found = -total(x[v] for v in others)
            factor = (self.upper[own] / found).min(1) if found > 0 else 1
            for v in others:
                x[v] *= factor
            x[own] = -total(x[v] for v in others)
        return x

    def middle_multipliers(self, slopes, places, mu, rows):
        """Set the multipliers of samples without free variables halfway between the two bounds on them.

        If the bounds contradict each other, a variable of either side is then released.
        """
        for r in rows:
            if r >= self.n:
                continue
            from_below = [-slopes[v] for v in self.of_sample(r) if places[v][0] == "lower"]
            from_above = [-slopes[v] for v in self.of_sample(r) if places[v][0] == "upper"]
            ends = []
            if from_below:
                ends.append(max(from_below, key=float))
            if from_above:
                ends.append(min(from_above, key=float))
            mu[r] = (total(ends) / len(ends)).mid()
