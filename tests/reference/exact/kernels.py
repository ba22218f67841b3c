"""Kernel matrices as balls, from the formulas of the kernels."""

from __future__ import annotations

from math import comb, factorial

import numpy as np
from flint import arb_mat
from scipy import sparse

from .numbers import HALF, ONE, ZERO, exact, matrix


def dense(X):
    """Return X in float64; the conversion of float32 is exact."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def gram(kernel, X):
    """Return the kernel matrix of the rows of X; `kernel` is an object of hinge.kernels with resolved parameters."""
    X = dense(X)
    return _gram(kernel, X)


def is_psd(kernel):
    """Whether every matrix of the kernel is positive semidefinite by its formula."""
    name = type(kernel).__name__
    if name in ("Sum", "Product"):
        return all(is_psd(part) for part in kernel.parts)
    if name == "Scaled":
        return is_psd(kernel.kernel)
    if name == "Polynomial":
        return kernel.coef0 >= 0 and float(kernel.degree).is_integer()
    return name in ("Linear", "RBF", "Laplacian", "ProductBSpline")


def _gram(kernel, X):
    name, n = type(kernel).__name__, len(X)
    if name == "Precomputed":
        return matrix(X)
    if name in ("Sum", "Product"):
        parts = [_gram(part, X) for part in kernel.parts]
        result = parts[0]
        for part in parts[1:]:
            result = result + part if name == "Sum" else _entrywise(n, lambda i, j, a=result, b=part: a[i, j] * b[i, j])
        return result
    if name == "Scaled":
        return _gram(kernel.kernel, X) * exact(kernel.multiple)
    if name == "Laplacian":
        rows, gamma = [[exact(v) for v in row] for row in X], exact(kernel.gamma)
        return _entrywise(n, lambda i, j: (-gamma * _l1(rows[i], rows[j])).exp())
    M = matrix(X)
    dots = M * M.transpose()
    if name == "Linear":
        return dots
    if name == "Polynomial":
        gamma, offset, degree = exact(kernel.gamma), exact(kernel.coef0), float(kernel.degree)
        power = int(degree) if degree.is_integer() else exact(degree)
        return _entrywise(n, lambda i, j: (gamma * dots[i, j] + offset) ** power)
    if name == "Sigmoid":
        gamma, offset = exact(kernel.gamma), exact(kernel.coef0)
        return _entrywise(n, lambda i, j: (gamma * dots[i, j] + offset).tanh())
    gamma = exact(kernel.gamma)
    diagonal = [dots[i, i] for i in range(n)]

    def distance(i, j):
        return ZERO if i == j else diagonal[i] + diagonal[j] - 2 * dots[i, j]

    if name == "RBF":
        return _entrywise(n, lambda i, j: (-gamma * distance(i, j)).exp())
    if name == "BSpline":
        q = int(kernel.degree)
        return _entrywise(n, lambda i, j: _bspline(q, (gamma * distance(i, j)).sqrt() if i != j else ZERO))
    if name == "ProductBSpline":
        q, root, rows = int(kernel.degree), gamma.sqrt(), [[exact(v) for v in row] for row in X]
        top = _bspline(q, ZERO)
        return _entrywise(
            n,
            lambda i, j: _product(_bspline(q, root * abs(x - z)) / top for x, z in zip(rows[i], rows[j], strict=True)),
        )
    raise TypeError(f"{name} has no formula in ball arithmetic")


def _entrywise(n, value):
    """Return the symmetric matrix with these entries."""
    lower = [[value(i, j) for j in range(i + 1)] for i in range(n)]
    return arb_mat(n, n, [lower[max(i, j)][min(i, j)] for i in range(n) for j in range(n)])


def _product(factors):
    result = ONE
    for factor in factors:
        result *= factor
    return result


def _l1(a, b):
    result = ZERO
    for x, z in zip(a, b, strict=True):
        result += abs(x - z)
    return result


def _bspline(q, t):
    """1/q! Σₖ (−1)ᵏ C(q+1, k) (t + (q+1)/2 − k)₊^q, which is zero for t ≥ (q+1)/2."""
    result = ZERO
    for k in range(q + 2):
        term = (t + HALF * (q + 1) - k).max(ZERO) ** q
        result += (-1) ** k * comb(q + 1, k) * term
    return (result * (ONE / factorial(q))).max(ZERO)
