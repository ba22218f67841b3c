"""Losses of regression, functions of the residual r = y − f(x).      SVR tutorial Tables 1 and 2; docs/math (302)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hinge.losses.loss import Array, Form, Loss, Piece, clip_conjugate


def _array(z: Any) -> Array:
    return np.asarray(z, dtype=np.float64)


class _Symmetric(Loss):
    """c(|r| − ε) for |r| > ε, else 0, with φ*(s) = ε|s| + ½ δ s² for |s| ≤ h.        docs/math (303)"""

    form: ClassVar[Form] = "residual"

    def _shape(self) -> tuple[float | Array, float, float]:
        """(ε, δ, h)"""
        raise NotImplementedError

    def value(self, z: Any) -> Array:
        epsilon, ridge, height = self._shape()
        excess = np.maximum(np.abs(_array(z)) - epsilon, 0.0)
        if ridge == 0:
            return height * excess
        if np.isinf(height):
            return excess**2 / (2 * ridge)
        curved = np.minimum(excess, ridge * height)
        return curved**2 / (2 * ridge) + height * (excess - curved)

    def derivative(self, z: Any) -> Array:
        epsilon, ridge, height = self._shape()
        z = _array(z)
        excess = np.maximum(np.abs(z) - epsilon, 0.0)
        return np.sign(z) * (height * (excess > 0) if ridge == 0 else np.minimum(excess / ridge, height))

    def second_derivative(self, z: Any) -> Array:
        epsilon, ridge, height = self._shape()
        excess = np.abs(_array(z)) - epsilon
        if ridge == 0:
            return np.where(excess == 0, np.inf, 0.0)
        flat = (excess < 0) | ((excess == 0) & (np.asarray(epsilon) > 0))
        return np.where(~flat & (excess <= ridge * height), 1.0 / ridge, 0.0)

    def conjugate(self, s: Any) -> Array:
        epsilon, ridge, height = self._shape()
        a = np.abs(_array(s))
        return clip_conjugate(s, -height, height, a * (epsilon + 0.5 * ridge * a))

    def conjugate_derivative(self, s: Any) -> Array:
        epsilon, ridge, _ = self._shape()
        s = _array(s)
        return np.sign(s) * epsilon + ridge * s

    def conjugate_second_derivative(self, s: Any) -> Array:
        return np.full(np.shape(s), self._shape()[1])

    @property
    def slopes(self) -> tuple[float, float]:
        height = self._shape()[2]
        return -height, height

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,) if np.any(np.asarray(self._shape()[0]) > 0) else ()

    @property
    def pieces(self) -> tuple[Piece, ...]:
        epsilon, ridge, height = self._shape()
        if not self.kinks:
            return (Piece(0.0, -height, height, linear=0.0, ridge=ridge),)
        return (
            Piece(0.0, 0.0, height, linear=epsilon, ridge=ridge),
            Piece(0.0, -height, 0.0, linear=-epsilon, ridge=ridge),
        )


def _check_tube(epsilon: Any) -> None:
    values = np.asarray(epsilon)
    if values.dtype.kind not in "fiu" or values.ndim > 1 or not np.isfinite(values).all() or np.any(values < 0):
        raise ValueError(f"epsilon={epsilon!r} must be zero or positive: a number, or one for each sample")


@dataclass(frozen=True, eq=False)
class EpsilonInsensitive(_Symmetric):
    """max(0, |r| − ε).  ε is a number, or one for each sample."""

    epsilon: float | Array = 0.1

    def __post_init__(self) -> None:
        _check_tube(self.epsilon)

    def _shape(self) -> tuple[float | Array, float, float]:
        return self.epsilon, 0.0, 1.0


@dataclass(frozen=True, eq=False)
class SquaredEpsilonInsensitive(_Symmetric):
    """max(0, |r| − ε)².  ε is a number, or one for each sample."""

    epsilon: float | Array = 0.1

    def __post_init__(self) -> None:
        _check_tube(self.epsilon)

    def _shape(self) -> tuple[float | Array, float, float]:
        return self.epsilon, 0.5, np.inf


@dataclass(frozen=True)
class Laplace(_Symmetric):
    """|r|"""

    def _shape(self) -> tuple[float | Array, float, float]:
        return 0.0, 0.0, 1.0


@dataclass(frozen=True)
class Gaussian(_Symmetric):
    """½ r²"""

    def _shape(self) -> tuple[float | Array, float, float]:
        return 0.0, 1.0, np.inf


@dataclass(frozen=True)
class Huber(_Symmetric):
    """r² / (2σ) for |r| ≤ σ, and |r| − σ/2 beyond."""

    sigma: float = 1.0

    def __post_init__(self) -> None:
        _check_sigma(self.sigma)

    def _shape(self) -> tuple[float | Array, float, float]:
        return 0.0, float(self.sigma), 1.0


class _Power(Loss):
    """σ^(1−p) |r|^p / p up to |r| = σ, a line of slope h beyond;  φ*(s) = σ |s|^q / q for |s| ≤ h, q = p / (p − 1)."""

    form: ClassVar[Form] = "residual"

    def _shape(self) -> tuple[float, float, float]:
        """(p, σ, h)"""
        raise NotImplementedError

    def value(self, z: Any) -> Array:
        p, sigma, height = self._shape()
        t = np.abs(_array(z)) / sigma
        if np.isinf(height):
            return sigma * t**p / p
        return sigma * np.where(t <= 1, np.minimum(t, 1.0) ** p / p, t - (p - 1) / p)

    def derivative(self, z: Any) -> Array:
        p, sigma, height = self._shape()
        t = _array(z) / sigma
        return np.sign(t) * np.minimum(np.abs(t) ** (p - 1), height)

    def second_derivative(self, z: Any) -> Array:
        p, sigma, height = self._shape()
        t = np.abs(_array(z)) / sigma
        with np.errstate(divide="ignore"):
            curved = (p - 1) / sigma * t ** (p - 2)
        return curved if np.isinf(height) else np.where(t <= 1, curved, 0.0)

    def conjugate(self, s: Any) -> Array:
        p, sigma, height = self._shape()
        q = p / (p - 1)
        return clip_conjugate(s, -height, height, sigma / q * np.abs(_array(s)) ** q)

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
        height = self._shape()[2]
        return -height, height

    @property
    def pieces(self) -> tuple[Piece, ...]:
        p, sigma, height = self._shape()
        if p == 2:
            return (Piece(0.0, -height, height, linear=0.0, ridge=sigma),)
        return super().pieces


@dataclass(frozen=True)
class PolynomialLoss(_Power):
    """|r|^p / p, p > 1"""

    p: float = 2.0

    def __post_init__(self) -> None:
        _check_p(self.p)

    def _shape(self) -> tuple[float, float, float]:
        return float(self.p), 1.0, np.inf


@dataclass(frozen=True)
class PiecewisePolynomial(_Power):
    """|r|^p / (p σ^(p−1)) for |r| ≤ σ, and |r| − σ (p − 1)/p beyond, p > 1"""

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
