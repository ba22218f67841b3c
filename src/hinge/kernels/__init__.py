"""Kernels, sums and products of kernels, and access to kernel matrices."""

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
from hinge.kernels.algebra import KERNELS, Kernel, Product, Scaled, Sum
from hinge.kernels.custom import FunctionKernel, Precomputed
from hinge.kernels.direct import DirectAccess
from hinge.kernels.functions import RBF, Laplacian, Linear, Polynomial, Sigmoid, make_kernel
from hinge.kernels.memory import available_bytes, cache_bytes
from hinge.kernels.pairs import PairAccess, incidence, sum_over_pairs
from hinge.kernels.splines import BSpline, ProductBSpline, bspline
from hinge.matrices import is_symmetric
from hinge.validation import check_cache_size

__all__ = [
    "KERNELS",
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
    "ProductBSpline",
    "RidgedAccess",
    "Scaled",
    "Sigmoid",
    "SubsetAccess",
    "Sum",
    "available_bytes",
    "bspline",
    "cache_bytes",
    "check_cache_size",
    "cross",
    "expand",
    "incidence",
    "is_symmetric",
    "make_kernel",
    "open_access",
    "products",
    "sum_over_pairs",
    "with_ridge",
]
