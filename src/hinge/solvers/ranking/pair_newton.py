"""Newton's method for pairs: a proximal point method with smooth subproblems.                  docs/math (437)–(440)

With squared losses the problem itself is smooth, and one subproblem suffices.                             (467)–(469)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.control import RunControl
from hinge.kernels import Access, GramAccess, Linear, PairAccess
from hinge.problems import Array, Status

#: Linear systems up to this order are factorized; larger ones are solved by conjugate gradients.
MAX_FACTORED = 3000

#: Conjugate gradient steps, and the squared residual relative to the first one, at which the solution is taken.
MAX_CG_STEPS = 60
CG_REDUCTION = 1e-2

#: Limit of Newton steps for one proximal step; the last point is used.
MAX_NEWTON_STEPS = 40

#: Limit of trials of a line search; then the largest step that is known to decrease the objective is used.
MAX_LINE_SEARCH_TRIALS = 30

#: Width of the smoothed kink of the hinge loss below which no progress is possible: the method has stalled.
MIN_KINK_WIDTH = 1e-13

#: First accuracy of a proximal step, relative to the gap of the losses, and the accuracy at which the method has
#: stalled.
FIRST_ACCURACY = 0.05
MIN_ACCURACY = 1e-24

#: Increase of the diagonal of a matrix that is not positive definite because of rounding errors, relative to its order
#: and to its largest entry.
ROUNDING = float(np.finfo(np.float64).eps)

#: Steps without progress before the method has stalled.
MAX_STALLED_STEPS = 5

#: Newton steps without a limit of the user. The method needs less than a hundred, unless rounding errors prevent
#: progress: it has then stalled.
MAX_STEPS = 1000


def linear_features(access: Access) -> Any:
    """X if the kernel of `access` is linear, else None."""
    is_linear = isinstance(access, GramAccess) and isinstance(access.kernel, Linear)
    return access.factor() if is_linear else None


@dataclass
class PairNewton:
    """Proximal point method: α ← argmin of the dual plus ½σ‖α − α_old‖², with decreasing σ.

    Each subproblem is solved by Newton's method on its primal.

    Attributes
    ----------
    pairs : PairAccess
    cost : ndarray
        Upper bounds of α.
    alpha : ndarray
        The initial point, and the best point so far.
    ridge : ndarray
        d of ½Σ dα² for squared losses; empty for the hinge loss.
    control : RunControl
    max_steps : int
        Newton steps; −1 for `MAX_STEPS`.
    """

    pairs: PairAccess
    cost: Array
    alpha: Array
    ridge: Array
    control: RunControl
    max_steps: int = -1
    steps: int = 0
    stop_requested: bool = False
    f: Array = field(init=False)
    X: Any = field(init=False)

    def __post_init__(self) -> None:
        self.X = linear_features(self.pairs.base)
        self._set_alpha(self.alpha)

    def _product(self, coefficients: Array) -> Array:
        """K times coefficients of samples."""
        if self.X is None:
            return self.pairs.base.matvec(coefficients)
        return np.asarray(self.X @ (self.X.T @ coefficients), dtype=np.float64)

    def _set_alpha(self, alpha: Array) -> None:
        """Set α and compute f, gap and KKT violation."""
        self.alpha = alpha
        self.beta = self.pairs.coefficients(alpha)
        self.f = self._product(self.beta)
        residual = 1 - self.pairs.differences(self.f)
        self.gap = self._loss_gap(alpha, residual)
        self.dual = float(np.sum(alpha) - 0.5 * self.beta @ self.f)
        slope = residual
        if len(self.ridge):
            slope = residual - self.ridge * alpha
            self.dual -= 0.5 * float(self.ridge @ alpha**2)
        self.primal = self.dual + self.gap
        violating = ((slope > 0) & (alpha < self.cost)) | ((slope < 0) & (alpha > 0))
        self.violation = float(np.max(np.abs(slope[violating]), initial=0.0))

    def _loss_gap(self, alpha: Array, residual: Array) -> float:
        """Contribution of the losses to the gap, with residuals 1 − (f_i − f_j).              docs/math (433), (468)"""
        if len(self.ridge):
            distance = alpha - np.maximum(residual, 0.0) / self.ridge
            return float(np.sum(0.5 * self.ridge * distance**2 + np.maximum(-residual, 0.0) * alpha))
        return float(np.sum(np.where(residual > 0, (self.cost - alpha) * residual, -alpha * residual)))

    def stop_status(self) -> Status | None:
        """Status if the run has to end before it has converged, else None."""
        if self.stop_requested:
            return Status.INTERRUPTED
        if self.control.expired():
            return Status.TIME_LIMIT
        if self.max_steps < 0:
            return Status.NUMERICAL if self.steps >= MAX_STEPS else None
        return Status.MAX_ITER if self.steps >= self.max_steps else None

    def run(self, is_converged: Callable[[PairNewton], bool], record: Callable[[PairNewton], None]) -> Status:
        """Iterate until `is_converged`; NUMERICAL if the method has stalled, since rounding prevents progress.

        During the run w differs from Φᵀ Dᵀα. The gap (440) of the pair (w, α) decides how σ decreases, and the point
        that is kept has w = Φᵀ Dᵀα.
        """
        if len(self.ridge):
            return self._run_smooth(is_converged, record)
        width = self._first_kink_width()
        beta, f, alpha = self.beta.copy(), self.f.copy(), self.alpha
        pair_gap, accuracy, stalled = np.inf, FIRST_ACCURACY, 0
        while not is_converged(self):
            if not width >= MIN_KINK_WIDTH:
                return Status.NUMERICAL
            last_pair_gap = pair_gap
            sigma = width / max(float(np.mean(self.cost)), np.finfo(float).tiny)  # smooths the kink over `width`
            step = self._proximal_step(alpha, beta, f, np.full(len(alpha), sigma), accuracy)
            if step is None:
                return self.stop_status() or Status.TIME_LIMIT
            alpha, beta, f, pair_gap = step
            last, last_gap = self.alpha, self.gap
            self._set_alpha(alpha)
            if not np.isfinite(self.gap + pair_gap):
                self._set_alpha(last)
                return Status.NUMERICAL
            record(self)
            if is_converged(self):
                return Status.SOLVED
            if self.gap > last_gap:
                self._set_alpha(last)  # keep the better point
                if pair_gap < 0.1 * last_gap:
                    accuracy *= 0.01
            stalled = stalled + 1 if pair_gap > 0.9 * last_pair_gap and accuracy < 1e-12 else 0
            if stalled > MAX_STALLED_STEPS or accuracy < MIN_ACCURACY:
                return Status.NUMERICAL
            if pair_gap >= 0.2 * last_pair_gap:  # also if both are zero
                width *= 0.3
        return Status.SOLVED

    def _first_kink_width(self) -> float:
        """Width of the first smoothed kink: it changes the losses by a fifth, or by twice the gap if that is less."""
        loss = float(np.sum(self.cost * np.maximum(1 - self.pairs.differences(self.f), 0.0)))
        change = min(0.2 * loss, 2 * self.gap) if loss > 0 else 2 * self.gap
        return change / max(float(np.sum(self.cost)), np.finfo(float).tiny)

    def _run_smooth(self, is_converged: Callable[[PairNewton], bool], record: Callable[[PairNewton], None]) -> Status:
        """Squared losses: with α(w) = max(0, 1 − Df)/d, only ‖w − Φᵀ Dᵀα‖² of the gap remains.    docs/math (468)"""
        beta, f, zero = self.beta.copy(), self.f.copy(), np.zeros_like(self.alpha)
        pair_gap, stalled = np.inf, 0
        while not is_converged(self):
            last_pair_gap = pair_gap
            step = self._proximal_step(zero, beta, f, self.ridge, 0.0, max_newton_steps=1)
            if step is None:
                return self.stop_status() or Status.TIME_LIMIT
            alpha, beta, f, pair_gap = step
            last, last_gap = self.alpha, self.gap
            self._set_alpha(alpha)
            if not self.gap <= last_gap:  # also if it is not a number
                self._set_alpha(last)
            if not np.isfinite(pair_gap):
                return Status.NUMERICAL
            record(self)
            stalled = stalled + 1 if self.gap >= last_gap and pair_gap >= last_pair_gap else 0
            if stalled > MAX_STALLED_STEPS:
                return Status.SOLVED if is_converged(self) else Status.NUMERICAL
        return Status.SOLVED

    def _proximal_step(
        self,
        center: Array,
        beta: Array,
        f: Array,
        sigma: Array,
        accuracy: float,
        max_newton_steps: int = MAX_NEWTON_STEPS,
    ) -> tuple[Array, Array, Array, float] | None:
        """(α, β, f, gap) after a proximal step, until ½‖w − Φᵀ Dᵀα‖² is small relative to the gap of the losses.

        None if the run has to stop.
        """
        z = self.pairs.differences(f)
        for step_number in range(max_newton_steps + 1):
            if self.stop_status() is not None:
                return None
            residual = 1 - z
            alpha = np.clip(center + residual / sigma, 0.0, self.cost)
            gradient = beta - self.pairs.coefficients(alpha)
            f_gradient = self._product(gradient)
            half_norm = max(0.0, 0.5 * float(gradient @ f_gradient))
            loss_gap = self._loss_gap(alpha, residual)
            if half_norm <= accuracy * loss_gap or step_number == max_newton_steps:
                break
            free = np.flatnonzero((alpha > 0) & (alpha < self.cost))
            step = self._direction(gradient, f_gradient, free, sigma[free])
            f_step = self._product(step)
            t = self._line_search(beta, step, f_step, z, center, sigma)
            self.steps += 1
            if t == 0.0:
                break
            beta = beta + t * step
            f = f + t * f_step
            z = self.pairs.differences(f)
        return alpha, beta, f, loss_gap + half_norm

    def _direction(self, gradient: Array, f_gradient: Array, free: NDArray[np.intp], sigma: Array) -> Array:
        """−(I + LK)⁻¹ gradient, L = D_Fᵀ σ⁻¹ D_F, as coefficients of samples.                     docs/math (439)"""
        if len(free) == 0:
            return -gradient
        D = self.pairs.incidence(free)
        few_features = self.X is not None and not sp.issparse(self.X) and self.X.shape[1] <= MAX_FACTORED
        if few_features and self.X.shape[1] < len(free):
            # With v = (I + XᵀLX)⁻¹ Xᵀ gradient the same step has the coefficients gradient − L X v.
            LX = D.T @ (sp.diags_array(1.0 / sigma) @ D) @ self.X
            H = self.X.T @ LX
            H[np.diag_indices_from(H)] += 1.0
            v = _solve(H, self.X.T @ gradient)
            return -(gradient - LX @ v)
        right = D @ f_gradient
        if len(free) <= MAX_FACTORED:
            M = self.pairs.block(free, free)
            M[np.diag_indices_from(M)] += sigma
            inner = _solve(M, right)
        else:
            inner = self._conjugate_gradients(D, right, sigma)
        return -(gradient - D.T @ inner)

    def _conjugate_gradients(self, D: Any, right: Array, sigma: Array) -> Array:
        """Approximate solution of (σ + D K Dᵀ) x = right."""
        x, r = np.zeros_like(right), right.copy()
        p, rr = r.copy(), float(r @ r)
        goal = CG_REDUCTION * rr
        for _ in range(MAX_CG_STEPS):
            if rr <= goal or self.stop_status() is not None:
                break
            q = sigma * p + D @ self._product(D.T @ p)
            length = rr / float(p @ q)
            x += length * p
            r -= length * q
            new_rr = float(r @ r)
            p, rr = r + (new_rr / rr) * p, new_rr
        return x

    def _line_search(self, beta: Array, step: Array, f_step: Array, z: Array, center: Array, sigma: Array) -> float:
        """Approximate root of the slope of the smooth primal along the step, by secants within a bracket."""
        linear, square = float(beta @ f_step), float(step @ f_step)
        z_step = self.pairs.differences(f_step)
        alpha, d_alpha = center + (1 - z) / sigma, -z_step / sigma

        def slope(t: float) -> float:
            return linear + t * square - float(np.clip(alpha + t * d_alpha, 0.0, self.cost) @ z_step)

        low, high, slope_low = 0.0, 1.0, slope(0.0)
        if slope_low >= 0:
            return 0.0
        goal, slope_high = 0.2 * abs(slope_low), slope(1.0)
        while slope_high < -goal and high < 64:
            low, slope_low, high = high, slope_high, 2 * high
            slope_high = slope(high)
        for trial in range(MAX_LINE_SEARCH_TRIALS):
            if abs(slope_high) <= goal:
                return high
            t = low - slope_low * (high - low) / (slope_high - slope_low) if trial % 3 < 2 else 0.5 * (low + high)
            slope_t = slope(t)
            if abs(slope_t) <= goal:
                return t
            if slope_t < 0:
                low, slope_low = t, slope_t
            else:
                high, slope_high = t, slope_t
        return low if low > 0 else high


def _solve(M: Array, right: Array) -> Array:
    """Solution of M x = right for M that is positive definite up to rounding errors.

    If the Cholesky factorization fails, the diagonal is increased by the size of the rounding errors. The result is
    still a direction of descent.
    """
    try:
        return sla.cho_solve(sla.cho_factor(M), right)
    except sla.LinAlgError:
        M[np.diag_indices_from(M)] += ROUNDING * len(M) * float(np.max(np.diagonal(M)))
        return sla.cho_solve(sla.cho_factor(M, overwrite_a=True), right)
