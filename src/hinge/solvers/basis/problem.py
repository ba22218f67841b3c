"""Reduced-basis problem: squared hinge losses and functions of a few given basis functions, with its certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.lowrank.columns import Columns
from hinge.problems import Array, Certificate
from hinge.solvers.blas_threads import single_thread

#: Ridge δ that is added to the diagonal of K^nn, relative to its mean: basis functions may coincide.
RELATIVE_RIDGE = 1e-5

#: Rounding unit of float32: no relative gap below it is certified, since kernel values are float32 at best.
FLOAT32_UNIT = 2.0**-24


@dataclass(frozen=True)
class RoundingErrors:
    """Bounds on the rounding errors of the kernel values and of products with them.                    (389), (645)

    Attributes
    ----------
    outputs : ndarray or float
        Error of f at every sample.
    product : ndarray or float
        Error of every entry of K^nm β.
    inner : float
        Error of the entries of K^nn.
    relative_gap : float
        Smallest relative gap that is certified.
    """

    outputs: NDArray[np.floating] | float = 0.0
    product: Array | float = 0.0
    inner: float = 0.0
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
                outputs_error = self.columns.rounding_error(weights)
                errors = RoundingErrors(outputs_error, error, relative_gap=FLOAT32_UNIT)
            else:
                product, errors = self.columns.transposed(beta), RoundingErrors(relative_gap=FLOAT32_UNIT)
            point = ReducedBasisPoint(weights, offsets, outputs, beta, product)
            return reduced_basis_certificates(
                self.inner, self.root, self.ridge, self.sign, self.cost, self.bias, point, errors
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


def smallest_eigenvalue(inner: Array) -> float:
    """Lower bound on the eigenvalues of K^nn + δI, for a kernel that may not be positive semidefinite."""
    if len(inner) == 0:
        return 0.0
    found = scipy.linalg.eigvalsh(inner, check_finite=False)
    return float(found[0] - 4 * len(inner) ** 1.5 * UNIT_ROUNDOFF * np.max(np.abs(found)))


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


@dataclass(frozen=True)
class ReducedBasisPoint:
    """Functions and dual points of k problems: w, b, f = K^mn w, β and K^nm β, one column per problem."""

    weights: Array
    offsets: Array
    outputs: NDArray[np.floating]
    beta: Array
    product: Array


def reduced_basis_certificates(
    inner: Array,
    root: Array,
    ridge: float,
    sign: NDArray[np.floating],
    cost: Array,
    bias: bool,
    point: ReducedBasisPoint,
    errors: RoundingErrors | None = None,
) -> list[Certificate]:
    """Bound the gap between the risk at (w, b) and the dual value at the best multiple tβ, 0 ≤ t ≤ 1.   (386), (387)

    Rounding `errors` increase the losses and decrease the dual value (389), (645). `inner` is K^nn + δI with its
    Cholesky factor `root`, and `ridge` is δ, or a lower bound on its eigenvalues.
    """
    errors = errors or RoundingErrors()
    shape = point.beta.shape
    outputs_error, product_error = (
        np.broadcast_to(error, size) for error, size in ((errors.outputs, shape), (errors.product, point.product.shape))
    )
    found = []
    for k in range(shape[1]):
        column = _Column(
            inner,
            root,
            ridge,
            sign[:, k].astype(np.float64),
            cost,
            bias,
            point.weights[:, k],
            float(point.offsets[k]),
            point.outputs[:, k].astype(np.float64),
            point.beta[:, k],
            point.product[:, k],
            outputs_error[:, k].astype(np.float64),
            product_error[:, k],
            errors.inner,
        )
        found.append(column.certificate(errors.relative_gap))
    return found


@dataclass(frozen=True)
class _Column:
    """One of the k problems, with its point and its errors."""

    inner: Array
    root: Array
    ridge: float
    sign: Array
    cost: Array
    bias: bool
    weights: Array
    offset: float
    outputs: Array
    beta: Array
    product: Array
    outputs_error: Array
    product_error: Array
    inner_error: float

    def certificate(self, relative_gap: float) -> Certificate:
        """Return the certificate; its relative gap is at least `relative_gap`."""
        primal, primal_error = self._primal()
        quadratic, linear, rounding = self._dual_terms()
        t = float(np.clip(linear / quadratic, 0.0, 1.0)) if 0 < quadratic < np.inf else 0.0
        quadratic, rounding = (quadratic, rounding) if t > 0 else (0.0, 0.0)
        dual = t * linear - 0.5 * t * t * quadratic
        dual_error = t * rounding + 8 * UNIT_ROUNDOFF * (abs(t * linear) + t * t * quadratic)
        slack = np.maximum(1.0 - self.sign * (self.outputs + self.offset), 0.0)
        violation = np.max(np.abs(t * self.beta - 2.0 * self.cost * self.sign * slack), initial=0.0)
        infeasibility = abs(math.fsum((t * self.beta).tolist())) if self.bias else 0.0
        least = 0.5 * relative_gap * abs(primal)
        rounded = primal_error + dual_error + 2 * least
        primal, dual = primal + primal_error + least, dual - dual_error - least
        return Certificate.of(primal, dual, float(violation), infeasibility, np.array([self.offset]), True, rounded)

    def _primal(self) -> tuple[float, float]:
        """Return ½wᵀ(K^nn + δI)w + Σ C ξ² and a bound on its error."""
        w, size = self.weights, float(np.sum(np.abs(self.weights)))
        operations, n, m = UNIT_ROUNDOFF, len(self.weights), len(self.beta)
        margin = self.sign * (self.outputs + self.offset)
        slack = np.maximum(1.0 - margin, 0.0)
        radius = self.outputs_error + 4 * operations * (1 + np.abs(self.outputs) + abs(self.offset))
        largest = np.maximum(1.0 - margin + radius, 0.0)
        smallest = float(self.cost @ slack**2)
        loss = float(self.cost @ largest**2)
        value = 0.5 * float(w @ (self.inner @ w)) + smallest
        error = (loss - smallest) + (m + 16) * operations * loss
        error += 0.5 * size * size * (self.inner_error + 2 * (n + 4) * operations * self._largest())
        error += (n + 8) * operations * abs(self.ridge) * float(w @ w)
        return value, 1.01 * error

    def _divided_by_ridge(self, square: float) -> float:
        """‖r‖²/δ, a bound on rᵀM⁻¹r; infinite if M is not known to be positive definite."""
        if square == 0:
            return 0.0
        return square / (0.999 * self.ridge) if self.ridge > 0 else np.inf

    def _largest(self) -> float:
        return float(np.max(np.abs(np.diagonal(self.inner)), initial=0.0)) * (1 + 1e-6)

    def _dual_terms(self) -> tuple[float, float, float]:
        """Return bounds on the quadratic and linear coefficient of the dual value of tβ, and rounding errors.

        Upper bound on pᵀM⁻¹p for p = K^nm β and M = K^nn + δI ⪰ δI: 2pᵀx − xᵀMx + ‖p − Mx‖²/δ with x ≈ M⁻¹p.
        """
        operations, n = UNIT_ROUNDOFF * (len(self.weights) + 8), len(self.weights)
        x = scipy.linalg.cho_solve((self.root, True), self.product, check_finite=False) if n else np.empty(0)
        image, size, largest = self.inner @ x, float(np.sum(np.abs(x))), self._largest()
        rest = np.abs(self.product - image) + self.product_error + self.inner_error * size
        rest += 2 * operations * (largest * size + np.abs(self.product))
        square = 2 * float(self.product @ x) - float(x @ image) + 2 * float(self.product_error @ np.abs(x))
        square += self.inner_error * size * size + self._divided_by_ridge(float(rest @ rest))
        square += 4 * operations * (float(np.abs(self.product) @ np.abs(x)) + largest * size * size)
        square = max(0.0, square)
        losses = 0.5 * float(np.sum(self.beta**2 / self.cost))
        linear = math.fsum((self.sign * self.beta).tolist())
        rounding = 4 * UNIT_ROUNDOFF * (linear + (len(self.beta) + 8) * losses)
        if self.bias:  # one β with the sign that is missing makes the sum zero
            missing = math.fsum(self.beta.tolist())
            missing += np.sign(missing) * UNIT_ROUNDOFF * abs(missing)
            helpful = self.sign * missing <= 0
            if missing != 0 and not helpful.any():
                return np.inf, 0.0, 0.0
            if missing != 0:
                ratio = np.where(helpful, np.abs(self.beta) / self.cost, np.inf)
                j, amount = int(np.argmin(ratio)), abs(missing)
                square = (math.sqrt(square) + math.sqrt(largest) * amount) ** 2 * (1 + 1e-12)
                losses += 0.5 * (2 * abs(self.beta[j]) + amount) * amount / self.cost[j] * (1 + 1e-12)
        quadratic = square + losses
        return quadratic, linear, rounding + (4 * UNIT_ROUNDOFF * quadratic if quadratic < np.inf else 0.0)
