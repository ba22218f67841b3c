"""Conversion of floating-point numbers to balls that contain them exactly."""

from __future__ import annotations

import numpy as np
from flint import arb, arb_mat, ctx

#: Working precision in bits. Sums and products of a few doubles are exact, and enclosures have about 190 digits.
PRECISION = 640

ctx.prec = PRECISION

ZERO, ONE, HALF = arb(0), arb(1), arb(1) / 2


def exact(value):
    """Return a double, float32 or integer as a ball of radius zero."""
    return arb(float(value))


def vector(values):
    """Return a list of balls; infinite values become None."""
    return [exact(v) if np.isfinite(v) else None for v in np.asarray(values, dtype=np.float64).ravel()]


def matrix(rows):
    """Return a matrix of the entries of an array."""
    rows = np.asarray(rows, dtype=np.float64)
    return arb_mat(*rows.shape, [arb(v) for v in rows.ravel().tolist()])


def column(values):
    return arb_mat(len(values), 1, values)


def product(matrix_, values):
    """Return matrix · values as a list."""
    if not values:
        return [ZERO] * matrix_.nrows()
    return (matrix_ * column(values)).entries()


def total(values):
    result = ZERO
    for value in values:
        result += value
    return result


def dot(a, b):
    return total(x * y for x, y in zip(a, b, strict=True))
