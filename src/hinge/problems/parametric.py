"""Parametric form (201) of dual problems: the problem that a path follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Access
from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.problems.problem import Dual, Problem, group_rows, unsigned_problem
from hinge.problems.separable import Array


class Values(NamedTuple):
    """Data of (201) at one value of the parameter, or their rates of change."""

    linear: Array
    lower: Array
    upper: Array
    total: Array


#: Relative rounding error of data that are linear functions of θ.
DATA_ERROR = 8 * UNIT_ROUNDOFF


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
        return self.problem_with(access, self.at(theta))

    def problem_with(self, access: Access, values: Values) -> Problem:
        """Return problem (1) with the data `values` of one θ."""
        rows = group_rows(self.group, self.sign, np.ones(len(values.total)))
        data = (values.linear, values.lower, values.upper, rows, values.total)
        errors = (DATA_ERROR, DATA_ERROR if np.any(values.total) else 0.0)
        return unsigned_problem(access, self.sign, *data, None, *errors)


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
    rows = np.zeros((2, *rates.shape))
    rows[1] = rates
    return rows


def _two_rows(tube: float | Array, n: int) -> Array:
    """Return the widths of the tube as two rows: values of all samples and their rates."""
    tube = np.asarray(tube, dtype=np.float64)
    return tube if tube.ndim == 2 else constant(np.broadcast_to(tube, n))


def parametric_problem(dual: Dual, always_split: bool = False) -> ParametricProblem:
    """Return the parametric form (201) of a dual problem. Arrays with one row are constant in θ.

    A tube of width zero, for all θ, needs one variable per sample only, unless `always_split`.
    """
    data = (dual.target, dual.total, dual.lower, dual.upper)
    target, total, lower, upper = [values if values.ndim == 2 else constant(values) for values in data]
    n, sign, star = target.shape[1], dual.sign, dual.tube_star
    has_tube = bool(np.any(dual.tube)) or (star is not None and bool(np.any(star)))
    split = dual.split and (dual.group is not None or has_tube or always_split)
    if split:
        tube = _two_rows(dual.tube, n)
        two_rows = Dual(
            target, lower, upper, sign, total, tube, split=True, tube_star=None if star is None else _two_rows(star, n)
        )
        sign, linear, lower, upper = two_rows.variables()
    else:
        sign, linear = (np.ones(n) if dual.split else sign), 0.0 - target
    group = dual.group
    if group is None:
        group = np.full(len(sign), 0 if total.shape[1] else -1, dtype=np.int8)
    return ParametricProblem(linear, lower, upper, total, group, sign)
