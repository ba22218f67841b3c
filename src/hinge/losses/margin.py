"""Losses of classification: functions of the margin m = y f(x).                           docs/math (302)"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hinge.losses.loss import Array, Form, Loss, Piece, QuadraticConjugate, clip_conjugate
from hinge.losses.registry import register


def _array(z: Any) -> Array:
    return np.asarray(z, dtype=np.float64)


class QuadraticMarginLoss(Loss):
    """φ*(−a) = −ρ a + ½ δ a² for 0 ≤ a ≤ h.  δ = 0: a hinge; h = ∞: its square.        docs/math (303)"""

    form: ClassVar[Form] = "margin"
    quadratic: ClassVar[bool] = True

    @property
    @abstractmethod
    def quadratic_conjugate(self) -> QuadraticConjugate: ...

    def value(self, z: Any) -> Array:
        rho, delta, h = self.quadratic_conjugate
        shortfall = np.maximum(rho - _array(z), 0.0)
        if delta == 0:
            return h * shortfall
        if np.isinf(h):
            return shortfall**2 / (2 * delta)
        curved = np.minimum(shortfall, delta * h)
        return curved**2 / (2 * delta) + h * (shortfall - curved)

    def derivative(self, z: Any) -> Array:
        rho, delta, h = self.quadratic_conjugate
        shortfall = rho - _array(z)
        if delta == 0:
            return np.where(shortfall > 0, -h, 0.0)
        return 0.0 - np.clip(shortfall / delta, 0.0, h)

    def second_derivative(self, z: Any) -> Array:
        rho, delta, h = self.quadratic_conjugate
        shortfall = rho - _array(z)
        if delta == 0:
            return np.where(shortfall == 0, np.inf, 0.0)
        return np.where((shortfall > 0) & (shortfall <= delta * h), 1.0 / delta, 0.0)

    def conjugate(self, s: Any) -> Array:
        rho, delta, h = self.quadratic_conjugate
        a = -_array(s)
        return clip_conjugate(s, -h, 0.0, a * (0.5 * delta * a - rho))

    def conjugate_derivative(self, s: Any) -> Array:
        rho, delta, _ = self.quadratic_conjugate
        return rho + delta * _array(s)

    def conjugate_second_derivative(self, s: Any) -> Array:
        return np.full(np.shape(s), self.quadratic_conjugate.curvature)

    @property
    def slopes(self) -> tuple[float, float]:
        return -self.quadratic_conjugate.bound, 0.0

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return (Piece(0.0, -self.quadratic_conjugate.bound, 0.0),)


@register("hinge")
@dataclass(frozen=True)
class Hinge(QuadraticMarginLoss):
    """max(0, 1 − m)

    Examples
    --------
    >>> from hinge.losses import Hinge
    >>> Hinge().value([-1.0, 0.5, 2.0])
    array([2. , 0.5, 0. ])
    """

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate:
        return QuadraticConjugate(1.0, 0.0, 1.0)


@register("squared_hinge")
@dataclass(frozen=True)
class SquaredHinge(QuadraticMarginLoss):
    """max(0, 1 − m)²

    Examples
    --------
    >>> from hinge.losses import SquaredHinge
    >>> SquaredHinge().value([-1.0, 0.5, 2.0])
    array([4.  , 0.25, 0.  ])
    """

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate:
        return QuadraticConjugate(1.0, 0.5, np.inf)


@register("modified_huber")
@dataclass(frozen=True)
class ModifiedHuber(QuadraticMarginLoss):
    """max(0, 1 − m)² for m ≥ −1, and −4m below.

    Examples
    --------
    >>> from hinge.losses import ModifiedHuber
    >>> ModifiedHuber().value([-2.0, 0.5, 2.0])
    array([8.  , 0.25, 0.  ])
    """

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate:
        return QuadraticConjugate(1.0, 0.5, 4.0)


@register("huberized_hinge")
@dataclass(frozen=True)
class HuberizedHinge(QuadraticMarginLoss):
    """½ max(0, ρ − m)² for m ≥ ρ − h, and a line of slope −h below: half of Karasuyama (5.6), as in (5.10)

    With ρ = 1 + ε and h = 2ε it is h times the loss (5.5), which is `SmoothedHinge`. The default is a hinge that is
    smooth between the margins 0.9 and 1.1. Slopes are at most h in absolute value.

    Examples
    --------
    >>> from hinge.losses import HuberizedHinge
    >>> HuberizedHinge(rho=1.0, h=1.0).value([-1.0, 0.5, 2.0])
    array([1.5  , 0.125, 0.   ])
    """

    rho: float = 1.1
    h: float = 0.2

    def __post_init__(self) -> None:
        if not (0 < self.rho < np.inf and 0 < self.h <= np.inf):
            raise ValueError(f"rho={self.rho!r}, h={self.h!r}: HuberizedHinge needs 0 < rho < inf and 0 < h <= inf")

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate:
        return QuadraticConjugate(self.rho, 1.0, self.h)


@register("smoothed_hinge")
@dataclass(frozen=True)
class SmoothedHinge(QuadraticMarginLoss):
    """(1 + ε − m)² / 4ε for |1 − m| ≤ ε, and the hinge loss outside this interval.      Karasuyama (5.5)

    The slope is −1 below 1 − ε, so that the loss tends to the hinge loss for ε → 0.

    Examples
    --------
    >>> from hinge.losses import SmoothedHinge
    >>> SmoothedHinge(epsilon=0.5).value([-1.0, 1.0, 2.0])
    array([2.   , 0.125, 0.   ])
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 1:
            raise ValueError(f"epsilon={self.epsilon!r}: SmoothedHinge needs 0 < epsilon <= 1")

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate:
        return QuadraticConjugate(1.0 + self.epsilon, 2.0 * self.epsilon, 1.0)


@register("logistic")
@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(−m));  φ*(−a) = a log a + (1 − a) log(1 − a) for 0 ≤ a ≤ 1.

    Examples
    --------
    >>> from hinge.losses import Logistic
    >>> Logistic().value([-1.0, 0.0, 1.0]).round(3)
    array([1.313, 0.693, 0.313])
    """

    form: ClassVar[Form] = "margin"

    def value(self, z: Any) -> Array:
        return np.logaddexp(0.0, -_array(z))

    def derivative(self, z: Any) -> Array:
        return -_sigmoid(-_array(z))

    def second_derivative(self, z: Any) -> Array:
        z = _array(z)
        return _sigmoid(z) * _sigmoid(-z)

    def conjugate(self, s: Any) -> Array:
        a = np.clip(-_array(s), 0.0, 1.0)
        return clip_conjugate(s, -1.0, 0.0, _entropy(a) + _entropy(1.0 - a))

    def conjugate_derivative(self, s: Any) -> Array:
        a = np.clip(-_array(s), 0.0, 1.0)
        with np.errstate(divide="ignore"):
            return np.log1p(-a) - np.log(a)

    def conjugate_second_derivative(self, s: Any) -> Array:
        a = np.clip(-_array(s), 0.0, 1.0)
        with np.errstate(divide="ignore"):
            return 1.0 / (a * (1.0 - a))

    @property
    def slopes(self) -> tuple[float, float]:
        return -1.0, 0.0


@register("exponential")
@dataclass(frozen=True)
class Exponential(Loss):
    """exp(−m), the loss of boosting;  φ*(−a) = a log a − a for a ≥ 0.                    LwK Table 10.2

    Examples
    --------
    >>> from hinge.losses import Exponential
    >>> Exponential().value([-1.0, 0.0, 1.0]).round(3)
    array([2.718, 1.   , 0.368])
    """

    form: ClassVar[Form] = "margin"

    def value(self, z: Any) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(-_array(z))

    def derivative(self, z: Any) -> Array:
        return -self.value(z)

    def second_derivative(self, z: Any) -> Array:
        return self.value(z)

    def conjugate(self, s: Any) -> Array:
        a = np.maximum(-_array(s), 0.0)
        return clip_conjugate(s, -np.inf, 0.0, _entropy(a) - a)

    def conjugate_derivative(self, s: Any) -> Array:
        with np.errstate(divide="ignore"):
            return -np.log(np.maximum(-_array(s), 0.0))

    def conjugate_second_derivative(self, s: Any) -> Array:
        with np.errstate(divide="ignore"):
            return 1.0 / np.maximum(-_array(s), 0.0)

    @property
    def slopes(self) -> tuple[float, float]:
        return -np.inf, 0.0


def _sigmoid(z: Array) -> Array:
    return np.exp(-np.logaddexp(0.0, -z))


def _entropy(a: Array) -> Array:
    """a log a, 0 at 0."""
    return a * np.log(np.where(a > 0, a, 1.0))
