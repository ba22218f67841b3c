"""The multi-class problem of Crammer and Singer and its certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse.csgraph
from numpy.typing import NDArray

from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.kernels.distances import squared_norms
from hinge.kernels.double_double import Pair, two_sum
from hinge.problems.certificate import Certificate, relative
from hinge.problems.linear import Bias
from hinge.problems.linear_optimality import row_blocks
from hinge.problems.optimality import Optimality
from hinge.problems.separable import Array
from hinge.problems.solution import History
from hinge.problems.status import Status

BLOCK_ROWS = 1 << 14  # samples whose terms are computed at a time; the blocks stay in the cache


@dataclass(frozen=True)
class CrammerSingerProblem:
    """min ½Σ‖w_m‖² + ½Σb_m²/B² + Σ Cᵢ max_m (1 − [m = yᵢ] + f_m(xᵢ) − f_yᵢ(xᵢ)).            docs/math (117)"""

    X: Any
    label: NDArray[np.int32]
    cost: Array
    classes: int
    bias: Bias = Bias.FREE
    bias_scale: float = 1.0


@dataclass(frozen=True)
class CrammerSingerSolution:
    """Weights (classes × d), offsets and the dual point (n × classes)."""

    weights: Array
    offset: Array
    alpha: Array
    primal: float
    dual: float
    gap: float
    violation: float
    status: Status
    iterations: int
    history: History
    error: BaseException | None = None
    rounded: ClassVar[bool] = True  # the values of the history do not include rounding errors

    def certificate(self, problem: CrammerSingerProblem, expired: Callable[[], bool] = lambda: False) -> Certificate:
        """Return the certificate of the weights and of α, computed from the data until `expired` returns True."""
        return certify_crammer_singer(problem, self.weights, self.offset, self.alpha, expired)


def certify_crammer_singer(
    problem: CrammerSingerProblem,
    weights: Array,
    offset: Array,
    alpha: Array,
    expired: Callable[[], bool] = lambda: False,
) -> Certificate:
    """Bound the optimum by the primal value of the weights and the dual value of α.          docs/math (119), (631)

    The bounds include the rounding errors of their evaluation. If `expired` returns True before all samples are read,
    the upper bound is infinite, and the lower bound is zero, the dual value of α = 0.
    """
    sums = _Sums.zero(problem, weights)
    for first in range(0, len(problem.cost), BLOCK_ROWS):
        if expired():
            mu = np.array(offset if problem.bias is not Bias.NONE else [])
            return Certificate.of(np.inf, 0.0, np.inf, np.inf, mu, True)
        sums.add(slice(first, min(len(problem.cost), first + BLOCK_ROWS)), weights, offset, alpha)
    return sums.certificate(weights, offset, alpha)


@dataclass
class _Sums:
    """Sums over the samples that have been read, and largest violations."""

    problem: CrammerSingerProblem
    combined: Array  # Σ αᵢ xᵢ and Σ |αᵢ| |xᵢ|
    sizes: Array
    lanes: Pair  # Σ αᵢ over all blocks, for every row of a block, and its rounding errors
    losses: float = 0.0
    nominal: float = 0.0  # losses without rounding errors
    gains: float = 0.0
    magnitude: Array | float = 0.0  # Σ |αᵢ| of every class
    surplus: Array | float = 0.0  # Σ αᵢ of every class, before the correction of α
    largest_norm: float = 0.0
    violation: float = 0.0
    outside: float = 0.0

    @classmethod
    def zero(cls, problem: CrammerSingerProblem, weights: Array) -> _Sums:
        lanes = (min(BLOCK_ROWS, len(problem.cost)), problem.classes)
        return cls(problem, np.zeros_like(weights), np.zeros_like(weights), (np.zeros(lanes), np.zeros(lanes)))

    def add(self, rows: slice, weights: Array, offset: Array, alpha: Array) -> None:
        """Add some of the samples."""
        block, label, cost = self.problem.X[rows].astype(np.float64), self.problem.label[rows], self.problem.cost[rows]
        point, index = np.asarray(alpha[rows], dtype=np.float64), np.arange(rows.stop - rows.start)
        feasible, own = _feasible(point, label, cost)
        f, norm = block @ weights.T + offset, np.sqrt(np.asarray(squared_norms(block)))
        self.combined += (block.T @ feasible).T
        self.sizes += (abs(block).T @ np.abs(feasible)).T
        margins = 1.0 + f - f[index, label][:, None]
        margins[index, label] = 0.0
        lengths = np.linalg.norm(weights, axis=1)
        products = (block.shape[1] + 4) * norm[:, None] * lengths
        error = UNIT_ROUNDOFF * (products + 4 * (1.0 + np.abs(offset) + np.abs(f)))
        error = 1.01 * (error + error[index, label][:, None])
        error[index, label] = 0.0
        self.nominal += float(np.sum(cost * np.max(margins, axis=1)))
        self.losses += float(np.sum(cost * np.max(margins + error, axis=1)))
        self.gains += float(np.sum(own)) - float(np.sum(feasible))
        self.magnitude = self.magnitude + np.sum(np.abs(feasible), axis=0)
        self.surplus = self.surplus + np.sum(point, axis=0)
        high, low = (part[: len(index)] for part in self.lanes)
        high[:], rounding = two_sum(high, feasible)
        low += rounding
        self.largest_norm = max(self.largest_norm, float(np.max(norm, initial=0.0)))
        violation, outside = _violations(label, cost, point, margins)
        self.violation, self.outside = max(self.violation, violation), max(self.outside, outside)

    def certificate(self, weights: Array, offset: Array, alpha: Array) -> Certificate:
        """Return the certificate after all samples have been added."""
        problem, n, d = self.problem, len(self.problem.cost), weights.shape[1]
        penalty, magnitude = 0.5 * float(np.sum(weights**2)), np.asarray(self.magnitude)
        if problem.bias is Bias.PENALIZED:
            penalty += 0.5 * float(np.sum((offset / problem.bias_scale) ** 2))
        of_sums = UNIT_ROUNDOFF * (n + d + 16) * (self.losses + penalty)

        lanes = np.concatenate(self.lanes)
        sums = np.array([math.fsum(column) for column in lanes.T.tolist()])
        wrong = 1.01 * UNIT_ROUNDOFF * (n + 4) * self.sizes
        squares = 0.5 * float(np.sum((np.abs(self.combined) + wrong) ** 2))
        if problem.bias is Bias.PENALIZED:
            wrong_sums = UNIT_ROUNDOFF * (n + 4) * problem.bias_scale * magnitude
            squares += 0.5 * float(np.sum((np.abs(problem.bias_scale * sums) + wrong_sums) ** 2))
        total = float(np.sum(magnitude))
        of_gains = UNIT_ROUNDOFF * (problem.classes * n + d + 16) * (total + squares)
        if problem.bias is Bias.FREE:  # the sums of a column have an error of at most 2u Σ|α|
            missing = float(np.sum(np.abs(sums))) + 2 * UNIT_ROUNDOFF * total
            lengths = np.linalg.norm(self.combined, axis=1)
            of_gains += _cost_of_sums(problem, alpha, missing, self.largest_norm, float(np.max(lengths)))
        dual = max(self.gains - squares - of_gains, 0.0)  # α = 0 is feasible

        surplus = float(np.max(np.abs(self.surplus))) if problem.bias is Bias.FREE else 0.0
        return Certificate.of(
            float(np.nextafter(penalty + self.losses + of_sums, np.inf)),
            float(np.nextafter(dual, -np.inf)) if dual > 0 else 0.0,
            self.violation,
            max(self.outside, surplus),
            np.array(offset if problem.bias is not Bias.NONE else []),
            True,
            self.losses - self.nominal + of_sums + (of_gains if np.isfinite(of_gains) else 0.0),
            penalty + float(np.sum(problem.cost)) * 0.01,
        )


def crammer_singer_optimality(problem: CrammerSingerProblem, weights: Array, offset: Array, alpha: Array) -> Optimality:
    """Compute the optimality of the weights and of α from the data, for solvers.              docs/math (119)"""
    n, index = len(problem.cost), np.arange(len(problem.cost))
    f, combined = np.empty((n, problem.classes)), np.zeros_like(weights)
    for rows, block in row_blocks(problem.X):
        f[rows] = block @ weights.T + offset
        combined += (block.T @ alpha[rows]).T
    margins = 1.0 + f - f[index, problem.label][:, None]
    margins[index, problem.label] = 0.0
    losses = problem.cost * np.max(margins, axis=1)
    parts = np.maximum(0.0, losses + np.sum(alpha * margins, axis=1))
    sums = alpha.sum(axis=0)
    gap = float(np.sum(parts)) + 0.5 * float(np.sum((weights - combined) ** 2))
    primal = 0.5 * float(np.sum(weights**2)) + float(np.sum(losses))
    if problem.bias is Bias.PENALIZED:
        gap += 0.5 * float(np.sum((offset / problem.bias_scale - problem.bias_scale * sums) ** 2))
        primal += 0.5 * float(np.sum((offset / problem.bias_scale) ** 2))
    gap += float(np.abs(offset) @ np.abs(sums)) if problem.bias is Bias.FREE else 0.0
    violation, infeasibility = _violations(problem.label, problem.cost, alpha, margins)
    infeasibility = max(infeasibility, float(np.max(np.abs(sums))) if problem.bias is Bias.FREE else 0.0)
    mu = np.array(offset if problem.bias is not Bias.NONE else [])
    share = relative(gap, primal, primal - gap)
    return Optimality(primal, primal - gap, gap, share, violation, infeasibility, mu)


def _feasible(alpha: Array, label: NDArray[np.int32], cost: Array) -> tuple[Array, Array]:
    """Return α with Σₘ αᵢₘ = 0 and αᵢₘ ≤ Cᵢ[m = yᵢ] up to rounding, and the entries αᵢyᵢ of the labels."""
    index = np.arange(len(cost))
    others = np.minimum(alpha, 0.0)
    others[index, label] = 0.0
    own = -others.sum(axis=1)
    shrink = 1.0 - (alpha.shape[1] + 8) * UNIT_ROUNDOFF
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(own > shrink * cost, shrink * cost / np.where(own > 0, own, 1.0), 1.0)
    others *= factor[:, None]
    feasible = others.copy()
    feasible[index, label] = own = -others.sum(axis=1)
    return feasible, own


def _cost_of_sums(
    problem: CrammerSingerProblem, alpha: Array, total: float, largest_norm: float, length: float
) -> float:
    """Bound the decrease of the dual value by a correction of the sums of all classes to zero.

    A sample with a negative entry of another class can increase this entry and decrease that of its label; a sample
    whose own entry is below its cost can do the opposite. If these transfers connect all classes in both directions,
    any deficit is corrected by at most `classes` transfers. `total` bounds the sum of all deficits.
    """
    slack, classes = 4.0 * problem.classes * total, problem.classes
    transfers = np.zeros((classes, classes))
    for first in range(0, len(problem.cost), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        label, cost = problem.label[rows], problem.cost[rows]
        feasible, own = _feasible(np.asarray(alpha[rows], dtype=np.float64), label, cost)
        other = np.ones(feasible.shape, dtype=bool)
        other[np.arange(len(own)), label] = False
        samples, to = np.nonzero(other & (feasible < -slack))
        transfers[label[samples], to] = 1.0
        samples, to = np.nonzero(other & (own < cost - slack)[:, None])
        transfers[to, label[samples]] = 1.0
        parts, _ = scipy.sparse.csgraph.connected_components(scipy.sparse.csr_array(transfers), connection="strong")
        if parts == 1:
            break
    else:
        return np.inf
    slope = 2.0 + 2.0 * largest_norm * length
    return classes * total * (slope + 2.0 * classes * total * largest_norm**2)


def _violations(
    label: NDArray[np.int32], cost: Array, alpha: Array, margins: Array
) -> tuple[float, float]:
    """Return the largest violation of the optimality conditions, and of the constraints of every sample."""
    upper = np.zeros_like(alpha)
    upper[np.arange(len(alpha)), label] = cost
    outside = max(float(np.max(alpha - upper, initial=0.0)), float(np.max(np.abs(alpha.sum(axis=1)), initial=0.0)))
    slope = np.where(alpha < upper, margins, np.inf)
    largest = np.max(margins, axis=1)
    return float(np.max(largest - np.minimum(np.min(slope, axis=1), largest))), outside
