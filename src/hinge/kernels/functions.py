"""The kernels of the papers, each defined by its formula, and the kernels by name.

The parameter γ of most kernels may be "scale" or "auto"; its value then depends on the data and is set by `resolve`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from hinge._core import KernelNode
from hinge.kernels.algebra import FUNCTION_ERROR, KERNELS, UNIT_ROUNDOFF, Array, Data, Kernel, register
from hinge.kernels.custom import FunctionKernel, Precomputed
from hinge.kernels.distances import (
    SMALLEST_NORMAL,
    bounded_dots,
    bounded_squared_distances,
    dots,
    l1_distances,
    pair,
    squared_distances,
    squared_norms,
)
from hinge.kernels.gamma import DistanceKernel, Gamma, GammaKernel, check_real


@register("linear")
@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x·z"""

    psd: ClassVar[bool | None] = True

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return dots(*pair(X, Z))

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        return bounded_dots(*pair(X, Z))

    def diag(self, X: Data) -> Array:
        return squared_norms(pair(X, None)[0])

    def nodes(self) -> list[KernelNode]:
        return [KernelNode("linear")]


@register("poly")
@dataclass(frozen=True)
class Polynomial(GammaKernel):
    """k(x, z) = (γ x·z + c₀)ᵈ, homogeneous when c₀ = 0.

    Positive semidefinite for integer d and c₀ ≥ 0. A fractional d requires γ x·z + c₀ > 0 for all samples.
    """

    degree: float = 3
    gamma: Gamma = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("coef0", self.coef0)
        check_real("degree", self.degree)
        if self.degree < 0:
            raise ValueError(f"degree={self.degree!r} must be at least 0")

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return (self._gamma * dots(*pair(X, Z)) + self.coef0) ** self.degree

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        base, error = _bounded_affine(X, Z, self._gamma, self.coef0)
        values, largest, degree = base**self.degree, np.abs(base) + error, float(self.degree)
        if 0 < degree < 1:  # the slope is largest at the smaller end
            slope = degree * np.maximum(np.abs(base) - error, 0.0) ** (degree - 1)
        else:
            slope = degree * largest ** (degree - 1) if degree > 0 else np.zeros_like(base)
        return values, slope * error + (FUNCTION_ERROR + degree * UNIT_ROUNDOFF) * np.abs(values)

    def diag(self, X: Data) -> Array:
        return (self._gamma * squared_norms(pair(X, None)[0]) + self.coef0) ** self.degree

    @property
    def psd(self) -> bool:
        return self.coef0 >= 0 and float(self.degree).is_integer()

    def nodes(self) -> list[KernelNode]:
        return [KernelNode("polynomial", self._gamma, float(self.coef0), float(self.degree))]


@register("rbf")
@dataclass(frozen=True)
class RBF(DistanceKernel):
    """k(x, z) = exp(−γ‖x − z‖²)"""

    gamma: Gamma = "scale"
    psd: ClassVar[bool | None] = True
    strictly_positive: ClassVar[bool] = True

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return np.exp(-self._gamma * squared_distances(*pair(X, Z)))

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        return _bounded_decay(self._gamma, *bounded_squared_distances(*pair(X, Z)))

    def nodes(self) -> list[KernelNode]:
        return [KernelNode("rbf", self._gamma)]


@register("sigmoid")
@dataclass(frozen=True)
class Sigmoid(GammaKernel):
    """k(x, z) = tanh(γ x·z + c₀), not positive semidefinite in general"""

    gamma: Gamma = "scale"
    coef0: float = 0.0
    psd: ClassVar[bool | None] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("coef0", self.coef0)

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return np.tanh(self._gamma * dots(*pair(X, Z)) + self.coef0)

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        base, error = _bounded_affine(X, Z, self._gamma, self.coef0)
        return np.tanh(base), error + FUNCTION_ERROR

    def diag(self, X: Data) -> Array:
        return np.tanh(self._gamma * squared_norms(pair(X, None)[0]) + self.coef0)

    def nodes(self) -> list[KernelNode]:
        return [KernelNode("sigmoid", self._gamma, float(self.coef0))]


@register("laplacian")
@dataclass(frozen=True)
class Laplacian(DistanceKernel):
    """k(x, z) = exp(−γ‖x − z‖₁)"""

    gamma: Gamma = "scale"
    psd: ClassVar[bool | None] = True
    strictly_positive: ClassVar[bool] = True

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return np.exp(-self._gamma * l1_distances(*pair(X, Z)))

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        X, Z = pair(X, Z)
        distances = l1_distances(X, Z)
        return _bounded_decay(self._gamma, distances, 1.01 * UNIT_ROUNDOFF * (X.shape[1] + 2) * distances)

    def nodes(self) -> list[KernelNode]:
        return [KernelNode("laplacian", self._gamma)]


def _bounded_affine(X: Data, Z: Data | None, gamma: float, coef0: float) -> tuple[Array, Array]:
    """γ x·z + c₀ and bounds on the rounding errors."""
    values, error = bounded_dots(*pair(X, Z))
    scaled = gamma * values
    return scaled + coef0, gamma * error + 3 * UNIT_ROUNDOFF * (np.abs(scaled) + abs(coef0))


def _bounded_decay(gamma: float, distance: Array, error: Array) -> tuple[Array, Array]:
    """exp(−γ t) and bounds on the rounding errors, where t has the given error."""
    argument = gamma * distance
    values = np.exp(-argument)
    exponent = gamma * error + 2 * UNIT_ROUNDOFF * argument
    with np.errstate(over="ignore"):
        radius = np.minimum(np.maximum(values, SMALLEST_NORMAL) * (np.expm1(exponent) + FUNCTION_ERROR), 1.0)
    underflown = values < SMALLEST_NORMAL  # the value of the smallest possible distance is a bound
    if underflown.any():
        largest = np.exp(-np.maximum(argument - exponent, 0.0))[underflown]
        radius[underflown] = np.minimum(2 * largest, 1.0)
    return values, radius + SMALLEST_NORMAL


# ---- kernels by name ------------------------------------------------------------------------------------------------

# ---- kernels by name ------------------------------------------------------------------------------------------------

register("precomputed")(Precomputed)


def make_kernel(kernel: object, degree: float = 3, gamma: Gamma = "scale", coef0: float = 0.0) -> Kernel:
    """Return the kernel for a name, a function (X, Z) -> matrix, or a `Kernel` object (returned unchanged).

    ``degree``, ``gamma`` and ``coef0`` are passed to the named kernels that have them.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str) and kernel in KERNELS:
        kind, values, options = KERNELS[kernel], {"degree": degree, "gamma": gamma, "coef0": coef0}, {}
        for field in fields(kind):  # type: ignore[arg-type]
            options[field.name] = values[field.name]
        return kind(**options)
    if callable(kernel):
        return FunctionKernel(kernel)
    choices = ", ".join(map(repr, KERNELS))
    raise ValueError(f"kernel={kernel!r} must be one of {choices}, a function (X, Z) -> matrix or a Kernel object")
