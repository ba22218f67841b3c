"""Kernels of B-splines, SVR tutorial (32)."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial
from numbers import Integral
from typing import ClassVar

import numpy as np

from hinge._core import KernelNode
from hinge.kernels.algebra import FUNCTION_ERROR, UNIT_ROUNDOFF, Array, Data, register
from hinge.kernels.distances import (
    SMALLEST_NORMAL,
    bounded_squared_distances,
    feature_columns,
    pair,
    row_blocks,
    squared_distances,
)
from hinge.kernels.functions import DistanceKernel, Gamma, GammaKernel, scaled

MAX_SPLINE_DEGREE = 15  # larger degrees are rejected: their closed form loses too many digits


@register("bspline")
@dataclass(frozen=True)
class BSpline(GammaKernel):
    """k(x, z) = B_q(√γ ‖x − z‖), B_q the centered B-spline of odd degree q (SVR tutorial, eq. 32).

    B_q is the q-fold convolution of q + 1 indicator functions of [−½, ½]:

        B_q(t) = 1/q! Σₖ (−1)ᵏ C(q+1, k) (t + (q+1)/2 − k)₊^q,   0 ≤ k ≤ q + 1.

    The Fourier transform of B_q is sinc^{q+1}, which is nonnegative if q is odd. Therefore q must be odd: 1 (a
    triangle), 3 (the cubic spline), ..., 15. (The tutorial uses "2n + 1" both for the degree and for the number of
    functions; only an even number of functions gives a nonnegative transform.)

    With one feature the kernel is positive semidefinite. With more features a radial B-spline is not, in general, and
    ``psd`` is None. The diagonal is B_q(0): 1 for q = 1, ⅔ for q = 3.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import BSpline
    >>> BSpline(degree=1)(np.array([[0.0]]), np.array([[0.0], [0.5], [2.0]]))
    array([[1. , 0.5, 0. ]])
    """

    degree: int = 3
    gamma: Gamma = 1.0
    psd: ClassVar[bool | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_spline_degree(self.degree)

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return bspline(int(self.degree), np.sqrt(scaled(self._gamma, squared_distances(*pair(X, Z)))))

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        squared, error = bounded_squared_distances(*pair(X, Z))
        q, t = int(self.degree), np.sqrt(scaled(self._gamma, squared))
        smaller = np.sqrt(scaled(self._gamma, np.maximum(squared - error, 0.0)))  # the slope of B_q is at most 1
        rounding = FUNCTION_ERROR * t + _spline_rounding(q)
        return bspline(q, t), np.sqrt(scaled(self._gamma, squared + error)) - smaller + rounding

    def diag(self, X: Data) -> Array:
        return np.full(pair(X, None)[0].shape[0], bspline(int(self.degree), np.zeros(1))[0])

    def nodes(self) -> list[KernelNode]:
        return [KernelNode("bspline", self._gamma, degree=float(self.degree))]


@register("product_bspline")
@dataclass(frozen=True)
class ProductBSpline(DistanceKernel):
    """k(x, z) = Πⱼ B_q(√γ (xⱼ − zⱼ)) / B_q(0), the product of a B-spline of odd degree q for each feature.

    B_q is that of `BSpline`. The kernel is positive semidefinite for any number of features, and 1 at x = z. It is zero
    if one feature differs by (q + 1)/(2√γ) or more.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import ProductBSpline
    >>> ProductBSpline(degree=3, gamma=1.0)(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]]))
    array([[1.  , 0.25]])
    """

    degree: int = 3
    gamma: Gamma = "scale"
    psd: ClassVar[bool | None] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_spline_degree(self.degree)

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        q, root = int(self.degree), float(np.sqrt(self._gamma))
        top = bspline(q, np.zeros(1))[0]
        product: Array | None = None
        for x, z in feature_columns(*pair(X, Z)):
            factor = bspline(q, root * np.subtract.outer(x, z)) / top
            product = factor if product is None else product * factor
        assert product is not None
        return product

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        X, Z = pair(X, Z)
        values, q = self(X, Z), int(self.degree)
        # Every factor is at most 1; its slope with respect to t ≤ (q + 1)/2 is at most 1/B_q(0).
        rounding = (FUNCTION_ERROR * (q + 1) + _spline_rounding(q)) / float(bspline(q, np.zeros(1))[0])
        error = np.expm1(X.shape[1] * (2 * rounding + 4 * UNIT_ROUNDOFF))
        return values, np.full_like(values, error + SMALLEST_NORMAL)

    def nodes(self) -> None:
        return None


def _check_spline_degree(degree: object) -> None:
    if not (isinstance(degree, Integral) and degree % 2 == 1 and 1 <= int(degree) <= MAX_SPLINE_DEGREE):
        raise ValueError(
            f"degree={degree!r} must be an odd integer from 1 to {MAX_SPLINE_DEGREE} for a B-spline kernel (an even "
            "degree does not give a positive semidefinite kernel)"
        )


def _spline_rounding(q: int) -> float:
    """Bound on the rounding error of `bspline`."""
    terms = sum(comb(q + 1, k) * ((q + 1) / 2 - k) ** q / factorial(q) for k in range((q + 1) // 2))
    return UNIT_ROUNDOFF * (4 * q + 8) * terms


def bspline(q: int, t: Array) -> Array:
    """Evaluate B_q by its closed form, from the closer end of its support, so that half of the terms suffice."""
    out = np.empty_like(t)
    flat, flat_out = t.reshape(-1, 1), out.reshape(-1)
    k = np.arange((q + 1) // 2)
    weight = np.array([(-1) ** j * comb(q + 1, j) / factorial(q) for j in k.tolist()])
    for rows in row_blocks(len(flat), len(k)):
        flat_out[rows] = np.maximum((q + 1) / 2 - np.abs(flat[rows]) - k, 0.0) ** q @ weight
    return np.maximum(out, 0.0)
