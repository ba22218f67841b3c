"""Losses of regression: functions of the residual r = y − f(x).      SVR tutorial Tables 1 and 2; docs/math (302)"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hinge.losses.loss import Array, Form, Loss, Piece, QuadraticConjugate, clip_conjugate
from hinge.losses.registry import register


def _array(z: Any) -> Array:
    return np.asarray(z, dtype=np.float64)


class QuadraticResidualLoss(Loss):
    """c(|r| − ε) for |r| > ε, else 0, with φ*(s) = ε|s| + ½ δ s² for |s| ≤ h.        docs/math (303)"""

    form: ClassVar[Form] = "residual"
    quadratic: ClassVar[bool] = True

    @property
    @abstractmethod
    def quadratic_conjugate(self) -> QuadraticConjugate: ...

    def value(self, z: Any) -> Array:
        epsilon, delta, h = self.quadratic_conjugate
        excess = np.maximum(np.abs(_array(z)) - epsilon, 0.0)
        if delta == 0:
            return h * excess
        if np.isinf(h):
            return excess**2 / (2 * delta)
        curved = np.minimum(excess, delta * h)
        return curved**2 / (2 * delta) + h * (excess - curved)

    def derivative(self, z: Any) -> Array:
        epsilon, delta, h = self.quadratic_conjugate
        z = _array(z)
        excess = np.maximum(np.abs(z) - epsilon, 0.0)
        return np.sign(z) * (h * (excess > 0) if delta == 0 else np.minimum(excess / delta, h))

    def second_derivative(self, z: Any) -> Array:
        epsilon, delta, h = self.quadratic_conjugate
        excess = np.abs(_array(z)) - epsilon
        if delta == 0:
            return np.where(excess == 0, np.inf, 0.0)
        flat = (excess < 0) | ((excess == 0) & (np.asarray(epsilon) > 0))
        return np.where(~flat & (excess <= delta * h), 1.0 / delta, 0.0)

    def conjugate(self, s: Any) -> Array:
        epsilon, delta, h = self.quadratic_conjugate
        a = np.abs(_array(s))
        return clip_conjugate(s, -h, h, a * (epsilon + 0.5 * delta * a))

    def conjugate_derivative(self, s: Any) -> Array:
        epsilon, delta, _ = self.quadratic_conjugate
        s = _array(s)
        return np.sign(s) * epsilon + delta * s

    def conjugate_second_derivative(self, s: Any) -> Array:
        return np.full(np.shape(s), self.quadratic_conjugate.curvature)

    @property
    def slopes(self) -> tuple[float, float]:
        h = self.quadratic_conjugate.bound
        return -h, h

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,) if np.any(np.asarray(self.quadratic_conjugate.threshold) > 0) else ()

    @property
    def pieces(self) -> tuple[Piece, ...]:
        h = self.quadratic_conjugate.bound
        return (Piece(0.0, 0.0, h), Piece(0.0, -h, 0.0)) if self.kinks else (Piece(0.0, -h, h),)


def _check_epsilon(epsilon: Any) -> None:
    values = np.asarray(epsilon)
    if values.dtype.kind not in "fiu" or values.ndim > 1 or not np.isfinite(values).all() or np.any(values < 0):
        raise ValueError(f"epsilon={epsilon!r} must be zero or positive: a number, or one for each sample")


@register("epsilon_insensitive")
@dataclass(frozen=True, eq=False)
class EpsilonInsensitive(QuadraticResidualLoss):
    """max(0, |r| − ε).  ε is a number, or one for each sample.

    Examples
    --------
    >>> from hinge.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=0.5).value([-2.0, 0.25, 1.0])
    array([1.5, 0. , 0.5])
    """

    epsilon: float | Array = 0.1

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate:
        return QuadraticConjugate(self.epsilon, 0.0, 1.0)


@register("squared_epsilon_insensitive")
@dataclass(frozen=True, eq=False)
class SquaredEpsilonInsensitive(QuadraticResidualLoss):
    """max(0, |r| − ε)².  ε is a number, or one for each sample.

    Examples
    --------
    >>> from hinge.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(epsilon=0.5).value([-2.0, 0.25, 1.0])
    array([2.25, 0.  , 0.25])
    """

    epsilon: float | Array = 0.1

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate:
        return QuadraticConjugate(self.epsilon, 0.5, np.inf)


@register("laplace")
@dataclass(frozen=True)
class Laplace(QuadraticResidualLoss):
    """|r|

    Examples
    --------
    >>> from hinge.losses import Laplace
    >>> Laplace().value([-2.0, 0.0, 1.0])
    array([2., 0., 1.])
    """

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate:
        return QuadraticConjugate(0.0, 0.0, 1.0)


@register("gaussian")
@dataclass(frozen=True)
class Gaussian(QuadraticResidualLoss):
    """½ r²

    Examples
    --------
    >>> from hinge.losses import Gaussian
    >>> Gaussian().value([-2.0, 0.0, 1.0])
    array([2. , 0. , 0.5])
    """

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate:
        return QuadraticConjugate(0.0, 1.0, np.inf)


@register("huber")
@dataclass(frozen=True)
class Huber(QuadraticResidualLoss):
    """r² / (2σ) for |r| ≤ σ, and |r| − σ/2 beyond.

    Examples
    --------
    >>> from hinge.losses import Huber
    >>> Huber(sigma=1.0).value([-2.0, 0.5, 1.0])
    array([1.5  , 0.125, 0.5  ])
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        _check_sigma(self.sigma)

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate:
        return QuadraticConjugate(0.0, float(self.sigma), 1.0)


class _Power(Loss):
    """σ^(1−p) |r|^p / p up to |r| = σ, a line of slope h beyond;  φ*(s) = σ |s|^q / q for |s| ≤ h, q = p / (p − 1)."""

    form: ClassVar[Form] = "residual"

    @abstractmethod
    def _shape(self) -> tuple[float, float, float]:
        """(p, σ, h)"""

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate | None:
        p, sigma, h = self._shape()
        return QuadraticConjugate(0.0, sigma, h) if p == 2 else None

    def value(self, z: Any) -> Array:
        p, sigma, h = self._shape()
        t = np.abs(_array(z)) / sigma
        if np.isinf(h):
            return sigma * t**p / p
        return sigma * np.where(t <= 1, np.minimum(t, 1.0) ** p / p, t - (p - 1) / p)

    def derivative(self, z: Any) -> Array:
        p, sigma, h = self._shape()
        t = _array(z) / sigma
        return np.sign(t) * np.minimum(np.abs(t) ** (p - 1), h)

    def second_derivative(self, z: Any) -> Array:
        p, sigma, h = self._shape()
        t = np.abs(_array(z)) / sigma
        with np.errstate(divide="ignore"):
            curved = (p - 1) / sigma * t ** (p - 2)
        return curved if np.isinf(h) else np.where(t <= 1, curved, 0.0)

    def conjugate(self, s: Any) -> Array:
        p, sigma, h = self._shape()
        q = p / (p - 1)
        return clip_conjugate(s, -h, h, sigma / q * np.abs(_array(s)) ** q)

    def conjugate_derivative(self, s: Any) -> Array:
        p, sigma, _ = self._shape()
        s = _array(s)
        return sigma * np.sign(s) * np.abs(s) ** (1 / (p - 1))

    def conjugate_second_derivative(self, s: Any) -> Array:
        p, sigma, _ = self._shape()
        with np.errstate(divide="ignore"):
            return sigma / (p - 1) * np.abs(_array(s)) ** ((2 - p) / (p - 1))

    @property
    def slopes(self) -> tuple[float, float]:
        h = self._shape()[2]
        return -h, h

    @property
    def pieces(self) -> tuple[Piece, ...]:
        p, _, h = self._shape()
        return (Piece(0.0, -h, h),) if p == 2 else super().pieces


@register("polynomial")
@dataclass(frozen=True)
class PolynomialLoss(_Power):
    """|r|^p / p, p > 1

    Examples
    --------
    >>> from hinge.losses import PolynomialLoss
    >>> PolynomialLoss(p=4.0).value([-2.0, 0.0, 1.0])
    array([4.  , 0.  , 0.25])
    """

    p: float = 2.0

    def __post_init__(self) -> None:
        _check_p(self.p)

    def _shape(self) -> tuple[float, float, float]:
        return float(self.p), 1.0, np.inf


@register("piecewise_polynomial")
@dataclass(frozen=True)
class PiecewisePolynomial(_Power):
    """|r|^p / (p σ^(p−1)) for |r| ≤ σ, and |r| − σ (p − 1)/p beyond, p > 1

    Examples
    --------
    >>> from hinge.losses import PiecewisePolynomial
    >>> PiecewisePolynomial(p=2.0, sigma=1.0).value([-2.0, 0.5, 1.0])
    array([1.5  , 0.125, 0.5  ])
    """

    p: float = 2.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        _check_p(self.p)
        _check_sigma(self.sigma)

    def _shape(self) -> tuple[float, float, float]:
        return float(self.p), float(self.sigma), 1.0


def _check_p(p: Any) -> None:
    if not 1 < p < np.inf:
        raise ValueError(f"p={p!r} must be above 1 and finite; p = 1 is the loss 'laplace'")


def _check_sigma(sigma: Any) -> None:
    if not 0 < sigma < np.inf:
        raise ValueError(f"sigma={sigma!r} must be positive and finite")
