"""Duality gap and KKT violation of a point as solvers compute them: accurate for small gaps, without error bounds.

The gap is a sum of nonnegative terms and does not cancel. `hinge.problems.certify` returns rigorous bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.problems import double_double
from hinge.problems.bounds import infeasibility_of, kkt_violations
from hinge.problems.certificate import relative
from hinge.problems.offset import optimal_offset
from hinge.problems.problem import Problem, dot
from hinge.problems.separable import Array


@dataclass(frozen=True)
class Optimality:
    """Values of the primal and dual objective, their gap, and violations of the optimality conditions.  docs/math (4)

    The attributes are those of `hinge.problems.Certificate`, without rounding errors.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt_violation: float
    infeasibility: float
    mu: Array

    @classmethod
    def of(cls, dual: float, gap: float, violation: float, infeasibility: float, mu: Array) -> Optimality:
        """Return the values of a point from its dual value and gap."""
        return cls(dual + gap, dual, gap, relative(gap, dual + gap, dual), violation, infeasibility, mu)

    def proves(self, tol: float) -> bool:
        """Whether the point is feasible and optimal to within `tol`, up to rounding."""
        return bool(self.gap <= tol and self.infeasibility <= tol and np.isfinite(self.kkt_violation))


def optimality(
    problem: Problem,
    alpha: Array,
    mu: Array | None = None,
    gradient: Array | None = None,
    remainder: tuple[Array, Array] | None = None,
) -> Optimality:
    """Return the optimality of a point: gap = Σᵥ max_{x ∈ {lᵥ, uᵥ}} rᵥ(αᵥ − x),  r = Qα + p + Aᵀμ.    docs/math (4)

    Parameters
    ----------
    problem : Problem
    alpha : ndarray
        The point, feasible up to rounding.
    mu : ndarray, optional
        Multipliers of the equality rows; by default those with the smallest gap.
    gradient : ndarray, optional
        Qα + p, if it is known.
    remainder : pair of ndarray, optional
        Rounding errors of alpha and mu (`Solution.remainder`). The values are then those of the sums, computed in
        double-double precision from the whole matrix. Only for problems without a term.    docs/math (379)
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    if remainder is not None:
        return _of_pairs(problem, alpha, mu, remainder)
    gradient = problem.gradient(alpha) if gradient is None else gradient
    mu = optimal_offset(problem, alpha, gradient) if mu is None else np.asarray(mu, dtype=np.float64)
    residual = problem.reduced_gradient(gradient, mu)
    gap, unbounded = _gap(problem, alpha, residual)
    slope = residual if problem.term is None else residual + (problem.objective_gradient(alpha, gradient) - gradient)
    violation = float(np.maximum.reduce(kkt_violations(alpha, slope, problem.lower, problem.upper), initial=0.0))
    infeasibility = float(np.maximum(infeasibility_of(problem, alpha), unbounded))
    value = 0.5 * dot(alpha, gradient + problem.p)
    if problem.term is not None:
        value += float(np.sum(problem.term.value(alpha)))
    return Optimality.of(-value, gap, violation, infeasibility, mu)


def _of_pairs(problem: Problem, alpha: Array, mu: Array | None, remainder: tuple[Array, Array]) -> Optimality:
    if problem.term is not None or mu is None:
        raise ValueError("a remainder needs its multipliers mu, and a problem without a term")
    K = problem.Q.kernel_matrix()
    gradient, residual = double_double.residual(problem, K, (alpha, remainder[0]), (mu, remainder[1]))
    towards = np.where(residual > 0, problem.lower, problem.upper)
    closed = np.isfinite(towards)
    gap = float(np.sum(residual[closed] * ((alpha - towards) + remainder[0])[closed]))
    unbounded = float(np.max(np.abs(residual[~closed]), initial=0.0))
    missing = np.max(np.abs(double_double.equality_residual(problem, (alpha, remainder[0]))), initial=0.0)
    boxes = np.maximum((problem.lower - alpha) - remainder[0], (alpha - problem.upper) + remainder[0])
    infeasibility = float(np.max(boxes, initial=max(float(missing), unbounded)))
    violation = float(np.maximum.reduce(kkt_violations(alpha, residual, problem.lower, problem.upper), initial=0.0))
    return Optimality.of(-problem.value(alpha, gradient), gap, violation, infeasibility, mu)


def _gap(problem: Problem, alpha: Array, residual: Array) -> tuple[float, float]:
    """Return the gap of variables with a finite share, and the largest residual of the others.  docs/math (4), (314)"""
    if problem.term is None:
        towards = np.where(residual > 0, problem.lower, problem.upper)
        bounded = np.isfinite(towards)
        if bounded.all():
            return float(np.add.reduce(residual * (alpha - towards))), 0.0
        shares = residual[bounded] * (alpha[bounded] - towards[bounded])
    else:
        shares = problem.term.gap(alpha, residual, problem.lower, problem.upper)
        bounded = np.isfinite(shares)
        shares = shares[bounded]
    return float(np.sum(shares)), float(np.max(np.abs(residual[~bounded]), initial=0.0))
