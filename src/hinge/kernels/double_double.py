"""Double-double arithmetic: a number is an unevaluated sum of two doubles.                  docs/math (379)

Matrix products are computed from slices with so few bits that the products of BLAS are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hinge.kernels.algebra import Array, Data

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


def product(matrix: Data, vector: Pair) -> Pair:
    """Return matrix @ vector for a dense or CSR matrix."""
    rows, length = matrix.shape
    total = np.zeros(rows), np.zeros(rows)
    bits = _slice_bits(length)
    columns = slices(vector[0], HIGH_SLICES, bits) + slices(vector[1], LOW_SLICES, bits)
    if not columns:
        return total
    stacked = np.column_stack(columns)
    for first in range(0, rows, BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        for part in _matrix_slices(matrix[block], bits):
            for column in (part @ stacked).T:
                total[0][block], error = two_sum(total[0][block], column)
                total[1][block] += error
    return two_sum(*total)


def product_error(length: int, largest_entry: float, largest_value: float) -> float:
    """Return a bound on the error of every entry of `product`: the remainders of the slices, and rounding."""
    remainder = 2.0 ** (2 - MATRIX_SLICES * _slice_bits(length))
    return 1.01 * length * largest_entry * largest_value * (remainder + 2.0 ** (8 - 2 * BITS))


def _slice_bits(length: int) -> int:
    """Bits of a slice such that sums of `length` products of two slices are exact."""
    return (BITS - 1 - int(np.ceil(np.log2(max(length, 2))))) // 2


def _matrix_slices(matrix: Data, bits: int) -> list[Any]:
    if not sparse.issparse(matrix):
        return slices(matrix, MATRIX_SLICES, bits)
    parts = slices(matrix.data, MATRIX_SLICES, bits)
    return [sparse.csr_array((part, matrix.indices, matrix.indptr), shape=matrix.shape) for part in parts]
