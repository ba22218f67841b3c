"""Kernels, their algebra, and access to their matrices."""

from hinge.kernels.access import (
    Access,
    GramAccess,
    RidgedAccess,
    SubsetAccess,
    cross,
    expand,
    open_access,
    products,
    with_ridge,
)
from hinge.kernels.algebra import Kernel, Product, Scaled, Sum
from hinge.kernels.direct import DirectAccess
from hinge.kernels.functions import (
    RBF,
    BSpline,
    FunctionKernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from hinge.kernels.memory import available_bytes, cache_bytes
from hinge.kernels.pairs import PairAccess, fold, incidence
from hinge.kernels.parse import make_kernel
from hinge.validation import check_cache_size, is_symmetric

__all__ = [
    "RBF",
    "Access",
    "BSpline",
    "DirectAccess",
    "FunctionKernel",
    "GramAccess",
    "Kernel",
    "Laplacian",
    "Linear",
    "PairAccess",
    "Polynomial",
    "Precomputed",
    "Product",
    "RidgedAccess",
    "Scaled",
    "Sigmoid",
    "SubsetAccess",
    "Sum",
    "available_bytes",
    "cache_bytes",
    "check_cache_size",
    "cross",
    "expand",
    "fold",
    "incidence",
    "is_symmetric",
    "make_kernel",
    "open_access",
    "products",
    "with_ridge",
]
