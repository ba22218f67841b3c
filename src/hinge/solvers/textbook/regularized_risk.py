"""Regularized risk of a kernel expansion, with regularizers that have no dual problem (1).

R(α, b) = Σ Cᵢ φ(yᵢ, (Kα)ᵢ + b) + λ Ω(α).                          LwK (10.97), Table 10.3; docs/math (372)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hinge.kernels.algebra import UNIT_ROUNDOFF
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

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF
    >>> from hinge.losses import Logistic
    >>> from hinge.solvers import RegularizedRisk, descend
    >>> X = np.linspace(-1, 1, 20)[:, None]; y = np.where(X[:, 0] > 0, 1.0, -1.0)
    >>> risk = RegularizedRisk(RBF(1.0)(X, X), y, Logistic(), cost=np.ones(20), strength=0.1)
    >>> risk.regularizer, risk.bias
    ('rkhs', True)
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

    @cached_property
    def _magnitudes(self) -> Array:
        """|K|."""
        return np.abs(self.K)

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

    def upper_bound(self, alpha: Array, f: Array, offset: float) -> float:
        """R(α, b), given the computed f = Kα, plus a bound on its error."""
        return self.losses(f + offset) + self.penalty(alpha, f) + self.value_error(alpha, f, offset)

    def value_error(self, alpha: Array, f: Array, offset: float) -> float:
        """Bound on the error of the computed R(α, b), to second order in the errors of f = Kα.       docs/math (372)"""
        n, values = len(f), f + offset
        products = self._magnitudes @ np.abs(alpha)
        of_f = (n + 2) * UNIT_ROUNDOFF * products + 2 * UNIT_ROUNDOFF * (np.abs(f) + abs(offset) + np.abs(self.y))
        slopes, curvatures = self.slopes(values), self.curvatures(values)
        square, of_square = max(0.0, float(alpha @ f)), (n + 2) * UNIT_ROUNDOFF * float(np.abs(alpha) @ np.abs(f))
        of_penalty = (n + 4) * UNIT_ROUNDOFF * self.penalty(alpha, f)
        if self.regularizer == "values":
            slopes, curvatures = slopes + 2 * self.strength * f, curvatures + 2 * self.strength
        elif self.regularizer == "rkhs":
            slopes = slopes + 0.5 * self.strength * alpha
            of_penalty += 0.5 * self.strength * of_square
        elif self.regularizer == "norm":
            of_square += float(np.abs(alpha) @ of_f)
            of_penalty += self.strength * (np.sqrt(square + of_square) - np.sqrt(max(0.0, square - of_square)))
        of_losses = (n + 10) * UNIT_ROUNDOFF * self.losses(values)
        return float(np.abs(slopes) @ of_f + 0.5 * curvatures @ of_f**2 + of_losses + of_penalty)

    def lower_bound(self, f: Array, basis: Array | None = None) -> float:
        """Dual value at the negative derivatives θ of the losses, scaled to be feasible, minus its error.

        min R ≥ −Σ ψ*(−θ) − (λΩ)*(Kθ), where a free offset requires Σθ = 0. For "values", the columns of `basis` are an
        orthonormal basis of the range of K, all of ℝⁿ by default.                                docs/math (372)
        """
        theta, n = -self.slopes(f), len(f)
        imbalance = 0.0
        if self.bias:
            theta = _with_zero_sum(theta)
            imbalance = abs(float(np.sum(theta))) + n * UNIT_ROUNDOFF * float(np.sum(np.abs(theta)))
        image, size = self.K @ theta, self._magnitudes @ np.abs(theta)
        square, square_error = max(0.0, float(theta @ image)), (2 * n + 4) * UNIT_ROUNDOFF * float(np.abs(theta) @ size)
        scale, conjugate = 1.0, 0.0
        if self.regularizer == "rkhs":
            conjugate = 0.5 * (square + square_error) / self.strength
        elif self.regularizer == "norm":
            norm = np.sqrt(square + square_error)
            scale = min(1.0, self.strength / norm) if norm > 0 else 1.0
        elif self.regularizer == "sparsity":
            largest = float(np.max(np.abs(image) + (n + 2) * UNIT_ROUNDOFF * size, initial=0.0))
            scale = min(1.0, self.strength / largest) if largest > 0 else 1.0
        else:
            inside = theta if basis is None else basis.T @ theta
            # a basis is orthonormal up to n rounding errors
            conjugate = (1 + 4 * n * UNIT_ROUNDOFF) * float(inside @ inside) / (4 * self.strength)
        theta = (scale - 2 * UNIT_ROUNDOFF if scale < 1 else 1.0) * theta
        if self.loss.form == "margin":
            argument, linear = -self.y * theta / self.cost, np.zeros(n)
        else:
            argument, linear = theta / self.cost, self.y * theta
        inner = self.cost * self.loss.conjugate(argument)
        value = float(np.sum(linear - inner) - conjugate)
        # θ/C and Σθ have rounding errors; |f| is the derivative of the conjugates
        of_slopes = (4 * UNIT_ROUNDOFF * np.abs(theta)) @ (np.abs(f) + np.abs(self.y))
        of_sum = imbalance * float(np.max(np.abs(f) + np.abs(self.y), initial=0.0))
        of_terms = (n + 10) * UNIT_ROUNDOFF * (float(np.sum(np.abs(linear) + np.abs(inner))) + conjugate)
        return value - float(of_slopes + of_sum + of_terms)


def _with_zero_sum(theta: Array) -> Array:
    """θ with Σθ = 0: the side with the larger sum is scaled down, so that every θᵢ keeps its sign."""
    positive, negative = float(theta[theta > 0].sum()), float(-theta[theta < 0].sum())
    if positive > negative:
        return np.where(theta > 0, theta * (negative / positive), theta)
    return np.where(theta < 0, theta * (positive / negative if negative > 0 else 1.0), theta)
