"""The kernels of the papers, each defined by its formula."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial
from numbers import Integral

import numpy as np

from hinge.kernels.algebra import Array, Data, Kernel, Node
from hinge.kernels.distances import dots, l1_distances, pair, row_blocks, squared_distances, squared_norms
from hinge.kernels.gamma import Gamma, GammaKernel, check_real

MAX_SPLINE_DEGREE = 15  # larger degrees are refused: their closed form loses too many digits


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


class DistanceKernel(GammaKernel):
    """Base of the kernels of a distance, which are 1 at x = z."""

    def diag(self, X: Data) -> Array:
        shape: tuple[int, ...] = getattr(X, "shape", ())  # only the number of samples matters
        return np.ones(shape[0] if len(shape) == 2 else pair(X, None)[0].shape[0])


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

    def diag(self, X: Data) -> Array:
        return (self._gamma * squared_norms(pair(X, None)[0]) + self.coef0) ** self.degree

    @property
    def psd(self) -> bool:
        return self.coef0 >= 0 and float(self.degree).is_integer()

    def nodes(self) -> list[Node]:
        return [("polynomial", self._gamma, float(self.coef0), float(self.degree))]


@dataclass(frozen=True)
class RBF(DistanceKernel):
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
class Sigmoid(GammaKernel):
    """k(x, z) = tanh(γ x·z + c₀), not positive semidefinite in general"""

    gamma: Gamma = "scale"
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("coef0", self.coef0)

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
class Laplacian(DistanceKernel):
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
class BSpline(GammaKernel):
    """k(x, z) = B_q(√γ ‖x − z‖), B_q the centred B-spline of odd degree q (SVR tutorial, eq. 32).

    B_q is the q-fold convolution of q + 1 indicator functions of [−½, ½]:

        B_q(t) = 1/q! Σₖ (−1)ᵏ C(q+1, k) (t + (q+1)/2 − k)₊^q,   0 ≤ k ≤ q + 1.

    The Fourier transform of B_q is sinc^{q+1}, which is nonnegative if q is odd. Therefore q must be odd: 1 (a
    triangle), 3 (the cubic spline), ..., 15. (The tutorial uses "2n + 1" both for the degree and for the number of
    functions; only an even number of functions gives a nonnegative transform.)

    With one feature the kernel is positive semidefinite. With more features a radial B-spline is not, in general, and
    ``psd`` is None. The diagonal is B_q(0): 1 for q = 1, ⅔ for q = 3.
    """

    degree: int = 3
    gamma: Gamma = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        odd = isinstance(self.degree, Integral) and self.degree % 2 == 1
        if not (odd and 1 <= self.degree <= MAX_SPLINE_DEGREE):
            raise ValueError(
                f"degree={self.degree!r} must be an odd integer from 1 to {MAX_SPLINE_DEGREE} for a B-spline kernel "
                "(an even degree does not give a positive semidefinite kernel)"
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


def _bspline(q: int, t: Array) -> Array:
    """Evaluate B_q by its closed form, from the closer end of its support, so that half of the terms suffice."""
    out = np.empty_like(t)
    flat, flat_out = t.reshape(-1, 1), out.reshape(-1)
    k = np.arange((q + 1) // 2)
    weight = np.array([(-1) ** j * comb(q + 1, j) / factorial(q) for j in k.tolist()])
    for rows in row_blocks(len(flat), len(k)):
        flat_out[rows] = np.maximum((q + 1) / 2 - np.abs(flat[rows]) - k, 0.0) ** q @ weight
    return np.maximum(out, 0.0)
