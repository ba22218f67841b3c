"""From what a user writes for ``kernel=`` to a Kernel."""

from __future__ import annotations

from hinge.kernels.algebra import Kernel
from hinge.kernels.functions import (
    RBF,
    BSpline,
    FunctionKernel,
    Gamma,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)

NAMES = ("linear", "poly", "rbf", "sigmoid", "laplacian", "bspline", "precomputed")


def make_kernel(kernel: object, degree: float = 3, gamma: Gamma = "scale", coef0: float = 0.0) -> Kernel:
    """The Kernel meant by a name, a function (X, Z) -> matrix, or a Kernel (returned as it is).

    ``degree``, ``gamma`` and ``coef0`` go to the named kernels that have them and are ignored by all others.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return FunctionKernel(kernel)
    match kernel:
        case "linear":
            return Linear()
        case "poly":
            return Polynomial(degree=degree, gamma=gamma, coef0=coef0)
        case "rbf":
            return RBF(gamma=gamma)
        case "sigmoid":
            return Sigmoid(gamma=gamma, coef0=coef0)
        case "laplacian":
            return Laplacian(gamma=gamma)
        case "bspline":
            return BSpline(degree=degree, gamma=gamma)  # type: ignore[arg-type]
        case "precomputed":
            return Precomputed()
    choices = ", ".join(map(repr, NAMES))
    raise ValueError(f"kernel must be one of {choices}, a function or a Kernel, got {kernel!r}")
