"""Machines of a few given basis functions, squared hinge losses: the problem, and what is proven of a point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.lowrank.columns import Columns
from hinge.problems import Array, Certificate
from hinge.solvers.blas_threads import single_thread

#: What is added to the diagonal of K^nn, relative to its mean: basis functions may be alike.
RIDGE = 1e-5

#: Kernel values are float32 at best: no smaller gap is claimed, relative to the risk.
FLOAT32_UNIT = 2.0**-24


@dataclass(frozen=True)
class Lost:
    """What rounding may hide at most: of f at every sample, of ‖K^nm β‖ by R⁻¹; the smallest gap that is claimed."""

    outputs: NDArray[np.floating] | float = 0.0
    length: Array | float = 0.0
    gap: float = 0.0


@dataclass(frozen=True)
class ReducedBasisProblem:
    """min ½ wᵀ(K^nn + δI)w + Σᵢ Cᵢ max(0, 1 − sᵢ((K^mn w)ᵢ + b))² for every column of signs.    docs/math (385)

    `sign` is m × k of ±1, `cost` the Cᵢ; `bias`: whether there is a b.
    """

    columns: Columns
    sign: NDArray[np.float32]
    cost: Array
    bias: bool = True

    @cached_property
    def ridge(self) -> float:
        """δ"""
        return diagonal_of(self.columns.inner)

    @cached_property
    def inner(self) -> Array:
        """K^nn + δI."""
        inner = self.columns.inner.copy()
        inner[np.diag_indices_from(inner)] += self.ridge
        return inner

    @cached_property
    def root(self) -> Array:
        """T, TTᵀ = K^nn + δI."""
        return root_of(self.inner)

    def certificates(
        self, weights: Array, offsets: Array, outputs: NDArray[np.floating], beta: Array
    ) -> list[Certificate]:
        """Of every machine, from f = K^mn w at all samples and a dual point."""
        with single_thread():
            if self.columns.is_half():
                pull, off = self.columns.transposed_with_error(beta)
                length = np.linalg.norm(off, axis=0) / np.sqrt(self.ridge)
                lost = Lost(self.columns.rounding_error(weights), length, FLOAT32_UNIT)
            else:
                pull, lost = self.columns.transposed(beta), Lost(gap=FLOAT32_UNIT)
            return span_certificates(
                self.inner, self.root, self.sign, self.cost, weights, offsets, outputs, beta, pull, lost
            )


def diagonal_of(inner: Array) -> float:
    """δ of K^nn."""
    return max(RIDGE * float(np.mean(np.diagonal(inner))), 1e-12) if len(inner) else 0.0


def root_of(inner: Array) -> Array:
    """The Cholesky factor; a ValueError for kernels that have none."""
    try:
        return scipy.linalg.cholesky(inner, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        raise ValueError(
            "the kernel is not positive semidefinite on the basis functions; use another kernel, or SVC, which takes "
            "indefinite ones"
        ) from None


def dual_point(sign: NDArray[np.floating], cost: Array, outputs: NDArray[np.floating], offsets: Array) -> Array:
    """βᵢ = 2 Cᵢ sᵢ max(0, 1 − sᵢ(fᵢ + b)): minus the slopes of the losses.                         (386)"""
    missing = np.maximum(1.0 - sign * (outputs + offsets), 0.0)
    return np.asarray(2.0 * cost[:, None] * sign * missing, dtype=np.float64)


def balanced(beta: Array) -> Array:
    """Σβ = 0, which a free b asks of a dual point: the side that weighs more is made smaller.           (386)"""
    above, below = np.sum(np.maximum(beta, 0.0), axis=0), np.sum(np.maximum(-beta, 0.0), axis=0)
    both = np.minimum(above, below)
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = np.where(above > 0, both / above, 0.0), np.where(below > 0, both / below, 0.0)
    return np.asarray(beta * np.where(beta > 0, up, down), dtype=np.float64)


def span_certificates(
    inner: Array,
    root: Array,
    sign: NDArray[np.floating],
    cost: Array,
    weights: Array,
    offsets: Array,
    outputs: NDArray[np.floating],
    beta: Array,
    pull: Array,
    lost: Lost | None = None,
) -> list[Certificate]:
    """The value at (w, b), and that of the best multiple t of a dual point, 0 ≤ t ≤ 1.            (386), (387)

    `pull` is K^nm β.  What is `lost` by rounding is added to the losses and taken off the dual value, (389), and so is
    an excess of Σβ over 0, which b would have to pay for.
    """
    lost = lost or Lost()
    missing = np.maximum(1.0 - sign * (outputs + offsets) + lost.outputs, 0.0)
    primal = 0.5 * np.sum(weights * (inner @ weights), axis=0) + cost @ missing**2
    white = scipy.linalg.solve_triangular(root, pull, lower=True, check_finite=False)
    curved = (np.sqrt(np.sum(white**2, axis=0)) + lost.length) ** 2 + 0.5 * np.sum(beta**2 / cost[:, None], axis=0)
    linear = np.sum(np.abs(beta), axis=0) - np.abs(offsets) * np.abs(np.sum(beta, axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(curved > 0, np.clip(linear / np.where(curved > 0, curved, 1.0), 0.0, 1.0), 0.0)
    dual = t * linear - 0.5 * t**2 * curved
    apart = np.max(np.abs(t * beta - dual_point(sign, cost, outputs, offsets)), axis=0, initial=0.0)
    balance = np.abs(np.sum(t * beta, axis=0))
    gap = np.maximum(primal - dual, lost.gap * np.abs(primal))
    return [
        Certificate.of(float(low), float(between), float(kkt), float(excess), np.array([b]), True)
        for low, between, kkt, excess, b in zip(dual, gap, apart, balance, offsets, strict=True)
    ]
