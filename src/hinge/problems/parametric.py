"""Problem (1) in signed variables, with data that are linear functions of a parameter θ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Access
from hinge.problems.problem import Problem
from hinge.problems.quadratic import Array, Quadratic
from hinge.problems.separable import Separable


class Values(NamedTuple):
    """Data of (201) at one value of the parameter, or their rates of change."""

    linear: Array
    lower: Array
    upper: Array
    total: Array


@dataclass(frozen=True)
class ParametricProblem:
    """min ½βᵀKβ + c(θ)ᵀβ,  Σ_{v ∈ g} βᵥ = e_g(θ),  lo(θ) ≤ β ≤ hi(θ).              docs/math (201)

    Every array has two rows: its value at θ = 0 and its rate. `group` is −1 for a variable in no group. Variable v
    belongs to sample v mod n, and αᵥ = signᵥ βᵥ.
    """

    linear: Array
    lower: Array
    upper: Array
    total: Array
    group: NDArray[np.int8]
    sign: Array

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.sign)

    def at(self, theta: float) -> Values:
        """Return the data at θ."""
        linear, lower, upper, total = self.linear, self.lower, self.upper, self.total
        if theta == 0:
            return Values(linear[0], lower[0], upper[0], total[0])
        return Values(
            linear[0] + theta * linear[1],
            lower[0] + theta * lower[1],
            upper[0] + theta * upper[1],
            total[0] + theta * total[1],
        )

    def rates(self) -> Values:
        """Return the derivatives of the data with respect to θ."""
        return Values(self.linear[1], self.lower[1], self.upper[1], self.total[1])

    def problem(self, access: Access, theta: float) -> Problem:
        """Return problem (1) at θ for solvers and certificates; its multipliers are those of the signed problem."""
        now = self.at(theta)
        rows = group_rows(self.group, self.sign, np.ones(len(now.total)))
        return unsigned_problem(access, self.sign, now.linear, now.lower, now.upper, rows, now.total)


def unsigned_problem(
    access: Access,
    sign: Array,
    linear: Array,
    lower: Array,
    upper: Array,
    rows: Array,
    total: Array,
    term: Separable | None = None,
) -> Problem:
    """Return problem (1) in α = sign ∘ β from the linear term and the bounds of β."""
    first, second = sign * lower, sign * upper
    # adding zero turns −0.0, the product of a zero bound and a negative sign, into 0.0
    low, high = np.minimum(first, second) + 0.0, np.maximum(first, second) + 0.0
    return Problem(Quadratic(access, sign), sign * linear, rows, total, low, high, term)


def group_rows(group: NDArray[np.int8], sign: Array, factors: Array) -> Array:
    """Return the equality rows in α: factor · Σ_{v ∈ g} βᵥ for every group g."""
    rows = np.empty((len(factors), len(sign)))
    for g, factor in enumerate(factors):
        rows[g] = np.where(group == g, factor * sign, 0.0)
    return rows


def constant(values: Array) -> Array:
    """Return the two rows of data that do not depend on θ."""
    rows = np.zeros((2, *values.shape))
    rows[0] = values
    return rows


def between(start: Array, end: Array) -> Array:
    """Return the two rows of data that go from `start` at θ = 0 to `end` at θ = 1."""
    rows = np.empty((2, *start.shape))
    rows[0] = start
    np.subtract(end, start, out=rows[1])
    return rows


def proportional(rates: Array) -> Array:
    """Return the two rows of θ times `rates`."""
    return np.stack([np.zeros_like(rates), rates])
