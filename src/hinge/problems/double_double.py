"""Double-double arithmetic: a number is an unevaluated sum of two doubles.                  docs/math (379)

Matrix products are computed from slices with so few bits that the products of BLAS are exact.
"""

from __future__ import annotations

import numpy as np

from hinge.problems.problem import Problem
from hinge.problems.separable import Array

Pair = tuple[Array, Array]

BITS = 53  # significand of a double
MATRIX_SLICES, HIGH_SLICES, LOW_SLICES = 4, 4, 3  # slices of the matrix and of both parts of a vector
BLOCK_ROWS = 256  # rows of a matrix that are sliced at a time


def two_sum(a: Array, b: Array) -> Pair:
    """Return the rounded sum a + b and its exact rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def add(a: Pair, b: Pair) -> Pair:
    """Return the sum of two pairs."""
    total, error = two_sum(a[0], b[0])
    return two_sum(total, error + (a[1] + b[1]))


def slices(values: Array, count: int, bits: int) -> list[Array]:
    """Split `values` into `count` slices of `bits` bits; their sum is `values` up to a remainder."""
    parts, remainder = [], values
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0:
        return []
    exponent = int(np.frexp(largest)[1])
    for _ in range(count):
        shift = 1.5 * 2.0 ** (exponent - bits + BITS - 1)
        part = (remainder + shift) - shift
        parts.append(part)
        remainder = remainder - part
        exponent -= bits
    return parts


def product(matrix: Array, vector: Pair) -> Pair:
    """Return matrix @ vector."""
    rows, length = matrix.shape
    total = np.zeros(rows), np.zeros(rows)
    bits = (BITS - 1 - int(np.ceil(np.log2(max(length, 2))))) // 2
    columns = slices(vector[0], HIGH_SLICES, bits) + slices(vector[1], LOW_SLICES, bits)
    if not columns:
        return total
    stacked = np.column_stack(columns)
    for first in range(0, rows, BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        for part in slices(matrix[block], MATRIX_SLICES, bits):
            for column in (part @ stacked).T:
                total[0][block], error = two_sum(total[0][block], column)
                total[1][block] += error
    return two_sum(*total)


def residual(problem: Problem, K: Array, alpha: Pair, mu: Pair) -> tuple[Array, Array]:
    """Return Qα + p and r = Qα + p + Aᵀμ, each rounded once at the end. The term h is not included."""
    Q = problem.Q
    beta: Pair = np.zeros(Q.n), np.zeros(Q.n)
    signed = [(Q.sign * part).reshape(Q.slots, Q.n) for part in alpha]
    for high, low in zip(*signed, strict=True):
        beta = add(beta, (high, low))
    f = product(K, beta)
    zeros = np.zeros(problem.size)
    gradient = add((Q.spread(f[0]), Q.spread(f[1])), (problem.p, zeros))
    reduced = add(gradient, product(problem.A.T, mu)) if len(problem.d) else gradient
    return gradient[0], reduced[0] + reduced[1]


def equality_residual(problem: Problem, alpha: Pair) -> Array:
    """Return Aα − d, rounded once at the end."""
    if not len(problem.d):
        return np.zeros(0)
    high, low = add(product(problem.A, alpha), (-problem.d, np.zeros(len(problem.d))))
    return np.asarray(high + low)
