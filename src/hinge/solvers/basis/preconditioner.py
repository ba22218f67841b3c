"""Preconditioner of the reduced-basis Newton method, from a subsample of the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hinge.problems import Array
from hinge.solvers.basis.problem import ReducedBasisProblem

#: Share of the losses that is assumed to be curved, that is, to have a positive slack.
CURVED_SHARE = 0.1

#: First ridge relative to the largest diagonal entry; smaller eigenvalues are rounding errors in float32.
RELATIVE_RIDGE = 3e-6

#: Ridge relative to the largest diagonal entry at which a failed factorization raises LinAlgError.
MAX_RELATIVE_RIDGE = 1e-2


class Preconditioner:
    """Factor of P = R + 2θ (m/s) Σ Cᵢ kᵢkᵢᵀ over s rows, with R = K^nn + δI and θ the share of curved losses.   (388)

    Attributes
    ----------
    inner : Columns
        R in float32, for products.
    """

    def __init__(self, problem: ReducedBasisProblem, rows: NDArray[np.intp]) -> None:
        scale = problem.columns.shape[0] / max(len(rows), 1)
        all_rows = np.empty(0, dtype=np.int64)
        self.inner = replace(problem.columns, values=problem.inner.astype(np.float32), rows=all_rows)
        P = problem.columns.gram(rows, 2.0 * CURVED_SHARE * scale * problem.cost[rows])
        P += self.inner.values
        self.factor = _cholesky(P)

    def solve(self, residual: Array) -> Array:
        """P⁻¹r in the precision of P, which is enough: conjugate gradients only need the same P in every pass."""
        size = np.max(np.abs(residual), axis=0, initial=1e-300)
        scaled = (residual / size).astype(self.factor.dtype)
        return size * scipy.linalg.cho_solve((self.factor, True), scaled, check_finite=False).astype(np.float64)


def _cholesky(P: NDArray) -> NDArray:
    """Cholesky factor of P plus a small ridge: in float32, then in float64, then with larger ridges."""
    ridge = RELATIVE_RIDGE * float(np.max(np.diagonal(P), initial=0.0))
    P[np.diag_indices_from(P)] += np.float32(ridge)
    while True:
        try:
            return scipy.linalg.cholesky(P, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            if P.dtype == np.float32:
                P = P.astype(np.float64)
                continue
            if not ridge < MAX_RELATIVE_RIDGE * float(np.max(np.diagonal(P))):
                raise
            ridge *= 10
            P[np.diag_indices_from(P)] += ridge
