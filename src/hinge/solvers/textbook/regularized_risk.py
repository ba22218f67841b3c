"""Regularized risk of a kernel expansion, with regularizers that have no dual problem (1).

R(α, b) = Σ Cᵢ φ(yᵢ, (Kα)ᵢ + b) + λ Ω(α).                          LwK (10.97), Table 10.3; docs/math (372)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.losses import Loss
from hinge.problems import Array

#: Ω of Table 10.3: ½‖f‖², ‖f‖, Σ|αᵢ|, Σf(xᵢ)².
REGULARIZERS = ("rkhs", "norm", "sparsity", "values")


@dataclass(frozen=True)
class RegularizedRisk:
    """Risk of f = Σαᵢk(xᵢ, ·) + b on the samples plus λ times a regularizer of LwK Table 10.3.

    Parameters
    ----------
    K : ndarray
        The kernel matrix.
    y : ndarray
        ±1 for a loss of the margin, targets for a loss of the residual.
    loss : Loss
        An object of `hinge.losses`; "exponential" corresponds to boosting.
    cost : ndarray
        Cᵢ.
    regularizer : {"rkhs", "norm", "sparsity", "values"}
        ½αᵀKα; (αᵀKα)^½; Σ|αᵢ|; Σ(Kα)ᵢ².
    strength : float
        λ.
    bias : bool
        Whether there is an offset b.
    """

    K: Array
    y: Array
    loss: Loss
    cost: Array
    regularizer: str = "rkhs"
    strength: float = 1.0
    bias: bool = True

    def __post_init__(self) -> None:
        if self.regularizer not in REGULARIZERS:
            raise ValueError(f"regularizer={self.regularizer!r} must be one of {', '.join(map(repr, REGULARIZERS))}")
        if not self.strength > 0:
            raise ValueError(f"strength={self.strength!r} must be positive")
        n = len(self.y)
        if self.K.shape != (n, n) or np.shape(self.cost) != (n,):
            raise ValueError(
                f"K must be {n} × {n} and cost must have {n} values, got {self.K.shape} and {np.shape(self.cost)}"
            )

    def _argument(self, f: Array) -> Array:
        """Margin or residual, the argument of the loss."""
        return self.y * f if self.loss.form == "margin" else self.y - f

    def losses(self, f: Array) -> float:
        """Σ Cᵢ φ."""
        return float(self.cost @ self.loss.value(self._argument(f)))

    def slopes(self, f: Array) -> Array:
        """Derivatives of the losses with respect to f."""
        inner = self.y if self.loss.form == "margin" else -1.0
        return self.cost * inner * self.loss.derivative(self._argument(f))

    def curvatures(self, f: Array) -> Array:
        """Second derivatives of the losses with respect to f."""
        return self.cost * self.loss.second_derivative(self._argument(f))

    def penalty(self, alpha: Array, f: Array) -> float:
        """λ Ω, given f = Kα."""
        value = {
            "rkhs": lambda: 0.5 * float(alpha @ f),
            "norm": lambda: np.sqrt(max(0.0, float(alpha @ f))),
            "sparsity": lambda: float(np.abs(alpha).sum()),
            "values": lambda: float(f @ f),
        }[self.regularizer]()
        return self.strength * float(value)

    def smooth_penalty(self, alpha: Array, f: Array) -> float:
        """The part of λ Ω that gradients describe: all of it, or 0 for Σ|αᵢ|."""
        return 0.0 if self.regularizer == "sparsity" else self.penalty(alpha, f)

    def penalty_gradient(self, alpha: Array, f: Array) -> Array:
        """Gradient of `smooth_penalty` with respect to α; 0 where the norm has no gradient."""
        if self.regularizer == "rkhs":
            return self.strength * f
        if self.regularizer == "norm":
            norm = np.sqrt(max(0.0, float(alpha @ f)))
            return self.strength * f / norm if norm > 0 else np.zeros_like(f)
        if self.regularizer == "values":
            return 2 * self.strength * (self.K @ f)
        return np.zeros_like(f)

    def proximal_point(self, alpha: Array, step: float) -> Array:
        """argmin over x of ½‖x − α‖² + step · λ Σ|xᵢ| (soft thresholding); α for smooth regularizers."""
        if self.regularizer != "sparsity":
            return alpha
        return np.sign(alpha) * np.maximum(np.abs(alpha) - step * self.strength, 0.0)

    def rounding(self, alpha: Array, f: Array, offset: float) -> float:
        """Effect of the rounding errors of f = Kα on the smooth part of the risk, to second order.   docs/math (372)"""
        errors = (len(f) + 2) * 0.5 * np.finfo(float).eps * (np.abs(self.K) @ np.abs(alpha))
        gradient, curvatures = self.slopes(f + offset), self.curvatures(f + offset)
        if self.regularizer == "rkhs":
            gradient = gradient + 0.5 * self.strength * alpha
        elif self.regularizer == "values":
            gradient, curvatures = gradient + 2 * self.strength * f, curvatures + 2 * self.strength
        return float(np.abs(gradient) @ errors + 0.5 * curvatures @ errors**2)

    def lower_bound(self, f: Array, basis: Array | None = None) -> float:
        """Dual value at the negative derivatives θ of the losses, scaled to be feasible.             docs/math (372)

        min R ≥ −Σ ψ*(−θ) − (λΩ)*(Kθ), where a free offset requires Σθ = 0. For "values", the columns of `basis` are an
        orthonormal basis of the range of K, all of ℝⁿ by default.
        """
        theta = -self.slopes(f)
        if self.bias:
            theta = _with_zero_sum(theta)
        image = self.K @ theta
        scale, conjugate = 1.0, 0.0
        if self.regularizer == "rkhs":
            conjugate = 0.5 * max(0.0, float(theta @ image)) / self.strength
        elif self.regularizer == "norm":
            norm = np.sqrt(max(0.0, float(theta @ image)))
            scale = min(1.0, self.strength / norm) if norm > 0 else 1.0
        elif self.regularizer == "sparsity":
            largest = float(np.max(np.abs(image), initial=0.0))
            scale = min(1.0, self.strength / largest) if largest > 0 else 1.0
        else:
            inside = theta if basis is None else basis.T @ theta
            conjugate = float(inside @ inside) / (4 * self.strength)
        theta = scale * theta
        if self.loss.form == "margin":
            inner = self.loss.conjugate(-self.y * theta / self.cost)
            return float(-(self.cost @ inner) - conjugate)
        inner = self.loss.conjugate(theta / self.cost)
        return float(self.y @ theta - self.cost @ inner - conjugate)


def _with_zero_sum(theta: Array) -> Array:
    """θ with Σθ = 0: the side with the larger sum is scaled down, so that every θᵢ keeps its sign."""
    positive, negative = float(theta[theta > 0].sum()), float(-theta[theta < 0].sum())
    if positive > negative:
        return np.where(theta > 0, theta * (negative / positive), theta)
    return np.where(theta < 0, theta * (positive / negative if negative > 0 else 1.0), theta)
