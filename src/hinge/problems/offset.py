"""Multipliers of the equality rows with the smallest gap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy  # scipy.optimize is loaded on first use: it takes longer than all other imports

from hinge import _core
from hinge.problems.problem import Problem
from hinge.problems.separable import Array

INFINITE_MULTIPLIER = 1e100  # multipliers beyond this are reported as infinite


def optimal_offset(problem: Problem, alpha: Array, gradient: Array) -> Array:
    """Return argmin over μ of the gap (4): a weighted median per equality row or, with a term h, a root of (315).

    Rows that share variables, which no formulation of this package has, lead to a linear program.
    """
    rows = problem.A
    if problem.term is not None:
        return _by_bisection(problem, alpha, gradient)
    if share_variables(rows):
        return _by_linear_program(problem, alpha, gradient)
    alpha, gradient = np.ascontiguousarray(alpha), np.ascontiguousarray(gradient)
    mu = np.empty(len(rows))
    for k, row in enumerate(rows):
        mu[k] = _core.best_multiplier(row, alpha, gradient, problem.lower, problem.upper)
    return mu


def share_variables(rows: Array) -> bool:
    """Whether equality rows have variables in common."""
    return len(rows) > 1 and bool(np.any(np.count_nonzero(rows, axis=0) > 1))


def _by_linear_program(problem: Problem, alpha: Array, gradient: Array) -> Array:
    """Minimize Σ t_v s.t.  t_v ≥ r_v (α_v − x) for finite bounds x,  r = g + Aᵀμ; infinite bounds fix its sign."""
    size, rows = problem.size, problem.A
    cost = np.concatenate([np.zeros(len(rows)), np.ones(size)])
    left, right = [], []
    for bound, outward in ((problem.lower, 1.0), (problem.upper, -1.0)):
        finite = np.isfinite(bound)
        distance = np.where(finite, alpha - np.where(finite, bound, 0.0), 0.0)
        block = np.hstack([(rows * distance).T, -np.eye(size)])
        left.append(block[finite])
        right.append(-(gradient * distance)[finite])
        # an infinite bound: the reduced gradient must not point to this side
        left.append(np.hstack([outward * rows.T, np.zeros((size, size))])[~finite])
        right.append(-outward * gradient[~finite])
    bounds = [(None, None)] * len(rows) + [(0, None)] * size
    left_side, right_side = np.vstack(left), np.concatenate(right)
    answer = scipy.optimize.linprog(cost, A_ub=left_side, b_ub=right_side, bounds=bounds, method="highs")
    if answer.x is None:
        return np.asarray(np.linalg.lstsq(rows.T, -gradient, rcond=None)[0], dtype=np.float64)
    return np.asarray(answer.x[: len(rows)], dtype=np.float64)


def _by_bisection(problem: Problem, alpha: Array, gradient: Array) -> Array:
    """Find the root of the derivative of the gap, aᵀ(α − x(μ)), which increases with μ_k.           docs/math (315)

    Here x(μ) maximizes −(g + Aᵀμ)ᵀx − h(x). Rows that share variables are minimized alternately.
    """
    rows, mu = problem.A, np.zeros(len(problem.A))
    shared = share_variables(rows)
    for _ in range(30 if shared else 1):
        before = mu.copy()
        for k, row in enumerate(rows):
            others = gradient + mu @ rows - mu[k] * row
            mu[k] = _root(problem, alpha, others, row, mu[k])
        if np.allclose(mu, before, rtol=1e-14, atol=0.0):
            break
    return mu


def _root(problem: Problem, alpha: Array, slope: Array, row: Array, start: float) -> float:
    """Return the midpoint of the interval of roots, or its finite end."""
    term = problem.term
    assert term is not None
    if not np.any(row):
        return 0.0

    def derivative(mu: float) -> float:
        with np.errstate(invalid="ignore", over="ignore"):
            return float(np.nansum(row * (alpha - term.answer(slope + mu * row, problem.lower, problem.upper))))

    left = _first(lambda mu: derivative(mu) >= 0, start)
    right = _first(lambda mu: derivative(mu) > 0, start if np.isinf(left) else left)
    if np.isfinite(left) and np.isfinite(right):
        return 0.5 * (left + right)
    return left if np.isfinite(left) else right if np.isfinite(right) else start


def _first(holds: Callable[[float], bool], start: float) -> float:
    """Return the smallest μ for which a monotone condition holds; ∓∞ if it holds always or never."""
    step = max(1.0, abs(start))
    low = high = start
    if holds(start):
        while holds(low):
            if step > INFINITE_MULTIPLIER:
                return -np.inf
            low, high, step = start - step, low, 16 * step
    else:
        while not holds(high):
            if step > INFINITE_MULTIPLIER:
                return np.inf
            low, high, step = high, start + step, 16 * step
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
