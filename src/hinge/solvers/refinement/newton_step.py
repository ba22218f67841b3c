"""Linear system of a Newton step of the proximal-point method, of the size of the samples with a free variable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from hinge.problems import Array, Problem

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

#: Singular values below this share of the largest count as zero in the equations of the rows.
ROW_RANK_TOL = 1e-14

#: Relative violation of a row without free variables above which a step fails.
FIXED_ROW_TOL = 1e-14

#: A product with the columns of m changed samples is computed with the whole matrix if this multiple of m exceeds n.
FULL_PRODUCT_FACTOR = 3


def row_basis(problem: Problem) -> Array:
    """Matrix that replaces the two rows of a problem with two slots by their difference and sum.  docs/math (378)

    If both variables of a sample are free, the sum is δ⁻¹ times larger than the difference, which rounding would erase.
    """
    if len(problem.d) == 2 and problem.Q.slots == 2 and not np.any(problem.A[0] * problem.A[1]):
        return np.array([[1.0, -1.0], [1.0, 1.0]])
    return np.eye(len(problem.d))


class NewtonStep:
    """One Newton step for min ½xᵀQx + pᵀx + ½xᵀdx + ½δ‖x − c‖²  s.t.  Ax = d,  l ≤ x ≤ u.  docs/math (375), (378)

    Parameters
    ----------
    problem : Problem
    K : ndarray
        The kernel matrix.
    center : ndarray
        c, the last solution.
    delta : float
        δ.
    inverse : ndarray
        1 / (δ + dᵥ).
    """

    def __init__(self, problem: Problem, K: Array, center: Array, delta: float, inverse: Array) -> None:
        self.problem, self.K, self.center, self.delta, self.inverse = problem, K, center, delta, inverse
        self.constant = delta * center - problem.p

    def solve(self, x: Array, free: Mask, beta: Array, mu: Array, f: Array) -> tuple[Array, Array] | None:
        """β and μ after the step from (beta, mu, f = Kβ); None if the system is singular.

        `x` has the values of the variables at their bounds; the values of the free variables are written into it.
        """
        problem, inverse = self.problem, self.inverse
        n, slots, sign, A = problem.Q.n, problem.Q.slots, problem.Q.sign, problem.A
        members = np.flatnonzero(free)
        fixed = problem.Q.coefficients(x)
        need = problem.d - A @ x
        if members.size == 0:
            return None if np.any(np.abs(need) > FIXED_ROW_TOL * (np.abs(A) @ np.abs(x))) else (fixed, mu)
        weight: Array = np.bincount(members % n, inverse[members], minlength=n).astype(np.float64)
        S = np.flatnonzero(weight)
        rows = [sign * (self.constant * inverse)] + [sign * inverse * row for row in A]
        if slots == 1:
            columns = np.stack([row[S] for row in rows], axis=1)
        else:
            columns = np.stack([np.bincount(members % n, row[members], minlength=n)[S] for row in rows], axis=1)
        weight = weight[S]
        columns /= weight[:, None]
        system = self.K[S].take(S, axis=1)
        current, G = (beta - fixed)[S], columns[:, 1:]
        right = columns.copy()
        # the residual at the current point: a step corrects the rounding errors of the steps before it
        right[:, 0] -= self._product(f, fixed - beta, S) + current / weight + G @ mu
        system.flat[:: len(S) + 1] += 1.0 / weight
        factor, info = lapack.dpotrf(system.T, lower=0, overwrite_a=1, clean=0)
        if info != 0:
            return None
        solved = np.asarray(lapack.dpotrs(factor, right, lower=0)[0])
        beta_S = current + solved[:, 0]
        if len(A):
            H, rest = self._several_free(members, S, weight)
            missing = G.T @ beta_S + rest - H @ mu - need
            schur = G.T @ solved[:, 1:] + H
            scale = np.sqrt(np.maximum(np.diagonal(schur), 1e-300))
            change = np.linalg.lstsq(schur / np.outer(scale, scale), missing / scale, rcond=ROW_RANK_TOL)[0] / scale
            change = np.where(np.diagonal(schur) > 0, change, 0.0)  # a row without free variables does not determine μ
            mu, beta_S = mu + change, beta_S - solved[:, 1:] @ change
        if slots == 1:
            x[S] = sign[S] * beta_S
        else:
            self._distribute(x, members, mu, S, beta_S, weight)
        fixed[S] += beta_S
        return fixed, mu

    def _product(self, f: Array, change: Array, S: Index) -> Array:
        """Kβ on S after a change of the coefficients of the samples outside of S."""
        change[S] = 0.0
        others = np.flatnonzero(change)
        if FULL_PRODUCT_FACTOR * len(others) > self.problem.Q.n:
            return np.asarray(f[S] + (self.K @ change)[S])
        return f[S] + self.K[S[:, None], others] @ change[others] if others.size else f[S]

    # ---- samples with several free variables ------------------------------------------------------------------

    def _distribute(self, x: Array, members: Index, mu: Array, S: Index, beta_S: Array, weight: Array) -> None:
        """Distribute the coefficients of the samples among their free variables.

        The terms of the residual are projected one by one, since each projection can be exactly zero. The projection of
        their sum, divided by δ, would be a rounding error.
        """
        n, sign, at = self.problem.Q.n, self.problem.Q.sign[members], members % self.problem.Q.n
        inverse = self.inverse[members]
        inside = self.delta * self._projected(self.center, members, S, weight)
        for factor, term in zip([1.0, *mu], [self.problem.p, *self.problem.A], strict=True):
            inside -= factor * self._projected(term, members, S, weight)
        x[members] = inverse * inside
        missing, total = np.zeros(n), np.ones(n)
        missing[S], total[S] = beta_S, weight
        missing -= np.bincount(at, sign * x[members], minlength=n)
        x[members] += sign * inverse / total[at] * missing[at]

    def _several_free(self, members: Index, S: Index, weight: Array) -> tuple[Array, Array]:
        """Terms of the equations of the rows from samples with several free variables; zero for all others."""
        A, n, rows = self.problem.A, self.problem.Q.n, len(self.problem.A)
        if self.problem.Q.slots == 1 or np.max(np.bincount(members % n, minlength=n)) == 1:
            return np.zeros((rows, rows)), np.zeros(rows)
        projected = np.stack([self._projected(row, members, S, weight) for row in A])
        constant = self.delta * self._projected(self.center, members, S, weight)
        constant -= self._projected(self.problem.p, members, S, weight)
        weighted = projected * self.inverse[members]
        return weighted @ projected.T, weighted @ constant

    def _projected(self, values: Array, members: Index, S: Index, weight: Array) -> Array:
        """Values of the free variables, projected onto the directions that leave the coefficients of samples unchanged.

        The projection is zero for the only free variable of a sample.
        """
        n, sign, at = self.problem.Q.n, self.problem.Q.sign[members], members % self.problem.Q.n
        total = np.ones(n)
        total[S] = weight
        several = (np.bincount(at, minlength=n) > 1)[at]
        mean = np.bincount(at, sign * self.inverse[members] * values[members], minlength=n) / total
        return np.where(several, values[members] - sign * mean[at], 0.0)
