"""One-class classification: an estimate of the support of a distribution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hinge.formulations.base import Formulation, attainable_total, total_error
from hinge.kernels import Access
from hinge.model import Expansion
from hinge.problems import (
    Array,
    Bias,
    Dual,
    LinearProblem,
    LinearSolution,
    Problem,
    Status,
    linear_optimality,
    linear_problem,
)


@dataclass(frozen=True)
class OneClass(Formulation):
    """min ½‖w‖² − νWρ + Σ wᵢ max(0, ρ − ⟨w, Φ(xᵢ)⟩),  W = Σ wᵢ.               docs/math (14)

    The objective is scaled as in LIBSVM. The decision function is ⟨w, Φ(x)⟩ − ρ.
    """

    weight: Array
    nu: float | Array

    def dual(self) -> Dual:
        """Dual problem in the form (1): min ½αᵀKα,  1ᵀα = νW,  0 ≤ α ≤ w."""
        n, sum_of_weights = np.shape(self.weight)[-1], np.sum(self.weight, axis=-1)
        zero = np.zeros(n)
        total, error = np.multiply(self.nu, sum_of_weights)[..., None], 0.0
        if total.ndim == 1:
            total[0], largest = attainable_total(float(total[0]), self.weight)
            error = 0.0 if largest else total_error(self.nu, self.weight, float(total[0]))
        return Dual(zero, zero, self.weight, np.ones(n), total, totals_error=error)

    def build(self, access: Access) -> Problem:
        """Return the kernel form of the dual problem."""
        return self.dual().problem(access)

    def recover(self, alpha: Array, mu: Array) -> Expansion:
        """β = α, ρ = −μ."""
        return Expansion(alpha, float(mu[0]), margin=-float(mu[0]))

    def scale(self, mu: Array) -> float:
        """Return min(1, |ρ|). Tolerances are relative to it, because predictions are the sign of ⟨w, Φ(x)⟩ − ρ."""
        return min(1.0, abs(float(mu[0])))

    def dual_point(self, expansion: Expansion) -> tuple[Array, Array]:
        """α = β."""
        return expansion.coefficients, np.array([expansion.intercept])


@dataclass(frozen=True)
class OneClassCost(OneClass):
    """min ½‖w‖² − ρ + Σ Cᵢ max(0, ρ − ⟨w, Φ(xᵢ)⟩).

    That is `OneClass` with ν = 1 / Σ Cᵢ, where w and ρ are divided by the sum of α. Here `weight` holds the costs, and
    `nu` is not used.
    """

    nu: float | Array = 1.0

    def dual(self) -> Dual:
        """Dual problem in the form (1): min ½αᵀKα,  1ᵀα = 1,  0 ≤ α ≤ C."""
        n = np.shape(self.weight)[-1]
        return Dual(np.zeros(n), np.zeros(n), self.weight, np.ones(n), np.ones(1))


def linear_one_class(X: Any, weight: Array, nu: float) -> LinearProblem:
    """Return the linear form of one-class classification; the offset is −ρ.           docs/math (14), (101)"""
    return linear_problem(OneClass(weight, nu).dual(), X, Bias.FREE)


def without_half_space(problem: LinearProblem, solution: LinearSolution) -> LinearSolution:
    """Return w = 0 and ρ = 0 if the optimal value of one-class classification is zero to rounding.   docs/math (133)

    The solution then consists of rounding errors, and their signs would classify the samples at random.
    """
    if solution.status is not Status.SOLVED or max(abs(solution.primal), abs(solution.dual)) > 2 * solution.floor:
        return solution
    zero = np.zeros_like(solution.weights)
    certificate = linear_optimality(problem, zero, 0.0, solution.beta)
    return replace(
        solution,
        weights=zero,
        offset=0.0,
        primal=certificate.primal,
        dual=certificate.dual,
        gap=certificate.gap,
        violation=certificate.kkt_violation,
    )
