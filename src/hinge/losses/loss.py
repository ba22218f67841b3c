"""Interface of a convex loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Argument of a loss: the margin y f(x) of classification, or the residual y − f(x) of regression.
Form = Literal["margin", "residual"]

#: Arguments at which the derivative of a custom loss is evaluated to estimate its limits. If the values at both
#: differ, the limit is taken to be infinite.
FAR, ALMOST_AS_FAR = 1e200, 1e190

BRACKET_STEPS = 330  # multiplications by 8 until an interval contains the solution: reaches the largest double
BISECTION_STEPS = 1100  # halvings: resolves every double in an interval that spans all of them


class QuadraticConjugate(NamedTuple):
    """Conjugate of a loss that is quadratic on an interval.                                   docs/math (303)

    margin     φ*(−a) = −threshold · a + ½ curvature · a²   for 0 ≤ a ≤ bound
    residual   φ*(s) = threshold · |s| + ½ curvature · s²   for |s| ≤ bound

    Losses with zero curvature have a kink, losses with an infinite bound are quadratic. The dual problem of such a loss
    is a quadratic program with bounds, so that every solver, linear estimators, online learners and paths apply.
    """

    threshold: float | Array
    curvature: float
    bound: float


@dataclass(frozen=True)
class Piece:
    """Interval of slopes on which the conjugate is smooth; `start` is its slope nearest to zero.  docs/math (304)"""

    start: float
    low: float
    high: float


class Loss(ABC):
    """Convex function φ of the margin z = y f(x), or of the residual z = y − f(x).             docs/math (301)

    All methods are elementwise: they return an array of the shape of their argument. A subclass must define `form`,
    `value`, `derivative` and `conjugate`. The other methods have slower default implementations. `check_loss` checks
    that the functions are consistent.

    Examples
    --------
    >>> from hinge.losses import Hinge, Loss
    >>> loss = Hinge()
    >>> isinstance(loss, Loss), loss.form
    (True, 'margin')
    >>> loss.value([0.0, 1.0, 2.0]), loss.derivative([0.0, 2.0])
    (array([1., 0., 0.]), array([-1.,  0.]))
    """

    form: ClassVar[Form]

    #: Whether `quadratic_conjugate` is available for all values of the parameters.
    quadratic: ClassVar[bool] = False

    @abstractmethod
    def value(self, z: Any) -> Array:
        """φ(z)"""

    @abstractmethod
    def derivative(self, z: Any) -> Array:
        """φ'(z); at a kink the subgradient that is nearest to zero."""

    @abstractmethod
    def conjugate(self, s: Any) -> Array:
        """φ*(s) = max over z of s z − φ(z); infinite for slopes that φ does not have."""

    @property
    def quadratic_conjugate(self) -> QuadraticConjugate | None:
        """Parameters of the conjugate if it is quadratic on an interval, else None."""
        return None

    def second_derivative(self, z: Any) -> Array:
        """φ''(z); at a kink of φ' the limit from the right, at a kink of φ infinity or a large number."""
        z = np.asarray(z, dtype=np.float64)
        h = 1e-5 * np.maximum(1.0, np.abs(z))
        return np.maximum((self.derivative(z + h) - self.derivative(z - h)) / (2 * h), 0.0)

    @property
    def slopes(self) -> tuple[float, float]:
        """Infimum and supremum of φ', which may be infinite: the domain of the conjugate."""
        z = np.array([-FAR, -ALMOST_AS_FAR, ALMOST_AS_FAR, FAR])
        with np.errstate(over="ignore", invalid="ignore"):
            d = np.asarray(self.derivative(z), dtype=np.float64)
        converged = [abs(a - b) <= 1e-9 * abs(a) for a, b in ((d[0], d[1]), (d[3], d[2]))]
        return (float(d[0]) if converged[0] else -np.inf), (float(d[3]) if converged[1] else np.inf)

    @property
    def kinks(self) -> tuple[float, ...]:
        """Slopes strictly inside `slopes` at which φ is linear: kinks of the conjugate, which separate its pieces."""
        return ()

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """`slopes`, divided at zero and at the kinks."""
        low, high = self.slopes
        ends = sorted({low, high, *(k for k in (0.0, *self.kinks) if low < k < high)})
        pieces = [Piece(a if a >= 0 else b, a, b) for a, b in pairwise(ends)]
        pieces.sort(key=lambda piece: (abs(piece.start), piece.low < 0))
        return tuple(pieces)

    def conjugate_derivative(self, s: Any) -> Array:
        """φ*'(s), a z with φ'(z) = s; computed by bisection unless a subclass overrides it."""
        s = np.atleast_1d(np.asarray(s, dtype=np.float64))
        low, high = np.full(s.shape, -1.0), np.full(s.shape, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(BRACKET_STEPS):
                too_high = self.derivative(low) > s
                if not too_high.any():
                    break
                low = np.where(too_high, 8 * low, low)
            for _ in range(BRACKET_STEPS):
                too_low = self.derivative(high) < s
                if not too_low.any():
                    break
                high = np.where(too_low, 8 * high, high)
            for _ in range(BISECTION_STEPS):
                middle = 0.5 * (low + high)
                left = self.derivative(middle) < s
                low, high = np.where(left, middle, low), np.where(left, high, middle)
                if np.all(high - low <= 1e-15 * np.maximum(np.abs(low), np.abs(high))):
                    break
        return 0.5 * (low + high)

    def conjugate_second_derivative(self, s: Any) -> Array:
        """φ*''(s) = 1 / φ''(φ*'(s)), infinite where φ is linear."""
        curvature = self.second_derivative(self.conjugate_derivative(s))
        with np.errstate(divide="ignore"):
            return 1.0 / curvature


def clip_conjugate(s: Any, low: float, high: float, inside: Array) -> Array:
    """Return `inside` where low ≤ s ≤ high up to rounding, and infinity elsewhere."""
    s = np.asarray(s, dtype=np.float64)
    ends = [abs(e) for e in (low, high) if np.isfinite(e)]
    slack = 1e-12 * max(ends, default=0.0)
    return np.where((s >= low - slack) & (s <= high + slack), inside, np.inf)
