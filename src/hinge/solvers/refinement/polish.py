"""From a nearly optimal point to an exact one, where the problem is small enough for dense algebra."""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack

from hinge.problems import Array, Problem, dot, optimal_offset

MAX_ROUNDS = 20

#: Singular systems up to this size are solved by least squares; larger ones are given up.
MAX_SINGULAR = 600

#: Rounds in which the guess gets no better before it is given up: those that succeed never have more than one.
MAX_IDLE = 3


def polish(
    problem: Problem,
    alpha: Array,
    gradient: Array,
    known: Array | None = None,
    known_gradient: Array | None = None,
    max_free: int = 1000,
    max_singular: int = MAX_SINGULAR,
    deadline: float | None = None,
) -> tuple[Array, Array] | None:
    """(alpha, gradient) with the optimality conditions solved on the free variables, or None if that fails.

    A primal-dual active set iteration: guess which variables are free, solve the linear system of the
    optimality conditions for them, move variables that left their box to the bound and free those whose multiplier
    has the wrong sign, until the guess confirms itself.                                docs/math (9)

    The answer's objective must not be above that of `known`, a feasible point (`alpha` itself when left out).
    """
    lower, upper = problem.lower, problem.upper
    value = problem.value(alpha, gradient) if known is None else problem.value(known, known_gradient)
    point, slope = alpha.copy(), gradient.copy()
    free = (point > lower) & (point < upper)
    noise = 1e-13 * (1.0 + float(np.max(np.abs(slope), initial=0.0)))
    fewest, idle_rounds, refreshes = problem.size + 1, 0, 0
    for _ in range(MAX_ROUNDS):
        index = np.flatnonzero(free)
        if index.size > max_free or (deadline is not None and time.monotonic() > deadline):
            return None
        step, mu = _solve(problem, index, point, slope, max_singular)
        if step is None:
            return None
        moved = point[index] + step
        inside = np.clip(moved, lower[index], upper[index])
        slope = _shifted(problem, slope, index, inside - point[index])
        point[index] = inside
        idle = ~np.any(problem.A[:, index] != 0, axis=1)  # rows without a free variable have a choice of multipliers
        if idle.any():
            mu[idle] = optimal_offset(problem, point, slope)[idle]
        residual = problem.reduced_gradient(slope, mu)
        outside = moved != inside
        wrong = ~free & _pushed_inside(problem, point, residual, noise)
        if not outside.any() and not wrong.any():
            sloping = np.where(free, np.abs(residual), 0.0)
            steepest = int(np.argmax(sloping))
            if sloping[steepest] > 1e4 * noise:  # no curvature, no stationary point: to the end with it
                end = (lower if residual[steepest] > 0 else upper)[steepest]
                if not np.isfinite(end):
                    return None
                slope = _shifted(problem, slope, np.array([steepest]), np.array([end - point[steepest]]))
                point[steepest], free[steepest] = end, False
                continue
            if not balance(problem, point, index):
                return None
            supposed, slope = slope, problem.gradient(point)
            confirmed = np.max(np.abs(slope - supposed)[index], initial=0.0) <= 100 * noise and not np.any(
                ~free & _pushed_inside(problem, point, problem.reduced_gradient(slope, mu), noise)
            )
            if not confirmed:  # the slope was not exact: that of rows in single precision, or of many rounds
                if refreshes == MAX_IDLE:
                    return None
                refreshes += 1
                continue
            rounding = 1e-12 * float(np.abs(point) @ (np.abs(slope) + np.abs(problem.p)))
            uphill = problem.value(point, slope) > value + rounding  # where an indefinite Q may lead
            return None if uphill else (point, slope)
        mistakes = int(outside.sum() + wrong.sum())
        fewest, idle_rounds = (mistakes, 0) if mistakes < fewest else (fewest, idle_rounds + 1)
        if idle_rounds == MAX_IDLE:
            return None
        free[index[outside]] = False
        free |= wrong
    return None


def _pushed_inside(problem: Problem, point: Array, residual: Array, noise: float) -> NDArray[np.bool_]:
    """Which variables are at a bound that the residual pushes them away from."""
    lower, upper = problem.lower, problem.upper
    inside: NDArray[np.bool_] = ((point <= lower) & (point < upper) & (residual < -noise)) | (
        (point >= upper) & (point > lower) & (residual > noise)
    )
    return inside


def _shifted(problem: Problem, slope: Array, index: NDArray[np.intp], step: Array) -> Array:
    """The gradient after a step of some variables, from their columns alone."""
    Q = problem.Q
    columns = Q.access.block(np.arange(Q.n), index % Q.n)
    return slope + Q.spread(columns @ (Q.sign[index] * step))


def balance(problem: Problem, point: Array, index: NDArray[np.intp]) -> bool:
    """Give what rounding left missing in each row to the free variable with most room; False if that is too much."""
    _balance_pairs(problem, point)
    for row, target in zip(problem.A, problem.d, strict=True):
        missing = target - dot(row, point)
        scale = dot(np.abs(row), np.abs(point)) + abs(target)
        if abs(missing) <= 1e-15 * scale:
            continue
        members = index[row[index] != 0]
        if members.size == 0 or abs(missing) > 1e-8 * scale:
            return False
        room = np.minimum(point[members] - problem.lower[members], problem.upper[members] - point[members])
        roomy = members[np.argmax(room)]
        point[roomy] += missing / row[roomy]
        if not problem.lower[roomy] <= point[roomy] <= problem.upper[roomy]:
            return False
    return True


def _balance_pairs(problem: Problem, point: Array) -> None:
    """Of two rows, one for each slot, what is missing in both goes to both variables of one sample: f stays."""
    n, A = problem.Q.n, problem.A
    if problem.Q.slots != 2 or len(A) != 2 or np.any(A[0, n:]) or np.any(A[1, :n]):
        return
    missing = (problem.d - A @ point) * [np.sign(A[0].sum()), np.sign(A[1].sum())]
    common = float(np.sign(missing[0]) * np.min(np.abs(missing))) if missing[0] * missing[1] > 0 else 0.0
    room = problem.upper - point if common > 0 else point - problem.lower
    free = (point > problem.lower) & (point < problem.upper) & (np.abs(A).sum(axis=0) == 1)
    room = np.minimum(*np.where(free, room, 0.0).reshape(2, n))
    sample = int(np.argmax(room))
    if common and room[sample] > 10 * abs(common):
        point[[sample, sample + n]] += common


def _solve(
    problem: Problem, index: NDArray[np.intp], point: Array, slope: Array, max_singular: int
) -> tuple[Array | None, Array]:
    """The step δ of the free variables and μ:  Q_FF δ + A_Fᵀμ = −g_F,  A_F δ = d − Aα.

    Where the system is singular (duplicates) the answer is the one with the smallest α_F: it does not depend on the
    point one came from.
    """
    mu, size = np.zeros(len(problem.A)), len(index)
    if size == 0:
        return np.zeros(0), mu
    used = np.any(problem.A[:, index] != 0, axis=1)
    rows = problem.A[used][:, index]
    system = np.zeros((size + len(rows), size + len(rows)))
    system[:size, :size] = problem.Q.block(index, index)
    system[:size, size:], system[size:, :size] = rows.T, rows
    right = np.concatenate([-slope[index], -problem.equality_residual(point)[used]])
    here = np.concatenate([point[index], np.zeros(len(rows))])
    answer = _symmetric_solve(system, right)
    if answer is None:
        if size > max_singular:
            return None, mu
        cutoff = 1e-12
        smallest = scipy.linalg.lstsq(system, right + system @ here, cond=cutoff, lapack_driver="gelsy")[0]
        answer = smallest - here
        answer += scipy.linalg.lstsq(system, right - system @ answer, cond=cutoff, lapack_driver="gelsy")[0]
    mu[used] = answer[size:]
    return answer[:size] if np.isfinite(answer).all() else None, mu


def _symmetric_solve(system: Array, right: Array) -> Array | None:
    """The solution by LAPACK's symmetric factorisation; None where the system is singular to rounding."""
    factor, pivots, answer, info = lapack.dsysv(system, right, lower=1)
    if info != 0:
        return None
    reciprocal, info = lapack.dsycon(factor, pivots, float(np.max(np.sum(np.abs(system), axis=0))), lower=1)
    return np.asarray(answer).ravel() if info == 0 and reciprocal > np.finfo(float).eps else None
