"""Sums and products to twice the precision of doubles: a number is a pair, its second part what rounding left.

Products of matrices are taken slice by slice, with so few digits in each slice that the matrix product of BLAS rounds
nothing.                                                                                        docs/math (379)
"""

from __future__ import annotations

import numpy as np

from hinge.problems.problem import Problem
from hinge.problems.separable import Array

Pair = tuple[Array, Array]

#: Bits of a double, and slices of the matrix, of a vector, and of what rounding left of that.
BITS = 53
MATRIX_SLICES, HIGH_SLICES, LOW_SLICES = 4, 4, 3

#: Rows of a matrix that are sliced at a time.
ROWS = 256


def two_sum(a: Array, b: Array) -> Pair:
    """a + b rounded, and exactly what that left."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def add(a: Pair, b: Pair) -> Pair:
    """The sum of two pairs."""
    total, left = two_sum(a[0], b[0])
    return two_sum(total, left + (a[1] + b[1]))


def slices(values: Array, count: int, bits: int) -> list[Array]:
    """Multiples of powers of two, `bits` bits each, whose sum is `values` but for what `count` slices cannot hold."""
    found, rest = [], values
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0:
        return []
    exponent = int(np.frexp(largest)[1])
    for _ in range(count):
        shift = 1.5 * 2.0 ** (exponent - bits + BITS - 1)
        piece = (rest + shift) - shift
        found.append(piece)
        rest = rest - piece
        exponent -= bits
    return found


def product(matrix: Array, vector: Pair) -> Pair:
    """matrix @ vector."""
    rows, length = matrix.shape
    total = np.zeros(rows), np.zeros(rows)
    bits = (BITS - 1 - int(np.ceil(np.log2(max(length, 2))))) // 2
    columns = slices(vector[0], HIGH_SLICES, bits) + slices(vector[1], LOW_SLICES, bits)
    if not columns:
        return total
    stacked = np.column_stack(columns)
    for first in range(0, rows, ROWS):
        here = slice(first, first + ROWS)
        for part in slices(matrix[here], MATRIX_SLICES, bits):
            for column in (part @ stacked).T:
                total[0][here], left = two_sum(total[0][here], column)
                total[1][here] += left
    return two_sum(*total)


def residual(problem: Problem, K: Array, alpha: Pair, mu: Pair) -> tuple[Array, Array]:
    """(Qα + p, and r = Qα + p + Aᵀμ), rounded once at the end.  Without the term h."""
    Q = problem.Q
    beta: Pair = np.zeros(Q.n), np.zeros(Q.n)
    signed = [(Q.sign * part).reshape(Q.slots, Q.n) for part in alpha]
    for high, low in zip(*signed, strict=True):
        beta = add(beta, (high, low))
    f = product(K, beta)
    nothing = np.zeros(problem.size)
    gradient = add((Q.spread(f[0]), Q.spread(f[1])), (problem.p, nothing))
    reduced = add(gradient, product(problem.A.T, mu)) if len(problem.d) else gradient
    return gradient[0], reduced[0] + reduced[1]


def excess(problem: Problem, alpha: Pair) -> Array:
    """Aα − d, rounded once at the end."""
    if not len(problem.d):
        return np.zeros(0)
    high, low = add(product(problem.A, alpha), (-problem.d, np.zeros(len(problem.d))))
    return np.asarray(high + low)
