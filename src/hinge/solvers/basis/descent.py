"""Newton descent on the risk of a reduced-basis problem, with all rows or with a subsample of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge import _core
from hinge.lowrank.columns import Columns
from hinge.problems import Array, Status
from hinge.solvers.basis.preconditioner import Preconditioner
from hinge.solvers.basis.problem import ReducedBasisProblem
from hinge.solvers.run_log import RunLog

#: Passes of conjugate gradients over the rows: for the first step, doubled from step to step up to the largest number.
FIRST_PASSES, MAX_PASSES = 3, 60

#: Conjugate gradients stop if the squared residual, in the metric of the preconditioner, has decreased by this factor.
CG_REDUCTION = 1e-4

#: Newton steps for the offsets between two steps of all variables.
MAX_OFFSET_STEPS = 60

#: Halvings of a step that increases the risk before it is rejected.
MAX_HALVINGS = 12

Float32 = NDArray[np.float32]


@dataclass
class Iterate:
    """Weights (n × k), offsets (k) and outputs f = K^mn w at all samples (m × k)."""

    weights: Array
    offsets: Array
    outputs: Float32


@dataclass(frozen=True)
class _Gradient:
    """Gradient and curvature of the risk.

    Attributes
    ----------
    rows : ndarray of int
        Rows with a positive loss; the others do not contribute.
    weights : ndarray (n × k)
        Gradient g with respect to the weights.
    coupling : ndarray (n × k)
        v = K^nm D 1, the mixed second derivatives with respect to weights and offset.
    curvature : ndarray (rows × k)
        D: 2C for positive losses, 0 for others.
    """

    rows: NDArray[np.intp]
    weights: Array
    coupling: Array
    curvature: Float32


class RiskDescent:
    """Newton steps on the risk of some rows, whose costs are scaled up to represent all rows.

    Parameters
    ----------
    problem : ReducedBasisProblem
    iterate : Iterate
        Updated in place by every step; its outputs only if all rows are used.
    preconditioner : Preconditioner
    rows : ndarray of int or None
        The rows to use; None for all.
    """

    def __init__(
        self,
        problem: ReducedBasisProblem,
        iterate: Iterate,
        preconditioner: Preconditioner,
        rows: NDArray[np.intp] | None = None,
    ) -> None:
        self.problem, self.iterate, self.preconditioner = problem, iterate, preconditioner
        m = problem.columns.shape[0]
        self.has_all_rows = rows is None
        self.rows = np.arange(m) if rows is None else rows
        self.columns = problem.columns if rows is None else problem.columns.subset(rows)
        self.sign = problem.sign if rows is None else problem.sign[rows]
        scale = 1.0 if rows is None else m / len(rows)
        cost = (scale * problem.cost[self.rows]).astype(np.float32)[:, None]
        self.cost = np.ascontiguousarray(np.broadcast_to(cost, self.sign.shape))
        self.outputs = iterate.outputs if rows is None else np.zeros(self.sign.shape, dtype=np.float32)
        self.slack = np.empty_like(self.outputs)
        self.inner_weights = problem.inner @ iterate.weights
        self._optimize_offsets()

    def run(self, log: RunLog) -> Status:
        """Take Newton steps until the gap is small enough."""
        for iteration in range(log.max_iter + 1):
            gradient = self._gradient(with_coupling=iteration < log.max_iter)
            gap = self._gap(gradient.weights)
            violation = float(np.max(np.abs(gradient.weights), initial=0.0))
            value = float(np.sum(self.value))
            active = int(np.count_nonzero(np.any(self.slack > 0, axis=1)))
            status = log.record(iteration, value, value - gap, gap, violation, active)
            if status is not None:
                return status
            if not self.step(min(MAX_PASSES, FIRST_PASSES << min(iteration, 8)), gradient):
                return Status.NUMERICAL
        return Status.MAX_ITER

    def step(self, passes: int, gradient: _Gradient | None = None) -> bool:
        """Take one Newton step with a line search for each problem; whether the risk has decreased."""
        gradient = gradient or self._gradient()
        x, d_offsets = self._newton_direction(gradient, passes)
        d_outputs = self.columns.times(x)
        slope = np.sum(x * self.inner_weights, axis=0)
        inner_x = self.problem.inner @ x
        curvature = np.sum(x * inner_x, axis=0)
        t = np.ones(x.shape[1])
        for trial in range(MAX_HALVINGS + 1):
            offsets = self.iterate.offsets + t * d_offsets
            outputs = self.outputs + t.astype(np.float32) * d_outputs
            losses = self._set_slacks(outputs, offsets)[2]
            value = 0.5 * self.squared_norm + t * slope + 0.5 * t**2 * curvature + losses
            increased = value > self.value
            if not np.any(increased):
                break
            t[increased] *= 0.5 if trial < MAX_HALVINGS - 1 else 0.0
        before = float(np.sum(self.value))
        self.iterate.weights, self.iterate.offsets = self.iterate.weights + t * x, offsets
        self.inner_weights, self.outputs = self.inner_weights + t * inner_x, outputs
        if self.has_all_rows:
            self.iterate.outputs = outputs
        self._optimize_offsets()
        return float(np.sum(self.value)) < before

    def _set_slacks(self, outputs: Float32, offsets: Array) -> Array:
        """Set ξ = max(0, 1 − s (f + b)); the sums of Cᵢ over ξᵢ > 0, of Cᵢ sᵢ ξᵢ and of Cᵢ ξᵢ² for each problem."""
        sums = np.empty((3, outputs.shape[1]))
        _core.slack_sums(outputs, self.sign, self.cost, offsets, self.slack, sums, self.columns.threads)
        return sums

    def _optimize_offsets(self) -> None:
        """Minimize the risk over b by Newton steps, and set its value.

        Newton steps alone can cycle: a step out of the bracket that earlier slopes have established is replaced by its
        midpoint.
        """
        iterate = self.iterate
        low, high = np.full(len(iterate.offsets), -np.inf), np.full(len(iterate.offsets), np.inf)
        curvature, slope, losses = self._set_slacks(self.outputs, iterate.offsets)
        for _ in range(MAX_OFFSET_STEPS if self.problem.bias else 0):
            low, high = np.where(slope > 0, iterate.offsets, low), np.where(slope < 0, iterate.offsets, high)
            offsets = iterate.offsets + slope / np.maximum(curvature, 1e-300)
            outside = ((offsets <= low) | (offsets >= high)) & np.isfinite(low) & np.isfinite(high) & (slope != 0)
            offsets[outside] = 0.5 * (low[outside] + high[outside])
            step, iterate.offsets = offsets - iterate.offsets, offsets
            curvature, slope, losses = self._set_slacks(self.outputs, iterate.offsets)
            if np.all(np.abs(step) <= 1e-6 * (1.0 + np.abs(iterate.offsets))):
                break
        self.offset_slope = slope
        self.squared_norm = np.sum(iterate.weights * self.inner_weights, axis=0)
        self.value = 0.5 * self.squared_norm + losses

    def _gradient(self, with_coupling: bool = True) -> _Gradient:
        """Gradient and curvature; without the coupling, half of the pass is saved, but no step can follow."""
        rows = np.flatnonzero(np.any(self.slack > 0, axis=1))
        slack, double_cost = self.slack[rows], 2 * self.cost[rows]
        curvature = np.where(slack > 0, double_cost, np.float32(0))
        k = slack.shape[1]
        if len(rows) == 0:
            return _Gradient(rows, self.inner_weights, np.zeros_like(self.inner_weights), curvature)
        slopes = double_cost * self.sign[rows] * slack
        factors = np.concatenate([slopes, curvature], axis=1) if with_coupling else slopes
        products = self._subset(rows).transposed(factors)
        return _Gradient(rows, self.inner_weights - products[:, :k], products[:, k:], curvature)

    def _subset(self, rows: NDArray[np.intp]) -> Columns:
        return self.problem.columns.subset(self.rows[rows])

    def _gap(self, gradient: Array) -> float:
        """½ gᵀ(K^nn + δI)⁻¹g, plus the cost of Σβ ≠ 0 for b.                                             (387)"""
        whitened = scipy.linalg.solve_triangular(self.problem.root, gradient, lower=True, check_finite=False)
        offset_error = 2.0 * float(np.abs(self.iterate.offsets) @ np.abs(self.offset_slope))
        return 0.5 * float(np.sum(whitened**2)) + offset_error

    def _newton_direction(self, gradient: _Gradient, passes: int) -> tuple[Array, Array]:
        """(x, step of b) with H x ≈ −g and b eliminated: H = K^nn + δI + KᵀDK − vvᵀ / ΣD.                (388)"""
        coupling, curvature = gradient.coupling, gradient.curvature
        total = np.maximum(np.sum(curvature, axis=0, dtype=np.float64), 1e-300)
        columns, inner = self._subset(gradient.rows), self.preconditioner.inner
        x, r = np.zeros_like(gradient.weights), -gradient.weights
        z = self.preconditioner.solve(r)
        p, size = z, np.sum(r * z, axis=0)
        goal = CG_REDUCTION * size
        for _ in range(passes):
            hp = inner.times(p).astype(np.float64)
            if len(gradient.rows):
                hp = hp + columns.weighted(p, curvature)[1]
            if self.problem.bias:
                hp = hp - coupling * (np.sum(coupling * p, axis=0) / total)
            slope = np.sum(p * hp, axis=0)
            length = np.where(slope > 0, size / np.where(slope > 0, slope, 1.0), 0.0)
            x, r = x + length * p, r - length * hp
            z = self.preconditioner.solve(r)
            before, size = size, np.sum(r * z, axis=0)
            if np.all(size <= goal):
                break
            p = z + np.where(before > 0, size / np.where(before > 0, before, 1.0), 0.0) * p
        d_offsets = -np.sum(coupling * x, axis=0) / total if self.problem.bias else np.zeros(x.shape[1])
        return x, d_offsets
