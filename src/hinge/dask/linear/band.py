"""Losses with kinks: exact solution of the problem restricted to the samples near a kink.        docs/math (652)

The other samples are on one side of their kink, so that their dual variables are known. The restricted problem has the
form of problem (1) and is solved in the client by a solver of hinge. Samples that cross a kink are added to the band.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from hinge.dask.linear.passes import Collect, Pass, Verify
from hinge.dask.linear.response import Point
from hinge.dask.linear.sums import Band, NearSamples, Verification
from hinge.kernels import Linear, open_access
from hinge.problems import Array, Bias, Dual
from hinge.solvers.auto import Auto

if TYPE_CHECKING:
    from hinge.dask.linear.newton import Run

MAX_ROUNDS = 30  # rounds in which samples are added to a band
BAND_DISTANCE = 1.0  # distance from a kink, in units of the width of smoothing, up to which samples belong to a band
BAND_TOL = 1e-10  # KKT violation of the restricted problem, which is polished if possible


def improve_band(run: Run, point: Point) -> Generator[Pass, Any, bool]:
    """Solve the problem restricted to a band around `point`; True if the certified gap is at most `tol`.

    The lower bound does not decrease from round to round: the dual variables of samples that join the band are those
    that they had outside.
    """
    assert point.width is not None
    near: NearSamples = yield Collect(point, BAND_DISTANCE * point.width)
    band, combined, total = near.band, near.combined, near.total
    last = np.inf
    for _ in range(MAX_ROUNDS):
        if not 0 < band.n <= run.band_limit or not is_feasible(run, band, total):
            return False
        w, b, beta = solve_band(run, band, combined, total)
        band = replace(band, beta=beta)
        inner = Point(w, b, point.width)
        outer = run.objective.original(inner)
        for accurate in (False, True):
            found: Verification = yield Verify(point, inner, band, *outer, run.band_limit, accurate)
            certificate = run.objective.certificate(found.certificate, *outer)
            size = max(abs(certificate.primal), abs(certificate.dual))
            if accurate or found.crossed.n or certificate.rounding <= 1e-2 * run.tol * size:
                break
        run.iterations += 1
        if run.accept(certificate, *outer):
            return True
        if not found.crossed.n or certificate.gap >= last:
            return False
        last = certificate.gap
        combined = combined - found.crossed.X.T @ found.crossed.beta
        total -= float(np.sum(found.crossed.beta))
        band = band.merge(found.crossed)
    return False


def is_feasible(run: Run, band: Band, total: float) -> bool:
    """Whether the variables of the band can make Σβ zero, if the offset is free."""
    return run.objective.bias is not Bias.FREE or bool(np.sum(band.lower) <= -total <= np.sum(band.upper))


def solve_band(run: Run, band: Band, combined: Array, total: float) -> tuple[Array, float, Array]:
    """Return (w, b) and the dual point of the restricted problem; its dual is problem (1) with shifted targets.

    `combined` and `total` are Σ β x and Σ β over the samples outside the band.
    """
    objective, X, scale = run.objective, band.X, run.objective.bias_scale
    X = X.toarray() if sp.issparse(X) and X.shape[1] <= 4 * X.shape[0] else X
    shift = np.asarray(X @ combined).ravel()
    samples = X
    if objective.bias is Bias.PENALIZED:
        shift = shift + scale**2 * total
        column = np.full((band.n, 1), scale)
        samples = sp.hstack([X, column]).tocsr() if sp.issparse(X) else np.hstack([X, column])
    sign = np.where(band.upper > 0, 1.0, -1.0)
    totals = np.array([-total]) if objective.bias is Bias.FREE else np.empty(0)
    dual = Dual(band.target - shift, band.lower, band.upper, sign, totals, run.tube, split=run.tube > 0)
    problem = dual.problem(open_access(Linear(), np.ascontiguousarray(samples) if not sp.issparse(X) else samples))
    solution = Auto(tol=BAND_TOL).solve(problem)
    alpha = solution.alpha
    beta = alpha[: band.n] - alpha[band.n :] if run.tube > 0 else sign * alpha
    w = combined + np.asarray(X.T @ beta).ravel()
    if objective.bias is Bias.FREE:
        b = float(solution.mu[0])
    else:
        b = scale**2 * (total + float(np.sum(beta))) if objective.bias is Bias.PENALIZED else 0.0
    return w, b, beta
