"""Objective function of a linear problem from sums over the samples: values, gradient, Newton directions, bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from hinge import _core
from hinge.dask.linear.response import Point
from hinge.dask.linear.sums import CertificateSums, NewtonSums
from hinge.problems import Array, Bias, Certificate


@dataclass(frozen=True)
class Direction:
    """A direction (δ, δ_b) and the derivative of the objective along it."""

    w: Array
    b: float
    slope: float


@dataclass(frozen=True)
class Objective:
    """½‖w‖² + ½b²/B² + Σ losses.                                                                     docs/math (101)

    Attributes
    ----------
    bias : Bias
    bias_scale : float
        B of a penalized offset.
    center : ndarray or None
        m of (147).
    mean : ndarray
        Mean of the features, minus `center`.
    """

    bias: Bias
    bias_scale: float
    center: Array | None
    mean: Array

    # ---- values -----------------------------------------------------------------------------------------------------

    def penalty(self, point: Point) -> float:
        """The terms without losses."""
        value = 0.5 * float(point.w @ point.w)
        return value + 0.5 * (point.b / self.bias_scale) ** 2 if self.bias is Bias.PENALIZED else value

    def primal(self, point: Point, sums: NewtonSums) -> float:
        """Objective with the exact losses."""
        return self.penalty(point) + sums.exact

    def smooth(self, point: Point, sums: NewtonSums) -> float:
        """Objective with the smoothed losses."""
        return self.penalty(point) + sums.smooth

    def factors(self, sums: NewtonSums) -> tuple[float, float]:
        """Factors of the positive and the negative part of β that make Σβ zero, for a free offset."""
        positive, negative = float(sums.total[0]), -float(sums.total[1])
        if self.bias is not Bias.FREE or positive == negative:
            return 1.0, 1.0
        return (negative / positive, 1.0) if positive > negative else (1.0, positive / negative)

    def dual(self, sums: NewtonSums) -> float:
        """Dual objective at the scaled dual point.                                                   docs/math (104)"""
        scale = np.array(self.factors(sums))
        combined = scale @ sums.combined
        value = float(scale @ sums.linear - scale**2 @ sums.squares - 0.5 * combined @ combined)
        if self.bias is Bias.PENALIZED:
            value -= 0.5 * (self.bias_scale * float(scale @ sums.total)) ** 2
        return value

    # ---- derivatives ------------------------------------------------------------------------------------------------

    def gradient(self, point: Point, sums: NewtonSums) -> tuple[Array, float]:
        """Gradient of the objective with the smoothed losses."""
        total = float(np.sum(sums.total))
        if self.bias is Bias.NONE:
            offset = 0.0
        elif self.bias is Bias.PENALIZED:
            offset = point.b / self.bias_scale**2 - total
        else:
            offset = -total
        return point.w - np.sum(sums.combined, axis=0), offset

    def corner(self, sums: NewtonSums) -> float:
        """Second derivative with respect to the offset; zero without an offset."""
        if self.bias is Bias.NONE:
            return 0.0
        return sums.corner + (1.0 / self.bias_scale**2 if self.bias is Bias.PENALIZED else 0.0)

    def newton_direction(self, point: Point, sums: NewtonSums) -> Direction:
        """Solve (111) by a Cholesky factorization."""
        assert sums.hessian is not None
        gradient, offset = self.gradient(point, sums)
        d, corner = len(gradient), self.corner(sums)
        matrix = sums.hessian.copy()
        matrix[np.diag_indices(d)] += 1.0
        if corner == 0:
            return self.with_offset(point, sums, -cho_solve(cho_factor(matrix, lower=True), gradient))
        # eliminating the offset first is stable, because `corner` is large if the samples are
        matrix -= np.outer(sums.border, sums.border / corner)
        try:
            factor = cho_factor(matrix, lower=True)
        except LinAlgError:  # rounding errors of large features
            matrix[np.diag_indices(d)] += 1e-12 * np.max(np.diag(sums.hessian))
            factor = cho_factor(matrix, lower=True)
        w = -cho_solve(factor, gradient - sums.border * (offset / corner))
        return self.with_offset(point, sums, w)

    def with_offset(self, point: Point, sums: NewtonSums, w: Array) -> Direction:
        """Add the component of the offset that (113) determines.

        If no sample is free, the values at the mean of the samples do not change, as in (151), apart from a step
        against the derivative.
        """
        gradient, offset = self.gradient(point, sums)
        corner = self.corner(sums)
        if self.bias is Bias.NONE:
            b = 0.0
        elif corner > 0:
            b = -(float(sums.border @ w) + offset) / corner
        else:
            b = -float(self.mean @ w) - np.sign(offset) * (point.width or 1.0)
        return Direction(w, b, float(gradient @ w) + offset * b)

    # ---- certificate ------------------------------------------------------------------------------------------------

    def original(self, point: Point) -> tuple[Array, float]:
        """(w, b) of the features without centering."""
        if self.center is None:
            return point.w, point.b
        return point.w, point.b - float(self.center @ point.w)

    def certificate(self, sums: CertificateSums, w: Array, b: float) -> Certificate:
        """Return the bounds that the sums over all samples prove."""
        found = _core.bounds_of_part(
            sums.part, sums.tube, int(self.bias), self.bias_scale, 0.0, sums.bounds_error, 0.0, w, b
        )
        mu = np.array([b] if self.bias is not Bias.NONE else [])
        upper, lower = found.upper + sums.above, found.lower - sums.below
        rounding = found.rounding + sums.above + sums.below
        return Certificate.of(upper, lower, found.kkt_violation, found.infeasibility, mu, True, rounding, found.scale)
