"""The kernels of the papers, each defined by its formula, and the kernels by name.

The parameter γ of most kernels may be "scale" or "auto"; its value then depends on the data and is set by `resolve`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import isfinite
from numbers import Real
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from scipy import sparse

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
from hinge.matrices import check_sparse
from hinge.validation import too_large

Gamma: TypeAlias = float | Literal["scale", "auto"]

MAX_UNBLOCKED_SIZE = 1 << 20  # entries of X beyond which its variance is computed in blocks of rows
VARIANCE_ROWS = 1024  # rows per block
ROUNDING = 16 * float(np.finfo(np.float64).eps)  # relative differences below this are rounding errors


@register("linear")
@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x·z

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import Linear
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    psd: ClassVar[bool | None] = True

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return dots(*pair(X, Z))

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        return bounded_dots(*pair(X, Z))

    def diag(self, X: Data) -> Array:
        return squared_norms(pair(X, None)[0])

    def nodes(self) -> list[KernelNode]:
        return [KernelNode("linear")]


# ---- kernels with a parameter γ --------------------------------------------------------------------------------------


class GammaKernel(Kernel):
    """Base of the kernels with a parameter γ."""

    gamma: Gamma

    def __post_init__(self) -> None:
        check_gamma(self.gamma)

    def resolve(self, X: Data, weight: Array | None = None) -> Kernel:
        if type(self.gamma) is float:  # already resolved
            return self  # type: ignore[return-value]
        return replace(self, gamma=_resolve_gamma(self.gamma, X, weight))  # type: ignore[type-var]

    @property
    def _gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise ValueError(f"gamma={self.gamma!r} depends on the data: call kernel.resolve(X) first")
        return float(self.gamma)


class DistanceKernel(GammaKernel):
    """Base of the kernels of a distance, which are 1 at x = z."""

    def diag(self, X: Data) -> Array:
        shape: tuple[int, ...] = getattr(X, "shape", ())  # only the number of samples matters
        return np.ones(shape[0] if len(shape) == 2 else pair(X, None)[0].shape[0])


@register("poly")
@dataclass(frozen=True)
class Polynomial(GammaKernel):
    """k(x, z) = (γ x·z + c₀)ᵈ, homogeneous when c₀ = 0.

    Positive semidefinite for integer d and c₀ ≥ 0. A fractional d requires γ x·z + c₀ > 0 for all samples.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0, coef0=1.0)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[144.]])
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
    """k(x, z) = exp(−γ‖x − z‖²)

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF
    >>> RBF(0.5)(np.array([[0.0], [1.0]]), np.array([[1.0]])).round(3)
    array([[0.607],
           [1.   ]])
    """

    gamma: Gamma = "scale"
    psd: ClassVar[bool | None] = True
    strictly_positive: ClassVar[bool] = True

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return np.exp(-scaled(self._gamma, squared_distances(*pair(X, Z))))

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        return _bounded_decay(self._gamma, *bounded_squared_distances(*pair(X, Z)))

    def nodes(self) -> list[KernelNode]:
        return [KernelNode("rbf", self._gamma)]


@register("sigmoid")
@dataclass(frozen=True)
class Sigmoid(GammaKernel):
    """k(x, z) = tanh(γ x·z + c₀), not positive semidefinite in general

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5)(np.array([[1.0]]), np.array([[1.0], [2.0]])).round(3)
    array([[0.462, 0.762]])
    """

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
    """k(x, z) = exp(−γ‖x − z‖₁)

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import Laplacian
    >>> Laplacian(0.5)(np.array([[0.0], [1.0]]), np.array([[1.0]])).round(3)
    array([[0.607],
           [1.   ]])
    """

    gamma: Gamma = "scale"
    psd: ClassVar[bool | None] = True
    strictly_positive: ClassVar[bool] = True

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return np.exp(-scaled(self._gamma, l1_distances(*pair(X, Z))))

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


def scaled(gamma: float, distance: Array) -> Array:
    """γ t for t ≥ 0; zero for γ = 0, also where the distance overflows."""
    return gamma * distance if gamma else np.zeros_like(distance)


def _bounded_decay(gamma: float, distance: Array, error: Array) -> tuple[Array, Array]:
    """exp(−γ t) and bounds on the rounding errors, where t has the given error."""
    argument = scaled(gamma, distance)
    values = np.exp(-argument)
    exponent = scaled(gamma, error) + 2 * UNIT_ROUNDOFF * argument
    with np.errstate(over="ignore"):
        radius = np.minimum(np.maximum(values, SMALLEST_NORMAL) * (np.expm1(exponent) + FUNCTION_ERROR), 1.0)
    underflown = values < SMALLEST_NORMAL  # the value of the smallest possible distance is a bound
    if underflown.any():
        largest = np.exp(-np.maximum(argument - exponent, 0.0))[underflown]
        radius[underflown] = np.minimum(2 * largest, 1.0)
    return values, radius + SMALLEST_NORMAL


# ---- values of γ -----------------------------------------------------------------------------------------------------


def check_real(name: str, value: object) -> None:
    """Raise unless `value` is a finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} must be a number, not {type(value).__name__}")
    try:
        finite = isfinite(value)
    except OverflowError:
        raise too_large(name) from None
    if not finite:
        raise ValueError(f"{name}={value!r} must be finite")


def check_gamma(gamma: object) -> None:
    """Raise unless `gamma` is "scale", "auto" or a nonnegative number."""
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            raise ValueError(f"gamma={gamma!r} must be 'scale', 'auto' or a number of at least 0")
        return
    if type(gamma) is not float or not isfinite(gamma):
        check_real("gamma", gamma)
    if gamma < 0:  # type: ignore[operator]
        raise ValueError(f"gamma={gamma!r} must be 'scale', 'auto' or a number of at least 0")


def _resolve_gamma(gamma: Gamma, X: Data, weight: Array | None) -> float:
    """Return the value of γ for X, with scikit-learn's definitions of "scale" and "auto".

    "scale" is 1/(d·Var X), where the variance is taken over all entries, or 1 if all entries are equal; "auto" is 1/d.
    Each row counts with its weight, so that an integer weight has the same effect as repeating the row.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    uniform = weight is None or bool(np.all(weight == weight[0]))
    if sparse.issparse(X):
        check_sparse(X)
        X = sparse.csr_array(X, dtype=np.float64)
        means, squares = X.sum(axis=1) / X.shape[1], X.multiply(X).sum(axis=1) / X.shape[1]
        square, mean = float(np.average(squares, weights=weight)), float(np.average(means, weights=weight))
        variance, rounding = square - mean * mean, ROUNDING * square  # a power would raise if it overflows
    else:
        variance, mean = _moments(np.asarray(X), None if uniform else weight)
        rounding = ROUNDING * mean * ROUNDING * mean
    if variance <= rounding < np.inf:  # equal entries, up to rounding
        return 1.0
    if not np.isfinite(variance):
        raise ValueError(
            "gamma='scale' needs the variance of X, which overflows: The dual coefficients or intercepts are not "
            "finite for such data. Scale X, for example with StandardScaler, or pass a number for gamma"
        )
    return float(1.0 / (X.shape[1] * variance)) if variance != 0 else 1.0


def _moments(X: Array, weight: Array | None) -> tuple[float, float]:
    """Return the weighted variance and mean of all entries, computed in float64 and in blocks, without a copy of X."""
    if weight is None and X.size <= MAX_UNBLOCKED_SIZE:
        return float(X.var(dtype=np.float64)), float(X.mean(dtype=np.float64))
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    blocks = [slice(k, k + VARIANCE_ROWS) for k in range(0, len(X), VARIANCE_ROWS)]
    total = float(w.sum()) * X.shape[1]
    mean = sum(float(w[b] @ X[b].sum(axis=1, dtype=np.float64)) for b in blocks) / total
    variance = sum(float(w[b] @ ((X[b].astype(np.float64) - mean) ** 2).sum(axis=1)) for b in blocks) / total
    return variance, mean


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
