"""Passes over the samples of a block. Every pass is a pure function of the block and of a small argument.

A pass is a frozen dataclass with a method `compute(problem, index, center)`, where `problem` is the `LinearProblem` of
the block and `index` the number of the partition. f = ⟨w, x − m⟩ + b with the center m, docs/math (147).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge import _core
from hinge.dask.blocks import Block
from hinge.dask.linear.response import Point, Response
from hinge.dask.linear.sums import (
    Band,
    CertificateSums,
    HessianProduct,
    NearSamples,
    NewtonSums,
    Slopes,
    Verification,
)
from hinge.estimators.common.validation import ClassificationData, TrainingData
from hinge.kernels.samples import view
from hinge.problems import Array, LinearProblem

CHUNK_VALUES = 1 << 17  # values of X that are copied at a time: they remain in the cache of a core
FREE_SHARE = 0.7  # share of free samples above which XᵀDX is computed without a copy of their rows
DENSE_SHARE = 0.05  # share of nonzero values above which a chunk of CSR rows is converted for XᵀDX


@dataclass(frozen=True)
class Setup:
    """What the workers need to build the problems of a block.

    Attributes
    ----------
    estimator : estimator of hinge
        Not fitted; its parameters and its method `_problems` define the problems.
    classes, class_weight : ndarray or None
        Of all partitions.
    center : ndarray or None
        m, for dense samples and a free offset.
    """

    estimator: Any
    classes: NDArray[Any] | None
    class_weight: Array | None
    center: Array | None

    def problems(self, block: Block) -> list[LinearProblem]:
        """Return one problem per function."""
        data: Any = TrainingData(block.X, block.y, block.weight, np.arange(block.n))
        if self.classes is not None:
            assert self.class_weight is not None
            data = ClassificationData(data.X, data.y, data.weight, data.rows, self.classes, self.class_weight)
        return self.estimator._problems(data)  # type: ignore[no-any-return]


class Pass(Protocol):
    """A sum over the samples of a block."""

    def compute(self, problem: LinearProblem, index: int, center: Array | None) -> Any: ...


def run_passes(index: int, block: Block, argument: tuple[Setup, Sequence[tuple[int, Pass]]]) -> list[Any]:
    """Compute the passes of several problems on one block: (problem, pass) → sums. None if there are no samples."""
    setup, passes = argument
    if block.n == 0:
        return [None] * len(passes)
    problems = setup.problems(block)
    return [each.compute(problems[k], index, setup.center) for k, each in passes]


# ---- rows -----------------------------------------------------------------------------------------------------------


def chunks(X: Any, center: Array | None) -> Iterator[tuple[slice, Any]]:
    """Yield chunks of rows in float64, centered if there is a center."""
    features = max(1, int(X.shape[1]))
    step = max(16, features, CHUNK_VALUES // features) if not sp.issparse(X) else max(1, X.shape[0])
    for first in range(0, X.shape[0], step):
        rows = slice(first, min(X.shape[0], first + step))
        if sp.issparse(X):
            yield rows, X if X.dtype == np.float64 else X.astype(np.float64)
        elif center is None:
            yield rows, X[rows].astype(np.float64, copy=False)
        else:
            yield rows, X[rows] - center


def responses(problem: LinearProblem, point: Point, center: Array | None) -> Iterator[tuple[slice, Any, Response]]:
    """Yield chunks of rows with their losses at a point."""
    for rows, X in chunks(problem.X, center):
        anchor = None
        for each in (*point.anchors, point):
            response = Response(problem, rows, problem.target[rows] - (X @ each.w + each.b), each.width, anchor)
            if each is not point:
                anchor = response.beta
        yield rows, X, response


def weighted_gram(X: Any, weights: Array, free: int) -> Array:
    """XᵀDX of a chunk; D is not negative and has `free` positive elements."""
    if free <= FREE_SHARE * len(weights):
        rows = np.flatnonzero(weights)
        X, weights = X[rows], weights[rows]
    root = np.sqrt(weights)
    if not sp.issparse(X):
        scaled = X * root[:, None]
        return np.asarray(scaled.T @ scaled)
    if X.nnz <= DENSE_SHARE * X.shape[0] * X.shape[1]:
        scaled = sp.diags_array(root) @ X
        return np.asarray((scaled.T @ scaled).toarray())
    total, step = np.zeros((X.shape[1], X.shape[1])), max(16, CHUNK_VALUES // X.shape[1])
    for first in range(0, X.shape[0], step):
        scaled = X[first : first + step].toarray() * root[first : first + step, None]
        total += scaled.T @ scaled
    return total


# ---- passes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evaluate:
    """Value, derivative and, if `hessian`, all second derivatives of the losses at a point."""

    point: Point
    hessian: bool

    def compute(self, problem: LinearProblem, index: int, center: Array | None) -> NewtonSums:
        d = int(problem.X.shape[1])
        total = NewtonSums(
            0.0, 0.0, np.zeros(2), np.zeros(2), np.zeros(2), np.zeros((2, d)), np.zeros(2), np.zeros(d), 0.0,
            np.zeros(d), np.zeros((d, d)) if self.hessian else None,
        )  # fmt: skip
        for rows, X, response in responses(problem, self.point, center):
            total = total.merge(self._sums(problem, rows, X, response))
        return total

    def _sums(self, problem: LinearProblem, rows: slice, X: Any, response: Response) -> NewtonSums:
        beta, curvature = response.beta, response.curvature
        sides = (np.maximum(beta, 0.0), np.minimum(beta, 0.0))
        target, ridge = problem.target[rows], problem.ridge[rows]
        free = int(np.count_nonzero(curvature))
        near = free if self.point.width is None else np.sum(response.kink_distance() <= self.point.width)
        products = np.asarray(X.T @ np.column_stack([*sides, curvature])).T
        hessian = weighted_gram(X, curvature, free) if self.hessian else None
        if hessian is not None:
            diagonal = np.diag(hessian).copy()
        else:
            diagonal = np.asarray((X.multiply(X) if sp.issparse(X) else X**2).T @ curvature).ravel()
        return NewtonSums(
            exact=response.exact(),
            smooth=response.smooth(),
            total=np.array([np.sum(side) for side in sides]),
            linear=np.array([np.sum(target * side - problem.tube * np.abs(side)) for side in sides]),
            squares=np.array([0.5 * np.sum(ridge * side**2) for side in sides]),
            combined=np.ascontiguousarray(products[:2]),
            near=np.array([float(free), float(near)]),
            border=products[2].copy(),
            corner=float(np.sum(curvature)),
            diagonal=diagonal,
            hessian=hessian,
        )


@dataclass(frozen=True)
class Search:
    """Derivatives of the losses along a direction, at several step lengths."""

    point: Point
    direction: Array
    offset_direction: float
    steps: Array

    def compute(self, problem: LinearProblem, index: int, center: Array | None) -> Slopes:
        slope = np.zeros(len(self.steps))
        for rows, X, response in responses(problem, self.point, center):
            q = X @ self.direction + self.offset_direction
            for k, step in enumerate(self.steps):
                moved = Response(problem, rows, response.residual - step * q, response.width, response.anchor)
                slope[k] -= np.sum(moved.beta * q)
        return Slopes(slope)


@dataclass(frozen=True)
class Product:
    """Product of X_Fᵀ S X_F and a vector."""

    point: Point
    vector: Array

    def compute(self, problem: LinearProblem, index: int, center: Array | None) -> HessianProduct:
        total = np.zeros(len(self.vector))
        for _, X, response in responses(problem, self.point, center):
            total += X.T @ (response.curvature * (X @ self.vector))
        return HessianProduct(total)


@dataclass(frozen=True)
class Certify:
    """Sums of the certificate at (w, b) and the dual point of `point`, whose signs are scaled by two factors.

    `w` and `b` refer to the features without centering.
    """

    point: Point
    factors: tuple[float, float]
    w: Array
    b: float
    accurate: bool

    def compute(self, problem: LinearProblem, index: int, center: Array | None) -> CertificateSums:
        beta = np.concatenate([response.beta for _, _, response in responses(problem, self.point, center)])
        beta = np.where(beta > 0, self.factors[0], self.factors[1]) * beta
        return certificate_sums(problem, self.w, self.b, beta, self.accurate)


def certificate_sums(problem: LinearProblem, w: Array, b: float, beta: Array, accurate: bool) -> CertificateSums:
    """Return the sums of the certificate of (w, b) and β over the samples of a block."""
    part = _core.linear_part(
        view(problem.X).native, problem.target, problem.lower, problem.upper, problem.ridge, problem.tube,
        int(problem.bias), problem.bounds_error, w, b, beta, accurate,
    )  # fmt: skip
    error = 1.01 * problem.target_error
    above = error * float(np.sum(np.maximum(problem.upper, -problem.lower))) if error else 0.0
    return CertificateSums(part, problem.tube, problem.bounds_error, above, error * float(np.sum(np.abs(beta))))


@dataclass(frozen=True)
class Collect:
    """The samples within `distance` of a kink at a point, and sums over all other samples."""

    point: Point
    distance: float

    def compute(self, problem: LinearProblem, index: int, center: Array | None) -> NearSamples:
        combined, total, near, beta = np.zeros(int(problem.X.shape[1])), 0.0, [], []
        for rows, X, response in responses(problem, self.point, center):
            is_near, side = response.kink_distance() <= self.distance, response.side()
            outside = np.where(is_near, 0.0, side)
            combined += X.T @ outside
            total += float(np.sum(outside))
            near.append(rows.start + np.flatnonzero(is_near))
            beta.append(side[is_near])
        rows_near = np.concatenate(near)
        return NearSamples(_band(problem, index, rows_near, np.concatenate(beta), center), combined, total)


@dataclass(frozen=True)
class Verify:
    """Certificate of (w, b) and of the dual point of a band, and the samples outside of it that have crossed a kink.

    The other samples have the dual variables that belong to their side of the kink at `point`. `inner` is (w, b) of the
    centered features.
    """

    point: Point
    inner: Point
    band: Band
    w: Array
    b: float
    limit: int
    accurate: bool

    def compute(self, problem: LinearProblem, index: int, center: Array | None) -> Verification:
        side = [response.side() for _, _, response in responses(problem, self.point, center)]
        now = [response.residual for _, _, response in responses(problem, self.inner, center)]
        beta, residual = np.concatenate(side), np.concatenate(now)
        chosen = self.band.in_partition(index)
        inside = np.zeros(problem.n, dtype=bool)
        inside[self.band.row[chosen]] = True
        outside_beta = beta.copy()
        beta[self.band.row[chosen]] = self.band.beta[chosen]
        best = Response(problem, slice(0, problem.n), residual, self.point.width).side()
        # the term (106) of a sample without curvature
        violation = (best - outside_beta) * residual - problem.tube * (np.abs(best) - np.abs(outside_beta))
        violation[inside] = 0.0
        order = np.argsort(-violation, kind="stable")[: self.limit]
        crossed = np.sort(order[violation[order] > 0.0])
        return Verification(
            certificate_sums(problem, self.w, self.b, beta, self.accurate),
            _band(problem, index, crossed, outside_beta[crossed], center),
            violation[crossed],
            self.limit,
        )


def _band(
    problem: LinearProblem, index: int, rows: NDArray[np.intp], beta: Array, center: Array | None
) -> Band:
    X = problem.X[rows].astype(np.float64)
    if center is not None:
        X = X - center
    partition = np.full(len(rows), index, dtype=np.int64)
    return Band(partition, rows, X, problem.target[rows], problem.lower[rows], problem.upper[rows], beta)
