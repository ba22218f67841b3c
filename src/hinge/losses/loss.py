"""What every loss can say of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: What a loss is a function of: the margin y f(x) of classification, or the residual y − f(x) of regression.
Form = Literal["margin", "residual"]

#: Arguments at which an unknown derivative is taken for its limit, and those that must agree with them.
FAR, NEARLY_AS_FAR = 1e200, 1e190


@dataclass(frozen=True)
class Piece:
    """An interval of slopes on which the conjugate is smooth; `start` is its slope nearest to zero.  docs/math (304)

    Where `ridge` is given, φ*(s) = constant + linear · s + ½ ridge · s² on it.
    """

    start: float
    low: float
    high: float
    linear: float | Array | None = None
    ridge: float | None = None

    @property
    def quadratic(self) -> bool:
        """Whether the conjugate is a parabola (or a line) on this piece."""
        return self.ridge is not None

    @property
    def two_sided(self) -> bool:
        """Whether slopes of both signs belong to it."""
        return self.low < 0 < self.high


class Loss(ABC):
    """A convex function φ of the margin z = y f(x), or of the residual z = y − f(x).        docs/math (301)

    Everything is elementwise: arrays in, arrays of the same shape out. A loss of one's own needs `form`, `value`,
    `derivative` and `conjugate`; what else is asked of it is then computed from them, slower. `check_loss` tells
    whether they fit together.
    """

    form: ClassVar[Form]

    @abstractmethod
    def value(self, z: Any) -> Array:
        """φ(z)"""

    @abstractmethod
    def derivative(self, z: Any) -> Array:
        """φ'(z); at a kink the subgradient that is nearest to zero."""

    @abstractmethod
    def conjugate(self, s: Any) -> Array:
        """φ*(s) = max over z of s z − φ(z); infinite for a slope that φ does not have."""

    def second_derivative(self, z: Any) -> Array:
        """φ''(z) where it exists; at a kink of φ' the value to its right, at one of φ infinity or a large number."""
        z = np.asarray(z, dtype=np.float64)
        h = 1e-5 * np.maximum(1.0, np.abs(z))
        return np.maximum((self.derivative(z + h) - self.derivative(z - h)) / (2 * h), 0.0)

    @property
    def slopes(self) -> tuple[float, float]:
        """The lowest and the highest slope (in the limit, perhaps infinite): the domain of the conjugate."""
        z = np.array([-FAR, -NEARLY_AS_FAR, NEARLY_AS_FAR, FAR])
        with np.errstate(over="ignore", invalid="ignore"):
            d = np.asarray(self.derivative(z), dtype=np.float64)
        settled = [abs(a - b) <= 1e-9 * abs(a) for a, b in ((d[0], d[1]), (d[3], d[2]))]
        return (float(d[0]) if settled[0] else -np.inf), (float(d[3]) if settled[1] else np.inf)

    @property
    def kinks(self) -> tuple[float, ...]:
        """Slopes strictly inside `slopes` at which φ is a line: kinks of the conjugate, where it is split in pieces."""
        return ()

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """`slopes`, cut at zero and at the kinks."""
        low, high = self.slopes
        ends = sorted({low, high, *(k for k in (0.0, *self.kinks) if low < k < high)})
        found = [Piece(a if a >= 0 else b, a, b) for a, b in pairwise(ends)]
        found.sort(key=lambda piece: (abs(piece.start), piece.low < 0))
        return tuple(found)

    def conjugate_derivative(self, s: Any) -> Array:
        """φ*'(s): a z with φ'(z) = s, by bisection unless a subclass knows better."""
        s = np.atleast_1d(np.asarray(s, dtype=np.float64))
        low, high = np.full(s.shape, -1.0), np.full(s.shape, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(330):
                wide = self.derivative(low) > s
                if not wide.any():
                    break
                low = np.where(wide, 8 * low, low)
            for _ in range(330):
                wide = self.derivative(high) < s
                if not wide.any():
                    break
                high = np.where(wide, 8 * high, high)
            for _ in range(1100):
                middle = 0.5 * (low + high)
                left = self.derivative(middle) < s
                low, high = np.where(left, middle, low), np.where(left, high, middle)
                if np.all(high - low <= 1e-15 * np.maximum(np.abs(low), np.abs(high))):
                    break
        return 0.5 * (low + high)

    def conjugate_second_derivative(self, s: Any) -> Array:
        """φ*''(s) = 1 / φ''(φ*'(s)), infinite where φ is a line."""
        curvature = self.second_derivative(self.conjugate_derivative(s))
        with np.errstate(divide="ignore"):
            return 1.0 / curvature


def clip_conjugate(s: Any, low: float, high: float, inside: Array) -> Array:
    """`inside` where low ≤ s ≤ high, infinity elsewhere; slopes outside by rounding count as inside."""
    s = np.asarray(s, dtype=np.float64)
    ends = [abs(e) for e in (low, high) if np.isfinite(e)]
    slack = 1e-12 * max(ends, default=0.0)
    return np.where((s >= low - slack) & (s <= high + slack), inside, np.inf)
