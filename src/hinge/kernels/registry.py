"""Kernels by name: the values of the argument ``kernel=``."""

from __future__ import annotations

from dataclasses import fields

from hinge.kernels.algebra import Kernel
from hinge.kernels.custom import FunctionKernel, Precomputed
from hinge.kernels.functions import RBF, BSpline, Laplacian, Linear, Polynomial, Sigmoid
from hinge.kernels.gamma import Gamma

#: Every kernel with a name. Each is a dataclass whose fields are among `degree`, `gamma` and `coef0`.
KERNELS: dict[str, type[Kernel]] = {
    "linear": Linear,
    "poly": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
    "laplacian": Laplacian,
    "bspline": BSpline,
    "precomputed": Precomputed,
}


def make_kernel(kernel: object, degree: float = 3, gamma: Gamma = "scale", coef0: float = 0.0) -> Kernel:
    """Return the kernel for a name, a function (X, Z) -> matrix, or a `Kernel` object (returned unchanged).

    ``degree``, ``gamma`` and ``coef0`` are passed to the named kernels that have them.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str) and kernel in KERNELS:
        kind, options = KERNELS[kernel], {"degree": degree, "gamma": gamma, "coef0": coef0}
        return kind(**{field.name: options[field.name] for field in fields(kind)})  # type: ignore[arg-type]
    if callable(kernel):
        return FunctionKernel(kernel)
    choices = ", ".join(map(repr, KERNELS))
    raise ValueError(f"kernel={kernel!r} must be one of {choices}, a function (X, Z) -> matrix or a Kernel object")
