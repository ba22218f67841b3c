"""The kernels of the papers, each one its formula, and the two ways to bring one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import comb, factorial, isfinite
from numbers import Integral, Real
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from hinge.kernels.algebra import Array, Data, Kernel, Node
from hinge.kernels.distances import dots, l1_distances, pair, row_blocks, squared_distances, squared_norms
from hinge.validation import is_symmetric

Gamma: TypeAlias = float | Literal["scale", "auto"]

MAX_SPLINE_DEGREE = 15
SMALL_SIZE, VARIANCE_ROWS = 1 << 20, 1024  # entries up to which, and rows by which, a variance is computed
DIAGONAL_BLOCK = 64  # samples per call of a user's function when only the diagonal is wanted


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x·z"""

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return dots(*pair(X, Z))

    def diag(self, X: Data) -> Array:
        return squared_norms(pair(X, None)[0])

    @property
    def psd(self) -> bool:
        return True

    def nodes(self) -> list[Node]:
        return [("linear", 1.0, 0.0, 0.0)]


class _WithGamma(Kernel):
    """What the kernels with a width or slope γ share."""

    gamma: Gamma

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)

    def resolve(self, X: Data, weight: Array | None = None) -> Kernel:
        if type(self.gamma) is float:  # nothing is left open
            return self  # type: ignore[return-value]
        return replace(self, gamma=_resolve_gamma(self.gamma, X, weight))  # type: ignore[type-var]

    @property
    def _gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise ValueError(f"gamma={self.gamma!r} depends on the data: call kernel.resolve(X) first")
        return float(self.gamma)


class _OfDistance(_WithGamma):
    """What the kernels share that are 1 where x = z."""

    def diag(self, X: Data) -> Array:
        shape: tuple[int, ...] = getattr(X, "shape", ())  # no copy of samples that are not looked at
        return np.ones(shape[0] if len(shape) == 2 else pair(X, None)[0].shape[0])


@dataclass(frozen=True)
class Polynomial(_WithGamma):
    """k(x, z) = (γ x·z + c₀)ᵈ, homogeneous when c₀ = 0.

    Positive semidefinite for integer d and c₀ ≥ 0.  A fractional d is allowed if γ x·z + c₀ stays positive.
    """

    degree: float = 3
    gamma: Gamma = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_real("coef0", self.coef0)
        _check_real("degree", self.degree)
        if self.degree < 0:
            raise ValueError(f"degree must be at least 0, got {self.degree!r}")

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return (self._gamma * dots(*pair(X, Z)) + self.coef0) ** self.degree

    def diag(self, X: Data) -> Array:
        return (self._gamma * squared_norms(pair(X, None)[0]) + self.coef0) ** self.degree

    @property
    def psd(self) -> bool:
        return self.coef0 >= 0 and float(self.degree).is_integer()

    def nodes(self) -> list[Node]:
        return [("polynomial", self._gamma, float(self.coef0), float(self.degree))]


@dataclass(frozen=True)
class RBF(_OfDistance):
    """k(x, z) = exp(−γ‖x − z‖²)"""

    gamma: Gamma = "scale"

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return np.exp(-self._gamma * squared_distances(*pair(X, Z)))

    @property
    def psd(self) -> bool:
        return True

    def nodes(self) -> list[Node]:
        return [("rbf", self._gamma, 0.0, 0.0)]


@dataclass(frozen=True)
class Sigmoid(_WithGamma):
    """k(x, z) = tanh(γ x·z + c₀), not positive semidefinite in general"""

    gamma: Gamma = "scale"
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_real("coef0", self.coef0)

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return np.tanh(self._gamma * dots(*pair(X, Z)) + self.coef0)

    def diag(self, X: Data) -> Array:
        return np.tanh(self._gamma * squared_norms(pair(X, None)[0]) + self.coef0)

    @property
    def psd(self) -> bool:
        return False

    def nodes(self) -> list[Node]:
        return [("sigmoid", self._gamma, float(self.coef0), 0.0)]


@dataclass(frozen=True)
class Laplacian(_OfDistance):
    """k(x, z) = exp(−γ‖x − z‖₁)"""

    gamma: Gamma = "scale"

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return np.exp(-self._gamma * l1_distances(*pair(X, Z)))

    @property
    def psd(self) -> bool:
        return True

    def nodes(self) -> list[Node]:
        return [("laplacian", self._gamma, 0.0, 0.0)]


@dataclass(frozen=True)
class BSpline(_WithGamma):
    """k(x, z) = B_q(√γ ‖x − z‖), B_q the centred B-spline of odd degree q (SVR tutorial, eq. 32).

    B_q is the unit box on [−½, ½] convolved with itself until q + 1 boxes are joined by q convolutions:

        B_q(t) = 1/q! Σₖ (−1)ᵏ C(q+1, k) (t + (q+1)/2 − k)₊^q,   0 ≤ k ≤ q + 1.

    The tutorial counts "2n + 1" for both; its Fourier argument asks for an even number of boxes, for then the
    transform sinc^{q+1} is nowhere negative.  So q is odd: 1 (a triangle), 3 (the cubic spline), ..., 15.

    With one feature the kernel is positive semidefinite.  With more, a radial B-spline in general is not, and
    ``psd`` is None.  B_q(0) is not 1: the diagonal is 1 for q = 1, ⅔ for q = 3.
    """

    degree: int = 3
    gamma: Gamma = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        odd = isinstance(self.degree, Integral) and self.degree % 2 == 1
        if not (odd and 1 <= self.degree <= MAX_SPLINE_DEGREE):
            raise ValueError(
                f"degree of a B-spline must be an odd integer from 1 to {MAX_SPLINE_DEGREE} "
                f"(an even one is not positive semidefinite), got {self.degree!r}"
            )

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return _bspline(int(self.degree), np.sqrt(self._gamma * squared_distances(*pair(X, Z))))

    def diag(self, X: Data) -> Array:
        return np.full(pair(X, None)[0].shape[0], _bspline(int(self.degree), np.zeros(1))[0])

    @property
    def psd(self) -> None:
        return None

    def nodes(self) -> list[Node]:
        return [("bspline", self._gamma, 0.0, float(self.degree))]


@dataclass(frozen=True)
class Precomputed(Kernel):
    """k(i, j) = Kᵢⱼ: what is given in place of samples is the kernel matrix itself.

    Training takes the square matrix of all pairs of samples, prediction one row per new sample and one column
    per training sample.
    """

    combinable = False

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        if Z is not None:
            raise ValueError("a precomputed kernel takes one matrix, K(X, Z) itself, and no Z")
        K = pair(X, None)[0]
        return K.toarray() if sparse.issparse(K) else K

    def diag(self, X: Data) -> Array:
        K = self(X)
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"a precomputed kernel matrix must be square, got shape {K.shape}")
        return np.diagonal(K).copy()

    @property
    def psd(self) -> None:
        return None

    def nodes(self) -> None:
        return None


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """k(x, z) by a function of one's own: ``function(X, Z)`` is the matrix of values, as in scikit-learn."""

    function: Callable[[Data, Data], Data]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"FunctionKernel needs a function (X, Z) -> matrix, got {self.function!r}")

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        square, Z = Z is None, X if Z is None else Z
        name = getattr(self.function, "__name__", repr(self.function))
        expected = (X.shape[0], Z.shape[0])
        values = self.function(X, Z)
        matrix = values.toarray() if sparse.issparse(values) else values
        if not (isinstance(matrix, np.ndarray) and matrix.dtype.kind in "biuf"):
            dtype = f" of dtype {matrix.dtype}" if isinstance(matrix, np.ndarray) else ""
            raise ValueError(
                f"the kernel function {name} must return a real array of shape {expected}, "
                f"but it returned {type(values).__name__}{dtype}"
            )
        if matrix.shape != expected:
            raise ValueError(
                f"the kernel function {name} must return a matrix of shape {expected}, "
                f"one row per row of X and one column per row of Z, but it returned shape {matrix.shape}"
            )
        if not np.isfinite(matrix).all():
            raise ValueError(f"the kernel function {name} must return finite values, not NaN or infinity")
        if square and not is_symmetric(matrix):
            raise ValueError(
                f"the kernel function {name} must be symmetric, but its values for (x, z) and (z, x) differ; "
                "use their mean"
            )
        return matrix.astype(np.float64, copy=False)

    def diag(self, X: Data) -> Array:
        blocks = (X[k : k + DIAGONAL_BLOCK] for k in range(0, X.shape[0], DIAGONAL_BLOCK))
        return np.concatenate([np.diagonal(self(block)) for block in blocks] or [np.empty(0)])

    @property
    def psd(self) -> None:
        return None

    def nodes(self) -> None:
        return None


def _bspline(q: int, t: Array) -> Array:
    """B_q by its closed form, from the nearer end of the support so that at most half of the terms count."""
    out = np.empty_like(t)
    flat, flat_out = t.reshape(-1, 1), out.reshape(-1)
    k = np.arange((q + 1) // 2)
    weight = np.array([(-1) ** j * comb(q + 1, j) / factorial(q) for j in k.tolist()])
    for rows in row_blocks(len(flat), len(k)):
        flat_out[rows] = np.maximum((q + 1) / 2 - np.abs(flat[rows]) - k, 0.0) ** q @ weight
    return np.maximum(out, 0.0)


def _check_real(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}")


def _check_gamma(gamma: object) -> None:
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            raise ValueError(f"gamma must be 'scale', 'auto' or a number at least 0, got {gamma!r}")
        return
    _check_real("gamma", gamma)
    if gamma < 0:  # type: ignore[operator]
        raise ValueError(f"gamma must be 'scale', 'auto' or a number at least 0, got {gamma!r}")


#: What rounding may leave of the difference of two equal numbers, relative to them.
ROUNDING = 16 * float(np.finfo(np.float64).eps)


def _resolve_gamma(gamma: Gamma, X: Data, weight: Array | None) -> float:
    """scikit-learn's definitions: "scale" is 1/(d·Var X) over all entries, 1 if these are equal, "auto" 1/d.

    With weights the variance counts each row as often as its weight says, so that weighting is repeating.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    uniform = weight is None or bool(np.all(weight == weight[0]))
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64)
        means, squares = X.sum(axis=1) / X.shape[1], X.multiply(X).sum(axis=1) / X.shape[1]
        square = float(np.average(squares, weights=weight))
        variance = _or_none(square - float(np.average(means, weights=weight)) ** 2, ROUNDING * square)
    else:
        variance = _variance(np.asarray(X), None if uniform else weight)
    if not np.isfinite(variance):
        raise ValueError(
            "gamma='scale' needs the variance of X, which overflows: The dual coefficients or intercepts are not "
            "finite for such data. Scale it, for example with StandardScaler, or pass a number"
        )
    return float(1.0 / (X.shape[1] * variance)) if variance != 0 else 1.0


def _variance(X: Array, weight: Array | None) -> float:
    """Of all entries, each row counted with its weight; in float64, block by block, without a copy of X."""
    if weight is None and X.size <= SMALL_SIZE:
        return _or_none(float(X.var(dtype=np.float64)), (ROUNDING * float(X.mean(dtype=np.float64))) ** 2)
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    blocks = [slice(k, k + VARIANCE_ROWS) for k in range(0, len(X), VARIANCE_ROWS)]
    total = float(w.sum()) * X.shape[1]
    mean = sum(float(w[b] @ X[b].sum(axis=1, dtype=np.float64)) for b in blocks) / total
    variance = sum(float(w[b] @ ((X[b].astype(np.float64) - mean) ** 2).sum(axis=1)) for b in blocks) / total
    return _or_none(variance, (ROUNDING * mean) ** 2)


def _or_none(variance: float, rounding: float) -> float:
    """A variance that rounding explains is none: the entries are equal."""
    return 0.0 if variance <= rounding < np.inf else variance
