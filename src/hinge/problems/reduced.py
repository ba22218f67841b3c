"""Certificates of functions with few basis functions, f = Σⱼ cⱼ k(zⱼ, ·), and a dual point β of all samples.

Upper bound: the Lagrangian at f. Lower bound: the dual objective at β, which needs an upper bound on ‖g‖² for
g = Σᵢ βᵢ k(xᵢ, ·). It is computed from all kernel values, or from a bound on ‖g − f‖.          docs/math (640)–(643)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.kernels import Kernel, Precomputed
from hinge.kernels.algebra import UNIT_ROUNDOFF, Data
from hinge.kernels.direct import LARGEST_FACTOR, bounded_product
from hinge.kernels.distances import row_blocks
from hinge.problems.bounds import bounds
from hinge.problems.certificate import Certificate
from hinge.problems.problem import Problem
from hinge.problems.separable import Array

#: Allows for the few operations on bounds that are not analysed separately.
OUTWARD = 1 + 1e-12

#: Rows whose values are computed between two checks of the deadline.
MAX_BLOCK_ROWS = 16_384

#: Relative error of a diagonal entry of the kernel matrix, whose terms have one sign, per feature: powers up to 16.
DIAGONAL_OPERATIONS = 16


@dataclass(frozen=True)
class ReducedFunction:
    """Values of f at all samples, bounds on their errors, and bounds on ‖f‖²."""

    values: Array
    error: Array
    norm_below: float
    norm_above: float

    def at(self, rows: NDArray[np.intp] | None) -> ReducedFunction:
        """Return the values at some of the samples; None for all of them."""
        if rows is None:
            return self
        return ReducedFunction(self.values[rows], self.error[rows], self.norm_below, self.norm_above)

    def times(self, factor: float) -> ReducedFunction:
        """Return the function multiplied by a positive number."""
        if factor == 1.0:
            return self
        values = factor * self.values
        error = OUTWARD * factor * self.error + UNIT_ROUNDOFF * np.abs(values)
        square = factor * factor
        return ReducedFunction(values, error, square * self.norm_below / OUTWARD, square * self.norm_above * OUTWARD)


@dataclass(frozen=True)
class Basis:
    """Basis functions: their positions among the samples, and the kernel values of samples with them."""

    kernel: Kernel
    X: Data
    support: NDArray[np.intp]

    def values(self, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the kernel values of some samples with the basis functions, and bounds on their errors."""
        if isinstance(self.kernel, Precomputed):
            values = np.asarray(self.X[np.ix_(rows, self.support)], dtype=np.float64)
            return values, np.zeros_like(values)
        return self.kernel.bounded(self.X[rows], self.X[self.support])

    def diagonal(self) -> Array:
        """Return an upper bound on the diagonal of the kernel matrix."""
        if isinstance(self.kernel, Precomputed):
            return np.diagonal(self.X).astype(np.float64)
        operations = DIAGONAL_OPERATIONS * (self.X.shape[1] + DIAGONAL_OPERATIONS)
        return np.asarray(self.kernel.diag(self.X) * (1 + operations * UNIT_ROUNDOFF))

    def functions(
        self, coefficients: Array, betas: Sequence[Array] = (), expired: Callable[[], bool] = lambda: False
    ) -> tuple[list[ReducedFunction], list[float]] | None:
        """Return the function of each column of coefficients, and bounds on its distance from Σᵢ βᵢ k(xᵢ, ·).

        There are no distances without `betas`. None if `expired` returns True before all values are known.
        """
        n, columns = self.X.shape[0], coefficients.T
        values, error = np.empty((len(columns), n)), np.empty((len(columns), n))
        distances = _Distances(self, betas) if betas else None
        step = min(MAX_BLOCK_ROWS, row_blocks(n, max(len(self.support), 1))[0].stop) if n else 1
        for first in range(0, n, step):
            if expired():
                return None
            rows = slice(first, min(n, first + step))
            index = np.arange(n)[rows]
            kernel_values, errors = self.values(index)
            for k, column in enumerate(columns):
                values[k, rows], error[k, rows] = bounded_product(kernel_values, errors, column)
            if distances is not None:
                distances.add(index, kernel_values, errors)
        found = []
        for k, column in enumerate(columns):
            products, slack = column * values[k, self.support], np.abs(column) * error[k, self.support]
            norm = math.fsum(products.tolist())
            radius = OUTWARD * float(np.sum(slack) + 4 * UNIT_ROUNDOFF * np.sum(np.abs(products)))
            found.append(ReducedFunction(values[k], error[k], max(0.0, norm - radius), max(0.0, norm + radius)))
        return found, [] if distances is None else distances.total(columns)


class _Distances:
    """Bounds on ‖f − g‖ for g = Σᵢ βᵢ k(xᵢ, ·), from the distance of every sample from the span.    docs/math (642)

    Every k(xᵢ, ·) is compared with Σⱼ aᵢⱼ k(zⱼ, ·), where aᵢ is close to the best coefficients.
    """

    def __init__(self, basis: Basis, betas: Sequence[Array]) -> None:
        self.betas, self.diagonal = betas, basis.diagonal()
        self.inner, errors = basis.values(basis.support)
        self.inner_error = float(np.max(errors, initial=0.0))
        self.largest = LARGEST_FACTOR * float(np.max(np.abs(np.diagonal(self.inner)), initial=0.0))
        n = len(self.inner)
        ridge = 8 * n * UNIT_ROUNDOFF * self.largest + 2 * n * self.inner_error
        self.inverse = _inverse(self.inner, ridge)
        self.squares = [0.0] * len(betas)
        self.sums = np.zeros((len(betas), n))
        self.sizes = np.zeros((len(betas), n))

    def add(self, rows: NDArray[np.intp], values: Array, errors: Array) -> None:
        """Add the samples `rows`, given their kernel values with the basis functions."""
        used = np.flatnonzero(np.any([beta[rows] != 0 for beta in self.betas], axis=0))
        if len(used) == 0:
            return
        values, errors, rows = values[used], errors[used], rows[used]
        a = values @ self.inverse
        image, size = a @ self.inner, np.abs(a)
        total, n = np.sum(size, axis=1), len(self.inner)
        square = self.diagonal[rows] - 2 * np.einsum("ij,ij->i", a, values) + np.einsum("ij,ij->i", a, image)
        radius = 2 * np.einsum("ij,ij->i", size, errors) + self.inner_error * total**2
        terms = self.diagonal[rows] + 2 * np.einsum("ij,ij->i", size, np.abs(values)) + self.largest * total**2
        radius += 2 * (n + 4) * UNIT_ROUNDOFF * terms
        distance = np.sqrt(np.maximum(square, 0.0) + OUTWARD * radius)
        for k, beta in enumerate(self.betas):
            part = beta[rows]
            self.squares[k] += float(np.abs(part) @ distance)
            self.sums[k] += part @ a
            self.sizes[k] += np.abs(part) @ size

    def total(self, columns: Array) -> list[float]:
        """Return the bounds for functions with these coefficients: the part within the span is added."""
        found = []
        operations = 2 * UNIT_ROUNDOFF * (len(self.diagonal) + 4)
        for k, column in enumerate(columns):
            within = np.abs(self.sums[k] - column) + operations * (self.sizes[k] + np.abs(column))
            span = math.sqrt(self.largest) * float(np.sum(within))
            found.append((1 + operations) * self.squares[k] + OUTWARD * span)
        return found


def _inverse(matrix: Array, ridge: float) -> Array:
    """Return an approximate inverse of a positive semidefinite matrix; a larger ridge is used if necessary."""
    if len(matrix) == 0:
        return matrix
    symmetric, unit = 0.5 * (matrix + matrix.T), np.eye(len(matrix))
    while True:
        try:
            return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(symmetric + ridge * unit), unit))
        except scipy.linalg.LinAlgError:
            ridge = 10 * ridge if ridge > 0 else float(np.max(np.abs(np.diagonal(matrix)))) * UNIT_ROUNDOFF or 1.0


def certify_reduced(
    problem: Problem,
    alpha: Array,
    mu: Array,
    function: ReducedFunction,
    convex: bool | None,
    distance: float | None = None,
) -> Certificate:
    """Bound the optimum by the Lagrangian at f and by the dual objective at a multiple of α.

    Parameters
    ----------
    problem : Problem
        With the kernel matrix itself, not with an approximation.
    alpha, mu : ndarray
        Dual point, feasible up to rounding, and multipliers of the equality rows.
    function : ReducedFunction
        f at the samples of the problem.
    convex : bool or None
    distance : float, optional
        Bound on ‖f − Σᵢ βᵢ k(xᵢ, ·)‖. By default ‖Σᵢ βᵢ k(xᵢ, ·)‖² is computed from all kernel values.
    """
    alpha, mu = np.ascontiguousarray(alpha, dtype=np.float64), np.ascontiguousarray(mu, dtype=np.float64)
    gradient, error = _gradient(problem, function)
    at_zero = bounds(problem, np.zeros_like(alpha), mu, gradient, error)
    primal = _sum_above(at_zero.upper, 0.5 * function.norm_above)
    at_alpha = bounds(problem, alpha, mu, gradient, error)
    if distance is None:
        known, known_error = problem.bounded_gradient(alpha, accurate=True)
        exact = bounds(problem, alpha, mu, known, known_error)
        dual = _lower_bound(problem, alpha, known - problem.p, known_error, exact.lower, exact.moved, None, 0.0)
        rounding = at_zero.rounding + exact.rounding
    else:
        f = gradient - problem.p
        dual = _lower_bound(problem, alpha, f, error, at_alpha.lower, at_alpha.moved, function, distance)
        rounding = at_zero.rounding + at_alpha.rounding
    rounding += 0.5 * (function.norm_above - function.norm_below)
    return Certificate.of(
        primal, dual, at_alpha.kkt_violation, at_alpha.infeasibility, mu, convex, rounding, at_alpha.scale
    )


def _gradient(problem: Problem, function: ReducedFunction) -> tuple[Array, Array]:
    """Return Qα + p with f in place of Kβ, and bounds on its errors."""
    return problem.Q.spread(function.values) + problem.p, np.tile(function.error, problem.Q.slots)


def _lower_bound(
    problem: Problem,
    alpha: Array,
    f: Array,
    error: Array,
    lower: float,
    moved: float,
    function: ReducedFunction | None,
    distance: float,
) -> float:
    """Return the dual objective at the best multiple tα, 0 ≤ t ≤ 1, rounded down.                     docs/math (643)

    `f` are the values of a function with signs, `lower` bounds −½αᵀf − pᵀα − h(α) after a correction of length `moved`.
    Without `function` these are the values of Σᵢ βᵢ k(xᵢ, ·) itself.
    """
    homogeneous = not np.any(problem.d) and bool(np.all((problem.lower <= 0) & (problem.upper >= 0)))
    if not np.isfinite(lower):
        return 0.0 if lower == -np.inf and homogeneous and problem.term is None else lower
    products = alpha * f
    inner = math.fsum(products.tolist())
    radius = float(np.sum(np.abs(alpha) * (error + 8 * UNIT_ROUNDOFF * (np.abs(f) + np.abs(problem.p)))))
    radius = OUTWARD * (radius + 2 * UNIT_ROUNDOFF * float(np.sum(np.abs(products))))
    if function is None:
        square = max(0.0, inner + radius)
    else:
        square = max(0.0, OUTWARD * (2 * (inner + radius)) - function.norm_below + OUTWARD * distance**2)
        square += 4 * UNIT_ROUNDOFF * (2 * abs(inner) + function.norm_below)
    largest = math.sqrt(problem.Q.access.largest())
    size = float(np.max(np.abs(f) + error, initial=0.0)) + distance * largest
    linear = lower + 0.5 * (inner - radius) - OUTWARD * size * moved
    square = OUTWARD * (math.sqrt(square) + largest * moved) ** 2
    t = float(np.clip(linear / square, 0.0, 1.0)) if homogeneous and square > 0 else 1.0
    value = t * linear - 0.5 * t * t * square
    return value - 16 * UNIT_ROUNDOFF * (abs(lower) + abs(inner) + abs(t * linear) + t * t * square)


def _sum_above(first: float, second: float) -> float:
    total = first + second
    return total if not np.isfinite(total) else float(np.nextafter(total, np.inf))
