"""Interface of a formulation: a model class with its dual problem."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from hinge.kernels import Access
from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.model import Expansion
from hinge.problems import Array, Dual, ParametricProblem, Problem, parametric_problem

#: Relative rounding error of the cost of a sample, the product of C, weights and a constant of the loss.
COST_ERROR = 6 * UNIT_ROUNDOFF

#: Weights with this many fractional bits, and sums below 2**53 in their unit, are added without rounding errors.
EXACT_BITS = 20


def total_error(nu: Any, weight: Array, total: float) -> float:
    """Return a bound on the relative rounding error of `total`, ν Σ weight or half of it; zero if it is exact."""
    if np.ndim(nu):
        return COST_ERROR
    unit = 2.0**EXACT_BITS
    scaled = unit * weight
    exact_sum = bool(np.all(scaled == np.rint(scaled))) and float(np.sum(scaled)) < 2.0**53
    product = Fraction(float(nu)) * Fraction(float(np.sum(weight)))
    if exact_sum and Fraction(total) in (product, product / 2):
        return 0.0
    return (len(weight) + 4) * UNIT_ROUNDOFF


def attainable_total(total: float, upper: Array, bounds_error: float = 0.0) -> tuple[float, bool]:
    """Return the right side of Σα = `total`, 0 ≤ α ≤ `upper`, and whether it was replaced by the largest one.

    At the largest admissible ν, `total` is the sum of `upper` up to rounding errors, which may leave no feasible point.
    The largest total is that sum if it is exact, and otherwise less by a few rounding errors, such that the constraints
    have a solution in exact arithmetic.
    """
    margin = 2 * bounds_error + 8 * (len(upper) + 4) * UNIT_ROUNDOFF
    if total <= (1 - 2 * margin) * float(np.sum(upper)):
        return total, False
    largest = math.fsum(upper)
    if bounds_error > 0 or math.fsum([*upper, -largest]) != 0:
        largest *= 1 - margin
    return largest, True


class Formulation(ABC):
    """Conversion of labels and costs to problem (1), and of its solution to a decision function.

    A subclass defines the dual problem in `dual`. Costs, ε, ν and margins may be linear functions of a parameter θ:
    arrays with two rows, the value at θ = 0 and the rate (`hinge.problems.parametric`). Then `parametric` is the
    problem that a path follows.
    """

    @abstractmethod
    def dual(self) -> Dual:
        """Return the dual problem in signed variables: linear term, bounds, equality rows and signs."""

    @abstractmethod
    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """Return the decision function of a solution (alpha, mu) of problem (1)."""

    @abstractmethod
    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """Return (alpha, mu) of a decision function: the inverse of `recover`, for certificates."""

    @abstractmethod
    def build(self, access: Access) -> Problem:
        """Return problem (1) with the kernel matrix behind `access`, for solvers."""

    def certified_problem(self, access: Access) -> Problem:
        """Return the problem for which certificates are computed; it has the same solutions as that of `build`."""
        return self.build(access)

    def parametric(self) -> ParametricProblem:
        """Return the problem as a function of θ, for paths."""
        return parametric_problem(self.dual())

    @property
    def upper(self) -> Array:
        """Upper bounds of the variables of problem (1)."""
        sign, _, lower, upper = self.dual().variables()
        return np.maximum(sign * lower, sign * upper)

    def scale(self, mu: Array) -> float:
        """Return the factor by which `recover` divides the function of problem (1): ρ of ν-classification, else 1."""
        return 1.0
