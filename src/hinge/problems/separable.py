"""A convex function of every variable by itself, added to problem (1).                docs/math (311)–(314)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hinge.losses import Loss

Array = NDArray[np.float64]


class Separable(Protocol):
    """h(α) = Σᵥ hᵥ(αᵥ), each hᵥ convex on the box of its variable.  All methods are elementwise."""

    def value(self, alpha: Array) -> Array:
        """hᵥ(αᵥ)"""
        ...

    def gradient(self, alpha: Array) -> Array:
        """hᵥ'(αᵥ)"""
        ...

    def curvature(self, alpha: Array) -> Array:
        """hᵥ''(αᵥ)"""
        ...

    def answer(self, r: Array, lower: Array, upper: Array) -> Array:
        """The x in [lower, upper] at which −r x − hᵥ(x) is largest."""
        ...

    def gap(self, alpha: Array, r: Array, lower: Array, upper: Array) -> Array:
        """max over x of −r x − hᵥ(x), minus that value at αᵥ: a variable's share of the duality gap, never negative."""
        ...


@dataclass(frozen=True)
class Diagonal:
    """½ Σ dᵥ αᵥ²: what a loss that is quadratic somewhere adds to the dual.                docs/math (312)"""

    d: Array

    def __post_init__(self) -> None:
        d = np.ascontiguousarray(self.d, dtype=np.float64)
        if d.ndim != 1 or not np.isfinite(d).all() or np.any(d < 0):
            raise ValueError("a diagonal term needs one finite value for every variable, none of them negative")
        object.__setattr__(self, "d", d)

    def value(self, alpha: Array) -> Array:
        return 0.5 * self.d * alpha**2

    def gradient(self, alpha: Array) -> Array:
        return self.d * alpha

    def curvature(self, alpha: Array) -> Array:
        return self.d

    def answer(self, r: Array, lower: Array, upper: Array) -> Array:
        flat = self.d == 0
        with np.errstate(invalid="ignore"):
            inside = -r / np.where(flat, 1.0, self.d)
        end = np.where(r > 0, lower, np.where(r < 0, upper, np.clip(0.0, lower, upper)))
        return np.where(flat, end, np.clip(inside, lower, upper))

    def gap(self, alpha: Array, r: Array, lower: Array, upper: Array) -> Array:
        """(r + d x)(α − x) + ½ d (α − x)² with x the best answer: two terms that are not negative."""
        x = self.answer(r, lower, upper)
        bounded = np.isfinite(x)
        x = np.where(bounded, x, 0.0)
        slope = r + self.d * x
        slope = np.where((x > lower) & (x < upper) & (self.d > 0), 0.0, slope)  # zero, but for rounding
        away = alpha - x
        return np.where(bounded, np.maximum(slope * away, 0.0) + 0.5 * self.d * away**2, np.inf)


#: A slope that is an end of its piece is moved inside by this much before the conjugate's derivatives are asked for.
INSIDE = 1e-300


@dataclass(frozen=True)
class LossTerm:
    """hᵥ(α) = C φ*(start + direction α / C) − offset for a piece of the conjugate of a loss φ.    docs/math (313)

    What the primal has for it is the loss itself, or its tangents beyond the slopes of the piece: `gap` is computed
    from the values of the loss.  There are `slots` variables for every sample, those of one slot after each other.

    Attributes
    ----------
    loss : Loss
    slots : int
    cost, direction, start, low, high : ndarray
        Per variable: C, the sign that turns α into a slope, and the piece of slopes.
    offset : ndarray
        C φ*(start) for all pieces of a sample but its first.
    """

    loss: Loss
    slots: int
    cost: Array
    direction: Array
    start: Array
    low: Array
    high: Array
    offset: Array

    def value(self, alpha: Array) -> Array:
        return self.cost * self._each(self.loss.conjugate, self._slope(alpha)) - self.offset

    def gradient(self, alpha: Array) -> Array:
        return self.direction * self._each(self.loss.conjugate_derivative, self._inner_slope(alpha))

    def curvature(self, alpha: Array) -> Array:
        return self._each(self.loss.conjugate_second_derivative, self._inner_slope(alpha)) / self.cost

    def answer(self, r: Array, lower: Array, upper: Array) -> Array:
        slope = np.clip(self._each(self.loss.derivative, -self.direction * r), self.low, self.high)
        return np.clip(self.direction * (slope - self.start) * self.cost, lower, upper)

    def gap(self, alpha: Array, r: Array, lower: Array, upper: Array) -> Array:
        """C (ψ(z) + φ*(s) − s z), ψ the loss with its slopes kept within the piece (Fenchel and Young)."""
        z = -self.direction * r
        slope = self._each(self.loss.derivative, z)
        kept = np.clip(slope, self.low, self.high)
        with np.errstate(invalid="ignore"):
            tangent = kept * z - self._each(self.loss.conjugate, kept)
            primal = np.where(kept == slope, self._each(self.loss.value, z), tangent)
        s = self._slope(alpha)
        return np.maximum(self.cost * (primal + self._each(self.loss.conjugate, s) - s * z), 0.0)

    def _each(self, function: Callable[[Array], Array], values: Array) -> Array:
        """`function` slot by slot: a loss may have parameters of its own for every sample."""
        return np.concatenate([np.asarray(function(part)) for part in np.split(values, self.slots)])

    def _slope(self, alpha: Array) -> Array:
        return np.clip(self.start + self.direction * alpha / self.cost, self.low, self.high)

    def _inner_slope(self, alpha: Array) -> Array:
        """Derivatives at the end of a piece are those from inside."""
        low = np.where(self.low == 0, INSIDE, np.nextafter(self.low, np.inf))
        high = np.where(self.high == 0, -INSIDE, np.nextafter(self.high, -np.inf))
        return np.clip(self._slope(alpha), low, high)
