"""Kernels and data for the tests of the kernels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hinge.kernels import RBF, BSpline, Laplacian, Linear, Polynomial, ProductBSpline, Sigmoid

LEAVES = (
    Linear(),
    Polynomial(degree=3, gamma=0.5, coef0=1.0),
    Polynomial(degree=2, gamma=0.3),
    Polynomial(degree=0, gamma=0.3),
    RBF(0.4),
    RBF(0.0),
    Sigmoid(0.2, 0.1),
    Laplacian(0.3),
    BSpline(degree=1, gamma=0.05),
    BSpline(degree=3, gamma=0.2),
    BSpline(degree=7, gamma=1.0),
    ProductBSpline(degree=1, gamma=0.05),
    ProductBSpline(degree=3, gamma=0.2),
)
COMBINATIONS = (
    RBF(0.4) + Linear(),
    2.5 * RBF(0.4),
    RBF(0.4) * Laplacian(0.1) + 0.5 * Polynomial(degree=2, gamma=0.2, coef0=1.0),
    3 * (Linear() + RBF(0.1)) * (Sigmoid(0.1) + BSpline()),
)
KERNELS = LEAVES + COMBINATIONS

STORAGES = ("float64", "float32", "csr64", "csr32", "csr64-int64", "csr32-int64")


def values(n: int, d: int, density: float = 0.6, seed: int = 0) -> np.ndarray:
    """Values that float32 represents exactly; some are 0, and the last of several rows is 0."""
    rng = np.random.default_rng([seed, n, d])
    X = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    X[rng.random((n, d)) > density] = 0.0
    if n > 2:
        X[-1] = 0.0
    return X


def stored(X: np.ndarray, storage: str):
    """X in one of the formats of STORAGES."""
    dtype = np.float32 if "32" in storage.partition("-")[0] else np.float64
    if not storage.startswith("csr"):
        return np.ascontiguousarray(X, dtype=dtype)
    csr = sparse.csr_array(X.astype(dtype))
    if storage.endswith("int64"):
        csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr
