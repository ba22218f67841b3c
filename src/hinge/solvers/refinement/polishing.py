"""Polishing: exact solution of the optimality conditions on the active set, for problems of dense linear algebra."""

from __future__ import annotations

import time

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.problems import Array, Problem, dot, optimal_offset

Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

#: Linear systems after which polishing fails.
MAX_ROUNDS = 20

#: Rounds without fewer wrong variables after which polishing fails; successful runs have at most one.
MAX_STALLED_ROUNDS = 3

#: Times that the gradient is recomputed because the updated one was inaccurate, before polishing fails.
MAX_REFRESHES = 3

#: Unknowns of a singular system above which polishing fails: least squares would take too long.
MAX_SINGULAR = 600

#: Unknowns of a system above which polishing fails if an earlier, smaller system was singular. With more free variables
#: than the rank of the kernel matrix, the least-squares solution is far from the optimum. Then most variables become
#: free, the systems stay singular, and polishing fails after a few large ones.
MAX_GROWN_SYSTEM = 160

#: Singular values below this share of the largest count as zero in least-squares solutions.
RANK_TOL = 1e-12

#: Residuals below this share of the largest slope are rounding errors.
SLOPE_ROUNDING = 1e-13

#: Multiples of this rounding error above which the slope of a free variable is not zero, and above which an updated
#: gradient differs so much from the recomputed one that another round is needed.
NONZERO_SLOPE_FACTOR, INACCURATE_SLOPE_FACTOR = 1e4, 100

#: Relative violation of an equality row up to which it is not corrected, and above which polishing fails.
ROW_ROUNDING, MAX_ROW_VIOLATION = 1e-15, 1e-8


def polish(
    problem: Problem,
    alpha: Array,
    gradient: Array,
    reference: Array | None = None,
    reference_gradient: Array | None = None,
    max_free: int = 1000,
    max_singular: int = MAX_SINGULAR,
    deadline: float | None = None,
) -> tuple[Array, Array] | None:
    """Solve the optimality conditions of the free variables; return (alpha, gradient), or None if that fails.

    A primal–dual active-set iteration: solve the linear system of the optimality conditions for the free variables,
    move variables that leave their box to the bound, free those whose multiplier has the wrong sign, and repeat until
    nothing changes.  docs/math (9)

    Parameters
    ----------
    problem : Problem
        Without a term h.
    alpha, gradient : ndarray
        A nearly optimal point. Its variables inside their bounds are the first free ones.
    reference, reference_gradient : ndarray, optional
        A feasible point whose objective the result must not exceed; `alpha` by default.
    max_free, max_singular : int
        Free variables, and unknowns of a singular system, above which polishing fails.
    deadline : float, optional
        Time of `time.monotonic` after which polishing fails.
    """
    if reference is None:
        reference, reference_gradient = alpha, gradient
    max_value = problem.value(reference, reference_gradient)
    iteration = _ActiveSet(problem, alpha, gradient, max_singular)
    for _ in range(MAX_ROUNDS):
        if iteration.index.size > max_free or (deadline is not None and time.monotonic() > deadline):
            return None
        solved = iteration.step()
        if solved is None:
            return None
        if solved:
            return iteration.result(max_value)
    return None


class _ActiveSet:
    """The point, its gradient, and the free variables."""

    def __init__(self, problem: Problem, alpha: Array, gradient: Array, max_singular: int) -> None:
        self.problem, self.max_singular = problem, max_singular
        self.point, self.slope = alpha.copy(), gradient.copy()
        self.free: Mask = (alpha > problem.lower) & (alpha < problem.upper)
        self.index: Index = np.flatnonzero(self.free)
        self.max_size = problem.size  # unknowns of the next system
        self.noise = SLOPE_ROUNDING * (1.0 + float(np.max(np.abs(gradient), initial=0.0)))
        self.fewest_wrong, self.stalled, self.refreshes = problem.size + 1, 0, 0

    def step(self) -> bool | None:
        """Solve for the free variables and correct the active set; True if it is confirmed, None if polishing fails."""
        problem, index = self.problem, self.index
        if index.size > self.max_size:
            return None
        step, mu, singular = _solve(problem, index, self.point, self.slope, self.max_singular)
        if step is None:
            return None
        if singular:
            self.max_size = max(index.size, MAX_GROWN_SYSTEM)
        moved = self.point[index] + step
        inside = np.clip(moved, problem.lower[index], problem.upper[index])
        self._move(index, inside - self.point[index])
        self.point[index] = inside
        unused = ~np.any(problem.A[:, index] != 0, axis=1)  # rows without a free variable do not determine μ
        if unused.any():
            mu[unused] = optimal_offset(problem, self.point, self.slope)[unused]
        residual = problem.reduced_gradient(self.slope, mu)
        outside = moved != inside
        wrong = ~self.free & _points_inside(problem, self.point, residual, self.noise)
        if not outside.any() and not wrong.any():
            return self._confirm(residual, mu)
        return self._change_active_set(outside, wrong)

    def _move(self, index: Index, step: Array) -> None:
        """Update the gradient for a step of some variables, from their columns of K."""
        Q = self.problem.Q
        columns = Q.access.block(np.arange(Q.n), index % Q.n)
        self.slope = self.slope + Q.spread(columns @ (Q.sign[index] * step))

    def _change_active_set(self, outside: Mask, wrong: Mask) -> bool | None:
        count = int(outside.sum() + wrong.sum())
        if count < self.fewest_wrong:
            self.fewest_wrong, self.stalled = count, 0
        else:
            self.stalled += 1
        if self.stalled == MAX_STALLED_ROUNDS:
            return None
        self.free[self.index[outside]] = False
        self.free |= wrong
        self.index = np.flatnonzero(self.free)
        return False

    def _confirm(self, residual: Array, mu: Array) -> bool | None:
        """Check a point whose active set did not change, with a recomputed gradient."""
        problem, index = self.problem, self.index
        slopes = np.where(self.free, np.abs(residual), 0.0)
        steepest = int(np.argmax(slopes))
        if slopes[steepest] > NONZERO_SLOPE_FACTOR * self.noise:  # no curvature, no stationary point: move to the bound
            return self._move_to_bound(steepest, residual[steepest])
        if not balance(problem, self.point, index):
            return None
        updated, self.slope = self.slope, problem.gradient(self.point)
        accurate = np.max(np.abs(self.slope - updated)[index], initial=0.0) <= INACCURATE_SLOPE_FACTOR * self.noise
        if accurate and not np.any(
            ~self.free & _points_inside(problem, self.point, problem.reduced_gradient(self.slope, mu), self.noise)
        ):
            return True
        if self.refreshes == MAX_REFRESHES:
            return None
        self.refreshes += 1  # the updated gradient was inaccurate: from float32 rows, or after many updates
        return False

    def _move_to_bound(self, variable: int, residual: float) -> bool | None:
        bound = (self.problem.lower if residual > 0 else self.problem.upper)[variable]
        if not np.isfinite(bound):
            return None
        self._move(np.array([variable]), np.array([bound - self.point[variable]]))
        self.point[variable], self.free[variable] = bound, False
        self.index = np.flatnonzero(self.free)
        return False

    def result(self, max_value: float) -> tuple[Array, Array] | None:
        """The point and its gradient; None if the objective is larger, which an indefinite Q can cause."""
        problem = self.problem
        rounding = 1e-12 * float(np.abs(self.point) @ (np.abs(self.slope) + np.abs(problem.p)))
        if problem.value(self.point, self.slope) > max_value + rounding:
            return None
        return self.point, self.slope


def _points_inside(problem: Problem, point: Array, residual: Array, noise: float) -> Mask:
    """Variables at a bound whose descent direction points into the box."""
    lower, upper = problem.lower, problem.upper
    inside: Mask = ((point <= lower) & (point < upper) & (residual < -noise)) | (
        (point >= upper) & (point > lower) & (residual > noise)
    )
    return inside


def _solve(
    problem: Problem, index: Index, point: Array, slope: Array, max_singular: int
) -> tuple[Array | None, Array, bool]:
    """The step δ of the free variables, μ, and whether the system is singular.

        Q_FF δ + A_Fᵀμ = −g_F,   A_F δ = d − Aα

    If the system is singular, as with duplicate samples, the solution has the smallest ‖α_F‖: it does not depend on the
    initial point. The step is None if a singular system has more than `max_singular` unknowns.
    """
    mu, size = np.zeros(len(problem.A)), len(index)
    if size == 0:
        return np.zeros(0), mu, False
    used = np.any(problem.A[:, index] != 0, axis=1)
    rows = problem.A[used][:, index]
    system = np.zeros((size + len(rows), size + len(rows)))
    system[:size, :size] = problem.Q.block(index, index)
    system[:size, size:], system[size:, :size] = rows.T, rows
    right = np.concatenate([-slope[index], -problem.equality_residual(point)[used]])
    solution = _symmetric_solve(system, right)
    singular = solution is None
    if solution is None:
        if size > max_singular:
            return None, mu, True
        here = np.concatenate([point[index], np.zeros(len(rows))])
        solution = _least_squares(system, right + system @ here) - here
        solution += _least_squares(system, right - system @ solution)
    mu[used] = solution[size:]
    return solution[:size] if np.isfinite(solution).all() else None, mu, singular


def _symmetric_solve(system: Array, right: Array) -> Array | None:
    """The solution by LAPACK's symmetric indefinite factorization; None if the system is singular to rounding."""
    factor, pivots, solution, info = scipy.linalg.lapack.dsysv(system, right, lower=1)
    if info != 0:
        return None
    norm = float(np.max(np.sum(np.abs(system), axis=0)))
    reciprocal_condition, info = scipy.linalg.lapack.dsycon(factor, pivots, norm, lower=1)
    return np.asarray(solution).ravel() if info == 0 and reciprocal_condition > np.finfo(float).eps else None


def _least_squares(system: Array, right: Array) -> Array:
    return np.asarray(scipy.linalg.lstsq(system, right, cond=RANK_TOL, lapack_driver="gelsy")[0])


# ---- equality rows -----------------------------------------------------------------------------------------------


def balance(problem: Problem, point: Array, index: Index) -> bool:
    """Correct rounding errors of the equality rows in place; False if they are too large to be rounding errors.

    Each row is corrected at the free variable (of `index`) that is farthest from its bounds.
    """
    _balance_both_slots(problem, point)
    for row, target in zip(problem.A, problem.d, strict=True):
        missing = target - dot(row, point)
        scale = dot(np.abs(row), np.abs(point)) + abs(target)
        if abs(missing) <= ROW_ROUNDING * scale:
            continue
        members = index[row[index] != 0]
        if members.size == 0 or abs(missing) > MAX_ROW_VIOLATION * scale:
            return False
        distance = np.minimum(point[members] - problem.lower[members], problem.upper[members] - point[members])
        corrected = members[np.argmax(distance)]
        point[corrected] += missing / row[corrected]
        if not problem.lower[corrected] <= point[corrected] <= problem.upper[corrected]:
            return False
    return True


def _balance_both_slots(problem: Problem, point: Array) -> None:
    """Correct the common error of two rows, one for each slot, at both variables of one sample: f does not change."""
    n, A = problem.Q.n, problem.A
    if problem.Q.slots != 2 or len(A) != 2 or np.any(A[0, n:]) or np.any(A[1, :n]):
        return
    missing = (problem.d - A @ point) * [np.sign(A[0].sum()), np.sign(A[1].sum())]
    common = float(np.sign(missing[0]) * np.min(np.abs(missing))) if missing[0] * missing[1] > 0 else 0.0
    distance = problem.upper - point if common > 0 else point - problem.lower
    free = (point > problem.lower) & (point < problem.upper) & (np.abs(A).sum(axis=0) == 1)
    distance = np.minimum(*np.where(free, distance, 0.0).reshape(2, n))
    sample = int(np.argmax(distance))
    if common and distance[sample] > 10 * abs(common):
        point[[sample, sample + n]] += common
