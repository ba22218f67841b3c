"""All classes at once where coordinate descent creeps: an interior point method on the primal, for few features.

With λ_i^m = C_i [m = y_i] − α_i^m ≥ 0, Σ_m λ_i^m = C_i and slacks s_i^m = ξ_i − (e_i^m + f_i^m − f_i^{y_i}) ≥ 0, the
products λs go to zero together.   docs/math (134)–(135)
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from hinge.control import RunControl
from hinge.problems import (
    Array,
    Bias,
    CrammerSingerProblem,
    CrammerSingerSolution,
    Status,
    certify_crammer_singer,
)
from hinge.solvers.base import stop_status
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.refinement.verify_linear import relative_gap, with_proof

#: Unknowns of its linear system, and products to form one, up to which it takes over.
MOST_UNKNOWNS, MOST_PRODUCTS = 1000, 1e9

#: Iterations; thirty are many.
MOST_ITERATIONS = 100

#: A step goes so far of the way to the nearest bound, and the gap may stay so many iterations where it is.
TO_THE_BOUND, PATIENCE = 0.995, 8


def is_small(problem: CrammerSingerProblem) -> bool:
    """Whether an iteration costs little."""
    n, k = problem.X.shape[0], problem.classes
    width = min(n, problem.X.shape[1]) + 1
    return k * width <= MOST_UNKNOWNS and n * float(k * width) ** 2 <= MOST_PRODUCTS


def by_interior_point(
    problem: CrammerSingerProblem,
    crept: CrammerSingerSolution,
    tol: float,
    control: RunControl,
    most: int = -1,
) -> CrammerSingerSolution:
    """What `crept` was on its way to, in at most `most` steps (−1: all); `crept` itself where that is no better."""
    began = time.monotonic()
    best, status, idle, steps, least = crept, Status.NUMERICAL, 0, 0, np.inf  # what it has not found, rounding hides
    error: BaseException | None = None
    try:
        with single_thread():
            path = _Path(problem)
            while idle < PATIENCE and steps < MOST_ITERATIONS:
                if steps == most:
                    status = Status.MAX_ITER
                    break
                if not path.step():
                    break
                steps += 1
                found = path.solution(best)
                idle = 0 if found.gap < 0.9 * least else idle + 1
                least = min(least, found.gap)
                if relative_gap(found) < relative_gap(best):
                    best = found
                if relative_gap(best) <= tol:
                    status = Status.SOLVED
                    break
                stopped = stop_status(control, _snapshot(found, crept.iterations + steps, time.monotonic() - began))
                error = control.interrupt
                if stopped is not None or error is not None:
                    status = Status.INTERRUPTED if stopped is None else stopped
                    break
    except BaseException as interruption:  # a signal, or an exception of the callback
        status, error = Status.INTERRUPTED, interruption
    return replace(best, status=status, error=error, iterations=crept.iterations + steps)


def _snapshot(found: CrammerSingerSolution, iteration: int, seconds: float) -> dict[str, Any]:
    return {
        "iteration": iteration, "seconds": seconds, "violation": found.violation, "primal": found.primal,
        "dual": found.dual, "gap": found.gap, "active": len(found.alpha), "exact": True,
    }  # fmt: skip


@dataclass
class _Direction:
    weights: Array
    slack: Array
    dual: Array


class _Path:
    """The point and its steps. Features that the samples do not span are left out; the offset is one more."""

    def __init__(self, problem: CrammerSingerProblem) -> None:
        self.problem = problem
        X: Any = problem.X
        X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        n, d = X.shape
        self.basis: Array | None = None
        if d > n:
            self.basis, triangle = np.linalg.qr(X.T)
            X = triangle.T
        self.width = X.shape[1]
        self.ridge = np.ones(self.width)
        self.scale = 0.0
        if problem.bias is not Bias.NONE:
            free = problem.bias is Bias.FREE
            self.scale = float(np.sqrt(np.mean(X**2)) or 1.0) if free else problem.bias_scale
            X = np.hstack([X, np.full((n, 1), self.scale)])
            self.ridge = np.append(self.ridge, 0.0 if free else 1.0)
        self.X, k = X, problem.classes
        self.own = np.eye(k, dtype=bool)[problem.label]
        self.w = np.zeros((k, X.shape[1]))
        self.dual = np.repeat(problem.cost[:, None] / k, k, axis=1)
        self.margin = np.where(self.own, 0.0, 1.0)
        self.slack = 2.0 - self.margin

    def step(self) -> bool:
        """A predictor and a corrector; False where rounding has made the system useless."""
        curvature = self.dual / self.slack
        mean = float(np.mean(self.dual * self.slack))
        factor = self._factor(curvature)
        if factor is None or not np.isfinite(mean):
            return False
        ahead = self._direction(factor, curvature, -self.dual)
        length = self._length(ahead)
        after = float(np.mean((self.dual + length * ahead.dual) * (self.slack + length * ahead.slack)))
        centre = (after / mean) ** 3 * mean if mean > 0 else 0.0
        pull = (centre - ahead.dual * ahead.slack) / self.slack - self.dual
        move = self._direction(factor, curvature, pull)
        length = self._length(move)
        if not (length > 0 and np.isfinite(move.weights).all()):
            return False
        self.w = self.w + length * move.weights
        self.dual = self.dual + length * move.dual
        self.dual *= (self.problem.cost / self.dual.sum(axis=1))[:, None]
        f = self.X @ self.w.T
        self.margin = np.where(self.own, 0.0, 1.0) + f - f[self.own][:, None]
        self.slack = self.slack + length * move.slack
        return bool(np.all(self.slack > 0) and np.all(self.dual > 0))

    def _factor(self, curvature: Array) -> Any:
        """Of R + Σᵢ Hᵢ ⊗ xᵢxᵢᵀ, Hᵢ = diag D − DDᵀ/ΣD; the diagonal is summed without a difference.   (135)"""
        k, width = self.w.shape
        total = curvature.sum(axis=1)
        others = curvature @ (1.0 - np.eye(k))
        system = np.empty((k, width, k, width))
        for m in range(k):
            system[m, :, m, :] = np.diag(self.ridge) + self._moments(curvature[:, m] * others[:, m] / total)
            for j in range(m):
                block = -self._moments(curvature[:, m] * curvature[:, j] / total)
                system[m, :, j, :], system[j, :, m, :] = block, block.T
        if self.problem.bias is Bias.FREE:  # all offsets may move together: nothing holds them but this
            system[:, -1, :, -1] += np.max(np.diagonal(system[:, -1, :, -1]))
        system = system.reshape(k * width, k * width)
        for extra in (0.0, 1e-15, 1e-13, 1e-11):
            try:
                lifted = system + np.diag(extra * np.diagonal(system))
                return scipy.linalg.cho_factor(lifted, check_finite=False), system
            except (np.linalg.LinAlgError, ValueError):
                continue
        return None

    def _moments(self, scale: Array) -> Array:
        return np.asarray((self.X * scale[:, None]).T @ self.X)

    def _direction(self, factor: Any, curvature: Array, pull: Array) -> _Direction:
        cholesky, system = factor
        total = curvature.sum(axis=1)
        level = pull.sum(axis=1) / total
        constant = pull - curvature * level[:, None]
        alpha = np.where(self.own, self.problem.cost[:, None], 0.0) - self.dual
        right = ((alpha - constant).T @ self.X - self.ridge * self.w).ravel()
        found = scipy.linalg.cho_solve(cholesky, right, check_finite=False)
        found += scipy.linalg.cho_solve(cholesky, right - system @ found, check_finite=False)
        weights = found.reshape(self.w.shape)
        f = self.X @ weights.T
        margin = f - f[self.own][:, None]
        xi = level + np.sum(curvature * margin, axis=1) / total
        slack = xi[:, None] - margin
        return _Direction(weights, slack, pull - curvature * slack)

    def _length(self, move: _Direction) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            rooms = [
                np.min(np.where(d < 0, -v / d, np.inf), initial=np.inf)
                for v, d in ((self.slack, move.slack), (self.dual, move.dual))
            ]
        return float(min(1.0, TO_THE_BOUND * min(rooms)))

    def solution(self, before: CrammerSingerSolution) -> CrammerSingerSolution:
        """The point with its certificate, recomputed from the data."""
        alpha = np.where(self.own, self.problem.cost[:, None], 0.0) - self.dual
        alpha = np.where(self.own, alpha - alpha.sum(axis=1, keepdims=True), alpha)
        weights = self.w[:, : self.width]
        weights = weights if self.basis is None else weights @ self.basis.T
        offset = self.scale * self.w[:, -1] if self.problem.bias is not Bias.NONE else np.zeros(len(self.w))
        found = replace(before, weights=weights, offset=offset, alpha=alpha)
        return with_proof(found, certify_crammer_singer(self.problem, weights, offset, alpha))
