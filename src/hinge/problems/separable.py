"""Separable convex terms of problem (1).                                               docs/math (311)–(314)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hinge.losses import Loss

Array = NDArray[np.float64]


class Separable(Protocol):
    """h(α) = Σᵥ hᵥ(αᵥ), where each hᵥ is convex on the box of its variable. All methods are elementwise."""

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
        """argmax over x in [lower, upper] of −r x − hᵥ(x)"""
        ...

    def gap(self, alpha: Array, r: Array, lower: Array, upper: Array) -> Array:
        """max over x of −r x − hᵥ(x), minus the value at αᵥ: the nonnegative term of the duality gap of a variable."""
        ...


@dataclass(frozen=True)
class Diagonal:
    """½ Σ dᵥ αᵥ²: the dual term of a loss with quadratic parts.                               docs/math (312)"""

    d: Array

    def __post_init__(self) -> None:
        d = np.ascontiguousarray(self.d, dtype=np.float64)
        if d.ndim != 1 or not np.isfinite(d).all() or np.any(d < 0):
            raise ValueError("d must hold one finite, nonnegative value for every variable")
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
        """(r + d x)(α − x) + ½ d (α − x)², where x is the maximizer: a sum of two nonnegative terms."""
        x = self.answer(r, lower, upper)
        bounded = np.isfinite(x)
        x = np.where(bounded, x, 0.0)
        slope = r + self.d * x
        slope = np.where((x > lower) & (x < upper) & (self.d > 0), 0.0, slope)  # exactly zero without rounding
        step = alpha - x
        return np.where(bounded, np.maximum(slope * step, 0.0) + 0.5 * self.d * step**2, np.inf)


#: Slopes at the ends of a piece are moved inside by this amount before the conjugate is differentiated.
INTERIOR_SHIFT = 1e-300


@dataclass(frozen=True)
class LossTerm:
    """hᵥ(α) = C φ*(start + direction α / C) − offset for a piece of the conjugate of a loss φ.    docs/math (313)

    In the primal problem it corresponds to the loss, continued by its tangents beyond the slopes of the piece; `gap` is
    computed from the values of the loss. There are `slots` variables per sample, ordered by slot.

    Attributes
    ----------
    loss : Loss
    slots : int
    cost, direction, start, low, high : ndarray
        Per variable: C, the sign that converts α to a slope, and the interval of slopes.
    offset : ndarray
        C φ*(start) for all pieces of a sample except its first.
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
        """C (ψ(z) + φ*(s) − s z), nonnegative by the Fenchel–Young inequality; ψ is the loss with clipped slopes."""
        z = -self.direction * r
        slope = self._each(self.loss.derivative, z)
        kept = np.clip(slope, self.low, self.high)
        with np.errstate(invalid="ignore"):
            tangent = kept * z - self._each(self.loss.conjugate, kept)
            primal = np.where(kept == slope, self._each(self.loss.value, z), tangent)
        s = self._slope(alpha)
        return np.maximum(self.cost * (primal + self._each(self.loss.conjugate, s) - s * z), 0.0)

    def _each(self, function: Callable[[Array], Array], values: Array) -> Array:
        """Apply `function` to each slot, because a loss may have one parameter per sample."""
        return np.concatenate([np.asarray(function(part)) for part in np.split(values, self.slots)])

    def _slope(self, alpha: Array) -> Array:
        return np.clip(self.start + self.direction * alpha / self.cost, self.low, self.high)

    def _inner_slope(self, alpha: Array) -> Array:
        """Return the slopes, moved inside the piece so that one-sided derivatives are used at its ends."""
        low = np.where(self.low == 0, INTERIOR_SHIFT, np.nextafter(self.low, np.inf))
        high = np.where(self.high == 0, -INTERIOR_SHIFT, np.nextafter(self.high, -np.inf))
        return np.clip(self._slope(alpha), low, high)
