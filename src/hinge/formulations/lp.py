"""Linear programs of ℓ1-regularized estimators.      docs/math (331); SVR tutorial §6.1"""

from __future__ import annotations

import numpy as np

from hinge.formulations.c_svc import margin_dual
from hinge.formulations.svr import SVR
from hinge.problems import Array, Dual, LPProblem


def lp_classification(design: Array, y: Array, cost: Array) -> LPProblem:
    """Return min Σ |aⱼ| + Σ Cᵢ max(0, 1 − yᵢ f(xᵢ)); y holds ±1."""
    return _linear_program(design, margin_dual(y, cost))


def lp_regression(design: Array, y: Array, cost: Array, epsilon: float | Array) -> LPProblem:
    """Return min Σ |aⱼ| + Σ Cᵢ max(0, |yᵢ − f(xᵢ)| − εᵢ)."""
    return _linear_program(design, SVR(y, cost, epsilon).dual())


def _linear_program(design: Array, dual: Dual) -> LPProblem:
    tube = np.broadcast_to(np.asarray(dual.tube, dtype=np.float64), dual.target.shape)
    return LPProblem(design, dual.target, dual.lower, dual.upper, tube, np.ones(design.shape[1]))
