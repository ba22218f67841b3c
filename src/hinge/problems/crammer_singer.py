"""The multi-class problem of Crammer and Singer and its certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse.csgraph
from numpy.typing import NDArray

from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.kernels.distances import squared_norms
from hinge.problems.certificate import Certificate, relative
from hinge.problems.linear import Bias, row_blocks
from hinge.problems.optimality import Optimality
from hinge.problems.separable import Array
from hinge.problems.solution import History
from hinge.problems.status import Status


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

    def certificate(self, problem: CrammerSingerProblem) -> Certificate:
        """Return the certificate of the weights and of α, computed from the data."""
        return certify_crammer_singer(problem, self.weights, self.offset, self.alpha)


def certify_crammer_singer(problem: CrammerSingerProblem, weights: Array, offset: Array, alpha: Array) -> Certificate:
    """Bound the optimum by the primal value of the weights and the dual value of α.          docs/math (119), (631)

    The bounds include the rounding errors of their evaluation.
    """
    n, d, index = len(problem.cost), weights.shape[1], np.arange(len(problem.cost))
    alpha = np.asarray(alpha, dtype=np.float64)
    feasible, own = _feasible(problem, alpha)
    f, norm = np.empty((n, problem.classes)), np.empty(n)
    combined, sizes = np.zeros_like(weights), np.zeros_like(weights)
    for rows, block in row_blocks(problem.X):
        f[rows] = block @ weights.T + offset
        combined += (block.T @ feasible[rows]).T
        sizes += (abs(block).T @ np.abs(feasible[rows])).T
        norm[rows] = np.sqrt(np.asarray(squared_norms(block)))
    margins = 1.0 + f - f[index, problem.label][:, None]
    margins[index, problem.label] = 0.0
    lengths = np.linalg.norm(weights, axis=1)
    error = UNIT_ROUNDOFF * ((d + 4) * norm[:, None] * lengths + 4 * (1.0 + np.abs(offset) + np.abs(f)))
    error = 1.01 * (error + error[index, problem.label][:, None])
    error[index, problem.label] = 0.0
    nominal = float(np.sum(problem.cost * np.max(margins, axis=1)))
    losses = float(np.sum(problem.cost * np.max(margins + error, axis=1)))
    penalty, scaled = 0.5 * float(np.sum(weights**2)), problem.bias_scale * feasible.sum(axis=0)
    if problem.bias is Bias.PENALIZED:
        penalty += 0.5 * float(np.sum((offset / problem.bias_scale) ** 2))
    of_sums = UNIT_ROUNDOFF * (n + d + 16) * (losses + penalty)

    gains = -float(np.sum(feasible)) + float(np.sum(own))
    wrong = 1.01 * UNIT_ROUNDOFF * (n + 4) * sizes
    squares = 0.5 * float(np.sum((np.abs(combined) + wrong) ** 2))
    if problem.bias is Bias.PENALIZED:
        wrong_sums = UNIT_ROUNDOFF * (n + 4) * problem.bias_scale * np.sum(np.abs(feasible), axis=0)
        squares += 0.5 * float(np.sum((np.abs(scaled) + wrong_sums) ** 2))
    of_gains = UNIT_ROUNDOFF * (problem.classes * n + d + 16) * (float(np.sum(np.abs(feasible))) + squares)
    if problem.bias is Bias.FREE:
        of_gains += _cost_of_sums(problem, feasible, own, norm, np.linalg.norm(combined, axis=1))
    dual = max(gains - squares - of_gains, 0.0)  # α = 0 is feasible

    violation, infeasibility = _violations(problem, alpha, margins)
    return Certificate.of(
        float(np.nextafter(penalty + losses + of_sums, np.inf)),
        float(np.nextafter(dual, -np.inf)) if dual > 0 else 0.0,
        violation,
        infeasibility,
        np.array(offset if problem.bias is not Bias.NONE else []),
        True,
        losses - nominal + of_sums + (of_gains if np.isfinite(of_gains) else 0.0),
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
    violation, infeasibility = _violations(problem, alpha, margins)
    mu = np.array(offset if problem.bias is not Bias.NONE else [])
    share = relative(gap, primal, primal - gap)
    return Optimality(primal, primal - gap, gap, share, violation, infeasibility, mu)


def _feasible(problem: CrammerSingerProblem, alpha: Array) -> tuple[Array, Array]:
    """Return α with Σₘ αᵢₘ = 0 and αᵢₘ ≤ Cᵢ[m = yᵢ] up to rounding, and the entries αᵢyᵢ of the labels."""
    index = np.arange(len(problem.cost))
    others = np.minimum(alpha, 0.0)
    others[index, problem.label] = 0.0
    own = -others.sum(axis=1)
    shrink = 1.0 - (problem.classes + 8) * UNIT_ROUNDOFF
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(own > shrink * problem.cost, shrink * problem.cost / np.where(own > 0, own, 1.0), 1.0)
    others *= factor[:, None]
    feasible = others.copy()
    feasible[index, problem.label] = own = -others.sum(axis=1)
    return feasible, own


def _cost_of_sums(problem: CrammerSingerProblem, alpha: Array, own: Array, norm: Array, lengths: Array) -> float:
    """Bound the decrease of the dual value by a correction of the sums of all classes to zero.

    A sample with a negative entry of another class can increase this entry and decrease that of its label; a sample
    whose own entry is below its cost can do the opposite. If these transfers connect all classes in both directions,
    any deficit is corrected by at most `classes` transfers.
    """
    sums = np.array([math.fsum(column) for column in alpha.T.tolist()])
    total = float(np.sum(np.abs(sums))) + UNIT_ROUNDOFF * float(np.sum(np.abs(alpha)))
    slack = 4.0 * problem.classes * total
    other = np.ones(alpha.shape, dtype=bool)
    other[np.arange(len(own)), problem.label] = False
    transfers = np.zeros((problem.classes, problem.classes))
    rows, classes = np.nonzero(other & (alpha < -slack))
    transfers[problem.label[rows], classes] = 1.0
    rows, classes = np.nonzero(other & (own[:, None] < problem.cost[:, None] - slack))
    transfers[classes, problem.label[rows]] = 1.0
    parts, _ = scipy.sparse.csgraph.connected_components(scipy.sparse.csr_array(transfers), connection="strong")
    if parts > 1:
        return np.inf
    slope = 2.0 + 2.0 * float(np.max(norm)) * float(np.max(lengths))
    return problem.classes * total * (slope + 2.0 * problem.classes * total * float(np.max(norm)) ** 2)


def _violations(problem: CrammerSingerProblem, alpha: Array, margins: Array) -> tuple[float, float]:
    """Return the largest violation of the optimality conditions, and of the constraints."""
    upper = np.zeros_like(alpha)
    upper[np.arange(len(alpha)), problem.label] = problem.cost
    outside = max(float(np.max(alpha - upper, initial=0.0)), float(np.max(np.abs(alpha.sum(axis=1)), initial=0.0)))
    surplus = float(np.max(np.abs(alpha.sum(axis=0)))) if problem.bias is Bias.FREE else 0.0
    slope = np.where(alpha < upper, margins, np.inf)
    largest = np.max(margins, axis=1)
    violation = float(np.max(largest - np.minimum(np.min(slope, axis=1), largest)))
    return violation, max(outside, surplus)
