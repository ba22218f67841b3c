"""Reduced-basis problem: squared hinge losses and functions of a few given basis functions, with its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.lowrank.columns import Columns
from hinge.problems import Array, Certificate
from hinge.solvers.blas_threads import single_thread

#: Ridge δ that is added to the diagonal of K^nn, relative to its mean: basis functions may coincide.
RELATIVE_RIDGE = 1e-5

#: Rounding unit of float32: no relative gap below it is certified, since kernel values are float32 at best.
FLOAT32_UNIT = 2.0**-24


@dataclass(frozen=True)
class RoundingErrors:
    """Bounds on the rounding errors of a float16 kernel matrix.                                        (389)

    Attributes
    ----------
    outputs : ndarray or float
        Error of f at every sample.
    norm : ndarray or float
        Error of ‖T⁻¹ K^nm β‖.
    relative_gap : float
        Smallest relative gap that is certified.
    """

    outputs: NDArray[np.floating] | float = 0.0
    norm: Array | float = 0.0
    relative_gap: float = 0.0


@dataclass(frozen=True)
class ReducedBasisProblem:
    """min ½ wᵀ(K^nn + δI)w + Σᵢ Cᵢ max(0, 1 − sᵢ((K^mn w)ᵢ + b))², one problem per column of signs.     docs/math (385)

    Attributes
    ----------
    columns : Columns
        K^mn and K^nn.
    sign : ndarray (m × k)
        ±1 for each sample and each of k problems.
    cost : ndarray (m)
        Cᵢ.
    bias : bool
        Whether there is an offset b.
    """

    columns: Columns
    sign: NDArray[np.float32]
    cost: Array
    bias: bool = True

    @cached_property
    def ridge(self) -> float:
        """δ."""
        return default_ridge(self.columns.inner)

    @cached_property
    def inner(self) -> Array:
        """K^nn + δI."""
        inner = self.columns.inner.copy()
        inner[np.diag_indices_from(inner)] += self.ridge
        return inner

    @cached_property
    def root(self) -> Array:
        """Cholesky factor T of K^nn + δI."""
        return cholesky_factor(self.inner)

    def certificates(
        self, weights: Array, offsets: Array, outputs: NDArray[np.floating], beta: Array
    ) -> list[Certificate]:
        """Certify (w, b) for each of the k problems, from f = K^mn w at all samples and dual points β."""
        with single_thread():
            if self.columns.is_half():
                product, error = self.columns.transposed_with_error(beta)
                norm = np.linalg.norm(error, axis=0) / np.sqrt(self.ridge)
                errors = RoundingErrors(self.columns.rounding_error(weights), norm, FLOAT32_UNIT)
            else:
                product, errors = self.columns.transposed(beta), RoundingErrors(relative_gap=FLOAT32_UNIT)
            return reduced_basis_certificates(
                self.inner, self.root, self.sign, self.cost, weights, offsets, outputs, beta, product, errors
            )


def default_ridge(inner: Array) -> float:
    """δ for the matrix K^nn."""
    return max(RELATIVE_RIDGE * float(np.mean(np.diagonal(inner))), 1e-12) if len(inner) else 0.0


def cholesky_factor(inner: Array) -> Array:
    """Cholesky factor T; raise ValueError if the kernel is not positive semidefinite."""
    try:
        return scipy.linalg.cholesky(inner, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        raise ValueError(
            "the kernel is not positive semidefinite on the basis functions; use another kernel, or SVC, which accepts "
            "indefinite kernels"
        ) from None


def dual_point(sign: NDArray[np.floating], cost: Array, outputs: NDArray[np.floating], offsets: Array) -> Array:
    """βᵢ = 2 Cᵢ sᵢ max(0, 1 − sᵢ(fᵢ + b)): the negative derivatives of the losses.                     (386)"""
    slack = np.maximum(1.0 - sign * (outputs + offsets), 0.0)
    return np.asarray(2.0 * cost[:, None] * sign * slack, dtype=np.float64)


def with_zero_sum(beta: Array) -> Array:
    """β with Σβ = 0, which a free b requires: the side with the larger sum is scaled down.             (386)"""
    positive, negative = np.sum(np.maximum(beta, 0.0), axis=0), np.sum(np.maximum(-beta, 0.0), axis=0)
    common = np.minimum(positive, negative)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale_positive = np.where(positive > 0, common / positive, 0.0)
        scale_negative = np.where(negative > 0, common / negative, 0.0)
    return np.asarray(beta * np.where(beta > 0, scale_positive, scale_negative), dtype=np.float64)


def reduced_basis_certificates(
    inner: Array,
    root: Array,
    sign: NDArray[np.floating],
    cost: Array,
    weights: Array,
    offsets: Array,
    outputs: NDArray[np.floating],
    beta: Array,
    product: Array,
    errors: RoundingErrors | None = None,
) -> list[Certificate]:
    """Bound the gap between the risk at (w, b) and the dual value at the best multiple tβ, 0 ≤ t ≤ 1.   (386), (387)

    `product` is K^nm β. Rounding `errors` increase the losses and decrease the dual value (389). So does an excess of
    Σβ over zero: it costs |b| |Σβ|.
    """
    errors = errors or RoundingErrors()
    slack = np.maximum(1.0 - sign * (outputs + offsets) + errors.outputs, 0.0)
    primal = 0.5 * np.sum(weights * (inner @ weights), axis=0) + cost @ slack**2
    whitened = scipy.linalg.solve_triangular(root, product, lower=True, check_finite=False)
    squared_norm = (np.sqrt(np.sum(whitened**2, axis=0)) + errors.norm) ** 2
    quadratic = squared_norm + 0.5 * np.sum(beta**2 / cost[:, None], axis=0)
    linear = np.sum(np.abs(beta), axis=0) - np.abs(offsets) * np.abs(np.sum(beta, axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(quadratic > 0, np.clip(linear / np.where(quadratic > 0, quadratic, 1.0), 0.0, 1.0), 0.0)
    dual = t * linear - 0.5 * t**2 * quadratic
    violation = np.max(np.abs(t * beta - dual_point(sign, cost, outputs, offsets)), axis=0, initial=0.0)
    infeasibility = np.abs(np.sum(t * beta, axis=0))
    rounding = 0.5 * errors.relative_gap * np.abs(primal)
    values = zip(primal + rounding, dual - rounding, violation, infeasibility, offsets, 2 * rounding, strict=True)
    return [
        Certificate.of(float(upper), float(lower), float(kkt), float(excess), np.array([b]), True, float(rounded))
        for upper, lower, kkt, excess, b, rounded in values
    ]
