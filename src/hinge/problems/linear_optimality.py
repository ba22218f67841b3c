"""Optimality of linear functions as solvers compute it, and the null model.  See `hinge.problems.optimality`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hinge.problems.certificate import relative
from hinge.problems.linear import Bias, LinearProblem, LinearSolution
from hinge.problems.optimality import Optimality
from hinge.problems.separable import Array
from hinge.problems.solution import History
from hinge.problems.status import Status

BLOCK_VALUES = 1 << 22  # entries of X that are converted to float64 at a time


def linear_optimality(problem: LinearProblem, weights: Array, offset: float, beta: Array) -> Optimality:
    """Compute the optimality of (w, b) and β from the data, for solvers.                  docs/math (104)–(106)"""
    w = np.asarray(weights, dtype=np.float64)
    beta = np.asarray(beta, dtype=np.float64)
    f, combined = np.empty(problem.n), np.zeros(len(w))
    for rows, block in row_blocks(problem.X):
        f[rows] = block @ w + offset
        combined += block.T @ beta[rows]
    best = _best_dual(problem, f)
    parts = (best - beta) * (problem.target - f - 0.5 * problem.ridge * (best + beta))
    parts -= problem.tube * (np.abs(best) - np.abs(beta))
    losses = best * (problem.target - f) - problem.tube * np.abs(best) - 0.5 * problem.ridge * best**2
    total = float(np.sum(beta))
    gap = float(np.sum(np.maximum(parts, 0.0))) + 0.5 * float(np.sum((w - combined) ** 2))
    primal = 0.5 * float(w @ w) + float(np.sum(losses)) + problem.total * offset
    if problem.bias is Bias.PENALIZED:
        scale = problem.bias_scale
        gap += 0.5 * (offset / scale - scale * total) ** 2
        primal += 0.5 * (offset / scale) ** 2
    outside = float(np.max(np.maximum(problem.lower - beta, beta - problem.upper), initial=0.0))
    surplus = abs(total - problem.total) if problem.bias is Bias.FREE else 0.0
    gap += abs(offset) * surplus
    mu = np.array([offset] if problem.bias is not Bias.NONE else [])
    share = relative(gap, primal, primal - gap)
    violation = _kkt_violation(problem, f, beta)
    return Optimality(primal, primal - gap, gap, share, violation, max(outside, surplus, 0.0), mu)


def _best_dual(problem: LinearProblem, f: Array) -> Array:
    """Return argmax of −fβ − h(β) over the box; (102)."""
    residual = problem.target - f
    linear = np.where(residual > problem.tube, problem.upper, np.where(residual < -problem.tube, problem.lower, 0.0))
    excess = np.sign(residual) * np.maximum(np.abs(residual) - problem.tube, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        smooth = np.clip(excess / problem.ridge, problem.lower, problem.upper)
    return np.where(problem.ridge > 0, smooth, linear)


def _kkt_violation(problem: LinearProblem, f: Array, beta: Array) -> float:
    slope = f + problem.ridge * beta - problem.target
    right = slope + np.where(beta >= 0, problem.tube, -problem.tube)
    left = slope + np.where(beta > 0, problem.tube, -problem.tube)
    rising = np.max(-right[beta < problem.upper], initial=0.0)
    falling = np.max(left[beta > problem.lower], initial=0.0)
    return float(max(rising, falling))


def row_blocks(X: Any) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of rows of X in float64."""
    step = max(1, BLOCK_VALUES // max(1, int(X.shape[1]))) if not hasattr(X, "indptr") else 1 << 16
    for first in range(0, X.shape[0], step):
        rows = slice(first, min(X.shape[0], first + step))
        yield rows, X[rows].astype(np.float64)


# ---- null model -----------------------------------------------------------------------------------------------------


def constant_function(problem: LinearProblem, status: Status, error: BaseException | None = None) -> LinearSolution:
    """Return the null model w = 0, β = 0 with the best of a few offsets, for runs that stop before their first point.

    The samples are not read. β = 0 is feasible only if the total is zero.
    """
    if problem.total != 0:
        raise ValueError(f"total={problem.total:g} must be zero: otherwise the null model has no feasible dual point")
    offset, primal = min(((b, _value_at(problem, b)) for b in _offsets(problem)), key=lambda pair: pair[1])
    zeros = np.zeros(problem.n)
    return LinearSolution(
        weights=np.zeros(problem.X.shape[1]),
        offset=offset,
        beta=zeros,
        primal=primal,
        dual=0.0,
        gap=primal,
        violation=_kkt_violation(problem, np.full(problem.n, offset), zeros),
        status=status,
        iterations=0,
        history=History.empty(),
        error=error,
        counters=dict.fromkeys(("epochs", "newton_steps", "sample_steps", "passes", "work"), 0),
    )


def _offsets(problem: LinearProblem) -> list[float]:
    if problem.bias is Bias.NONE or not problem.n:
        return [0.0]
    target = problem.target
    return [0.0, float(np.min(target)), float(np.max(target)), float(np.median(target)), float(np.mean(target))]


def _value_at(problem: LinearProblem, offset: float) -> float:
    """Return the primal value of the constant function `offset`."""
    residual = problem.target - offset
    best = _best_dual(problem, np.full(problem.n, offset))
    losses = best * residual - problem.tube * np.abs(best) - 0.5 * problem.ridge * best**2
    scaled_offset = offset / problem.bias_scale if problem.bias is Bias.PENALIZED else 0.0
    return float(np.sum(losses)) + (abs(scaled_offset) if problem.l1 else 0.5 * scaled_offset**2)
