"""Residuals of problem (1) in double-double arithmetic.                  docs/math (379)"""

from __future__ import annotations

import numpy as np

from hinge.kernels.double_double import Pair, add, product
from hinge.problems.problem import Problem
from hinge.problems.separable import Array


def residual(problem: Problem, K: Array, alpha: Pair, mu: Pair) -> tuple[Array, Array]:
    """Return Qα + p and r = Qα + p + Aᵀμ, each rounded once at the end. The term h is not included."""
    Q = problem.Q
    beta: Pair = np.zeros(Q.n), np.zeros(Q.n)
    signed = [(Q.sign * part).reshape(Q.slots, Q.n) for part in alpha]
    for high, low in zip(*signed, strict=True):
        beta = add(beta, (high, low))
    f = product(K, beta)
    zeros = np.zeros(problem.size)
    gradient = add((Q.spread(f[0]), Q.spread(f[1])), (problem.p, zeros))
    reduced = add(gradient, product(problem.A.T, mu)) if len(problem.d) else gradient
    return gradient[0], reduced[0] + reduced[1]


def equality_residual(problem: Problem, alpha: Pair) -> Array:
    """Return Aα − d, rounded once at the end."""
    if not len(problem.d):
        return np.zeros(0)
    high, low = add(product(problem.A, alpha), (-problem.d, np.zeros(len(problem.d))))
    return np.asarray(high + low)
