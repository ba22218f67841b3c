"""Problem (1) in signed coordinates, with everything but the kernel matrix moving along a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Access
from hinge.problems import Array, Problem, Quadratic


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
    stands on sample v mod n, and αᵥ = signᵥ βᵥ.
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
        """The data at θ."""
        if theta == 0:
            return Values(*(np.ascontiguousarray(a[0]) for a in self._moving()))
        return Values(*(np.ascontiguousarray(a[0] + theta * a[1]) for a in self._moving()))

    def rates(self) -> Values:
        """How the data move."""
        return Values(*(np.ascontiguousarray(a[1]) for a in self._moving()))

    def _moving(self) -> tuple[Array, ...]:
        return (self.linear, self.lower, self.upper, self.total)

    def problem(self, access: Access, theta: float) -> Problem:
        """Problem (1) at θ, in unsigned variables, for solvers and certificates."""
        now, sign = self.at(theta), self.sign
        first, second = sign * now.lower, sign * now.upper
        rows = np.array([np.where(self.group == g, sign, 0.0) for g in range(self.total.shape[1])])
        rows = rows.reshape(self.total.shape[1], self.size)
        lower, upper = np.minimum(first, second), np.maximum(first, second)
        return Problem(Quadratic(access, sign), sign * now.linear, rows, now.total, lower, upper)


def constant(values: Array) -> Array:
    """Two rows: a value that does not move."""
    rows = np.zeros((2, *values.shape))
    rows[0] = values
    return rows


def between(start: Array, end: Array) -> Array:
    """Two rows: from `start` at θ = 0 to `end` at θ = 1."""
    rows = np.empty((2, *start.shape))
    rows[0] = start
    np.subtract(end, start, out=rows[1])
    return rows


def proportional(rates: Array) -> Array:
    """Two rows: θ times `rates`."""
    return np.stack([np.zeros_like(rates), rates])


def _groups(size: int, bias: bool) -> tuple[NDArray[np.int8], Array]:
    return np.full(size, 0 if bias else -1, dtype=np.int8), np.zeros((2, 1 if bias else 0))


def classification(y: Array, cost: Array, margin: Array | None = None, bias: bool = True) -> ParametricProblem:
    """C-classification, docs/math (10), with Cᵢ(θ) = `cost` and the margins δᵢ(θ) (1 when left out); y is ±1."""
    linear = constant(-y) if margin is None else -y * margin
    group, total = _groups(len(y), bias)
    upper = cost * (y > 0)
    return ParametricProblem(linear, upper - cost, upper, total, group, y)


def regression(y: Array, cost: Array, tube: Array, bias: bool = True) -> ParametricProblem:
    """ε-regression, docs/math (11), with Cᵢ(θ) = `cost` and the tubes εᵢ(θ); two variables per sample.

    Where no tube is ever wider than zero the two are one: −Cᵢ ≤ βᵢ ≤ Cᵢ.
    """
    target, zero = constant(y), np.zeros_like(cost)
    if not np.any(tube):
        group, total = _groups(len(y), bias)
        return ParametricProblem(-target, -cost, cost, total, group, np.ones_like(y))
    group, total = _groups(2 * len(y), bias)
    linear = np.concatenate([tube - target, -(tube + target)], axis=1)
    lower, upper = np.concatenate([zero, -cost], axis=1), np.concatenate([cost, zero], axis=1)
    return ParametricProblem(linear, lower, upper, total, group, np.repeat([1.0, -1.0], len(y)))


def nu_classification(y: Array, weight: Array) -> ParametricProblem:
    """ν-classification, docs/math (12): both classes have total ½νW; θ = ν."""
    n, whole = len(y), float(np.sum(weight))
    total = proportional(np.array([0.5 * whole, -0.5 * whole]))
    lower, upper = np.where(y > 0, 0.0, -weight), np.where(y > 0, weight, 0.0)
    group = np.where(y > 0, 0, 1).astype(np.int8)
    return ParametricProblem(np.zeros((2, n)), constant(lower), constant(upper), total, group, y)


def nu_regression(y: Array, cost: Array) -> ParametricProblem:
    """ν-regression, docs/math (13), (250): the α and the −α* are one group each, of total ±½ν ΣC; θ = ν."""
    n, half, zero = len(y), 0.5 * float(np.sum(cost)), np.zeros_like(cost)
    lower, upper = np.concatenate([zero, -cost]), np.concatenate([cost, zero])
    group = np.repeat(np.array([0, 1], dtype=np.int8), n)
    total = proportional(np.array([half, -half]))
    sign = np.repeat([1.0, -1.0], n)
    return ParametricProblem(constant(np.tile(-y, 2)), constant(lower), constant(upper), total, group, sign)


def one_class(weight: Array) -> ParametricProblem:
    """The one-class machine, docs/math (14): Σα = νW; θ = ν."""
    n = len(weight)
    total = proportional(np.array([float(np.sum(weight))]))
    still = np.zeros((2, n))
    return ParametricProblem(still, still, constant(weight), total, np.zeros(n, dtype=np.int8), np.ones(n))
