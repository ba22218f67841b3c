"""Kernels as sums of products over features and polynomials of x·s.      docs/math (503), (507)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial import polynomial as poly

from hinge._core import KernelNode
from hinge.kernels import RBF, BSpline, Kernel, Laplacian, Linear, Polynomial, Product, Scaled, Sum


@dataclass(frozen=True)
class Term:
    """multiple · Π_j Π factors(x_j, s_j) · q(γ x·s + c₀), `polynomial` being the coefficients of q, constant first."""

    multiple: float = 1.0
    factors: tuple[KernelNode, ...] = ()
    polynomial: tuple[float, ...] = (1.0,)
    gamma: float = 1.0
    coef0: float = 0.0

    @property
    def is_linear(self) -> bool:
        """Whether the term is a constant or linear in x."""
        return not self.factors and len(self.polynomial) <= 2


def normal_form(kernel: Kernel, n_features: int) -> list[Term]:
    """Return the terms of a kernel; raise a ValueError if it has no such form."""
    if isinstance(kernel, Sum):
        return [term for part in kernel.parts for term in normal_form(part, n_features)]
    if isinstance(kernel, Scaled):
        terms = normal_form(kernel.kernel, n_features)
        return [replace(term, multiple=kernel.multiple * term.multiple) for term in terms]
    if isinstance(kernel, Product):
        terms = [Term()]
        for part in kernel.parts:
            terms = [_product(a, b) for a in terms for b in normal_form(part, n_features)]
        return terms
    return [_leaf(kernel, n_features)]


def _leaf(kernel: Kernel, n_features: int) -> Term:
    if isinstance(kernel, Linear):
        return Term(polynomial=(0.0, 1.0))
    if isinstance(kernel, Polynomial) and float(kernel.degree).is_integer():
        powers = (0.0,) * int(kernel.degree) + (1.0,)
        return Term(polynomial=powers, gamma=kernel._gamma, coef0=float(kernel.coef0))
    if isinstance(kernel, RBF | Laplacian) or (isinstance(kernel, BSpline) and n_features == 1):
        return Term(factors=tuple(kernel.nodes()))
    reason = ""
    if isinstance(kernel, BSpline):
        reason = f" (a B-spline of the distance is a product only for one feature, X has {n_features})"
    if isinstance(kernel, Polynomial):
        reason = f" (degree={kernel.degree!r} is not an integer)"
    raise ValueError(
        f"kernel={kernel!r} is neither a product over features nor a polynomial{reason}, so its exact Shapley values "
        "would need a sum over all subsets of features; train with RBF, Laplacian, Linear, Polynomial of integer "
        "degree, or sums and products of them"
    )


def _product(a: Term, b: Term) -> Term:
    multiple, factors = a.multiple * b.multiple, a.factors + b.factors
    if len(b.polynomial) == 1:
        a, b = b, a
    if len(a.polynomial) == 1:  # a constant
        polynomial = tuple(a.polynomial[0] * c for c in b.polynomial)
        return Term(multiple, factors, polynomial, b.gamma, b.coef0)
    if (a.gamma, a.coef0) == (b.gamma, b.coef0):
        return Term(multiple, factors, _floats(poly.polymul(a.polynomial, b.polynomial)), a.gamma, a.coef0)
    return Term(multiple, factors, _floats(poly.polymul(_expanded(a), _expanded(b))))


def _expanded(term: Term) -> np.ndarray:
    """Coefficients of q(γy + c₀) as a polynomial of y."""
    result: Any = np.zeros(1)
    for coefficient in reversed(term.polynomial):  # Horner's scheme
        result = poly.polyadd(poly.polymul(result, [term.coef0, term.gamma]), [coefficient])
    return result


def _floats(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
