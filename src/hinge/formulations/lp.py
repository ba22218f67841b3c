"""ℓ1 machines: labels and costs to the linear program.      docs/math (331); SVR tutorial §6.1"""

from __future__ import annotations

import numpy as np

from hinge.problems import Array, LPProblem


def lp_classification(design: Array, y: Array, cost: Array) -> LPProblem:
    """min Σ |aⱼ| + Σ Cᵢ max(0, 1 − yᵢ f(xᵢ)); y holds ±1."""
    none, price = np.zeros(len(y)), np.ones(design.shape[1])
    return LPProblem(design, y, np.where(y > 0, 0.0, -cost), np.where(y > 0, cost, 0.0), none, price)


def lp_regression(design: Array, y: Array, cost: Array, epsilon: float | Array) -> LPProblem:
    """min Σ |aⱼ| + Σ Cᵢ max(0, |yᵢ − f(xᵢ)| − εᵢ)."""
    tube = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), y.shape)
    return LPProblem(design, y, -cost, cost, tube, np.ones(design.shape[1]))
