"""Losses of some samples at a point: values, dual variables and curvature, smoothed around kinks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hinge.problems import Array, LinearProblem


@dataclass(frozen=True)
class Point:
    """(w, b) of the centered features, and how losses with kinks are smoothed there.

    Attributes
    ----------
    w : ndarray
    b : float
    width : float or None
        Width ω of smoothing; None for losses that are smooth already.
    anchors : tuple of Point
        Earlier points of the proximal-point method (115), the first of which has no anchors. The dual variables at the
        last one are the anchors β^k. They are computed again in every pass, so that no state is kept on the workers.
    """

    w: Array
    b: float
    width: float | None
    anchors: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Response:
    """The losses of some samples at f: dual point, curvature and values.                       docs/math (102), (651)

    A loss with kinks is smoothed over ``|r| − tube`` in [−width/2, width/2], or around the dual variables `anchor`.
    """

    problem: LinearProblem
    rows: slice
    residual: Array
    width: float | None
    anchor: Array | None = None

    @cached_property
    def beta(self) -> Array:
        """The dual point."""
        p, rows, r = self.problem, self.rows, self.residual
        if self.width is None:
            excess = np.sign(r) * np.maximum(np.abs(r) - p.tube, 0.0)
            return np.clip(excess / p.ridge[rows], p.lower[rows], p.upper[rows])
        if self.anchor is not None:
            shifted = r + self._proximity * self.anchor
            excess = np.sign(shifted) * np.maximum(np.abs(shifted) - p.tube, 0.0)
            return np.clip(excess / self._proximity, p.lower[rows], p.upper[rows])
        above, below = self._ramps
        return p.upper[rows] * np.clip(0.5 + above, 0.0, 1.0) + p.lower[rows] * np.clip(0.5 + below, 0.0, 1.0)

    @cached_property
    def curvature(self) -> Array:
        """S: the second derivative of the loss."""
        p, rows = self.problem, self.rows
        if self.width is None:
            inside = (self.beta > p.lower[rows]) & (self.beta < p.upper[rows]) & (np.abs(self.residual) > p.tube)
            return np.where(inside, 1.0 / p.ridge[rows], 0.0)
        if self.anchor is not None:
            beyond = np.abs(self.residual + self._proximity * self.anchor) > p.tube
            inside = (self.beta > p.lower[rows]) & (self.beta < p.upper[rows]) & beyond
            return np.where(inside, 1.0 / self._proximity, 0.0)
        above, below = self._ramps
        jumps = p.upper[rows] * (np.abs(above) < 0.5) - p.lower[rows] * (np.abs(below) < 0.5)
        return jumps / self.width

    @cached_property
    def _proximity(self) -> Array:
        """D of (115): the width divided by the largest |β|."""
        assert self.width is not None
        return self.width / np.maximum(self.problem.upper[self.rows], -self.problem.lower[self.rows])

    @cached_property
    def _ramps(self) -> tuple[Array, Array]:
        """Distances from the kinks above and below f, in units of the width."""
        assert self.width is not None
        tube = self.problem.tube
        return (self.residual - tube) / self.width, (-self.residual - tube) / self.width

    def exact(self) -> float:
        """Sum of the losses."""
        p, rows, r = self.problem, self.rows, self.residual
        if self.width is None:
            beta = self.beta
            return float(np.sum(beta * r - p.tube * np.abs(beta) - 0.5 * p.ridge[rows] * beta**2))
        above, below = np.maximum(r - p.tube, 0.0), np.maximum(-r - p.tube, 0.0)
        return float(np.sum(p.upper[rows] * above - p.lower[rows] * below))

    def smooth(self) -> float:
        """Sum of the smoothed losses."""
        if self.width is None:
            return self.exact()
        p, rows = self.problem, self.rows
        if self.anchor is not None:
            beta, distance = self.beta, self.beta - self.anchor
            terms = beta * self.residual - p.tube * np.abs(beta) - 0.5 * self._proximity * distance**2
            return float(np.sum(terms))
        above, below = (_smoothed_excess(each) for each in self._ramps)
        return self.width * float(np.sum(p.upper[rows] * above - p.lower[rows] * below))

    def kink_distance(self) -> Array:
        """Distance of the residual from the closest kink."""
        return np.abs(np.abs(self.residual) - self.problem.tube)

    def side(self) -> Array:
        """The dual point of the loss without smoothing: a bound, or zero inside a tube."""
        p, rows, r = self.problem, self.rows, self.residual
        return np.where(r > p.tube, p.upper[rows], np.where(r < -p.tube, p.lower[rows], 0.0))


def _smoothed_excess(s: Array) -> Array:
    """max(0, s), with a quadratic part for |s| < ½."""
    return np.where(s >= 0.5, s, 0.5 * np.maximum(s + 0.5, 0.0) ** 2)
