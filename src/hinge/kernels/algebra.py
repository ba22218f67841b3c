"""The interface of a kernel; kernels by name; sums, products and positive multiples of kernels.

The classes of this package evaluate kernels with NumPy in float64, directly from the formula. This is the reference
implementation; it shares no code with the compiled core. ``nodes()`` returns the same formula as a postfix program for
the compiled core.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import isfinite
from numbers import Real
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hinge._core import KernelNode
from hinge.validation import too_large

Array: TypeAlias = NDArray[np.float64]
Data: TypeAlias = Any  # a NumPy array or a SciPy sparse matrix; SciPy carries no types

#: Largest relative error of a rounded operation.
UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2

#: Relative error of exp, tanh, sqrt and power that is assumed in error bounds.
FUNCTION_ERROR = 4 * UNIT_ROUNDOFF


class Kernel(ABC):
    """A kernel k(x, z).

    ``kernel(X, Z)`` is the matrix of its values, ``kernel.diag(X)`` the vector k(xᵢ, xᵢ).
    Kernels can be added and multiplied: ``RBF(0.5) + 2 * Linear()``.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF, Kernel, Linear
    >>> kernel = RBF(0.5) + 2 * Linear()
    >>> isinstance(kernel, Kernel), kernel(np.array([[0.0], [1.0]]), np.array([[1.0]])).round(3)
    (True, array([[0.607],
           [3.   ]]))
    """

    __array_ufunc__ = None  # makes np.float64(2) * kernel call __rmul__

    #: Whether the kernel can be a part of sums and products.
    combinable: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        """Return the matrix k(xᵢ, zⱼ) in float64; Z defaults to X."""

    @abstractmethod
    def diag(self, X: Data) -> Array:
        """Return k(xᵢ, xᵢ) for every row of X."""

    @property
    @abstractmethod
    def psd(self) -> bool | None:
        """Whether all matrices of this kernel are positive semidefinite; None if unknown or dependent on the data."""

    @property
    def strictly_positive(self) -> bool:
        """Whether the matrix of distinct samples is positive definite for every choice of samples."""
        return False

    @abstractmethod
    def nodes(self) -> list[KernelNode] | None:
        """Return the kernel as a postfix program for the compiled core, or None if a part has only a Python form."""

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        """Return the values and bounds on their rounding errors; docs/math (611).

        By default the errors are zero: the computed values define the kernel.
        """
        values = self(X, Z)
        return values, np.zeros_like(values)

    def resolve(self, X: Data, weight: Array | None = None) -> Kernel:
        """Return this kernel with gamma="scale" and gamma="auto" replaced by their values for X with these weights."""
        return self

    def __add__(self, other: Kernel) -> Kernel:
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum((*_parts(self, Sum), *_parts(other, Sum)))

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product((*_parts(self, Product), *_parts(other, Product)))
        if isinstance(other, Real) and not isinstance(other, bool):
            try:
                return Scaled(float(other), self)
            except OverflowError:
                raise too_large("the multiple of a kernel") from None
        return NotImplemented

    def __rmul__(self, other: float) -> Kernel:
        return self.__mul__(other)


#: Every kernel with a name. Each is a dataclass whose fields are among `degree`, `gamma` and `coef0`.
KERNELS: dict[str, type[Kernel]] = {}

KernelType = TypeVar("KernelType", bound=type[Kernel])


def register(name: str) -> Callable[[KernelType], KernelType]:
    """Class decorator: make a kernel available by `name`."""

    def decorate(cls: KernelType) -> KernelType:
        KERNELS[name] = cls
        return cls

    return decorate


class Combination(Kernel):
    """Base of sums and products of kernels."""

    parts: tuple[Kernel, ...]
    operator: str

    def _check(self) -> None:
        if len(self.parts) < 2:
            raise ValueError(f"a {self.operator} of kernels needs at least two kernels, got {len(self.parts)}")
        for part in self.parts:
            _check_operand(part)

    @property
    def psd(self) -> bool | None:
        return True if all(part.psd for part in self.parts) else None

    def nodes(self) -> list[KernelNode] | None:
        first, *others = (part.nodes() for part in self.parts)
        if first is None:
            return None
        program = list(first)
        for nodes in others:
            if nodes is None:
                return None
            program += [*nodes, KernelNode(self.operator)]
        return program


@dataclass(frozen=True)
class Sum(Combination):
    """k(x, z) = Σ kₚ(x, z)

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF, Linear, Sum
    >>> kernel = Sum((RBF(0.5), Linear()))
    >>> kernel == RBF(0.5) + Linear(), kernel(np.array([[1.0]]), np.array([[1.0]]))
    (True, array([[2.]]))
    """

    parts: tuple[Kernel, ...]
    operator = "sum"

    def __post_init__(self) -> None:
        self._check()

    @property
    def strictly_positive(self) -> bool:
        return bool(self.psd) and any(part.strictly_positive for part in self.parts)

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return reduce(np.add, (part(X, Z) for part in self.parts))

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        values, error = self.parts[0].bounded(X, Z)
        for part in self.parts[1:]:
            other, other_error = part.bounded(X, Z)
            values = values + other
            error = error + other_error + UNIT_ROUNDOFF * np.abs(values)
        return values, error

    def diag(self, X: Data) -> Array:
        return reduce(np.add, (part.diag(X) for part in self.parts))

    def resolve(self, X: Data, weight: Array | None = None) -> Sum:
        return Sum(tuple(part.resolve(X, weight) for part in self.parts))


@dataclass(frozen=True)
class Product(Combination):
    """k(x, z) = Π kₚ(x, z)

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF, Linear, Product
    >>> kernel = Product((RBF(0.5), Linear()))
    >>> kernel == RBF(0.5) * Linear(), kernel(np.array([[2.0]]), np.array([[2.0]]))
    (True, array([[4.]]))
    """

    parts: tuple[Kernel, ...]
    operator = "product"

    def __post_init__(self) -> None:
        self._check()

    @property
    def strictly_positive(self) -> bool:
        return all(part.strictly_positive for part in self.parts)  # Schur's product theorem

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return reduce(np.multiply, (part(X, Z) for part in self.parts))

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        values, error = self.parts[0].bounded(X, Z)
        for part in self.parts[1:]:
            other, other_error = part.bounded(X, Z)
            error = np.abs(values) * other_error + (np.abs(other) + other_error) * error
            values = values * other
            error = error + UNIT_ROUNDOFF * np.abs(values)
        return values, error

    def diag(self, X: Data) -> Array:
        return reduce(np.multiply, (part.diag(X) for part in self.parts))

    def resolve(self, X: Data, weight: Array | None = None) -> Product:
        return Product(tuple(part.resolve(X, weight) for part in self.parts))


@dataclass(frozen=True)
class Scaled(Kernel):
    """k(x, z) = c k₁(x, z), c > 0

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import Linear, Scaled
    >>> kernel = Scaled(3.0, Linear())
    >>> kernel == 3.0 * Linear(), kernel(np.array([[2.0]]), np.array([[2.0]]))
    (True, array([[12.]]))
    """

    multiple: float
    kernel: Kernel

    def __post_init__(self) -> None:
        _check_operand(self.kernel)
        if isinstance(self.multiple, bool) or not isinstance(self.multiple, Real):
            raise TypeError(f"a kernel can be multiplied by a number or a kernel, got {self.multiple!r}")
        if not (isfinite(self.multiple) and self.multiple > 0):
            raise ValueError(
                f"a kernel can only be multiplied by a positive, finite number, got {self.multiple!r}: "
                "other multiples are not kernels; omit the term or use a positive weight"
            )

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return self.multiple * self.kernel(X, Z)

    def bounded(self, X: Data, Z: Data | None = None) -> tuple[Array, Array]:
        values, error = self.kernel.bounded(X, Z)
        values = self.multiple * values
        return values, self.multiple * error + UNIT_ROUNDOFF * np.abs(values)

    def diag(self, X: Data) -> Array:
        return self.multiple * self.kernel.diag(X)

    @property
    def psd(self) -> bool | None:
        return self.kernel.psd

    @property
    def strictly_positive(self) -> bool:
        return self.kernel.strictly_positive

    def nodes(self) -> list[KernelNode] | None:
        nodes = self.kernel.nodes()
        return None if nodes is None else [*nodes, KernelNode("scale", gamma=float(self.multiple))]

    def resolve(self, X: Data, weight: Array | None = None) -> Scaled:
        return Scaled(self.multiple, self.kernel.resolve(X, weight))


def _parts(kernel: Kernel, kind: type[Combination]) -> tuple[Kernel, ...]:
    return kernel.parts if isinstance(kernel, kind) else (kernel,)


def _check_operand(part: object) -> None:
    if not isinstance(part, Kernel):
        raise TypeError(f"only kernels can be combined, got {part!r}; wrap a function in FunctionKernel(...)")
    if not part.combinable:
        raise ValueError(
            f"{part!r} has no formula and cannot be combined with other kernels: "
            "combine the matrices yourself and pass the result as the precomputed matrix"
        )
