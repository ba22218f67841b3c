"""The multi-class problem of Crammer and Singer and its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.problems.certificate import Certificate, relative
from hinge.problems.linear import Bias, row_blocks
from hinge.problems.separable import Array
from hinge.problems.solution import History
from hinge.problems.status import Status


@dataclass(frozen=True)
class CrammerSingerProblem:
    """min ½Σ‖w_m‖² + ½Σb_m²/B² + Σ Cᵢ max_m (1 − [m = yᵢ] + f_m(xᵢ) − f_yᵢ(xᵢ)).            docs/math (117)"""

    X: Any
    label: NDArray[np.int32]
    cost: Array
    classes: int
    bias: Bias = Bias.FREE
    bias_scale: float = 1.0


@dataclass(frozen=True)
class CrammerSingerSolution:
    """Weights (classes × d), offsets and the dual point (n × classes)."""

    weights: Array
    offset: Array
    alpha: Array
    primal: float
    dual: float
    gap: float
    violation: float
    status: Status
    iterations: int
    history: History
    error: BaseException | None = None

    def certificate(self, problem: CrammerSingerProblem) -> Certificate:
        """Return the bounds of the solver as a certificate."""
        sums = np.abs(self.alpha.sum(axis=0)) if problem.bias is Bias.FREE else np.zeros(1)
        certificate = _certificate(problem, self.primal, self.gap, self.violation, float(np.max(sums)), self.offset)
        return certificate.with_history(self.history)


def certify_crammer_singer(
    problem: CrammerSingerProblem, weights: Array, offset: Array, alpha: Array
) -> Certificate:
    """Compute the certificate of the weights from the data.                                  docs/math (119)"""
    n, index = len(problem.cost), np.arange(len(problem.cost))
    f, combined = np.empty((n, problem.classes)), np.zeros_like(weights)
    for rows, block in row_blocks(problem.X):
        f[rows] = block @ weights.T + offset
        combined += (block.T @ alpha[rows]).T
    margins = 1.0 + f - f[index, problem.label][:, None]
    margins[index, problem.label] = 0.0
    losses = problem.cost * np.max(margins, axis=1)
    parts = np.maximum(0.0, losses + np.sum(alpha * margins, axis=1))
    sums = alpha.sum(axis=0)
    gap = float(np.sum(parts)) + 0.5 * float(np.sum((weights - combined) ** 2))
    primal = 0.5 * float(np.sum(weights**2)) + float(np.sum(losses))
    if problem.bias is Bias.PENALISED:
        gap += 0.5 * float(np.sum((offset / problem.bias_scale - problem.bias_scale * sums) ** 2))
        primal += 0.5 * float(np.sum((offset / problem.bias_scale) ** 2))
    surplus = float(np.max(np.abs(sums))) if problem.bias is Bias.FREE else 0.0
    gap += float(np.abs(offset) @ np.abs(sums)) if problem.bias is Bias.FREE else 0.0
    upper = np.zeros_like(alpha)
    upper[index, problem.label] = problem.cost
    outside = max(float(np.max(alpha - upper, initial=0.0)), float(np.max(np.abs(alpha.sum(axis=1)), initial=0.0)))
    slope = np.where(alpha < upper, margins, np.inf)
    violation = float(np.max(np.max(margins, axis=1) - np.minimum(np.min(slope, axis=1), np.max(margins, axis=1))))
    return _certificate(problem, primal, gap, violation, max(surplus, outside), offset)


def _certificate(
    problem: CrammerSingerProblem, primal: float, gap: float, violation: float, infeasibility: float, offset: Array
) -> Certificate:
    return Certificate(
        primal=primal,
        dual=primal - gap,
        gap=gap,
        relative_gap=relative(gap, primal, primal - gap),
        kkt_violation=violation,
        infeasibility=infeasibility,
        mu=np.array(offset if problem.bias is not Bias.NONE else []),
        best_primal=primal,
        best_dual=primal - gap,
        convex=True,
    )
