"""Newton's method for the smooth regularizers of LwK Table 10.3, in coordinates in which they are well conditioned."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from hinge.problems import Array, Status
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.regularized_risk import RegularizedRisk

#: Share of the predicted decrease that a step must reach, and halvings before the run ends with Status.NUMERICAL.
SUFFICIENT_DECREASE = 1e-4
MAX_HALVINGS = 60

#: If a step predicts a smaller relative decrease, only the rounding errors of f = Kα remain: Status.NUMERICAL.
MIN_DECREASE = 1e-15


class RiskNewton:
    """Newton's method for R(v, b) = Σ Cᵢ φ(yᵢ, (Bv)ᵢ + b) + λ Ω(v), where Kα = Bv.                 docs/math (372)

    With K = UΛUᵀ, B = U and Ω = ‖v‖² for "values", and B = UΛ^½ and Ω = ½‖v‖² for "rkhs". In the coefficients α the
    condition number of Ω is that of K² or of K; in v it is 1. Eigenvalues below n ε times the largest are rounding
    errors of K and count as zero. If K is nearly singular, the coefficients are large, and the rounding errors of Kα,
    which the upper bound includes, limit the gap.
    """

    def __init__(self, risk: RegularizedRisk) -> None:
        self.risk = risk
        n = len(risk.y)
        eigenvalues, U = np.linalg.eigh(0.5 * (risk.K + risk.K.T))
        sizes = np.abs(eigenvalues) if risk.regularizer == "values" else eigenvalues
        kept = sizes > n * np.finfo(float).eps * max(float(np.max(np.abs(eigenvalues), initial=0.0)), 0.0)
        eigenvalues, self.U = eigenvalues[kept], U[:, kept]
        if risk.regularizer == "values":
            self.B, self.to_alpha, self.curvature = self.U, 1.0 / eigenvalues, 2 * risk.strength
        else:
            root = np.sqrt(eigenvalues)
            self.B, self.to_alpha, self.curvature = self.U * root, 1.0 / root, risk.strength
        self.v, self.b = np.zeros(self.B.shape[1]), 0.0
        self.alpha, self.f = np.zeros(n), np.zeros(n)
        self.value, self.bound = self._value(self.v, self.b), -np.inf

    def run(self, log: RunLog) -> Status:
        """Take Newton steps until value − lower bound is at most `tol` times the value."""
        for iteration in range(log.max_iter + 1):
            self.alpha = self.U @ (self.to_alpha * self.v)
            self.f = self.risk.K @ self.alpha
            self.value = self.risk.upper_bound(self.alpha, self.f, self.b)
            self.bound = max(self.bound, self._lower_bound())
            gap = self.value - self.bound
            status = log.record(iteration, self.value, self.bound, gap, gap, int(np.count_nonzero(self.alpha)))
            if status is not None:
                return status
            if not self._step():
                return Status.NUMERICAL
        return Status.MAX_ITER

    def _value(self, v: Array, b: float) -> float:
        return self.risk.losses(self.B @ v + b) + 0.5 * self.curvature * float(v @ v)

    def _lower_bound(self) -> float:
        """The bound (372); for "values" with θ projected on the range of K, to which the values are restricted."""
        return self.risk.lower_bound(self.B @ self.v + self.b, self.U)

    def _step(self) -> bool:
        """Newton step with line search; False if the risk does not decrease any more."""
        risk, B = self.risk, self.B
        f = B @ self.v + self.b
        slopes, curvatures = risk.slopes(f), risk.curvatures(f)
        columns = np.column_stack([B, np.ones(len(f))]) if risk.bias else B
        gradient = columns.T @ slopes
        gradient[: len(self.v)] += self.curvature * self.v
        hessian = columns.T @ (curvatures[:, None] * columns)
        hessian[np.diag_indices(len(self.v))] += self.curvature
        if risk.bias and hessian[-1, -1] <= 0:  # no loss is curved: the offset is moved along its gradient
            hessian[-1, -1] = max(float(np.sum(risk.cost)), np.finfo(float).tiny)
        step = -scipy.linalg.solve(hessian, gradient, assume_a="pos")
        slope, value, length = float(gradient @ step), self._value(self.v, self.b), 1.0
        if -slope <= MIN_DECREASE * abs(value):
            return False
        for _ in range(MAX_HALVINGS):
            v = self.v + length * step[: len(self.v)]
            b = self.b + length * float(step[-1]) if risk.bias else 0.0
            trial = self._value(v, b)
            if trial <= value + SUFFICIENT_DECREASE * length * slope + 1e-15 * abs(value):
                self.v, self.b = v, b
                return True
            length *= 0.5
        return False


class FixedRate:
    """Gradient descent with a fixed learning rate Λ: α ← α − Λ ∂R/∂α, b ← b − Λ ∂R/∂b.         LwK (10.97), (10.98)

    For the sparsity regularizer a step includes soft thresholding. If the risk is no longer finite, or larger than
    its initial value by the factor `MAX_GROWTH`, Λ is too large and the run ends with Status.NUMERICAL.
    """

    MAX_GROWTH = 1e6

    def __init__(self, risk: RegularizedRisk, rate: float) -> None:
        self.risk, self.rate = risk, rate
        n = len(risk.y)
        self.alpha, self.f, self.b = np.zeros(n), np.zeros(n), 0.0
        self.value, self.bound = risk.losses(self.f), -np.inf

    def run(self, log: RunLog) -> Status:
        """Take steps until value − lower bound is at most `tol` times the value."""
        risk, initial = self.risk, self.value
        for iteration in range(log.max_iter + 1):
            with np.errstate(over="ignore", invalid="ignore"):
                self.value = risk.upper_bound(self.alpha, self.f, self.b)
            if not self.value <= self.MAX_GROWTH * max(initial, np.finfo(float).tiny):
                return Status.NUMERICAL
            self.bound = max(self.bound, risk.lower_bound(self.f + self.b))
            gap = self.value - self.bound
            status = log.record(iteration, self.value, self.bound, gap, gap, int(np.count_nonzero(self.alpha)))
            if status is not None:
                return status
            slopes = risk.slopes(self.f + self.b)
            gradient = risk.K @ slopes + risk.penalty_gradient(self.alpha, self.f)
            self.alpha = risk.proximal_point(self.alpha - self.rate * gradient, self.rate)
            self.f = risk.K @ self.alpha
            self.b -= self.rate * float(np.sum(slopes)) if risk.bias else 0.0
        return Status.MAX_ITER
