"""Interior-point method for the primal of Crammer and Singer, for few features.

It is the fallback if coordinate descent converges slowly. With λ_i^m = C_i [m = y_i] − α_i^m ≥ 0, Σ_m λ_i^m = C_i and
slacks s_i^m = ξ_i − (e_i^m + f_i^m − f_i^{y_i}) ≥ 0, the products λs go to zero together.   docs/math (134)–(135)
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
    crammer_singer_optimality,
)
from hinge.solvers.base import stop_status
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.refinement.verification import relative_gap, with_certificate

#: Order of the linear system, and multiplications to form it, above which the method is not used.
MAX_UNKNOWNS, MAX_MULTIPLICATIONS = 1000, 1e9

#: Iterations before the best solution is returned with Status.NUMERICAL; thirty usually suffice.
MAX_ITERATIONS = 100

#: Iterations without a noticeable decrease of the gap before the run ends with Status.NUMERICAL.
MAX_STALLED_ITERATIONS = 8

#: Share of the largest feasible step that is taken.
STEP_FRACTION = 0.995

#: Relative increases of the diagonal that are tried one after the other if the factorization fails; after the last one
#: the step fails.
DIAGONAL_INCREASES = (0.0, 1e-15, 1e-13, 1e-11)


def is_small(problem: CrammerSingerProblem) -> bool:
    """Whether the linear system is small enough for this method."""
    n, k = problem.X.shape[0], problem.classes
    width = min(n, problem.X.shape[1]) + 1
    return k * width <= MAX_UNKNOWNS and n * float(k * width) ** 2 <= MAX_MULTIPLICATIONS


def interior_point_fallback(
    problem: CrammerSingerProblem,
    unfinished: CrammerSingerSolution,
    tol: float,
    control: RunControl,
    max_steps: int = -1,
) -> CrammerSingerSolution:
    """Solve a problem that coordinate descent has not solved, in at most `max_steps` steps (−1: no limit).

    Returns `unfinished`, with the new status, if no better point is found.
    """
    began = time.monotonic()
    best, status, steps = unfinished, Status.NUMERICAL, 0
    least_gap, stalled = np.inf, 0
    error: BaseException | None = None
    try:
        with single_thread():
            iterate = _Iterate(problem)
            while stalled < MAX_STALLED_ITERATIONS and steps < MAX_ITERATIONS:
                if steps == max_steps:
                    status = Status.MAX_ITER
                    break
                if not iterate.step():
                    break
                steps += 1
                solution = iterate.solution(best)
                stalled = 0 if solution.gap < 0.9 * least_gap else stalled + 1
                least_gap = min(least_gap, solution.gap)
                if relative_gap(solution) < relative_gap(best):
                    best = solution
                if relative_gap(best) <= tol:
                    status = Status.SOLVED
                    break
                snapshot = _snapshot(solution, unfinished.iterations + steps, time.monotonic() - began)
                stopped = stop_status(control, snapshot)
                error = control.interrupt
                if stopped is not None or error is not None:
                    status = Status.INTERRUPTED if stopped is None else stopped
                    break
    except BaseException as interruption:  # a signal, or an exception of the callback
        status, error = Status.INTERRUPTED, interruption
    return replace(best, status=status, error=error, iterations=unfinished.iterations + steps)


def _snapshot(solution: CrammerSingerSolution, iteration: int, seconds: float) -> dict[str, Any]:
    return {
        "iteration": iteration, "seconds": seconds, "violation": solution.violation, "primal": solution.primal,
        "dual": solution.dual, "gap": solution.gap, "active": len(solution.alpha), "exact": True,
    }  # fmt: skip


@dataclass
class _Direction:
    weights: Array
    slack: Array
    dual: Array


class _Iterate:
    """Weights, slacks s and multipliers λ.

    If there are more features than samples, an orthonormal basis of the samples replaces the features. The offset is an
    additional feature.
    """

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
        self.is_label = np.eye(k, dtype=bool)[problem.label]
        self.w = np.zeros((k, X.shape[1]))
        self.dual = np.repeat(problem.cost[:, None] / k, k, axis=1)
        self.slack = 2.0 - np.where(self.is_label, 0.0, 1.0)

    def step(self) -> bool:
        """Take a predictor–corrector step; False if floating-point accuracy allows no further step."""
        curvature = self.dual / self.slack
        mean = float(np.mean(self.dual * self.slack))
        factor = self._factor(curvature)
        if factor is None or not np.isfinite(mean):
            return False
        predictor = self._direction(factor, curvature, -self.dual)
        length = self._length(predictor)
        predicted = float(np.mean((self.dual + length * predictor.dual) * (self.slack + length * predictor.slack)))
        target = (predicted / mean) ** 3 * mean if mean > 0 else 0.0
        right = (target - predictor.dual * predictor.slack) / self.slack - self.dual
        corrector = self._direction(factor, curvature, right)
        length = self._length(corrector)
        if not (length > 0 and np.isfinite(corrector.weights).all()):
            return False
        self.w = self.w + length * corrector.weights
        self.dual = self.dual + length * corrector.dual
        self.dual *= (self.problem.cost / self.dual.sum(axis=1))[:, None]
        self.slack = self.slack + length * corrector.slack
        return bool(np.all(self.slack > 0) and np.all(self.dual > 0))

    def _factor(self, curvature: Array) -> Any:
        """Cholesky factor of R + Σᵢ Hᵢ ⊗ xᵢxᵢᵀ with Hᵢ = diag D − DDᵀ/ΣD, and the matrix; None if it fails.   (135)

        The diagonal of Hᵢ is computed as a sum, without cancellation.
        """
        k, width = self.w.shape
        total = curvature.sum(axis=1)
        others = curvature @ (1.0 - np.eye(k))
        system = np.empty((k, width, k, width))
        for m in range(k):
            system[m, :, m, :] = np.diag(self.ridge) + self._weighted_gram(curvature[:, m] * others[:, m] / total)
            for j in range(m):
                block = -self._weighted_gram(curvature[:, m] * curvature[:, j] / total)
                system[m, :, j, :], system[j, :, m, :] = block, block.T
        if self.problem.bias is Bias.FREE:  # a common shift of all free offsets changes nothing: fix it
            system[:, -1, :, -1] += np.max(np.diagonal(system[:, -1, :, -1]))
        system = system.reshape(k * width, k * width)
        for increase in DIAGONAL_INCREASES:
            try:
                raised = system + np.diag(increase * np.diagonal(system))
                return scipy.linalg.cho_factor(raised, check_finite=False), system
            except (np.linalg.LinAlgError, ValueError):
                continue
        return None

    def _weighted_gram(self, weight: Array) -> Array:
        """Xᵀ diag(weight) X."""
        return np.asarray((self.X * weight[:, None]).T @ self.X)

    def _direction(self, factor: Any, curvature: Array, right: Array) -> _Direction:
        """Direction for a right side of the linearized complementarity conditions, divided by the slacks."""
        cholesky, system = factor
        total = curvature.sum(axis=1)
        mean = right.sum(axis=1) / total
        constant = right - curvature * mean[:, None]
        alpha = np.where(self.is_label, self.problem.cost[:, None], 0.0) - self.dual
        negative_gradient = ((alpha - constant).T @ self.X - self.ridge * self.w).ravel()
        step = scipy.linalg.cho_solve(cholesky, negative_gradient, check_finite=False)
        step += scipy.linalg.cho_solve(cholesky, negative_gradient - system @ step, check_finite=False)
        weights = step.reshape(self.w.shape)
        f = self.X @ weights.T
        margin = f - f[self.is_label][:, None]
        xi = mean + np.sum(curvature * margin, axis=1) / total
        slack = xi[:, None] - margin
        return _Direction(weights, slack, right - curvature * slack)

    def _length(self, direction: _Direction) -> float:
        """Step length that keeps slacks and multipliers positive."""
        with np.errstate(divide="ignore", invalid="ignore"):
            limits = [
                np.min(np.where(change < 0, -value / change, np.inf), initial=np.inf)
                for value, change in ((self.slack, direction.slack), (self.dual, direction.dual))
            ]
        return float(min(1.0, STEP_FRACTION * min(limits)))

    def solution(self, template: CrammerSingerSolution) -> CrammerSingerSolution:
        """The point with a certificate computed from the data; other fields are those of `template`."""
        alpha = np.where(self.is_label, self.problem.cost[:, None], 0.0) - self.dual
        alpha = np.where(self.is_label, alpha - alpha.sum(axis=1, keepdims=True), alpha)
        weights = self.w[:, : self.width]
        weights = weights if self.basis is None else weights @ self.basis.T
        offset = self.scale * self.w[:, -1] if self.problem.bias is not Bias.NONE else np.zeros(len(self.w))
        solution = replace(template, weights=weights, offset=offset, alpha=alpha)
        return with_certificate(solution, crammer_singer_optimality(self.problem, weights, offset, alpha))
