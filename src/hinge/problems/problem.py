"""The one problem every machine becomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.problems.quadratic import Array, Quadratic
from hinge.problems.separable import Diagonal, Separable


def dot(a: Array, b: Array) -> float:
    """aᵀb on the calling thread: for two vectors BLAS wakes up threads that cost more than they bring."""
    return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class Problem:
    """min ½αᵀQα + pᵀα + h(α)  s.t.  Aα = d,  lower ≤ α ≤ upper.              docs/math (1), (311)

    A has zero, one or two rows; bounds may be infinite. h is a sum of convex functions of one variable each, and
    absent for most machines.
    """

    Q: Quadratic
    p: Array
    A: Array
    d: Array
    lower: Array
    upper: Array
    term: Separable | None = None

    def __post_init__(self) -> None:
        size = self.Q.size
        for name, shape in (("p", (size,)), ("lower", (size,)), ("upper", (size,))):
            self._set(name, shape)
        self._set("d", (np.size(self.d),))
        self._set("A", (self.d.size, size))
        if self.d.size > 2:
            raise ValueError(f"A has {self.d.size} rows; zero, one or two equality rows are supported")
        if not all(np.isfinite(values).all() for values in (self.p, self.A, self.d)):
            raise ValueError("p, A and d must be finite")
        if not np.all(self.lower <= self.upper):  # NaN is not below anything
            raise ValueError("lower must not exceed upper, and neither may be NaN")
        highest, lowest = np.maximum.reduce(self.lower, initial=-np.inf), np.minimum.reduce(self.upper, initial=np.inf)
        if highest == np.inf or lowest == -np.inf:
            raise ValueError("lower = +inf or upper = -inf leaves no finite value for a variable")

    def _set(self, name: str, shape: tuple[int, ...]) -> None:
        value = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
        if value.size == 0 and 0 in shape:
            value = value.reshape(shape)
        if value.shape != shape:
            raise ValueError(f"{name} has shape {value.shape}, expected {shape}")
        object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.Q.size

    def gradient(self, alpha: Array) -> Array:
        """Qα + p: the slope of everything but h."""
        return self.Q.matvec(alpha) + self.p

    def value(self, alpha: Array, gradient: Array | None = None) -> float:
        """½αᵀQα + pᵀα + h(α)."""
        gradient = self.gradient(alpha) if gradient is None else gradient
        smooth = 0.5 * dot(alpha, gradient + self.p)
        return smooth if self.term is None else smooth + float(np.sum(self.term.value(alpha)))

    def slope(self, alpha: Array, gradient: Array | None = None) -> Array:
        """Qα + p + h'(α): the slope of all of the objective."""
        gradient = self.gradient(alpha) if gradient is None else gradient
        return gradient if self.term is None else gradient + self.term.gradient(alpha)

    def reduced(self, slope: Array, mu: Array) -> Array:
        """slope + Aᵀμ."""
        out = slope
        for row, multiplier in zip(self.A, mu, strict=True):
            out = out + multiplier * row
        return out

    def sample_diagonal(self) -> Array:
        """Return the diagonal term d of every sample, if h is one and all variables of a sample have the same dᵥ."""
        if not isinstance(self.term, Diagonal):
            raise ValueError(
                "this solver needs a loss whose conjugate is quadratic, such as 'squared_hinge' or 'huber'; use "
                "solver='interior_point' (or 'auto') for others"
            )
        parts = self.term.d.reshape(self.Q.slots, self.Q.n)
        if not np.all(parts == parts[0]):
            raise ValueError(
                "this solver needs the same quadratic term for all variables of a sample; use interior point"
            )
        return np.asarray(parts[0], dtype=np.float64)

    def excess(self, alpha: Array) -> Array:
        """Aα − d."""
        return np.array([dot(row, alpha) for row in self.A], dtype=np.float64) - self.d
